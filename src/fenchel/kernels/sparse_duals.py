"""Sparse dual variables, rows x scores: the columns and values of the nonzero entries of every row, in a growing pool.

All rows share one pool. A row that exceeds its capacity moves to the end of the pool and gets twice the capacity. When the
pool is full, the kernel returns the row at which it stopped, `grown` makes a larger pool without holes, and the kernel resumes.
If that pool would be as large as a dense matrix, `grown` makes a dense matrix instead.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.compile.dispatch import helper, method
from fenchel.compile.kernel import kernel
from fenchel.data.csr import unsigned
from fenchel.data.dense import Dense
from fenchel.data.rows import row_column, row_entry, row_parts, row_span, row_vector
from fenchel.kernels.simd import add_to_rows
from fenchel.multiclass.protocol import conjugate

MIN_CAPACITY = 4  # the least capacity of a row that is not empty: its class and some others
FREE_PER_ROW = 4  # the least number of free entries per row in a new pool
DENSE = 6  # if more than one in so many entries changed, all entries are added, as vectors
ENTRY_BYTES = 12  # bytes of a column and a value; an entry of a dense matrix has 8


def _written(duals, i, u):
    return True


@method(_written)
def keep_row(duals, i, u):
    """Row i <- u; returns False, without a change, if the pool is full. (A dense row has been updated in place already.)"""


def _add_whole(duals, rows, i, a, change, out):
    columns, values = row_parts(rows, i)
    add_to_rows(a, values, columns, out, change)


@method(_add_whole)
def add_change(duals, rows, i, a, change, out):
    """out += a x_i change', where `change` is that of a row of dual variables; it is overwritten."""


class SparseDuals(NamedTuple):
    """Row i has filled_i entries from begin_i on, sorted by column, of at most capacity_i; the pool is free from used_0 on."""

    begin: np.ndarray
    filled: np.ndarray
    capacity: np.ndarray
    used: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    scratch: np.ndarray  # workspace for the columns of one row

    def row_vector(self, i, work):
        work[:] = 0.0
        start = self.begin[i]
        for k in range(start, start + self.filled[i]):
            work[self.columns[k]] = self.values[k]
        return work

    def keep_row(self, i, u):
        count = nonzero(u, self.scratch)
        if count > self.capacity[i]:
            capacity = capacity_for(count, np.uint64(u.size))
            start = self.used[0]
            if start + capacity > np.uint64(self.columns.size):
                return False
            self.begin[i], self.capacity[i], self.used[0] = start, capacity, start + capacity
        start = self.begin[i]
        for k in range(count):
            self.columns[start + k], self.values[start + k] = self.scratch[k], u[self.scratch[k]]
        self.filled[i] = count
        return True

    def add_change(self, rows, i, a, change, out):
        count = nonzero(change, self.scratch)
        if count > np.uint64(change.size // DENSE):
            columns, values = row_parts(rows, i)
            add_to_rows(a, values, columns, out, change)
            return
        for k in range(count):
            change[k] = change[self.scratch[k]]
        add_entries(rows, i, a, self.scratch[:count], change[:count], out.shape[0], out)


@helper
def nonzero(u, columns):
    """Write the columns of the nonzero entries; returns their number. Without branches, which could not be predicted."""
    count = np.uint64(0)
    for c in range(np.uint64(u.size)):
        columns[count] = c
        count += np.uint64(u[c] != 0.0)
    return count


@helper
def capacity_for(count, m):
    """The smallest power of two, from MIN_CAPACITY on, that is at least `count`, but not more than m; 0 for no entries."""
    capacity = np.uint64(MIN_CAPACITY if count > 0 else 0)
    while capacity < count:  # capacity doubles, from MIN_CAPACITY on
        capacity *= np.uint64(2)
    return min(capacity, m)


def stored(U: Any) -> SparseDuals | Dense:
    """The rows of a CSR matrix in a pool, or dense."""
    filled = np.diff(U.indptr).astype(np.uint64)
    return _arranged(U.indptr[:-1].astype(np.uint64), filled, unsigned(U.indices), U.data, U.shape[1])


def grown(duals: Any, m: int) -> SparseDuals | Dense:
    """The same rows in a larger pool, or dense."""
    return _arranged(duals.begin, duals.filled, duals.columns, duals.values, m)


def _arranged(begin: np.ndarray, filled: np.ndarray, columns: np.ndarray, values: np.ndarray, m: int) -> Any:
    """Copy the rows into a new pool in which at least a third is free; into a dense matrix, if that is no larger."""
    n, capacity = filled.size, _capacities(filled, m)
    needed = int(capacity.sum())
    size = needed + max(needed // 2, FREE_PER_ROW * n, m)
    if ENTRY_BYTES * size >= 8 * n * m:
        return Dense(_csr(begin, filled, columns, values, m).toarray())
    places, used = np.cumsum(capacity) - capacity, np.array([needed], np.uint64)
    scratch = np.empty(m, np.uint32)
    pool = SparseDuals(places, filled.copy(), capacity, used, np.empty(size, np.uint32), np.empty(size), scratch)
    _copy(begin, filled, columns, values, pool.begin, pool.columns, pool.values)
    return pool


def _capacities(count: np.ndarray, m: int) -> np.ndarray:
    """`capacity_for`, for an array of counts."""
    exponent = np.ceil(np.log2(np.maximum(count.astype(float), MIN_CAPACITY)))
    return np.where(count > 0, np.minimum(2.0**exponent, m), 0.0).astype(np.uint64)


def as_csr(duals: SparseDuals, m: int) -> sp.csr_matrix:
    """A copy of the rows as a CSR matrix."""
    return _csr(duals.begin, duals.filled, duals.columns, duals.values, m)


def _csr(begin: np.ndarray, filled: np.ndarray, columns: np.ndarray, values: np.ndarray, m: int) -> sp.csr_matrix:
    size = int(filled.sum())
    kind = np.int32 if size < 2**31 else np.int64
    indptr, indices, data = np.append(0, np.cumsum(filled)).astype(kind), np.empty(size, kind), np.empty(size)
    _copy(begin, filled, columns, values, unsigned(indptr)[:-1], unsigned(indices), data)
    return sp.csr_matrix((data, indices, indptr), shape=(filled.size, m))


@kernel
def _copy(begin, count, columns, values, to, new_columns, new_values):
    for i in range(np.uint64(count.size)):
        for k in range(count[i]):
            new_columns[to[i] + k] = columns[begin[i] + k]
            new_values[to[i] + k] = values[begin[i] + k]


@kernel(fastmath=True)
def add_entries(rows, i, a, columns, u, features, out):
    """out += a x_i u' for a sparse u with these columns and values."""
    if out.shape[0] > features:
        for c in range(np.uint64(columns.size)):
            out[features, columns[c]] += a * u[c]
    start, stop = row_span(rows, i)
    for k in range(start, stop):
        x, w = a * row_entry(rows, i, k), out[row_column(rows, k)]
        for c in range(np.uint64(columns.size)):
            w[columns[c]] += x * u[c]


@kernel(fastmath=True)
def sparse_combine(rows, p, duals, features, out):
    """out += sum_i p_i x_i u_i'."""
    for i in range(np.uint64(p.size)):
        start, stop = row_span(duals, i)
        add_entries(rows, i, p[i], duals.indices[start:stop], duals.values[start:stop], features, out)


@kernel
def sparse_conjugates(loss, y, p, duals, work):
    """sum p loss*(u)."""
    total = 0.0
    for i in range(np.uint64(p.size)):
        if p[i] > 0.0:
            total += p[i] * conjugate(loss, row_vector(duals, i, work), y[i])
    return total
