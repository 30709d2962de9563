"""The rows that dual phases visit: all of them in place, or a compact copy of the active ones."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.data.accept import read_only, size
from fenchel.data.csr import CSR
from fenchel.data.dense import Dense
from fenchel.data.dense import copy_rows as copy_dense
from fenchel.engines.local import SMALLEST_BLOCK
from fenchel.kernels.working_copy import copy_rows, count_columns, rank_columns
from fenchel.solvers.dual_ascent.settings import SETTINGS

if TYPE_CHECKING:
    from fenchel.data.types import Rows
    from fenchel.engines.local import Local


class RowSubset(NamedTuple):
    """Some rows with their targets, weights, offsets, curvatures and dual variables; `number` is their place in the problem."""

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

    def take(self, index: np.ndarray, columns: Columns | Unchanged, engine: Local, workspace: Workspace) -> RowSubset:
        """A compact copy of the rows `index` in that order, its columns renumbered. Dense rows overwrite the last copy in the
        workspace, which may be these rows themselves: then the index must be increasing."""
        rows = take_rows(self.rows, index, columns, engine, workspace)
        y, p, offset, q = (read_only(field[index]) for field in (self.y, self.p, self.offset, self.q))
        return RowSubset(rows, y, p, offset, q, self.u[index], self.number[index])


class Workspace:
    """Memory for successive copies of dense rows: allocating it anew costs more than the copy itself."""

    values: np.ndarray | None = None

    def filled(self, X: np.ndarray, index: np.ndarray) -> np.ndarray:
        """The rows `index` of X."""
        if self.values is None or (X.base is not self.values and self.values.shape[0] < index.size):
            self.values = None  # The old memory is released before more is allocated.
            self.values = np.empty((index.size, X.shape[1]), X.dtype)
        step = max(SETTINGS.values_per_dense_copy // X.shape[1], 1)
        for a in range(0, index.size, step):  # Rows that move up in place are read before they are overwritten.
            copy_dense(X, index[a : a + step], self.values[a : min(a + step, index.size)])
        return self.values[: index.size]


class Columns:
    """Columns by decreasing frequency: rank_j is the new number of column j."""

    def __init__(self, rows: CSR, d: int, engine: Local):
        def work(span: slice) -> tuple[np.ndarray]:
            counts = np.zeros(d, dtype=np.uint32)
            count_columns(rows.indices[span], counts)
            return (counts,)

        counts = engine.sum(work, halves(rows.indices.size, rows.indices.size))[0]
        self.rank = np.empty(d, dtype=np.uint32)
        rank_columns(counts, np.empty(SETTINGS.max_column_frequencies, dtype=np.uint64), self.rank)

    def renamed(self, v: np.ndarray) -> np.ndarray:
        """A vector over the columns, in their new order."""
        out = np.empty(v.size)
        out[self.rank] = v
        return out

    def original(self, v: np.ndarray) -> np.ndarray:
        return v[self.rank]


class Unchanged:
    """Columns in their original order."""

    rank = np.empty(0, dtype=np.uint32)

    def renamed(self, v: np.ndarray) -> np.ndarray:
        return v.copy()

    def original(self, v: np.ndarray) -> np.ndarray:
        return v.copy()


def halves(count: int, stored: int) -> list[slice]:
    """range(count) as two slices, or as one if there are few stored values."""
    edges = [0, count // 2, count] if stored >= SMALLEST_BLOCK else [0, count]
    return [slice(a, b) for a, b in pairwise(edges)]


def columns_of(rows: Any, d: int, engine: Any) -> Columns | Unchanged:
    """A new order for the columns of a copy, where it makes epochs faster."""
    wide = isinstance(rows, CSR) and d >= SETTINGS.min_renumbered_columns
    return Columns(rows, d, engine) if wide else Unchanged()


def take_rows(rows: Rows, index: np.ndarray, columns: Columns | Unchanged, engine: Local, workspace: Workspace) -> Any:
    """A copy of some rows."""
    if isinstance(rows, Dense):
        return Dense(read_only(workspace.filled(rows.values, index)))
    indptr = np.zeros(index.size + 1, dtype=rows.indptr.dtype)
    np.cumsum(np.diff(rows.indptr)[index], out=indptr[1:])
    stored = int(indptr[-1])
    indices, values = np.empty(stored, dtype=rows.indices.dtype), np.empty(stored, dtype=rows.values.dtype)

    def work(span: slice) -> None:
        copy_rows(rows, index[span], columns.rank, indptr[span], indices, values)

    engine.map(work, halves(index.size, stored))
    return CSR(read_only(indptr), read_only(indices), read_only(values))
