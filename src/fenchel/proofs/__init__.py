"""What a certificate proves about the exact optimum: where its coefficients and scores lie, which decisions cannot change,
which coefficients are zero, which rows do not matter.

May import problems, their certificates and what these are made of; `leave_one_out` also solves. `Result` reaches it through
`extension_points`.
"""

from fenchel.proofs.ball import Ball as Ball
from fenchel.proofs.ball import ball as ball
from fenchel.proofs.decisions import Decisions as Decisions
from fenchel.proofs.decisions import certain as certain
from fenchel.proofs.leave_one_out import LeaveOneOut as LeaveOneOut
from fenchel.proofs.leave_one_out import leave_one_out as leave_one_out
from fenchel.proofs.rows import removable_rows as removable_rows
from fenchel.proofs.staleness import Staleness as Staleness
from fenchel.proofs.staleness import staleness as staleness
from fenchel.proofs.support import Support as Support
from fenchel.proofs.support import support as support
