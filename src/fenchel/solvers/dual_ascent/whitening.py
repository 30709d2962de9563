"""Changes of variables that turn a quadratic regularizer into L2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from fenchel.data.accept import accept_matrix
from fenchel.errors import InputError
from fenchel.solvers.dual_ascent.settings import SETTINGS

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


class Identity:
    """No change of variables."""

    def __init__(self, rows: Any):
        self.rows = rows

    def norms(self, oracle: Oracle) -> np.ndarray:
        return oracle.norms()

    def combine(self, oracle: Oracle, u: np.ndarray) -> np.ndarray:
        return oracle.combine(u)

    def coef(self, w: np.ndarray) -> np.ndarray:
        return w

    def dual(self, v: np.ndarray) -> np.ndarray:
        return v


class Whitening:
    """Rows L^-1 x for K = L L': the regularizer becomes L2 in L'w. It holds a copy of X, dense unless K is diagonal."""

    def __init__(self, X: Any, factor: np.ndarray):
        self.factor = factor
        if factor.ndim == 1:
            self.X: Any = (X @ sp.diags(1.0 / factor)).tocsr() if sp.issparse(X) else X / factor
        else:
            dense = X.toarray() if sp.issparse(X) else X
            self.X = np.ascontiguousarray(self._solve(dense.T).T)
        self.rows = accept_matrix(self.X)[1]

    def _solve(self, right: np.ndarray, transposed: bool = False) -> np.ndarray:
        from scipy.linalg import solve_triangular

        return solve_triangular(self.factor, right, lower=True, trans="T" if transposed else "N")

    def norms(self, oracle: Oracle) -> np.ndarray:
        oracle.count(directions=1)
        squares = self.X.multiply(self.X) if sp.issparse(self.X) else self.X * self.X
        return np.asarray(squares.sum(axis=1), dtype=float).ravel()

    def combine(self, oracle: Oracle, u: np.ndarray) -> np.ndarray:
        oracle.count(directions=1)
        return np.asarray(self.X.T @ (oracle.problem.weights * u), dtype=float)

    def coef(self, w: np.ndarray) -> np.ndarray:
        return w / self.factor if self.factor.ndim == 1 else self._solve(w, transposed=True)

    def dual(self, v: np.ndarray) -> np.ndarray:
        return self.factor * v if self.factor.ndim == 1 else self.factor @ v


def cholesky(K: Any, d: int) -> np.ndarray:
    """The lower factor of K (its square root if K is diagonal)."""
    if not sp.issparse(K) and np.ndim(K) == 1:
        return np.sqrt(np.asarray(K, dtype=float))
    if d > SETTINGS.max_whitened_features:
        raise InputError(
            f"DualAscent factors K densely, which {d} features do not allow; use solver='bundle' or 'lbfgs'"
        )
    return np.linalg.cholesky(K.toarray() if sp.issparse(K) else np.asarray(K, dtype=float))
