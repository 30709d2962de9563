"""The ranking loss whose score weights follow the discounts: the worst ranking is found by one sort.

For a query with scores f, gains b, discounts a (nonincreasing, 0 beyond the depth) and a factor κ,

    l(f) = max over rankings π of 1 - sum_i a_i b_π(i) + κ (sum_i a_i f_π(i) - sum_j r_j f_j),

π(i) being the document at rank i, r_j the mean of a over the ranks that the ideal ranking gives to the documents tied
with j. The max is attained by sorting κ f - b in descending order. The ranking by f itself shows that l bounds its loss
1 - sum_i a_i b_π(i); the ideal rankings show that l >= 0 when their gains add up to 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.compile.kernel import kernel
from fenchel.measures.common import centre, is_spoiled, longest
from fenchel.measures.order import kth_smallest, sort_stably
from fenchel.measures.queries import Queries


class SortedRanking(NamedTuple):
    """Per query: the factor κ and the depth; per place of queries.rows: gain b and reference r; per rank: discount a."""

    queries: Queries
    factor: NDArray[np.float64]
    depth: NDArray[np.int64]
    gain: NDArray[np.float64]
    reference: NDArray[np.float64]
    discount: NDArray[np.float64]


@kernel
def sorted_ranking(z, ranking, out):
    """The mean of l over the queries; out = its subgradient."""
    if is_spoiled(z, out):
        return np.nan
    rows, first, last = ranking.queries
    out[:] = 0.0
    size = longest(first, last)
    scores, keys, places = np.empty(size), np.empty(size), np.empty(size, np.uint64)
    spare_keys, spare_places = np.empty(size), np.empty(size, np.uint64)
    slope, discount = np.empty(size), ranking.discount
    total = 0.0
    for q in range(first.size):
        own, factor = rows[first[q] : last[q]], ranking.factor[q]
        gain, reference = ranking.gain[first[q] : last[q]], ranking.reference[first[q] : last[q]]
        size = np.uint64(own.size)
        centre(z, own, scores)
        for i in range(size):
            keys[i] = gain[i] - factor * scores[i]
            places[i] = i
            slope[i] = 0.0 - reference[i]
        sort_stably(keys[:size], places[:size], spare_keys[:size], spare_places[:size])
        value = 1.0
        for i in range(min(size, np.uint64(ranking.depth[q]))):
            slope[places[i]] += discount[i]
            value -= discount[i] * gain[places[i]]
        for i in range(size):
            value += factor * slope[i] * scores[i]
            out[own[i]] = factor * slope[i] / first.size
        total += value
    return total / first.size


@kernel
def best_ranks(z, ranking, out):
    """The same if all discounts are 1: only the set of rows on the first ranks matters, which needs no sort."""
    if is_spoiled(z, out):
        return np.nan
    rows, first, last = ranking.queries
    out[:] = 0.0
    size = longest(first, last)
    scores, keys, spare = np.empty(size), np.empty(size), np.empty(size)
    total = 0.0
    for q in range(first.size):
        own, factor, depth = rows[first[q] : last[q]], ranking.factor[q], ranking.depth[q]
        gain, reference = ranking.gain[first[q] : last[q]], ranking.reference[first[q] : last[q]]
        size = np.uint64(own.size)
        centre(z, own, scores)
        for i in range(size):
            keys[i] = spare[i] = gain[i] - factor * scores[i]
        limit, ties, value = kth_smallest(spare[:size], depth - 1), depth, 1.0
        for i in range(size):
            ties -= keys[i] < limit
        for i in range(size):
            slope = 0.0 - reference[i]
            if keys[i] < limit or (keys[i] == limit and ties > 0):
                ties -= keys[i] == limit
                slope += 1.0
                value -= gain[i]
            value += factor * slope * scores[i]
            out[own[i]] = factor * slope / first.size
        total += value
    return total / first.size
