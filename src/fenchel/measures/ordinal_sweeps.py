"""Two sweeps over sorted scores that find the violated pairs of levels for every row.

The pair of a lower row i and a higher row j is violated if f_i + 1/2 > f_j - 1/2. It adds cost (1 + f_i - f_j) to the
value, so cost to the slope of i and -cost to that of j. The first sweep drops lower rows that are no longer above j, the
second adds higher rows that have come below i; both compare the same two numbers, so they agree on every pair.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel


@kernel
def costly_pairs(scores, level, cost, slope):
    """slope of every row; returns the sum of the costs of violated pairs. O(n K)."""
    n = scores.size
    counts = np.zeros(cost.shape[0])
    violated = 0.0
    for i in range(n):
        counts[level[i]] += 1.0
    p = 0
    for j in range(n):
        while p < n and scores[p] + 0.5 <= scores[j] - 0.5:  # p rises
            counts[level[p]] -= 1.0
            p += 1
        share = 0.0
        for a in range(level[j]):
            share += cost[a, level[j]] * counts[a]
        slope[j] = -share
        violated += share
    counts[:] = 0.0
    p = 0
    for i in range(n):
        while p < n and scores[p] - 0.5 < scores[i] + 0.5:  # p rises
            counts[level[p]] += 1.0
            p += 1
        for b in range(level[i] + 1, cost.shape[0]):
            slope[i] += cost[level[i], b] * counts[b]
    return violated


@kernel
def equal_pairs(scores, level, n_levels, slope):
    """The same with all costs 1: a Fenwick tree counts the rows below a level. O(n log K)."""
    n = scores.size
    tree = np.zeros(n_levels + 1, np.int64)
    violated = 0
    for i in range(n):
        count_level(tree, level[i], 1)
    p = 0
    for j in range(n):
        while p < n and scores[p] + 0.5 <= scores[j] - 0.5:  # p rises
            count_level(tree, level[p], -1)
            p += 1
        share = below_level(tree, level[j])
        slope[j] = -share
        violated += share
    tree[:] = 0
    p = 0
    for i in range(n):
        while p < n and scores[p] - 0.5 < scores[i] + 0.5:  # p rises
            count_level(tree, level[p], 1)
            p += 1
        slope[i] += p - below_level(tree, level[i] + 1)
    return np.float64(violated)


@kernel
def count_level(tree, level, change):
    """Add `change` to the count of a level."""
    k = level + 1
    while k < tree.size:  # k rises, by its lowest bit
        tree[k] += change
        k += k & -k


@kernel
def below_level(tree, level):
    """How many rows have a lower level."""
    total = 0
    k = level
    while k > 0:  # k falls, by its lowest bit
        total += tree[k]
        k -= k & -k
    return total
