"""Validate the user's data and convert it to rows for the compiled kernels, copying only where necessary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from fenchel.data.csr import CSR, csr_block, csr_take, unsigned
from fenchel.data.dense import Dense, dense_block, dense_take
from fenchel.data.dtypes import is_complex, is_number_or_bool, is_signed_integer, is_time
from fenchel.data.stored import Stored
from fenchel.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import Matrix, MatrixLike, Rows


def accept_matrix(X: MatrixLike, name: str = "X") -> tuple[Any, Any]:
    """(matrix, rows): the matrix as a problem stores it (ndarray or scipy CSR) and the NamedTuple that kernels take.

    No copy is made of a C-contiguous float array or of a canonical CSR matrix. Other orders, integer and boolean values
    and CSC are converted; frames and lists go through numpy.
    """
    if isinstance(X, Stored):
        return X.X, as_rows(X.X)
    matrix = _sparse(X, name) if sp.issparse(X) else _dense(X, name)
    if 0 in matrix.shape:
        what = "rows (n = 0)" if matrix.shape[0] == 0 else "columns (d = 0)"
        raise InputError(f"{name} has no {what}: its shape is {matrix.shape}; pass at least one row and one column")
    return matrix, as_rows(matrix)


def as_rows(matrix: Any) -> Any:
    """The rows of a validated array or CSR matrix, as kernels take them."""
    if isinstance(matrix, np.ndarray):
        return Dense(read_only(matrix))
    return CSR(*map(read_only, (unsigned(matrix.indptr), unsigned(matrix.indices), matrix.data)))


def read_only(array: np.ndarray) -> np.ndarray:
    """A read-only view.

    numba compiles separate code for read-only arrays, which may add in another order. All arrays are therefore read-only:
    a memory map and an array then give the same bits.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def block(rows: Rows, start: int, stop: int) -> Any:
    """Rows start..stop as a view."""
    return dense_block(rows, start, stop) if isinstance(rows, Dense) else csr_block(rows, start, stop)


def take(rows: Rows, index: np.ndarray) -> Any:
    """A copy of the rows with the numbers in `index`; pages that were mapped from disk for it are released again."""
    taken = dense_take(rows, index) if isinstance(rows, Dense) else csr_take(rows, index)
    return type(taken)(*map(read_only, taken))


def aligned(X: Matrix) -> Any:
    """The array or CSR matrix with aligned memory: every number at an address that is a multiple of its size."""
    if isinstance(X, np.ndarray):
        return np.require(X, requirements=("C", "A"))
    X.data, X.indices, X.indptr = map(aligned, (X.data, X.indices, X.indptr))
    return X


def size(rows: Rows) -> int:
    """The number of stored values."""
    if isinstance(rows, Dense):
        return rows.values.size
    return int(rows.indptr[-1]) - int(rows.indptr[0])


def _floating(values: np.ndarray, name: str) -> np.ndarray:
    if values.dtype in (np.float32, np.float64) and values.dtype.isnative:
        return values
    if is_number_or_bool(values):
        return values.astype(np.float64)
    if is_complex(values):
        raise InputError(f"Complex data not supported: {name} has dtype {values.dtype}")
    if is_time(values):  # numpy would convert times to a number of seconds, days, ...
        raise InputError(f"{name} must hold numbers, got dtype {values.dtype}: convert times to numbers first")
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must hold numbers, got dtype {values.dtype}: {error}") from None


def _array(values: ArrayLike, name: str) -> np.ndarray:
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:  # lists of different lengths
        raise InputError(f"{name} is not an array of numbers: {error}") from None


def _dense(X: Matrix, name: str) -> np.ndarray:
    values = _array(X, name)
    if values.ndim != 2:
        raise InputError(
            f"{name} must be two-dimensional (rows x features), got {values.ndim} dimension(s). "
            "Reshape your data: X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one row."
        )
    values = np.ascontiguousarray(_floating(values, name))
    _require_finite_dense(values, name)
    return values


def _sparse(X: Any, name: str) -> Any:
    if X.ndim != 2:
        raise InputError(f"{name} must be two-dimensional (rows x features), got {X.ndim} dimension(s)")
    if why := fault(X):
        raise InputError(f"{name} is not a valid {X.format.upper()} matrix: {why}")
    matrix = X.tocsr()  # X itself, if it is CSR
    if not matrix.has_canonical_format:  # duplicates would make row norms wrong
        matrix = matrix.copy()
        matrix.sum_duplicates()
    data, indices, indptr = map(np.ascontiguousarray, (matrix.data, matrix.indices, matrix.indptr))
    stored = int(indptr[-1])
    if max(data.size, indices.size) > stored:  # scipy allows arrays that are longer than needed
        data, indices = data[:stored], indices[:stored]
    data = _floating(data, name)
    if indices.dtype != indptr.dtype or indices.dtype not in (np.int32, np.int64):
        indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    if data is not matrix.data or indices is not matrix.indices or indptr is not matrix.indptr:
        matrix = sp.csr_matrix((data, indices, indptr), shape=matrix.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        total = data.sum(dtype=np.float64)
    if not np.isfinite(total):
        bad = np.flatnonzero(~np.isfinite(data))
        if bad.size:
            row = int(np.searchsorted(indptr, bad[0], side="right")) - 1
            _refuse_nonfinite(name, data[bad[0]], row, int(indices[bad[0]]))
    return matrix


def fault(X: Any) -> str:
    """What is wrong with the arrays of a sparse matrix, "" if nothing is. With such arrays a kernel, or scipy, would read
    outside of its memory."""
    why = ""
    if X.format in ("csr", "csc"):
        why = _compressed_fault(X.indptr, X.indices, X.data, X.shape if X.format == "csr" else X.shape[::-1], X.format)
    elif X.format == "bsr":
        try:
            X.check_format(full_check=True)
        except (TypeError, ValueError) as error:
            why = str(error)
    elif X.format == "coo":
        pairs = zip(("row", "column"), (X.row, X.col), X.shape, strict=True)
        outside = [f"a {what} index is outside 0 to {k - 1}" for what, at, k in pairs if not _within(at, k)]
        why = outside[0] if outside else "" if X.row.shape == X.col.shape == X.data.shape else "lengths differ"
    return why


def _within(index: np.ndarray, count: int) -> bool:
    """Whether 0 <= index < count."""
    if index.ndim != 1 or index.size == 0:
        return index.ndim == 1
    if is_signed_integer(index):  # viewed as unsigned, negative numbers are larger than any count
        return bool(index.view(index.dtype.str.replace("i", "u")).max() < count)
    return bool(index.min() >= 0 and index.max() < count)


LINES = {"csr": ("row", "column"), "csc": ("column", "row")}  # what a format compresses, and what its indices count


def _compressed_fault(indptr: Any, indices: Any, data: Any, shape: tuple[int, int], kind: str) -> str:
    """What is wrong with the arrays of a CSR or CSC matrix; "" if nothing is."""
    n, d = shape
    line, across = LINES[kind]
    if indptr.ndim != 1 or indices.ndim != 1 or data.ndim != 1:
        return "indptr, indices and data must be one-dimensional"
    if not is_signed_integer(indptr) or not is_signed_integer(indices):
        return f"indptr and indices must be integers, got {indptr.dtype} and {indices.dtype}"
    if indptr.size != n + 1:
        return f"indptr has {indptr.size} entries, {n} {line}s need {n + 1}"
    if indptr[0] != 0:
        return f"indptr must start at 0, got {indptr[0]}"
    if np.any(indptr[1:] < indptr[:-1]):
        return f"indptr decreases at {line} {int(np.argmax(indptr[1:] < indptr[:-1]))}"
    if indptr[-1] > min(indices.size, data.size):
        return f"indptr ends at {indptr[-1]}, but there are {indices.size} indices and {data.size} values"
    used = indices[: indptr[-1]]
    if used.size and not _within(used, d):
        place = int(np.argmax((used < 0) | (used >= d)))
        where = int(np.searchsorted(indptr, place, side="right")) - 1
        return f"{line} {where} has {across} index {used[place]}, allowed are 0 to {d - 1}"
    return ""


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


def accept_vector(values: Any, n: int, name: str, column: bool = True) -> np.ndarray:
    """A finite float64 vector of length n; with `column` also an n x 1 matrix."""
    array = _array(values, name)
    if column and array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or array.size != n:
        raise InputError(f"{name} must be one-dimensional with one entry per row of X ({n}), got shape {array.shape}")
    if not (array.dtype == np.float64 and array.dtype.isnative):
        array = _floating(array, name)
    array = np.ascontiguousarray(array, dtype=np.float64)
    if not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array)))
        kind = "NaN" if np.isnan(array[row]) else "infinity"
        raise InputError(f"{name} contains {kind} at row {row}; remove that row or repair the value")
    return array
