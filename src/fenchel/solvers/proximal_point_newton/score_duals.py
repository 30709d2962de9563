"""Rows of a proximal step in several scores each, as functions of the dual variables.

With the centre c_i and the step gamma, z = c - gamma (s - u) with s = dual_prox(c + gamma u, gamma), a subgradient of the loss
at z. z moves with gamma u by the matrix I - gamma S, S the Jacobian of dual_prox. Rows of weight 0 count for nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.engines.local import spans
from fenchel.kernels.proximal_score_rows import dual_prox_rows, score_jacobians, score_rows_along
from fenchel.kernels.vector_passes import vector_values


class ScoreDuals:
    """`dual_prox` of some rows and what follows from it."""

    def __init__(self, engine: Any, loss: Any, y: np.ndarray, p: np.ndarray):
        self.engine, self.loss, self.y, self.p = engine, loss, y, p
        self.known: list[tuple[float, np.ndarray, np.ndarray]] = []  # the last two points with what was found there

    def remembered(self, T: np.ndarray, gamma: float) -> np.ndarray:
        """The same as `prox`; a line search begins where a Newton step ended, and ends where the next one begins."""
        for known, where, found in self.known:
            if known == gamma and np.array_equal(where, T):
                return found
        found = self.prox(T, gamma)
        self.known = [*self.known[-1:], (gamma, T, found)]
        return found

    def prox(self, T: np.ndarray, gamma: float) -> np.ndarray:
        """dual_prox of every row."""
        out = np.empty(T.shape)

        def work(at: slice) -> None:
            dual_prox_rows(self.loss, self.y[at], self.p[at], T[at], gamma, out[at])

        self.engine.map(work, spans(self.p.size))
        return out

    def values(self, Z: np.ndarray) -> float:
        """sum p loss at these scores."""

        def work(at: slice) -> tuple[float]:
            return (vector_values(self.loss, self.y[at], self.p[at], Z[at]),)

        return float(self.engine.sum(work, spans(self.p.size))[0])

    def inner(self, A: np.ndarray, B: np.ndarray) -> float:
        """sum p <a, b>."""
        return float(np.einsum("i,ic,ic->", self.p, A, B))

    def along(
        self, metric: Any, centre: np.ndarray, u0: np.ndarray, u: np.ndarray, du: np.ndarray, t: float
    ) -> tuple[float, float]:
        """(sum p (loss(z) - <u, z> + |z - c|^2 / (2 gamma) - sigma/2 |u - u0|^2) at u + t du, its derivative in t)."""
        T, s = np.empty(u.shape), np.empty(u.shape)

        def work(at: slice) -> tuple[float, float]:
            return score_rows_along(
                self.loss, self.y[at], self.p[at], metric.gamma, metric.sigma, centre[at], u0[at], u[at], du[at], t,
                T[at], s[at],
            )  # fmt: skip

        value, slope = self.engine.sum(work, spans(self.p.size))
        self.known = [*self.known[-1:], (metric.gamma, T, s)]
        return value, slope

    def jacobians(self, T: np.ndarray, gamma: float, s: np.ndarray) -> np.ndarray:
        """gamma S_i by differences, s being dual_prox at T."""
        J = np.empty((*T.shape, T.shape[1]))

        def work(at: slice) -> None:
            score_jacobians(self.loss, self.y[at], self.p[at], T[at], gamma, s[at], J[at])

        self.engine.map(work, spans(self.p.size))
        return J
