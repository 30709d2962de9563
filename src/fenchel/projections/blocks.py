"""Shared by the kernels: arguments in blocks that stay in the fastest cache, and sums without rounding errors.

An argument array of size 1 stands for a constant. It is expanded to one block, which is then used for every block of the
others, so that a constant needs no memory traffic and no separate code.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fenchel.compile.kernel import kernel

BLOCK = 256  # entries; all arrays of a pass together then fit into 32 KB
LANES = 64  # independent sums, because a single chain of dependent additions would take longer than everything else
SPLIT = 134217729.0  # 2^27 + 1

Columns: TypeAlias = tuple[NDArray[np.float64], ...]  # m, lower, upper, sigma, 1 / d^2, widened


def widen(values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """`values`, or for size 1 a block (of at most n entries) filled with it."""
    return values if values.size == n else np.full(min(n, BLOCK), values[0])


@kernel
def part(values, start, stop):
    """Entries start to stop (of one block) of a widened array."""
    first = start if values.size >= stop else 0
    return values[first : first + stop - start]


@kernel
def inverse_squares(d, out):
    """out = 1 / d^2; whether every d is positive and finite."""
    good = True
    for i in range(d.size):
        good &= (d[i] > 0.0) & (d[i] < np.inf)
        out[i] = 1.0 / (d[i] * d[i])
    return good


@kernel
def two_sum(a, b):
    """(s, e) with s = fl(a + b) and s + e = a + b exactly."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@kernel
def product_error(a, b, product):
    """a b - product exactly, for product = fl(a b) (Dekker)."""
    t = SPLIT * a
    a_high = t - (t - a)
    a_low = a - a_high
    t = SPLIT * b
    b_high = t - (t - b)
    b_low = b - b_high
    return a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


@kernel
def add_compensated(values, high, low):
    """Add values to the lanes of (high, low), with the rounding error of every addition collected in low."""
    for start in range(0, values.size, LANES):
        here = values[start : start + LANES]
        for j in range(here.size):
            high[j], error = two_sum(high[j], here[j])
            low[j] += error


def combine(high: NDArray[np.float64], low: NDArray[np.float64], start: float) -> float:
    """start + sum of all lanes, rounded once."""
    return math.fsum([start, *high.tolist(), *low.tolist()])
