"""Pairs of rows of different levels within queries: a cost for every pair of levels, and the sums over all queries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.compile.kernel import kernel
from fenchel.errors import InputError
from fenchel.measures.common import centre, is_spoiled, longest
from fenchel.measures.order import sort_stably
from fenchel.measures.pair_sweeps import (
    LOGISTIC,
    SQUARED_HINGE,
    hinge_pairs,
    logistic_pairs,
    logistic_product,
    squared_hinge_product,
)
from fenchel.measures.queries import Queries

Vector = NDArray[np.float64]
MAX_COSTS = 1 << 24  # numbers in all cost matrices: a query of 4096 different relevances is about as large as can be


class LevelPairs(NamedTuple):
    """Per place of queries.rows: the level in its query, 0 the lowest; per query: where its square of costs begins.
    `mass` is the weight of all of them."""

    queries: Queries
    level: NDArray[np.int64]
    start: NDArray[np.int64]
    levels: NDArray[np.int64]
    cost: Vector
    mass: float


class Pair(NamedTuple):
    """The higher and the lower level of pairs of documents: places in the table of levels."""

    high: NDArray[np.int64]
    low: NDArray[np.int64]


class Levels(NamedTuple):
    """The different targets of every query, queries in order, targets ascending: query, target, number of rows; and per
    query the place of its first entry, their number, and how many rows it has."""

    query: NDArray[np.int64]
    target: Vector
    rows: NDArray[np.int64]
    first: NDArray[np.int64]
    number: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def add(self, values: Vector) -> Vector:
        """Sums per query of values given per level."""
        return np.add.reduceat(values, self.first)

    def highest(self) -> Vector:
        """The largest target of every level's query."""
        return self.target[self.first + self.number - 1][self.query]

    def rank_weights(self, weight: Vector, reverse: bool = False) -> Vector:
        """The mean of `weight` over the ranks that the rows of a level have when the highest targets come first, or last."""
        below = np.cumsum(self.rows) - self.rows  # rows of lower levels, and of the queries before
        below -= below[self.first][self.query]
        first = below if reverse else self.sizes[self.query] - below - self.rows
        sums = np.append(0.0, np.cumsum(weight))
        return (sums[first + self.rows] - sums[first]) / self.rows

    def squares(self) -> Pair:
        """All pairs of levels of a query, also equal ones: the squares of the queries one after the other."""
        total = int(self.number.astype(object) @ self.number)
        if total > MAX_COSTS:
            raise InputError(
                f"y has up to {int(self.number.max())} different values in a query: a cost for each pair of them is too much "
                f"({total} numbers). Round y to fewer levels."
            )
        higher = np.repeat(np.arange(self.rows.size), self.number[self.query])
        ends = np.cumsum(self.number[self.query])
        within = np.arange(total) - np.repeat(ends - self.number[self.query], self.number[self.query])
        return Pair(higher, self.first[self.query[higher]] + within)


def levels_of(queries: Queries, y: Vector) -> tuple[Levels, NDArray[np.int64]]:
    """(the levels of all queries, the level of every place of queries.rows)."""
    ordered, query = y[queries.rows], queries.query
    order = np.lexsort((ordered, query))
    new = np.ones(y.size, dtype=bool)
    new[1:] = (ordered[order][1:] != ordered[order][:-1]) | (query[1:] != query[:-1])
    begins = np.flatnonzero(new)
    entry = np.empty(y.size, dtype=np.int64)
    entry[order] = np.cumsum(new) - 1
    of_query = query[begins]
    number = np.bincount(of_query, minlength=queries.first.size)
    first = np.cumsum(number) - number
    count = np.diff(np.append(begins, y.size))
    return Levels(of_query, ordered[order][begins], count, first, number, queries.sizes), entry - first[query]


class SortedPairs(NamedTuple):
    """Rows, centred scores and levels at the places of the queries, in the ascending order of the scores of each query."""

    rows: NDArray[np.uint64]
    score: Vector
    level: NDArray[np.int64]


@kernel
def sort_queries(z, pairs, order):
    """Fill the places of `SortedPairs`."""
    first, last = pairs.queries.first, pairs.queries.last
    size = longest(first, last)
    places, spare_places, spare_scores = np.empty(size, np.uint64), np.empty(size, np.uint64), np.empty(size)
    for q in range(first.size):
        a, b = first[q], last[q]
        own, score = pairs.queries.rows[a:b], order.score[a:b]
        size = np.uint64(own.size)
        centre(z, own, score)
        for i in range(size):
            places[i] = i
        sort_stably(score, places[:size], spare_scores[:size], spare_places[:size])
        for i in range(size):
            order.rows[a + i], order.level[a + i] = own[places[i]], pairs.level[a:b][places[i]]


@kernel
def cost_of_query(pairs, q):
    """The square of costs of a query: cost[a, b] for a pair of a higher level a and a lower one b."""
    K = pairs.levels[q]
    return pairs.cost[pairs.start[q] : pairs.start[q] + K * K].reshape((K, K))


@kernel
def sum_of_pairs(z, pairs, order, form, out):
    """The sum over all queries; out = its derivative. `order` is overwritten."""
    if is_spoiled(z, out):
        return np.nan
    sort_queries(z, pairs, order)
    first, last = pairs.queries.first, pairs.queries.last
    slope = np.empty(longest(first, last))
    out[:] = 0.0
    total = 0.0
    for q in range(first.size):
        a, b = first[q], last[q]
        cost, own = cost_of_query(pairs, q), slope[: b - a]
        if form == LOGISTIC:
            total += logistic_pairs(order.score[a:b], order.level[a:b], cost, own)
        else:
            total += hinge_pairs(order.score[a:b], order.level[a:b], cost, form == SQUARED_HINGE, own)
        for i in range(np.uint64(own.size)):
            out[order.rows[a + i]] = own[i]
    return total


@kernel
def product_of_pairs(pairs, order, form, d, out):
    """out = (Hessian of the sum at the sorted scores) d."""
    first, last = pairs.queries.first, pairs.queries.last
    size = longest(first, last)
    own, product = np.empty(size), np.empty(size)
    out[:] = 0.0
    for q in range(first.size):
        a, b = first[q], last[q]
        cost = cost_of_query(pairs, q)
        score, level, rows = order.score[a:b], order.level[a:b], order.rows[a:b]
        size = np.uint64(rows.size)
        for i in range(size):
            own[i] = d[rows[i]]
        if form == LOGISTIC:
            logistic_product(score, level, cost, own[:size], product[:size])
        else:
            squared_hinge_product(score, level, cost, own[:size], product[:size])
        for i in range(size):
            out[rows[i]] = product[i]
