"""Losses of rankings that are sums over pairs of documents: equal scores do not minimise them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fenchel.errors import InputError
from fenchel.measures.level_pairs import (
    LevelPairs,
    Levels,
    Pair,
    SortedPairs,
    levels_of,
    product_of_pairs,
    sort_queries,
    sum_of_pairs,
)
from fenchel.measures.pair_sweeps import HINGE, LOGISTIC, SQUARED_HINGE
from fenchel.measures.protocol import Measure, Vector, as_scores
from fenchel.measures.queries import NothingToRank, query_weights, require_groups, split, targets

MAX_VISITED_PAIRS = 1 << 28  # of the logistic loss: some seconds for an evaluation
FORMS = {"hinge": HINGE, "squared_hinge": SQUARED_HINGE, "logistic": LOGISTIC}


class PairMeasure(Measure):
    """mean over queries of sum over pairs y_i > y_j of p_ij φ(z_i - z_j)

    φ(m) is max(0, 1 - m)^2 / 2 (`squared_hinge`), max(0, 1 - m) (`hinge`) or log(1 + e^-m) (`logistic`). The p_ij depend on the
    targets only, are equal for documents with equal targets, and sum to what the reversed ideal ranking loses in the query: 1
    less its measure. Equal scores are no minimum where the features tell anything of the targets. The hinges take one sort
    and a sweep, O(n (log n + K)) for K different targets in a query; the logistic loss visits every pair. For the two
    differentiable ones there is Newton's method.

    A query whose documents all have the same target, or one document only, has no pairs and is left out of the mean.
    `sample_weight` weights the queries: it must be equal for all rows of one. Weight 0 leaves a query out.
    """

    shift_invariant: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    loss: str

    def __post_init__(self) -> None:
        if not isinstance(self.loss, str) or self.loss not in FORMS:
            raise InputError(f"loss must be one of {', '.join(FORMS)}, got {self.loss!r}")

    @property
    def differentiable(self) -> bool:  # type: ignore[override]
        """True but for the hinge."""
        return self.loss != "hinge"

    @abstractmethod
    def relevances(self, y: Vector) -> Vector:
        """What pairs are compared by; raises InputError for targets that do not suit."""

    @abstractmethod
    def pair_weights(self, levels: Levels, pair: Pair) -> Vector:
        """How much a pair of documents of these levels counts, relative to the other pairs of its query."""

    @abstractmethod
    def worst(self, levels: Levels) -> Vector:
        """What the reversed ideal ranking loses in every query, between 0 and 1."""

    def prepare(self, y: ArrayLike, groups: ArrayLike | None = None, weights: ArrayLike | None = None) -> LevelPairs:
        """The levels of all queries and the costs of their pairs."""
        name = type(self).__name__
        y = targets(y)
        if self.needs_groups:
            require_groups(groups, name)
        queries = split(y.size, groups)
        weight = query_weights(weights, queries, name)
        levels, level = levels_of(queries, self.relevances(y))
        square = levels.squares()
        ordered = levels.target[square.high] > levels.target[square.low]
        cost, of_query = np.zeros(ordered.size), levels.query[square.high]
        cost[ordered] = self.pair_weights(levels, Pair(square.high[ordered], square.low[ordered]))
        pairs = ordered * levels.rows[square.high].astype(np.float64) * levels.rows[square.low]
        self._require_few(float(pairs.sum()))
        total = np.bincount(of_query, cost * pairs)
        useful = (total > 0.0) & (weight > 0.0)
        if not useful.any():
            raise NothingToRank(f"y has nothing to rank: {name} finds no query with documents of different targets")
        share = np.where(useful, weight * self.worst(levels), 0.0) / weight[useful].sum()
        cost *= (share / np.where(useful, total, 1.0))[of_query]
        start = np.cumsum(levels.number**2) - levels.number**2
        return LevelPairs(
            queries.keep(useful), level, start[useful], levels.number[useful], cost, float(weight[useful].sum())
        )

    def _require_few(self, pairs: float) -> None:
        """Refuse more pairs than can be visited in one call of a kernel."""
        if self.loss == "logistic" and pairs > MAX_VISITED_PAIRS:
            raise InputError(
                f"y has {pairs:.3g} pairs of different targets, and the logistic loss visits each of them: "
                "take loss='squared_hinge', which sorts"
            )

    def mass(self, prepared: LevelPairs) -> float:
        """The weight of the queries that have pairs."""
        return prepared.mass

    def value_and_slope(self, z: Vector, prepared: LevelPairs, out: Vector) -> float:
        """The mean over queries; out = its derivative (for the hinge a subgradient)."""
        return float(sum_of_pairs(as_scores(z, out), prepared, _unsorted(z.size), FORMS[self.loss], out))

    def hessian_product(self, z: Vector, prepared: LevelPairs) -> Callable[[Vector], Vector]:
        """d -> (second derivative at the scores z) d; the scores are sorted once."""
        order = _unsorted(z.size)
        sort_queries(as_scores(z, z), prepared, order)

        def product(d: Vector) -> Vector:
            out = np.empty(d.size)
            product_of_pairs(prepared, order, FORMS[self.loss], as_scores(d, out), out)
            return out

        return product


def _unsorted(n: int) -> SortedPairs:
    """Arrays for a sort to fill."""
    return SortedPairs(np.empty(n, np.uint64), np.empty(n), np.empty(n, np.int64))
