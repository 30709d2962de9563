"""Pivoted incomplete Cholesky factors of a Gram matrix: K = Phi Phi' up to a residual that is positive semidefinite."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fenchel import deadline
from fenchel.certificates.kernel import refuse_indefinite

ROUNDING = 1e-8  # a residual below minus this fraction of the largest diagonal entry is not due to rounding


def factor(
    column: Callable[[int], np.ndarray], diagonal: np.ndarray, tolerance: float, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(Phi, pivots, diagonal of K - Phi Phi'), from the columns of K; it ends when `most` pivots are chosen, or the trace of
    what is left is `tolerance` of the whole, or rounding errors are all that is left."""
    n, goal, largest = diagonal.size, tolerance * float(diagonal.sum()), float(diagonal.max())
    phi, rest = np.zeros((n, min(most, 64))), diagonal.copy()
    pivots: list[int] = []
    floor = n * np.finfo(float).eps * largest  # residuals below this are rounding errors
    while len(pivots) < most:
        deadline.check()
        k, i = len(pivots), int(rest.argmax())
        if (rest.sum() <= goal or rest[i] <= floor) and k > 0:
            break
        if k == phi.shape[1]:
            phi = np.hstack([phi, np.zeros((n, min(most, 2 * k) - k))])
        rest_column = column(i) - phi[:, :k] @ phi[i, :k]
        root = np.sqrt(rest[i]) if rest[i] > 0.0 else 1.0
        phi[:, k] = rest_column / root
        phi[i, k] = root
        phi[np.array(pivots, dtype=np.intp), k] = 0.0  # exactly 0 for earlier pivots
        rest -= phi[:, k] ** 2
        pivots.append(i)
        rest[pivots] = 0.0
        if rest.min() < -ROUNDING * largest:
            refuse_indefinite(f"the residual of row {int(rest.argmin())} is {rest.min():.3g}")
        np.maximum(rest, 0.0, out=rest)
    return np.ascontiguousarray(phi[:, : len(pivots)]), np.array(pivots, dtype=np.int64), rest
