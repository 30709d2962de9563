"""Partial sorting in decreasing order by a heap: the largest keys are popped one by one and stored behind the heap.

keys[:left] is the heap; the i-th largest of n keys ends at index n - 1 - i, and its class at the same index of `order`.
"""

from __future__ import annotations

import math

import numpy as np

from fenchel.compile.dispatch import helper


@helper
def sift_down(keys, order, hole, left):
    """Restore the heap order by moving the entry at `hole` down."""
    key, name = keys[hole], order[hole]
    child = 2 * hole + 1
    while child < left:  # child more than doubles
        if child + 1 < left and keys[child + 1] > keys[child]:
            child += 1
        if keys[child] <= key:
            break
        keys[hole], order[hole] = keys[child], order[child]
        hole = child
        child = 2 * hole + 1
    keys[hole], order[hole] = key, name


@helper
def make_heap(keys, order, n):
    """Put keys[:n] in heap order, in O(n)."""
    for i in range(n // 2):
        sift_down(keys, order, n // 2 - 1 - i, n)


@helper
def pop_largest(keys, order, left):
    """Move the largest of keys[:left] to index left - 1, in O(log left); returns that key."""
    last = left - 1
    keys[0], keys[last] = keys[last], keys[0]
    order[0], order[last] = order[last], order[0]
    sift_down(keys, order, 0, last)
    return keys[last]


@helper
def heap_of(z, y, base, margin, above, keys, order):
    """Build a heap of the keys margin + (z_j - base) >= above with j != y; returns their number."""
    n = 0
    for j in range(z.size):
        key = margin + (z[j] - base)
        keys[n], order[n] = key, j
        n += 1 if key >= above and j != y else 0
    make_heap(keys, order, n)
    return n


@helper
def kth_floor(z, y, k):
    """A lower bound of the k-th largest z_j, j != y: the minimum of the maxima of k parts, in O(m)."""
    size = (z.size - 1) // k
    if size < 3:
        return -math.inf
    least = math.inf
    for part in range(k):
        largest = -math.inf
        for j in range(part * size, (part + 1) * size):
            if z[j] > largest and j != y:
                largest = z[j]
        least = min(least, largest)
    return least


@helper
def sorted_others(u, y):
    """The max(u_j, 0) with j != y, largest first."""
    keys, order, ordered = np.empty(u.size), np.empty(u.size, np.int64), np.empty(u.size - 1)
    n = heap_of(u, y, 0.0, 0.0, 0.0, keys, order)
    for i in range(ordered.size):
        ordered[i] = pop_largest(keys, order, n - i) if i < n else 0.0
    return ordered
