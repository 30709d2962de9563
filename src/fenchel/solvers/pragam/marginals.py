"""The state of Pragam for structured hinge losses: marginals instead of dual variables, w instead of scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fenchel.result import Iterate
from fenchel.solvers.base import Start
from fenchel.solvers.pragam.marginal_blocks import Cliques
from fenchel.solvers.pragam.settings import SETTINGS
from fenchel.solvers.pragam.state import State
from fenchel.structured.pool import Marginals

if TYPE_CHECKING:
    from fenchel.oracles.structured import StructuredOracle


class MarginalMap:
    """argmax over marginals u of sum p (<F'w + c, u> - q/2 |u - centre|^2)."""

    b = 0.0  # There is no intercept.

    def __init__(self, cliques: Cliques):
        self.cliques = cliques

    def __call__(self, centre: np.ndarray, w: np.ndarray, q: float) -> np.ndarray:
        return self.cliques.proximal(w, q, centre)


class MarginalState(State):
    """w; marginals u with g = sum p (F u - phi(gold)); the smoothing mu. Distances are sum p |.|^2."""

    def __init__(self, oracle: StructuredOracle, start: Start):
        self.oracle, self.problem, self.cliques = oracle, oracle.problem, Cliques(oracle)
        self.w = self.z = start.coef
        self.p = np.repeat(self.problem.weights, self.cliques.parts.sizes)
        self.u = self.centre = self.cliques.uniform()
        self.g = self.combine(self.u)
        self.smooth = self.ascend = MarginalMap(self.cliques)  # type: ignore[assignment]
        self.gamma, self.mu, self.accepted = 0.0, 0.0, 0

    def scores(self, w: np.ndarray) -> np.ndarray:
        """w itself: the maps compute scores of parts as they need them."""
        return w

    def combine(self, u: np.ndarray) -> np.ndarray:
        return self.cliques.combine(u)[1]

    def check(self) -> Iterate:
        """P at w, D at u."""
        gain, g = self.cliques.combine(self.u)
        b, primal = self.primal(self.w, self.z)
        return Iterate(
            self.w, b, primal, gain - self.problem.regularizer.conjugate(-g), Marginals(self.cliques.start, self.u)
        )

    def primal(self, w: np.ndarray, z: np.ndarray) -> tuple[float, float]:
        return 0.0, self.oracle.risk(w)[0] + self.problem.regularizer.value(w)

    def first_guess(self) -> float:
        """The ratio of the two sides of the test for L, for the step of length 1 from the centre."""
        change = self.cliques.proximal(self.w, 1.0, self.centre)
        g = self.combine(change) - self.g
        length = self.squared_length(change - self.centre)
        return max(self.curvature(g) / length if length > 0.0 else 0.0, SETTINGS.min_smoothing)

    def squared_length(self, u: np.ndarray) -> float:
        return float(self.p @ (u * u))
