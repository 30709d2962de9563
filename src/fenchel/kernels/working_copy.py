"""A private copy of sparse rows for methods that walk them many times: common columns first, rows in a chosen order.

Columns are renumbered by falling frequency, so that the part of w that most entries touch fits into the nearest caches.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel


@kernel
def count_columns(indices, counts):
    """counts_j += how often column j is stored."""
    for k in range(np.uint64(indices.size)):
        counts[indices[k]] += np.uint32(1)


@kernel
def rank_columns(counts, place, rank):
    """rank_j = the place of column j by falling frequency, by counting; columns that are very common keep their order.

    place is work space: as many entries as frequencies are told apart.
    """
    most = np.uint64(place.size) - np.uint64(1)
    for f in range(np.uint64(place.size)):
        place[f] = 0
    for j in range(np.uint64(counts.size)):
        place[min(np.uint64(counts[j]), most)] += np.uint64(1)
    before = np.uint64(0)
    for f in range(np.uint64(place.size)):
        number = place[most - f]
        place[most - f] = before
        before += number
    for j in range(np.uint64(counts.size)):
        common = min(np.uint64(counts[j]), most)
        rank[j] = place[common]
        place[common] += np.uint64(1)


@kernel
def copy_rows(source, order, rank, indptr, indices, values):
    """The rows `order` of the source to their places; columns are renamed by `rank`, or not if it is empty."""
    for k in range(np.uint64(order.size)):
        i, place = np.uint64(order[k]), np.uint64(indptr[k])
        for m in range(source.indptr[i], source.indptr[i + np.uint64(1)]):
            j = source.indices[m]
            indices[place] = rank[j] if rank.size > 0 else j
            values[place] = source.values[m]
            place += np.uint64(1)
