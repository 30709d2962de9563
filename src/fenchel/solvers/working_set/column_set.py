"""A copy of some columns of X, with the passes that a solver of a problem in these columns needs.

The copy holds the entries of these columns only; for all columns no copy is made. Rows are partitioned into few blocks for the
threads, so that few partial Gram matrices exist at a time; the partition depends on the data only.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.data.accept import block, read_only, size
from fenchel.data.csr import CSR
from fenchel.data.dense import Dense
from fenchel.kernels import passes
from fenchel.kernels.columns import count_columns, scatter_columns, select_columns
from fenchel.kernels.gram import add_gram, squares_pass, symmetric
from fenchel.solvers.working_set.settings import SETTINGS

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


class Part(NamedTuple):
    """Rows start..stop, with the chosen columns only."""

    rows: Any
    start: int
    stop: int


def edges(rows: Any, n: int, chosen: int) -> list[int]:
    """Row numbers that partition the data into few blocks of equally many stored values, of `chosen` columns if dense."""
    stored = n * chosen if isinstance(rows, Dense) else size(rows)
    count = int(min(max(stored // SETTINGS.min_values_per_block, 1), SETTINGS.max_row_blocks, n))
    if count == 1:
        return [0, n]
    inner = np.linspace(0, n, count + 1)[1:-1].astype(int)
    if hasattr(rows, "indptr"):
        goals = np.linspace(0, int(rows.indptr[-1]), count + 1)[1:-1]
        inner = np.searchsorted(rows.indptr, goals.astype(rows.indptr.dtype))
    return sorted({0, n, *(int(i) for i in inner)})


class ColumnSet:
    """The columns `chosen` (increasing) of the oracle's data; None means all.

    `d` is the number of all columns, if it is not that of the variables.
    """

    def __init__(self, oracle: Oracle, chosen: np.ndarray | None, d: int | None = None):
        self.oracle, problem = oracle, oracle.problem
        d = problem.d if d is None else d
        self.chosen = chosen
        # The places of the columns in vectors of all columns.
        self.place: Any = slice(None) if chosen is None else chosen
        self.size = d if chosen is None else chosen.size
        parts = [Part(block(problem.rows, a, b), a, b) for a, b in pairwise(edges(problem.rows, problem.n, self.size))]
        self.dense = isinstance(problem.rows, Dense)
        if chosen is not None:
            position = np.full(d, chosen.size, dtype=np.uint32)
            position[chosen] = np.arange(chosen.size, dtype=np.uint32)
            fraction = 1.0 if chosen.size else 0.0
            parts = oracle.map_blocks(lambda part: self._copied(part, position), parts, fraction, directions=1)
        self.parts: list[Part] = parts
        self.stored = sum(self._stored(part) for part in parts)
        # The fraction of the stored values that an operation on these columns reads.
        self.fraction = self.stored / max(size(problem.rows), 1)

    def _copied(self, part: Part, position: np.ndarray) -> Part:
        if self.dense:
            values = np.take(part.rows.values, self.place, axis=1, mode="clip")
            return part._replace(rows=Dense(read_only(values)))
        rows, capacity = part.rows, self._stored(part) + 1 if self.size else 1
        indptr = np.empty(part.stop - part.start + 1, dtype=rows.indptr.dtype)
        indices, values = np.empty(capacity, dtype=rows.indices.dtype), np.empty(capacity, dtype=rows.values.dtype)
        if self.size == 0:
            indptr[:] = 0
            return part._replace(rows=CSR(*map(read_only, (indptr, indices[:0], values[:0]))))
        stored = int(select_columns(rows, position, self.size, indptr, indices, values))
        return part._replace(rows=CSR(*map(read_only, (indptr, indices[:stored], values[:stored]))))

    def _stored(self, part: Part) -> int:
        if self.dense:
            return part.rows.values.size
        return int(part.rows.indptr[-1]) - int(part.rows.indptr[0])

    @property
    def means(self) -> np.ndarray:
        """A'p."""
        return self.oracle.means[0][self.place]

    def scores(self, x: np.ndarray) -> np.ndarray:
        """A x, A the columns."""
        z, none = np.empty(self.oracle.problem.n), read_only(np.zeros(self.oracle.problem.n))

        def work(part: Part) -> None:
            passes.scores_pass(part.rows, none[part.start : part.stop], x, z[part.start : part.stop])

        self.oracle.map_blocks(work, self.parts, self.fraction, directions=1)
        return z

    def combine(self, u: np.ndarray) -> np.ndarray:
        """A'(p u)."""
        p = self.oracle.problem.weights

        def work(part: Part) -> tuple[np.ndarray]:
            out = np.zeros(self.size)
            passes.combine_pass(part.rows, p[part.start : part.stop], u[part.start : part.stop], out)
            return (out,)

        return self.oracle.sum_blocks(work, self.parts, self.fraction, directions=1)[0]

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """A' diag(weights) A, weights >= 0."""

        def work(part: Part) -> tuple[np.ndarray]:
            out = np.zeros((self.size, self.size))
            add_gram(part.rows, weights[part.start : part.stop], out)
            return (out,)

        return symmetric(self.oracle.sum_blocks(work, self.parts, self.fraction, directions=1)[0])

    def squares(self, weights: np.ndarray) -> np.ndarray:
        """The diagonal of A' diag(weights) A."""

        def work(part: Part) -> tuple[np.ndarray]:
            out = np.zeros(self.size)
            squares_pass(part.rows, weights[part.start : part.stop], out)
            return (out,)

        return self.oracle.sum_blocks(work, self.parts, self.fraction, directions=1)[0]

    def columns(self, scale: np.ndarray, free: bool) -> Any:
        """The columns of diag(scale) A, and of scale itself if `free`, as rows of the transposed matrix: a copy in float64."""
        self.oracle.count(self.fraction, directions=1)
        if self.dense:
            out = np.empty((self.size + free, scale.size))
            for part in self.parts:
                out[: self.size, part.start : part.stop] = (part.rows.values * scale[part.start : part.stop, None]).T
            out[self.size :] = scale
            return Dense(read_only(out))
        counts = np.zeros(self.size + free, dtype=np.uint64)
        for part in self.parts:
            count_columns(part.rows, part.stop - part.start, counts)
        counts[self.size :] = scale.size
        indptr = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(counts)])
        indices, values = np.empty(int(indptr[-1]), dtype=np.uint32), np.empty(int(indptr[-1]))
        places = indptr[:-1].copy()
        for part in self.parts:
            scatter_columns(part.rows, part.start, scale[part.start : part.stop], places, indices, values)
        if free:
            indices[indptr[-2] :], values[indptr[-2] :] = np.arange(scale.size), scale
        return CSR(*map(read_only, (indptr, indices, values)))
