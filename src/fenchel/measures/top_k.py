"""What precision@k, recall@k and the break-even point share: a loss of which k rows have the highest scores."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.errors import InputError
from fenchel.measures.parameters import positive
from fenchel.measures.protocol import Measure, Vector, as_scores
from fenchel.measures.queries import NothingToRank, Queries, queries_in_mean, refuse_weights, signs, split, targets
from fenchel.measures.sorted_ranking import SortedRanking, best_ranks

Counts = NDArray[np.int64]


class TopKMeasure(Measure):
    """max over labelings y' with k positives of 1 - a(y')/m + scale sum_i (y'_i - ȳ_i) z_i

    a(y') is the number of true positives, m what the subclass divides it by. ȳ is the mean of the labelings with k
    positives that have the most true positives: with fewer than k true positives, or more, y itself is not among the y',
    and with y in the place of ȳ the loss would bound nothing. With ȳ it is at least 0, and at least the loss of taking the
    k highest scores. Because a(y') is a sum over the chosen rows, the worst y' chooses the k rows with the largest
    2 scale z_i - [y_i = +1]/m, which takes no sort.

    scale None is 1/(2 m): then the slope is that of a hinge between chosen positives and negatives with margin 1. With the
    regularizer L2(alpha), a scale s is the same as the scale 1 with alpha/s^2.

    Without groups y is -1 or +1, and both must occur. With groups a row is relevant if y > 0, queries without relevant
    rows are left out, and k is cut to the size of a query.
    """

    shift_invariant: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    task: ClassVar[str] = "binary"
    scale: float | None

    @abstractmethod
    def depth(self, sizes: Counts, relevant: Counts) -> Counts:
        """k of every query."""

    @abstractmethod
    def divisor(self, depth: Counts, relevant: Counts, whole: bool) -> Counts:
        """m of every query."""

    def prepare(self, y: ArrayLike, groups: ArrayLike | None = None, weights: ArrayLike | None = None) -> SortedRanking:
        """Gains 1/m and the share of every row in the best choices of k."""
        name = type(self).__name__
        positive_row = signs(y, name) if groups is None else targets(y) > 0.0
        refuse_weights(weights, positive_row.size, name)
        queries = split(positive_row.size, groups)
        is_positive = positive_row[queries.rows]
        relevant = queries.add(is_positive.astype(np.int64))
        self._check(queries, relevant, groups is None)
        useful = relevant > 0
        depth = self.depth(queries.sizes, relevant)
        divisor = self.divisor(depth, np.maximum(relevant, 1), groups is None)
        gain = is_positive / divisor[queries.query]
        reference = np.where(is_positive, *(share[queries.query] for share in _shares(queries.sizes, relevant, depth)))
        scale = 0.5 / divisor if self.scale is None else np.full(divisor.size, self.scale)
        ones = np.ones(int(depth.max()))
        return SortedRanking(queries.keep(useful), 2.0 * scale[useful], depth[useful], gain, reference, ones)

    mass = queries_in_mean

    def value_and_slope(self, z: Vector, prepared: SortedRanking, out: Vector) -> float:
        """The loss (its mean over queries); out = its subgradient."""
        return best_ranks(as_scores(z, out), prepared, out)

    def _check(self, queries: Queries, relevant: Counts, whole: bool) -> None:
        name = type(self).__name__
        if not relevant.any():
            where = "in no query is y > 0" if not whole else "no target is +1"
            raise NothingToRank(f"{name} needs something to find: {where}")
        if whole and relevant[0] == queries.sizes[0]:
            raise InputError(f"{name} needs both classes: every target is +1")

    def _check_scale(self) -> None:
        if self.scale is not None:
            object.__setattr__(self, "scale", positive("scale", self.scale))


def _shares(sizes: Counts, relevant: Counts, depth: Counts) -> tuple[Vector, Vector]:
    """How often the best choices of k take a relevant row, and another one."""
    of_relevant = np.minimum(1.0, depth / np.maximum(relevant, 1))
    of_others = np.maximum(0, depth - relevant) / np.maximum(sizes - relevant, 1)
    return of_relevant, of_others
