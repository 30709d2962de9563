"""Sums over all 2^m label sets, by doubling and folding a table: O(2^m) operations, not 2^m m^2."""

from __future__ import annotations

import numpy as np

from fenchel.compile.copy import copy
from fenchel.compile.kernel import kernel
from fenchel.compile.poll import poll

MANY_LABELS = (
    14  # the sum over 2^14 sets takes some tenths of a millisecond: from here on the limit of time is looked at
)


@kernel
def table_of_scores(u, Q, table, half):
    """table[s] = <u, y> + sum_{i<j} Q_ij y_i y_j for the set y whose bits are s; half: scratch."""
    table[0] = 0.0
    for b in range(u.size):
        half[0] = u[b]
        for j in range(b):
            for s in range(1 << j):
                half[(1 << j) + s] = half[s] + Q[b, j]
        for s in range(1 << b):
            table[(1 << b) + s] = table[s] + half[s]


@kernel
def sums_of_sets(u, Q, pairs):
    """log sum_y exp(score of y); pairs[i, j] = P(y_i = y_j = 1) for j <= i, so that the diagonal holds P(y_i = 1)."""
    m = u.size
    if m >= MANY_LABELS:
        poll()
    table, half = np.empty(1 << m), np.empty(1 << (m - 1))
    table_of_scores(u, Q, table, half)
    top, total = np.max(table), 0.0
    for s in range(table.size):
        table[s] = np.exp(table[s] - top)
        total += table[s]
    for i in range(m - 1, -1, -1):  # sets with label i lie in the upper half of what is left of the table
        count = 1 << i
        copy(table[count : 2 * count], half[:count])
        pairs[i, i] = np.sum(half[:count]) / total
        for j in range(i - 1, -1, -1):
            pairs[i, j] = fold(half, 1 << j) / total
        for s in range(count):
            table[s] += table[count + s]
    return np.log(total) + top


@kernel
def fold(table, count):
    """The sum of the upper half, which is then added to the lower one."""
    total = 0.0
    for s in range(count):
        total += table[count + s]
        table[s] += table[count + s]
    return total
