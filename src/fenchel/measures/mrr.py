"""Mean reciprocal rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.compile.kernel import kernel
from fenchel.measures.common import centre, is_spoiled, longest
from fenchel.measures.ideal import Ideal
from fenchel.measures.order import sort_stably
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


class FirstRelevant(NamedTuple):
    """Queries with a relevant row; per place of queries.rows: whether it is relevant, and c̄; per rank: c."""

    queries: Queries
    relevant: NDArray[np.bool_]
    reference: NDArray[np.float64]
    weight: NDArray[np.float64]


@dataclass(frozen=True)
class MRR(Measure):
    """mean over queries of max_π sum_i c_i z_π(i) - c̄'z + 1 - 1/(rank of the first relevant document in π)

    A document is relevant if y > 0; c_i = i^-decay, c̄_j is the mean of c over the ranks that relevant documents (or the
    others) have when all relevant ones come first. Queries without a relevant document are left out. The reciprocal rank
    of several relevant documents is not linear in the permutation, so the worst ranking is found by enumerating the rank of
    the first of them, from one ranking to the next; at most O(n_relevant n_other) after the sort, mostly far less. The
    loss is at least 0, and at least 1 - reciprocal rank of the ranking by z.

    >>> MRR().evaluate([0.0, 1.0], [1, 0], groups=[5, 5])
    (1.0, array([-0.5,  0.5]))
    """

    tex = r"\max_\pi \sum_i c_i z_{\pi(i)} - \sum_j \name{c̄}_j z_j + 1 - \frac{1}{\rank(\pi)}"
    tex_where = "rank: that of the first relevant document; the mean over queries"
    decay: float = 1.0

    needs_groups: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "decay", positive("decay", self.decay))

    def prepare(self, y: ArrayLike, groups: ArrayLike | None = None, weights: ArrayLike | None = None) -> FirstRelevant:
        """Queries with a relevant document."""
        y = targets(y)
        require_groups(groups, "MRR")
        refuse_weights(weights, y.size, "MRR")
        queries = split(y.size, groups)
        relevant = y[queries.rows] > 0.0
        useful = queries.add(relevant.astype(np.int64)) > 0
        if not useful.any():
            raise NothingToRank("y has nothing to rank: no query has a relevant document (y > 0)")
        weight = np.arange(1.0, queries.sizes.max() + 1.0) ** -self.decay
        reference = Ideal(queries, relevant.astype(np.float64)).reference(weight)
        return FirstRelevant(queries.keep(useful), relevant, reference, weight)

    mass = queries_in_mean

    def value_and_slope(self, z: Vector, prepared: FirstRelevant, out: Vector) -> float:
        """The mean over queries; out = its subgradient."""
        return reciprocal_rank(as_scores(z, out), prepared, out)


@kernel
def reciprocal_rank(z, ranking, out):
    """Per query: sort, choose how many other documents stand above the first relevant one, write that ranking's slope."""
    if is_spoiled(z, out):
        return np.nan
    rows, first, last = ranking.queries
    out[:] = 0.0
    size = longest(first, last)
    scores, keys, places = np.empty(size), np.empty(size), np.empty(size, np.uint64)
    spare_keys, spare_places = np.empty(size), np.empty(size, np.uint64)
    c, total = ranking.weight, 0.0
    for q in range(first.size):
        own, reference = rows[first[q] : last[q]], ranking.reference[first[q] : last[q]]
        is_relevant = ranking.relevant[first[q] : last[q]]
        size = np.uint64(own.size)
        centre(z, own, scores)
        for i in range(size):
            keys[i], places[i] = -scores[i], i
        sort_stably(keys[:size], places[:size], spare_keys[:size], spare_places[:size])
        above = worst_start(scores, is_relevant, places[:size], c)
        value = 1.0 - 1.0 / (above + 1.0)
        others, found, rank = 0, False, above
        for i in range(size):
            place = places[i]
            if not is_relevant[place] and others < above:
                slope = c[others] - reference[place]
                others += 1
            elif is_relevant[place] and not found:
                slope = c[above] - reference[place]
                found = True
            else:  # in the order of the scores behind the first relevant one
                rank += 1
                slope = c[rank] - reference[place]
            value += slope * scores[place]
            out[own[place]] = slope / first.size
        total += value
    return total / first.size


@kernel
def worst_start(scores, is_relevant, places, c):
    """How many of the other documents stand above the first relevant one in the worst ranking.

    `gain` is the change of sum_i c_i f_π(i) against having none there. The next one, say f, passes the first relevant
    document and the m relevant ones behind that have higher scores than f. Once f is below the first relevant document
    every further one lowers `gain`, so that nothing better can come when gain + 1 <= best.
    """
    relevant, others = np.empty(places.size), np.empty(places.size)
    R, S = 0, 0
    for i in range(places.size):
        if is_relevant[places[i]]:
            relevant[R] = scores[places[i]]
            R += 1
        else:
            others[S] = scores[places[i]]
            S += 1
    gain, best, above, m = 0.0, 0.0, 0, 0
    for r in range(S):
        while m + 1 < R and relevant[m + 1] >= others[r]:  # m rises
            m += 1
        gain += (c[r] - c[r + 1 + m]) * others[r]
        for t in range(m + 1):
            gain -= (c[r + t] - c[r + 1 + t]) * relevant[t]
        value = gain + 1.0 - 1.0 / (r + 2.0)
        if value > best:
            best, above = value, r + 1
        if others[r] <= relevant[0] and gain + 1.0 <= best:
            break
    return above
