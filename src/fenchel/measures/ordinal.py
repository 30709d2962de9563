"""Ordinal regression: the order of levels, with a cost for every pair of levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.compile.kernel import kernel
from fenchel.errors import InputError
from fenchel.measures.common import centre, is_spoiled, longest
from fenchel.measures.order import sort_stably
from fenchel.measures.ordinal_sweeps import costly_pairs, equal_pairs
from fenchel.measures.protocol import Measure, Vector, as_scores
from fenchel.measures.queries import Queries, queries_in_mean, refuse_weights, split, targets


class Levels(NamedTuple):
    """Queries with more than one level; per place of queries.rows: the level; per query: pairs with different levels."""

    queries: Queries
    level: NDArray[np.int64]
    pairs: NDArray[np.float64]
    cost: NDArray[np.float64]
    n_levels: int


@dataclass(frozen=True)
class Ordinal(Measure):
    """1/M sum over pairs y_i < y_j of cost[y_i, y_j] max(0, 1 - (z_j - z_i)),   M the number of such pairs

    An upper bound of the mean cost of wrongly ordered pairs, ties in z counting one half. With cost None all pairs cost
    1, y may be any integers, and the time is O(n log K) after one sort, K the number of levels (a Fenwick tree); two levels
    are `ROCArea`. With a K x K cost matrix (no negative entries, zeros on the diagonal; only the part above the diagonal
    is used) the levels are 0 ... K-1 and the time O(n K). With one level only the value is 0. With groups, the average
    over the queries that have more than one level.

    >>> Ordinal().evaluate([0.0, 0.5, 3.0], [0, 1, 2])
    (0.16666666666666666, array([ 0.33333333, -0.33333333,  0.        ]))
    >>> Ordinal(cost=[[0, 1, 2], [1, 0, 1], [2, 1, 0]]).evaluate([0.0, 2.0, 0.5], [0, 1, 2])[1].round(2)
    array([ 0.67,  0.33, -1.  ])
    """

    tex = r"\frac{1}{M} \sum_{y_i < y_j} \cost(y_i, y_j) \max(0,\, 1 - z_j + z_i)"
    tex_where = "M the number of such pairs"
    cost: Any = None

    shift_invariant: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    task: ClassVar[str] = "ordinal"

    def __post_init__(self) -> None:
        if self.cost is not None:
            object.__setattr__(self, "cost", _accept_cost(self.cost))

    def prepare(self, y: ArrayLike, groups: ArrayLike | None = None, weights: ArrayLike | None = None) -> Levels:
        """Levels within queries, and how many pairs of rows they order."""
        y = targets(y)
        if not (whole := y == np.floor(y)).all():
            row = int(np.argmin(whole))
            raise InputError(f"y of row {row} is {y[row]!r}: Ordinal needs integer levels")
        refuse_weights(weights, y.size, "Ordinal")
        queries = split(y.size, groups)
        if self.cost is None:
            level, cost = _levels_within(queries, y), np.zeros((0, 0))
            n_levels = int(level.max()) + 1
        else:
            level, cost = y[queries.rows].astype(np.int64), np.array(self.cost)
            n_levels = len(cost)
            if not (inside := (y >= 0) & (y < n_levels)).all():
                row = int(np.argmin(inside))
                raise InputError(
                    f"y of row {row} is {y[row]:g}: a {n_levels} x {n_levels} cost needs levels 0 to {n_levels - 1}"
                )
        pairs = _pairs(queries, level)
        useful = pairs > 0.0
        return Levels(queries.keep(useful), level, pairs[useful], cost, n_levels)

    mass = queries_in_mean

    def value_and_slope(self, z: Vector, prepared: Levels, out: Vector) -> float:
        """The mean over queries; out = its subgradient."""
        return ordinal(as_scores(z, out), prepared, out)


def _accept_cost(cost: Any) -> tuple[tuple[float, ...], ...]:
    try:
        matrix = np.asarray(cost, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"cost must be a square matrix of numbers, got {cost!r}") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 2:
        raise InputError(f"cost must be a square matrix, one row per level and at least two, got shape {matrix.shape}")
    wrong = ~(np.isfinite(matrix) & (matrix >= 0.0))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InputError(f"cost[{row}, {column}] is {matrix[row, column]}: costs must be at least 0 and finite")
    if np.diag(matrix).any():
        row = int(np.argmax(np.diag(matrix) != 0.0))
        raise InputError(f"cost[{row}, {row}] is {matrix[row, row]}: a level confused with itself must cost 0")
    return tuple(tuple(row) for row in matrix.tolist())


def _levels_within(queries: Queries, y: Vector) -> NDArray[np.int64]:
    """0, 1, 2 ... for the different targets of a query, in ascending order."""
    ordered, query = y[queries.rows], queries.query
    order = np.lexsort((ordered, query))
    step = np.zeros(y.size, dtype=np.int64)
    step[1:] = (ordered[order][1:] != ordered[order][:-1]) | (query[1:] != query[:-1])
    count = np.cumsum(step)
    level = np.empty(y.size, dtype=np.int64)
    level[order] = count - count[queries.first][query]
    return level


def _pairs(queries: Queries, level: NDArray[np.int64]) -> Vector:
    """The number of pairs with different levels in every query: (size^2 - sum of squared counts) / 2."""
    width = int(level.max()) + 1
    _, where, counts = np.unique(queries.query * width + level, return_index=True, return_counts=True)
    squares = np.bincount(queries.query[where], counts.astype(np.float64) ** 2, minlength=queries.first.size)
    return (queries.sizes.astype(np.float64) ** 2 - squares) / 2.0


@kernel
def ordinal(z, levels, out):
    """Per query: sort the centred scores, sweep over them, put the slopes back in their places."""
    if is_spoiled(z, out):
        return np.nan
    rows, first, last = levels.queries
    out[:] = 0.0
    size = longest(first, last)
    scores, places, level = np.empty(size), np.empty(size, np.uint64), np.empty(size, np.int64)
    spare_scores, spare_places, slope = np.empty(size), np.empty(size, np.uint64), np.empty(size)
    total = 0.0
    for q in range(first.size):
        own, own_level = rows[first[q] : last[q]], levels.level[first[q] : last[q]]
        size = np.uint64(own.size)
        centre(z, own, scores)
        for i in range(size):
            places[i] = i
        sort_stably(scores[:size], places[:size], spare_scores[:size], spare_places[:size])
        for i in range(size):
            level[i] = own_level[places[i]]
        if levels.cost.size:
            violated = costly_pairs(scores[:size], level[:size], levels.cost, slope[:size])
        else:
            violated = equal_pairs(scores[:size], level[:size], levels.n_levels, slope[:size])
        value = violated
        for i in range(size):
            value += slope[i] * scores[i]
            out[own[places[i]]] = slope[i] / (levels.pairs[q] * first.size)
        total += value / levels.pairs[q]
    return total / max(first.size, 1)
