"""Norms in which a regularizer is strongly convex: what a duality gap says about the distance to the optimum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from fenchel.regularizers.numerics import Vector, quiet

EPS = float(np.finfo(np.float64).eps)
RESIDUAL = 4.0  # times its estimate that the term of the residual counts, which is solved for with the same error
ROUNDING = 1.0 + 1e-9  # of a norm, on the safe side: its sum has up to a few million terms


class Metric(Protocol):
    """A norm |w|_M = sqrt(w'Mw) with R(w') >= R(w) + g'(w' - w) + |w' - w|_M^2 / 2 for all subgradients g of R at w."""

    def norm(self, w: Vector) -> float:
        """|w|_M, from below."""

    def dual_norms(self, X: Any) -> Vector:
        """sqrt(x'M^-1x) of every row x, from above: |<x, w>| is at most that times |w|_M."""

    def half_widths(self) -> Vector:
        """The dual norms of the unit vectors, from above: |w_j| is at most that times |w|_M."""


class DiagonalMetric(NamedTuple):
    """M = diag(m) with m_j >= 0; where m_j = 0 nothing is said about w_j.

    >>> DiagonalMetric(np.array([4.0, 0.0])).half_widths().round(6)
    array([0.5, inf])
    """

    m: Vector

    def norm(self, w: Vector) -> float:
        """sqrt(sum_j m_j w_j^2)."""
        return float(np.sqrt(self.m @ np.square(w))) / ROUNDING

    @quiet
    def dual_norms(self, X: Any) -> Vector:
        """sqrt(sum_j x_j^2 / m_j)."""
        squares = X.multiply(X) if sp.issparse(X) else np.square(X)
        known = self.m > 0.0
        total = np.sqrt(np.asarray(squares @ np.where(known, 1.0 / np.where(known, self.m, 1.0), 0.0))) * ROUNDING
        return np.where(np.asarray(squares @ np.where(known, 0.0, 1.0)) > 0.0, np.inf, total)

    @quiet
    def half_widths(self) -> Vector:
        """1 / sqrt(m_j)."""
        return ROUNDING / np.sqrt(self.m)


class MatrixMetric(NamedTuple):
    """M = alpha K for a dense or sparse K; `solve` is x -> K^-1 x, of a vector or of the columns of a matrix."""

    alpha: float
    K: Any
    solve: Callable[[Vector], Vector]

    def norm(self, w: Vector) -> float:
        """sqrt(alpha w'Kw)."""
        rounding = (w.size + 8) * EPS * float(np.abs(w) @ (abs(self.K) @ np.abs(w)))
        return float(np.sqrt(self.alpha * max(float(w @ (self.K @ w)) - rounding, 0.0))) / ROUNDING

    def dual_norms(self, X: Any) -> Vector:
        """sqrt(x'K^-1x / alpha), as 2 s'x - s'Ks + r'K^-1r with s about K^-1x and the residual r = x - Ks."""
        columns = np.ascontiguousarray((X.toarray() if sp.issparse(X) else X).T, dtype=np.float64)
        s = self.solve(columns)
        product = self.K @ s
        rest = columns - product
        squares = np.sum(s * (2.0 * columns - product), axis=0) + RESIDUAL * np.abs(
            np.sum(rest * self.solve(rest), axis=0)
        )
        sizes = np.sum(np.abs(s) * (2.0 * np.abs(columns) + abs(self.K) @ np.abs(s)), axis=0)
        rounding = (len(columns) + 8) * EPS * sizes
        return np.sqrt((np.maximum(squares, 0.0) + rounding) / self.alpha) * ROUNDING

    def half_widths(self) -> Vector:
        """sqrt((K^-1)_jj / alpha)."""
        return self.dual_norms(np.eye(self.K.shape[0]))
