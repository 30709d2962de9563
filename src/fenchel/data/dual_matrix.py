"""Dual points of problems with several scores per row: arrays or sparse matrices of rows x scores.

Certificates depend on this code. Only a few rows at a time of a sparse dual point are ever made dense.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from fenchel.data.accept import fault
from fenchel.data.dtypes import is_number_or_bool
from fenchel.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.problems.scalar import Problem

DualMatrix: TypeAlias = np.ndarray | sp.csr_matrix
NUMBERS = 1 << 18  # entries of a sparse dual point that are made dense at a time


def accept_dual_matrix(problem: Problem, dual_point: ArrayLike | sp.spmatrix) -> DualMatrix:
    """The validated dual point: a float64 array, or a CSR matrix if it is sparse."""
    sparse = sp.issparse(dual_point)
    U: Any = dual_point if sparse else np.ascontiguousarray(dual_point, dtype=np.float64)
    what = f"dual_point must be a finite array of shape {problem.dual_shape}, or a sparse matrix"
    if U.shape != problem.dual_shape:
        raise InputError(f"{what}, got shape {U.shape}")
    if sparse:
        if not is_number_or_bool(U):
            raise InputError(f"{what}, got a sparse matrix of dtype {U.dtype}")
        if why := fault(U):
            raise InputError(f"dual_point is not a valid {U.format.upper()} matrix: {why}")
        U = U.tocsr().astype(np.float64, copy=False)
    if not np.isfinite(U.data[: U.indptr[-1]] if sparse else U).all():
        raise InputError(f"{what}, got NaN or infinity")
    return U


def changed_rows(U: sp.csr_matrix, change: Callable[[slice, np.ndarray], None]) -> sp.csr_matrix:
    """The CSR matrix after `change(row numbers, dense rows)` has been applied in place to a few rows at a time."""
    n, m = U.shape
    step, parts = max(NUMBERS // m, 1), []
    for start in range(0, n, step):
        span = slice(start, min(start + step, n))
        rows = U[span].toarray()
        change(span, rows)
        parts.append(sp.csr_matrix(rows))
    return sp.vstack(parts, format="csr")


def dense(U: DualMatrix) -> np.ndarray:
    """The dual point as a dense array."""
    return np.asarray(U) if isinstance(U, np.ndarray) else U.toarray()
