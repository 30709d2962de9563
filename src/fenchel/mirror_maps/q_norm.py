"""The transfer function of the q-norms: w = sign(v) (|v| / N)^(p-1) N^(s-1), N = |v|_p.

The sum of (|v_j| / scale)^p is cached, so that the cost of a step is proportional to the nonzeros of its row. It is recomputed
when it falls below 1e-3 of its largest value since the last time, when it becomes too large for its scale, and between epochs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.data.rows import row_column, row_entry, row_span
from fenchel.mirror_maps.coordinatewise import renew

SUM, LARGEST, SCALE = 0, 1, 2  # places in `sums`
LOWEST_SHARE, OUTGROWN = 1e-3, 1e30


@helper
def absolute_power(a, exponent):
    """|a|^exponent, exponent > 0; the small integers, to which q = 4/3 and 3/2 lead, avoid the general power function."""
    a = abs(a)
    if exponent == 2.0:
        return a * a
    if exponent == 3.0:
        return a * a * a
    if exponent == 4.0:
        return (a * a) * (a * a)
    return a**exponent if a > 0.0 else 0.0


@helper
def signed_power(a, exponent):
    """sign(a) |a|^exponent."""
    return math.copysign(absolute_power(a, exponent), a)


class Power(NamedTuple):
    """The transfer function above; p is conjugate to q, `exponent` is s - 1 with s conjugate to the regularizer's power."""

    sums: np.ndarray
    p: float
    exponent: float

    def row_score(self, rows, i, v, bound):
        if self.sums[SUM] <= 0.0:
            return 0.0, bound
        scale, total = self.sums[SCALE], 0.0
        start, stop = row_span(rows, i)
        for k in range(start, stop):
            total += row_entry(rows, i, k) * signed_power(v[row_column(rows, k)] / scale, self.p - 1.0)
        root = self.sums[SUM] ** (1.0 / self.p)
        return total * root ** (1.0 - self.p) * (root * scale) ** self.exponent, bound

    def row_magnitude(self, rows, i, v):
        if self.sums[SUM] <= 0.0:
            return 0.0
        scale, total = self.sums[SCALE], 0.0
        start, stop = row_span(rows, i)
        for k in range(start, stop):
            total += abs(row_entry(rows, i, k)) * absolute_power(v[row_column(rows, k)] / scale, self.p - 1.0)
        root = self.sums[SUM] ** (1.0 / self.p)
        return total * root ** (1.0 - self.p) * (root * scale) ** self.exponent

    def row_score_at(self, rows, i, a, v):
        scale, total, change = self.sums[SCALE], 0.0, 0.0
        start, stop = row_span(rows, i)
        for k in range(start, stop):
            x = row_entry(rows, i, k)
            old = v[row_column(rows, k)] / scale
            new = old + a * x / scale
            power = signed_power(new, self.p - 1.0)
            change += power * new - absolute_power(old, self.p)
            total += x * power
        grown = self.sums[SUM] + change
        if not grown > 0.0:
            return 0.0
        root = grown ** (1.0 / self.p)
        return total * root ** (1.0 - self.p) * (root * scale) ** self.exponent

    def row_update(self, rows, i, a, v):
        scale, change = self.sums[SCALE], 0.0
        start, stop = row_span(rows, i)
        for k in range(start, stop):
            j = row_column(rows, k)
            old = v[j]
            v[j] = old + a * row_entry(rows, i, k)
            change += absolute_power(v[j] / scale, self.p) - absolute_power(old / scale, self.p)
        self.sums[SUM] += change
        if self.sums[SUM] < LOWEST_SHARE * self.sums[LARGEST] or self.sums[SUM] > OUTGROWN or self.sums[LARGEST] <= 0.0:
            renew(self, v)
        self.sums[LARGEST] = max(self.sums[LARGEST], self.sums[SUM])

    def renew(self, v):
        scale, total = 0.0, 0.0
        for j in range(v.size):
            scale = max(scale, abs(v[j]))
        scale = scale if scale > 0.0 else 1.0
        for j in range(v.size):
            total += absolute_power(v[j] / scale, self.p)
        self.sums[SUM] = self.sums[LARGEST] = total
        self.sums[SCALE] = scale

    def add_weights(self, v, a, out):
        if self.sums[SUM] > 0.0:
            root, scale = self.sums[SUM] ** (1.0 / self.p), self.sums[SCALE]
            factor = a * root ** (1.0 - self.p) * (root * scale) ** self.exponent
            for j in range(v.size):
                out[j] += factor * signed_power(v[j] / scale, self.p - 1.0)
