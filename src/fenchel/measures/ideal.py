"""The ideal ranking of every query: its value, and the weights of its ranks averaged over tied documents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fenchel.measures.queries import Queries

Vector = NDArray[np.float64]


class Ideal:
    """Documents of every query in descending order of gain.

    `gain` and the results are in the order of queries.rows.
    """

    def __init__(self, queries: Queries, gain: Vector):
        query = queries.query
        self.queries = queries
        self.order = np.lexsort((-gain, query))
        self.rank = np.arange(gain.size) - queries.first[query]
        self.sorted_gain = gain[self.order]
        new = np.ones(gain.size, dtype=bool)
        new[1:] = (self.sorted_gain[1:] != self.sorted_gain[:-1]) | (query[1:] != query[:-1])
        self.ties = np.flatnonzero(new)

    def value(self, weight: Vector) -> Vector:
        """sum_i weight_i b_(i) of every query."""
        return self.queries.add(weight[self.rank] * self.sorted_gain)

    def reference(self, weight: Vector, depth: NDArray[np.int64] | None = None) -> Vector:
        """The mean weight of the ranks of a document's ties; weights are 0 from rank `depth` of a query on.

        Means are used because any fixed order of tied documents would make the loss depend on the order of the rows.
        """
        at_rank = weight[np.minimum(self.rank, weight.size - 1)]
        if depth is not None:
            at_rank = np.where(self.rank < depth[self.queries.query], at_rank, 0.0)
        sizes = np.diff(np.append(self.ties, self.rank.size))
        mean = np.add.reduceat(at_rank, self.ties) / sizes
        result = np.empty(self.rank.size)
        result[self.order] = np.repeat(mean, sizes)
        return result
