"""What the measures of rankings share: gains, discounts, and which kernel finds the worst ranking."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fenchel.measures.assigned_ranking import AssignedRanking, assigned_ranking
from fenchel.measures.ideal import Ideal
from fenchel.measures.parameters import positive
from fenchel.measures.protocol import Measure, Vector, as_scores
from fenchel.measures.queries import (
    NothingToRank,
    Queries,
    queries_in_mean,
    refuse_weights,
    require_groups,
    split,
    targets,
)
from fenchel.measures.sorted_ranking import SortedRanking, sorted_ranking


class RankingMeasure(Measure):
    """mean over queries of max_π sum_i c_i z_π(i) - c̄'z + 1 - sum_i a_i b_π(i),   π(i) the document at rank i

    A subclass has the gains b of documents (divided here by the value of the ideal ranking), the discounts a of ranks, and
    `decay`. With decay None the scores are weighted like the gains, c = a, and one sort finds the worst ranking: this is
    the default because it is the fastest by far. A number gives c_i = i^-decay, which also tells apart the ranks where a
    is constant or 0; then the worst ranking is a linear assignment (`scipy.optimize.linear_sum_assignment`, cubic in the
    number of documents of a query), or, for queries with only two kinds of documents, a dynamic programme that interleaves
    two sorted lists. c̄_j is the mean of c over the ranks of j's ties in the ideal ranking. Queries whose ideal value is 0
    are left out. The loss is at least 0, and at least 1 - measure of the ranking by z, however ties in z are broken.
    """

    needs_groups: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    decay: float | None

    @abstractmethod
    def gains(self, y: Vector, queries: Queries) -> Vector:
        """The gain b of every row (in the order of y), not normalised; raises InputError for targets that do not suit."""

    @abstractmethod
    def discounts(self, size: int) -> Vector:
        """a_1 ... a_size, nonincreasing."""

    def prepare(
        self, y: ArrayLike, groups: ArrayLike | None = None, weights: ArrayLike | None = None
    ) -> SortedRanking | AssignedRanking:
        """Rows by query, normalised gains and tie-averaged references."""
        name = type(self).__name__
        y = targets(y)
        require_groups(groups, name)
        refuse_weights(weights, y.size, name)
        queries = split(y.size, groups)
        gain = self.gains(y, queries)[queries.rows]
        discount = self.discounts(int(queries.sizes.max()))
        ideal = Ideal(queries, gain)
        best = ideal.value(discount)
        useful = best > 0.0
        if not useful.any():
            raise NothingToRank(f"y has nothing to rank: in no query does {name} find a relevant document")
        gain = gain / np.where(useful, best, 1.0)[queries.query]
        kept = queries.keep(useful)
        if self.decay is None:
            depth = np.full(kept.first.size, np.count_nonzero(discount))
            ones = np.ones(kept.first.size)
            return SortedRanking(kept, ones, depth, gain, ideal.reference(discount), discount)
        weight = np.arange(1.0, discount.size + 1.0) ** -self.decay
        return AssignedRanking(kept, gain, ideal.reference(weight), discount, weight)

    mass = queries_in_mean

    def value_and_slope(self, z: Vector, prepared: SortedRanking | AssignedRanking, out: Vector) -> float:
        """The mean over queries; out = its subgradient."""
        z = as_scores(z, out)
        if isinstance(prepared, SortedRanking):
            return sorted_ranking(z, prepared, out)
        return assigned_ranking(z, prepared, out)

    def _check_decay(self) -> None:
        if self.decay is not None:
            object.__setattr__(self, "decay", positive("decay", self.decay))
