"""From what a user has to rows that kernels can walk: validated once, copied only where it must be."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.data.csr import CSR, csr_block, unsigned
from fenchel.data.dense import Dense, dense_block
from fenchel.errors import InputError


def accept_matrix(X: Any, name: str = "X") -> tuple[Any, Any]:
    """(matrix, rows): the matrix as kept (ndarray or scipy CSR) and the NamedTuple that kernels take.

    No copy is made of a C-contiguous float array or of a canonical CSR matrix. Other orders, integer and boolean values
    and CSC are converted; frames and lists go through numpy.
    """
    matrix = _sparse(X, name) if sp.issparse(X) else _dense(X, name)
    if 0 in matrix.shape:
        what = "rows (n = 0)" if matrix.shape[0] == 0 else "columns (d = 0)"
        raise InputError(f"{name} has no {what}: its shape is {matrix.shape}; pass at least one row and one column")
    if isinstance(matrix, np.ndarray):
        return matrix, Dense(matrix)
    return matrix, CSR(unsigned(matrix.indptr), unsigned(matrix.indices), matrix.data)


def block(rows: Any, start: int, stop: int) -> Any:
    """Rows start..stop as a view."""
    return dense_block(rows, start, stop) if isinstance(rows, Dense) else csr_block(rows, start, stop)


def size(rows: Any) -> int:
    """How many stored values the rows have."""
    if isinstance(rows, Dense):
        return rows.values.size
    return int(rows.indptr[-1]) - int(rows.indptr[0])


def _floating(values: np.ndarray, name: str) -> np.ndarray:
    if values.dtype in (np.float32, np.float64) and values.dtype.isnative:
        return values
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    if values.dtype.kind == "c":
        raise InputError(f"Complex data not supported: {name} has dtype {values.dtype}")
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold numbers, got dtype {values.dtype}: {error}") from None


def _dense(X: Any, name: str) -> np.ndarray:
    values = np.asarray(X)
    if values.ndim != 2:
        raise InputError(
            f"{name} must be two-dimensional (rows x features), got {values.ndim} dimension(s). "
            "Reshape your data: X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one row."
        )
    values = np.ascontiguousarray(_floating(values, name))
    _require_finite_dense(values, name)
    return values


def _sparse(X: Any, name: str) -> Any:
    matrix = X if X.format == "csr" else None
    if matrix is not None:
        _require_sound(matrix, name)
    matrix = X.tocsr() if matrix is None else matrix
    if not matrix.has_canonical_format:  # duplicates would make row norms wrong
        matrix = matrix.copy()
        matrix.sum_duplicates()
    data = _floating(matrix.data, name)
    indices, indptr = matrix.indices, matrix.indptr
    if indices.dtype != indptr.dtype or indices.dtype not in (np.int32, np.int64):
        indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    if data is not matrix.data or indices is not matrix.indices or indptr is not matrix.indptr:
        matrix = sp.csr_matrix((data, indices, indptr), shape=matrix.shape)
    if not np.isfinite(data.sum(dtype=np.float64)):
        bad = np.flatnonzero(~np.isfinite(data))
        if bad.size:
            row = int(np.searchsorted(indptr, bad[0], side="right")) - 1
            _refuse_nonfinite(name, data[bad[0]], row, int(indices[bad[0]]))
    return matrix


def _require_sound(matrix: Any, name: str) -> None:
    """The arrays of a CSR matrix describe a matrix: otherwise a kernel would read other people's memory."""
    indptr, indices, data = matrix.indptr, matrix.indices, matrix.data
    n, d = matrix.shape
    why = ""
    if indptr.ndim != 1 or indices.ndim != 1 or data.ndim != 1:
        why = "indptr, indices and data must be one-dimensional"
    elif indptr.dtype.kind != "i" or indices.dtype.kind != "i":
        why = f"indptr and indices must be integers, got {indptr.dtype} and {indices.dtype}"
    elif indptr.size != n + 1:
        why = f"indptr has {indptr.size} entries, {n} rows need {n + 1}"
    elif indptr[0] != 0:
        why = f"indptr must start at 0, got {indptr[0]}"
    elif n and np.any(np.diff(indptr) < 0):
        why = f"indptr decreases at row {int(np.argmax(np.diff(indptr) < 0))}"
    elif indptr[-1] > min(indices.size, data.size):
        why = f"indptr ends at {indptr[-1]}, but there are {indices.size} indices and {data.size} values"
    elif indptr[-1]:
        used = indices[: indptr[-1]]
        if used.min() < 0 or used.max() >= d:
            place = int(np.argmax((used < 0) | (used >= d)))
            row = int(np.searchsorted(indptr, place, side="right")) - 1
            why = f"row {row} has column index {used[place]}, allowed are 0 to {d - 1}"
    if why:
        raise InputError(f"{name} is not a sound CSR matrix: {why}")


def _require_finite_dense(values: np.ndarray, name: str) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum(dtype=np.float64)
    if np.isfinite(total):
        return
    for start in range(0, values.shape[0], 4096):
        bad = ~np.isfinite(values[start : start + 4096])
        if bad.any():
            row, column = np.argwhere(bad)[0]
            _refuse_nonfinite(name, values[start + row, column], start + int(row), int(column))


def _refuse_nonfinite(name: str, value: Any, row: int, column: int) -> None:
    kind = "NaN" if np.isnan(value) else "infinity"
    raise InputError(
        f"{name} contains {kind} at row {row}, column {column}. Impute or drop missing values first "
        "(for instance sklearn.impute.SimpleImputer)."
    )


def accept_vector(values: Any, n: int, name: str) -> np.ndarray:
    """A finite float64 vector of length n."""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or array.size != n:
        raise InputError(f"{name} must be one-dimensional with one entry per row of X ({n}), got shape {array.shape}")
    try:
        array = np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold numbers: {error}") from None
    if not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array)))
        kind = "NaN" if np.isnan(array[row]) else "infinity"
        raise InputError(f"{name} contains {kind} at row {row}; remove that row or repair the value")
    return array
