"""The state of Pragam for losses of several scores: a dual vector for every row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fenchel.data.row_blocks import slices
from fenchel.kernels.vector_prox_dual import vector_prox_dual
from fenchel.solvers.pragam.settings import SETTINGS
from fenchel.solvers.pragam.state import State

if TYPE_CHECKING:
    from fenchel.engines.local import Block
    from fenchel.oracles.vector import VectorOracle
    from fenchel.solvers.base import Start


class VectorMap:
    """argmax over u of sum p (<u, z> - loss*(u) - q/2 |u - centre|^2): one dual prox for every row."""

    b = 0.0  # There is no free intercept.

    def __init__(self, oracle: VectorOracle):
        self.oracle = oracle

    def __call__(self, centre: np.ndarray, Z: np.ndarray, q: float) -> np.ndarray:
        problem, out = self.oracle.problem, np.empty(Z.shape)

        def work(block: Block) -> None:
            for some in slices(range(block.start, block.stop), problem.outputs * SETTINGS.values_per_dual_prox):
                at = slice(some.start, some.stop)
                vector_prox_dual(problem.compiled_loss, problem.y[at], centre[at], Z[at], q, out[at])

        self.oracle.engine.map(work, self.oracle.blocks)
        return out


class VectorState(State):
    """w with its scores, a row for each example; dual vectors u with g = sum p x u'. Distances are sum p |.|^2."""

    oracle: VectorOracle

    def __init__(self, oracle: VectorOracle, start: Start):
        self.oracle, self.problem = oracle, oracle.problem
        self.w, self.z = start.coef, oracle.score_matrix(start.coef)
        u = oracle.feasible(start.dual_point)
        self.u = self.centre = u if isinstance(u, np.ndarray) else u.toarray()
        self.g = oracle.combine(self.u)
        self.smooth = self.ascend = VectorMap(oracle)  # type: ignore[assignment]
        smoothness = self.problem.smoothness
        self.gamma = 1.0 / smoothness if smoothness is not None and 0.0 < smoothness < np.inf else 0.0
        self.mu, self.accepted = 0.0, 0

    def scores(self, w: np.ndarray) -> np.ndarray:
        return self.oracle.score_matrix(w)

    def primal(self, w: np.ndarray, z: np.ndarray) -> tuple[float, float]:
        return 0.0, self.oracle.losses(w) + self.problem.regularizer.value(w)

    def first_guess(self) -> float:
        """The ratio of the two sides of the test for L, for the step of length 1 from the centre."""
        change = self.smooth(self.centre, self.z, 1.0) - self.centre
        length = self.squared_length(change)
        ratio = self.curvature(self.oracle.combine(change)) / length if length > 0.0 else 0.0
        return max(ratio, SETTINGS.min_smoothing)

    def squared_length(self, u: np.ndarray) -> float:
        return float(self.problem.weights @ np.einsum("ij,ij->i", u, u))
