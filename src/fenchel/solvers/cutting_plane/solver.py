"""The n-slack cutting-plane method for structured outputs.

Problem      min over w of sum_i p_i max_y [L_i(y) + f <w, psi_i(y)>] + alpha/2 |w|^2
Update       every example keeps the labels that were once its most violated constraints; in each round the max-oracle adds
             one per example, then the dual over the weights of these labels is solved (pairwise steps, without the
             max-oracle) to a fraction of the current gap
Certificate  the labels with their weights
Reference    Tsochantaridis et al. (2005); Joachims, Finley and Yu (2009) for the 1-slack form, which is `Bundle`
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fenchel.kernels.structured_epoch import CACHE_ONLY, PAIRWISE
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.block_frank_wolfe.label_state import LabelState
from fenchel.solvers.cutting_plane.settings import SETTINGS

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


@dataclass(frozen=True)
class CuttingPlane(Solver):
    """Working sets of labels, one per example (n-slack). One call of every max-oracle per round.

    >>> import fenchel
    >>> model = fenchel.structured.Multiclass()
    >>> problem = fenchel.Problem([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [0, 1, 2], loss=model, alpha=0.1)
    >>> fenchel.solve(problem, solver=CuttingPlane()).status.name
    'CERTIFIED'
    """

    seed: int = 0
    local_reason = (
        "the method needs the rows in this process; Bundle is its regularized form, and needs only sums over rows"
    )
    cost = "one call of the max-oracle per example, and a dual problem in the labels found so far"
    convergence = "gap <= eps after O(1/(alpha eps^2)) new labels per example at most"
    kinds = ("structured",)
    needs = Needs(regularizer=("l2",))

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        state, rng = LabelState(oracle, start), np.random.default_rng(self.seed)
        while True:
            found, labels = state.check()
            yield found
            assert found.primal is not None
            goal = SETTINGS.inner_gap_ratio * (found.primal - found.dual)
            state.insert(labels)
            for _ in range(SETTINGS.max_epochs_per_round):
                state.epoch(rng.permutation(oracle.problem.n), PAIRWISE, CACHE_ONLY)
                if state.estimate() <= goal:
                    break
