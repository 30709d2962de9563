"""The rows that dual phases walk: all of them where they lie, or a compact copy of those that still move."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fenchel.data.accept import read_only, size
from fenchel.data.csr import CSR
from fenchel.data.dense import Dense
from fenchel.data.dense import copy_rows as copy_dense
from fenchel.engines.local import SMALLEST_BLOCK
from fenchel.kernels.working_copy import copy_rows, count_columns, rank_columns

WIDE = 2048  # columns from which renumbering them pays: the weights of fewer are in the nearest cache anyway
TOLD_APART = 1024  # frequencies of columns
AT_ONCE = 1 << 17  # values of dense rows that are copied at a time


class Part(NamedTuple):
    """Some rows with all that goes with them; `number` is their place in the problem."""

    rows: Any
    y: np.ndarray
    p: np.ndarray
    offset: np.ndarray
    q: np.ndarray
    u: np.ndarray
    number: np.ndarray

    @property
    def n(self) -> int:
        return self.u.size

    @property
    def stored(self) -> int:
        """Stored values, at least 1."""
        return max(size(self.rows), 1)

    def take(self, index: np.ndarray, columns: Columns | Unchanged, engine: Any, room: Room) -> Part:
        """A copy of the rows `index`, one behind the other in that order, its columns renamed. Dense rows take the place of the
        last copy in the room, be it these rows themselves: then the index must rise."""
        rows = take_rows(self.rows, index, columns, engine, room)
        y, p, offset, q = (read_only(field[index]) for field in (self.y, self.p, self.offset, self.q))
        return Part(rows, y, p, offset, q, self.u[index], self.number[index])


class Room:
    """Memory for copies of dense rows, one after the other: where it is fresh, it costs more than the copy."""

    values: np.ndarray | None = None

    def filled(self, X: np.ndarray, index: np.ndarray) -> np.ndarray:
        """The rows `index` of X."""
        if self.values is None or (X.base is not self.values and self.values.shape[0] < index.size):
            self.values = None  # let go of it before there is more
            self.values = np.empty((index.size, X.shape[1]), X.dtype)
        step = max(AT_ONCE // X.shape[1], 1)
        for a in range(0, index.size, step):  # so that rows that move up within the room are not written over before
            copy_dense(X, index[a : a + step], self.values[a : min(a + step, index.size)])
        return self.values[: index.size]


class Columns:
    """Columns by falling frequency: rank_j is the new number of column j."""

    def __init__(self, rows: CSR, d: int, engine: Any):
        def work(span: slice) -> tuple[np.ndarray]:
            counts = np.zeros(d, dtype=np.uint32)
            count_columns(rows.indices[span], counts)
            return (counts,)

        counts = engine.sum(work, halves(rows.indices.size, rows.indices.size))[0]
        self.rank = np.empty(d, dtype=np.uint32)
        rank_columns(counts, np.empty(TOLD_APART, dtype=np.uint64), self.rank)

    def renamed(self, v: np.ndarray) -> np.ndarray:
        """A vector over the columns, by their new numbers."""
        out = np.empty(v.size)
        out[self.rank] = v
        return out

    def original(self, v: np.ndarray) -> np.ndarray:
        return v[self.rank]


class Unchanged:
    """Columns as they are."""

    rank = np.empty(0, dtype=np.uint32)

    def renamed(self, v: np.ndarray) -> np.ndarray:
        return v.copy()

    def original(self, v: np.ndarray) -> np.ndarray:
        return v.copy()


def halves(count: int, stored: int) -> list[slice]:
    """Numbers below `count` in two runs, or in one if they stand for few stored values."""
    edges = [0, count // 2, count] if stored >= SMALLEST_BLOCK else [0, count]
    return [slice(a, b) for a, b in pairwise(edges)]


def columns_of(rows: Any, d: int, engine: Any) -> Columns | Unchanged:
    """New numbers for the columns of a copy, where they make walking it faster."""
    wide = isinstance(rows, CSR) and d >= WIDE
    return Columns(rows, d, engine) if wide else Unchanged()


def take_rows(rows: Any, index: np.ndarray, columns: Columns | Unchanged, engine: Any, room: Room) -> Any:
    """A copy of some rows."""
    if isinstance(rows, Dense):
        return Dense(read_only(room.filled(rows.values, index)))
    indptr = np.zeros(index.size + 1, dtype=rows.indptr.dtype)
    np.cumsum(np.diff(rows.indptr)[index], out=indptr[1:])
    stored = int(indptr[-1])
    indices, values = np.empty(stored, dtype=rows.indices.dtype), np.empty(stored, dtype=rows.values.dtype)

    def work(span: slice) -> None:
        copy_rows(rows, index[span], columns.rank, indptr[span], indices, values)

    engine.map(work, halves(index.size, stored))
    return CSR(read_only(indptr), read_only(indices), read_only(values))
