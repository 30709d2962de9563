"""The rows of lower <= A w <= upper: checks, sums with known rounding, and the usual constraints."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from fenchel.errors import InputError
from fenchel.regularizers.bounded import checked_bound
from fenchel.regularizers.feature_weights import checked_vector
from fenchel.regularizers.numerics import Vector, number

END_ROUNDING = 64.0 * 2.0**-52  # by which a row may be outside, relative to sum_j |A_ij| max |w_j| + |its bound|


class Rows(NamedTuple):
    """lower <= A w <= upper with rows of length 1: `At` is the transpose of A, dense; `kept` are the rows that are not 0, and
    `length` their lengths as given."""

    At: Vector
    lower: Vector
    upper: Vector
    kept: np.ndarray
    length: Vector


def checked_matrix(given: Any) -> Any:
    """A read-only dense or sparse matrix of finite numbers with at least one row and column.

    >>> checked_matrix([[1, 0], [0, 2]])
    array([[1., 0.],
           [0., 2.]])
    """
    if sp.issparse(given):
        A = sp.csc_array(given, dtype=np.float64, copy=True)
        A.sum_duplicates()
        numbers = A.data
    else:
        try:
            A = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"A must be a matrix of numbers, got {given!r}.") from None
        numbers = A
    if A.ndim != 2 or 0 in A.shape:
        raise InputError(
            f"A must be a matrix with a row for each constraint and a column for each feature, got shape {A.shape}."
        )
    if not np.isfinite(numbers).all():
        where = np.argwhere(~np.isfinite(A.toarray() if sp.issparse(A) else A))[0]
        raise InputError(f"A must be finite; A[{where[0]}, {where[1]}] is {A[where[0], where[1]]}.")
    numbers += 0.0  # -0.0 becomes 0.0
    numbers.flags.writeable = False
    return A


def checked_ends(lower: Any, upper: Any, m: int) -> tuple[Any, Any]:
    """lower and upper as numbers or arrays of m entries, lower <= upper; at least one of them is given."""
    ends: tuple[Any, Any] = checked_bound("lower", lower, -math.inf), checked_bound("upper", upper, math.inf)
    for name, end in zip(("lower", "upper"), ends, strict=True):
        if np.ndim(end) and np.size(end) != m:
            raise InputError(f"{name} has {np.size(end)} entries but A has {m} rows; give one number, or one per row.")
    if ends[0] is None and ends[1] is None:
        raise InputError("LinearlyConstrained needs lower or upper, or both (equal ones for an equality).")
    if ends[0] is not None and ends[1] is not None:
        low, high = (np.broadcast_to(end, m) for end in ends)
        crossed = np.flatnonzero(low > high)
        if crossed.size:
            i = int(crossed[0])
            raise InputError(
                f"row {i} cannot be satisfied: lower is {low[i]} and upper is {high[i]}; lower must be <= upper."
            )
    return ends


def unit_rows(A: Any, lower: Vector, upper: Vector) -> Rows:
    """The rows divided by their lengths; rows of zeros, which are satisfied or not by every w, are left out."""
    dense = A.toarray() if sp.issparse(A) else A
    largest = np.max(np.abs(dense), axis=1)
    kept = np.flatnonzero(largest > 0.0)
    scaled = dense[kept] / largest[kept, None]
    length = np.sqrt(np.sum(scaled * scaled, axis=1))
    with np.errstate(over="ignore", under="ignore"):
        low, high = ((end[kept] / largest[kept]) / length for end in (lower, upper))
        return Rows(np.ascontiguousarray((scaled / length[:, None]).T), low, high, kept, length * largest[kept])


def excess(A: Any, lower: Vector, upper: Vector, w: Vector) -> tuple[Vector, Vector]:
    """(by how much each row is outside, negative inside; sum_j |A_ij| max |w_j| + |its bound|).

    >>> excess(np.array([[1.0, -1.0]]), np.array([0.0]), np.array([np.inf]), np.array([1.0, 3.0]))
    (array([2.]), array([6.]))
    """
    z, size = A @ w, abs(A) @ np.full(w.size, np.max(np.abs(w)))
    below, above = lower - z, z - upper
    end = np.where(below > above, lower, upper)
    return np.maximum(below, above), size + np.where(np.isfinite(end), np.abs(end), 0.0)


def support(lower: Vector, upper: Vector, y: Vector) -> tuple[float, float]:
    """(S(y) = sum of upper_i y_i where y_i > 0 and lower_i y_i where y_i < 0, sum of the magnitudes).

    >>> support(np.array([0.0, -1.0]), np.array([np.inf, 2.0]), np.array([-3.0, 2.0]))
    (4.0, 4.0)
    """
    used = y != 0.0
    terms = y[used] * np.where(y > 0.0, upper, lower)[used]
    if np.any(np.isinf(terms)) or np.any(np.isnan(terms)):
        return math.inf, math.inf
    return math.fsum(terms), float(np.sum(np.abs(terms)))


def differences(dim: int, columns: ArrayLike | None) -> sp.csc_array:
    """w_k - w_j for consecutive j, k in `columns`.

    >>> differences(3, None).toarray()
    array([[-1.,  1.,  0.],
           [ 0., -1.,  1.]])
    """
    at = np.arange(dim) if columns is None else np.asarray(columns)
    if at.ndim != 1 or at.size < 2 or at.dtype.kind not in "iu" or np.unique(at).size < at.size:
        raise InputError(f"columns must be at least two different column numbers in order, got {columns!r}.")
    if at.min() < 0 or at.max() >= dim:
        raise InputError(f"columns must be between 0 and {dim - 1}, got {at.min()} to {at.max()}.")
    m = at.size - 1
    values, rows = np.concatenate([-np.ones(m), np.ones(m)]), np.tile(np.arange(m), 2)
    return sp.csc_array((values, (rows, np.concatenate([at[:-1], at[1:]]))), shape=(m, dim))


def covariances(X: Any, sensitive: ArrayLike, sample_weight: ArrayLike | None) -> Vector:
    """The weighted means of (s_i - mean s) x_i, a row for each sensitive attribute.

    >>> covariances(np.array([[1.0], [3.0]]), [0, 1], None)
    array([[0.5]])
    """
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    s = np.asarray(sensitive, dtype=np.float64)
    s = s[:, None] if s.ndim == 1 else s
    if X.ndim != 2 or s.ndim != 2 or s.shape[0] != X.shape[0]:
        raise InputError(f"sensitive must have one entry (or row) per row of X, got shapes {s.shape} and {X.shape}.")
    if not np.isfinite(s).all():
        raise InputError("sensitive must be finite numbers; give a category as one column of 0 and 1 per level.")
    p = np.ones(s.shape[0]) if sample_weight is None else checked_vector("sample_weight", sample_weight)
    if p.shape != (s.shape[0],) or np.any(p < 0.0) or not p.sum() > 0.0:
        raise InputError("sample_weight must be >= 0, one per row of X, and not all 0.")
    p = p / p.sum()
    return np.asarray((X.T @ (p[:, None] * (s - p @ s))).T, dtype=np.float64)


def checked_limit(bound: object) -> float:
    """A number >= 0."""
    found = number("bound", bound)
    if found < 0.0:
        raise InputError(f"bound must be >= 0, got {bound!r}.")
    return found
