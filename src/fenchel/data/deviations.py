"""The standard deviation of every column of X, in two passes over the rows; sparse rows stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.data.accept import accept_matrix
from fenchel.data.row_blocks import map_row_blocks
from fenchel.data.rows import row_column, row_entry, row_span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fenchel.data.types import MatrixLike

EPS = 2.0**-52


@kernel
def sum_columns(rows, p, sums, stored):
    """sums_j += sum_i p_i x_ij and stored_j += the weight of the rows that store x_ij."""
    for i in range(np.uint64(p.size)):
        start, stop = row_span(rows, i)
        for k in range(start, stop):
            j = row_column(rows, k)
            sums[j] += p[i] * row_entry(rows, i, k)
            stored[j] += p[i]


@kernel
def sum_squares(rows, p, mean, sums):
    """sums_j += sum_i p_i (x_ij - mean_j)^2 over the stored entries."""
    for i in range(np.uint64(p.size)):
        start, stop = row_span(rows, i)
        for k in range(start, stop):
            j = row_column(rows, k)
            off = row_entry(rows, i, k) - mean[j]
            sums[j] += p[i] * (off * off)


def column_deviations(X: MatrixLike, weights: Any = None) -> NDArray[np.float64]:
    """The weighted standard deviation of every column about its mean; 1 for a column that is constant up to rounding.

    >>> column_deviations([[1.0, 5.0], [3.0, 5.0]]), column_deviations([[1.0], [4.0]], [2.0, 1.0])
    (array([1., 1.]), array([1.41421356]))
    """
    X, rows = accept_matrix(X)
    n, d = X.shape
    p = np.full(n, 1.0 / n) if weights is None else np.asarray(weights, dtype=np.float64) / np.max(weights)
    p = p / p.sum()

    def first(span: slice, part: Any) -> tuple[Any, Any]:
        sums, stored = np.zeros(d), np.zeros(d)
        sum_columns(part, p[span], sums, stored)
        return sums, stored

    def second(span: slice, part: Any) -> Any:
        sums = np.zeros(d)
        sum_squares(part, p[span], mean, sums)
        return sums

    mean, stored, variance = np.zeros(d), np.zeros(d), np.zeros(d)
    for sums, weight in map_row_blocks(rows, n, first, least=d):
        mean += sums
        stored += weight
    for squares in map_row_blocks(rows, n, second, least=d):
        variance += squares
    with np.errstate(all="ignore"):
        variance += np.maximum(1.0 - stored, 0.0) * mean * mean  # the entries that are not stored are 0
        deviations = np.sqrt(variance)
        varies = np.isfinite(deviations) & (deviations > n * EPS * np.abs(mean))
    return np.where(varies, deviations, 1.0)
