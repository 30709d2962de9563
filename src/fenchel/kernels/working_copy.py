"""A private copy of sparse rows for methods that read them many times: common columns first, rows in a chosen order.

Columns are renumbered by decreasing frequency, so that the part of w that most entries refer to fits into the fastest caches.
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
    """rank_j = the rank of column j by decreasing frequency, by counting sort; the most common columns keep their order.

    place is workspace, with one entry for every frequency that is distinguished.
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
    """Copy the rows `order` of the source; columns are renumbered by `rank` unless that is empty."""
    for k in range(np.uint64(order.size)):
        i, place = np.uint64(order[k]), np.uint64(indptr[k])
        for m in range(source.indptr[i], source.indptr[i + np.uint64(1)]):
            j = source.indices[m]
            indices[place] = rank[j] if rank.size > 0 else j
            values[place] = source.values[m]
            place += np.uint64(1)
