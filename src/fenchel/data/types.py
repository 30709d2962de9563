"""Type aliases of data: what users pass, what problems store, and what kernels take."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from fenchel.data.csr import CSR
from fenchel.data.dense import Dense

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import ArrayLike

    from fenchel.data.stored import Stored

Rows: TypeAlias = CSR | Dense  # the rows of X as kernels take them (`data/rows.py` has the operations)
Matrix: TypeAlias = "np.ndarray | sp.csr_array | sp.csr_matrix"  # X as a problem stores it
MatrixLike: TypeAlias = "ArrayLike | sp.sparray | sp.spmatrix | Stored"  # X as users pass it (`accept_matrix`)
