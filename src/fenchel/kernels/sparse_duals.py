"""Dual variables, rows x scores, of which few in every row are not zero: columns and values of every row, with room to grow.

All rows share one pool. A row that outgrows its room moves to the end of the pool, with twice the room; when the pool is
full, the kernel says at which row, `grown` makes a larger one without the holes, and the kernel goes on from there. Where that
would be as large as a dense matrix, it makes one.
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
from fenchel.kernels.quads import add_to_rows
from fenchel.multiclass.protocol import conjugate

LEAST = 4  # entries that a row has room for when it has any: a class and some others
SPARE = 4  # places for every row that are free in a new pool, at least
DENSE = 6  # one of so many entries changed: the others are added too, as vectors
PLACE = 12  # bytes of a column and a value; a number of a dense matrix has 8


def _written(duals, i, u):
    return True


@method(_written)
def keep_row(duals, i, u):
    """Row i <- u; False, and nothing is changed, if there is no room. A dense row was written to in place already."""


def _add_whole(duals, rows, i, a, change, out):
    columns, values = row_parts(rows, i)
    add_to_rows(a, values, columns, out, change)


@method(_add_whole)
def add_change(duals, rows, i, a, change, out):
    """out += a x_i change', change being that of a row; it is written over."""


class SparseDuals(NamedTuple):
    """Row i has filled_i entries from begin_i on, sorted by column, and room for room_i; the pool is free from used_0 on."""

    begin: np.ndarray
    filled: np.ndarray
    room: np.ndarray
    used: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    few: np.ndarray  # the columns of one row, for a moment

    def row_vector(self, i, work):
        work[:] = 0.0
        start = self.begin[i]
        for k in range(start, start + self.filled[i]):
            work[self.columns[k]] = self.values[k]
        return work

    def keep_row(self, i, u):
        count = nonzero(u, self.few)
        if count > self.room[i]:
            room = room_for(count, np.uint64(u.size))
            start = self.used[0]
            if start + room > np.uint64(self.columns.size):
                return False
            self.begin[i], self.room[i], self.used[0] = start, room, start + room
        start = self.begin[i]
        for k in range(count):
            self.columns[start + k], self.values[start + k] = self.few[k], u[self.few[k]]
        self.filled[i] = count
        return True

    def add_change(self, rows, i, a, change, out):
        count = nonzero(change, self.few)
        if count > np.uint64(change.size // DENSE):
            columns, values = row_parts(rows, i)
            add_to_rows(a, values, columns, out, change)
            return
        for k in range(count):
            change[k] = change[self.few[k]]
        add_few(rows, i, a, self.few[:count], change[:count], out.shape[0], out)


@helper
def nonzero(u, columns):
    """The columns of what is not zero -> how many. No branches: which come next cannot be guessed."""
    count = np.uint64(0)
    for c in range(np.uint64(u.size)):
        columns[count] = c
        count += np.uint64(u[c] != 0.0)
    return count


@helper
def room_for(count, m):
    """The least power of two, from LEAST on, that is enough for so many of m entries; 0 for none."""
    room = np.uint64(LEAST if count > 0 else 0)
    while room < count:  # room doubles, from LEAST on
        room *= np.uint64(2)
    return min(room, m)


def stored(U: Any) -> SparseDuals | Dense:
    """The rows of a CSR matrix in a pool, or dense."""
    filled = np.diff(U.indptr).astype(np.uint64)
    return _arranged(U.indptr[:-1].astype(np.uint64), filled, unsigned(U.indices), U.data, U.shape[1])


def grown(duals: Any, m: int) -> SparseDuals | Dense:
    """The same rows in a larger pool, or dense."""
    return _arranged(duals.begin, duals.filled, duals.columns, duals.values, m)


def _arranged(begin: np.ndarray, filled: np.ndarray, columns: np.ndarray, values: np.ndarray, m: int) -> Any:
    """Rows in a new pool with half as much free room as they need, or more; dense, if that is no larger."""
    n, room = filled.size, _rooms(filled, m)
    needed = int(room.sum())
    size = needed + max(needed // 2, SPARE * n, m)
    if PLACE * size >= 8 * n * m:
        return Dense(_csr(begin, filled, columns, values, m).toarray())
    places, used = np.cumsum(room) - room, np.array([needed], np.uint64)
    few = np.empty(m, np.uint32)
    pool = SparseDuals(places, filled.copy(), room, used, np.empty(size, np.uint32), np.empty(size), few)
    _copy(begin, filled, columns, values, pool.begin, pool.columns, pool.values)
    return pool


def _rooms(count: np.ndarray, m: int) -> np.ndarray:
    """`room_for` of many."""
    exponent = np.ceil(np.log2(np.maximum(count.astype(float), LEAST)))
    return np.where(count > 0, np.minimum(2.0**exponent, m), 0.0).astype(np.uint64)


def as_csr(duals: SparseDuals, m: int) -> sp.csr_matrix:
    """The rows as a CSR matrix of their own."""
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
def add_few(rows, i, a, columns, u, features, out):
    """out += a x_i u', u having these entries."""
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
        add_few(rows, i, p[i], duals.indices[start:stop], duals.values[start:stop], features, out)


@kernel
def sparse_conjugates(loss, y, p, duals, work):
    """sum p loss*(u)."""
    total = 0.0
    for i in range(np.uint64(p.size)):
        if p[i] > 0.0:
            total += p[i] * conjugate(loss, row_vector(duals, i, work), y[i])
    return total
