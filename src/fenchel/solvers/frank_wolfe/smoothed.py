"""Frank-Wolfe on the dual of a smoothed loss of several scores, which keeps the dual matrix U.

D(U) = -sum p loss*(u) - gamma/2 sum p |u|^2 - R*(-g), g = sum p x u', for the Moreau envelope of a loss. Along u + t (u' - u)
the square is a parabola in t and loss* is at most linear (exactly linear for maxima of affine functions): the line search
maximises a lower bound of the gain, so the true dual never decreases. Without smoothing U need not be stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from fenchel.compile.dispatch import compilable
from fenchel.result import Iterate
from fenchel.solvers.base import Start

if TYPE_CHECKING:
    from fenchel.oracles.vector import VectorOracle

Target = Callable[[np.ndarray, np.ndarray], tuple[float, np.ndarray]]


class Smoothed:
    """The parts of the dual of a Moreau envelope."""

    def __init__(self, oracle: VectorOracle, direction: str):
        self.oracle, self.problem = oracle, oracle.problem
        self.gamma = self.problem.loss.gamma
        self.inner = compilable(self.problem.loss.loss)
        self.target: Target = self._vertices if direction == "vertices" else self._slopes

    def _slopes(self, Z: np.ndarray, U: np.ndarray) -> tuple[float, np.ndarray]:
        """(risk, u' = the slopes of the envelope): where <z, u> - loss*(u) - gamma/2 |u|^2 is largest."""
        new = np.empty_like(U)
        return self.oracle.slopes_at(Z, new), new

    def _vertices(self, Z: np.ndarray, U: np.ndarray) -> tuple[float, np.ndarray]:
        """(risk, u' = slopes of the loss itself at z - gamma u): the square is linearised at u, too."""
        new = np.empty_like(U)
        risk = self.oracle.slopes_at(Z, new)
        self.oracle.slopes_at(Z - self.gamma * U, new, self.inner)
        return risk, new

    def conjugates(self, U: np.ndarray) -> float:
        """sum p loss*(u), of the loss itself."""
        return self.oracle.conjugates_of(self.inner, U)

    def product(self, A: np.ndarray, B: np.ndarray) -> float:
        """gamma sum p <a, b>."""
        return self.gamma * float(self.problem.weights @ np.einsum("ij,ij->i", A, B))


def smoothed_iterates(
    oracle: VectorOracle, start: Start, direction: str, choose: Callable[..., float]
) -> Iterator[Iterate]:
    """Iterates without end, one pass each, with steps t = choose(iteration, g, its change, rise, curvature): D gains at least
    t rise - t^2 curvature / 2, besides the change of R*."""
    dual, regularizer = Smoothed(oracle, direction), oracle.problem.regularizer
    U = oracle.feasible(start.dual_point)
    g, fixed = oracle.combine(U), dual.conjugates(U)
    w, k = start.coef if start.dual_point is None else regularizer.primal_from_dual(-g), 0
    while True:
        risk, new = dual.target(oracle.score_matrix(w), U)
        value = -fixed - 0.5 * dual.product(U, U) - regularizer.conjugate(-g)
        yield Iterate(w, 0.0, risk + regularizer.value(w), value, U)
        change, turn = new - U, oracle.combine(new) - g
        rise = fixed - dual.conjugates(new) - dual.product(U, change)
        t = choose(k, g, turn, rise, dual.product(change, change))
        U, g, k = U + t * change, g + t * turn, k + 1
        fixed = dual.conjugates(U)
        w = regularizer.primal_from_dual(-g)
