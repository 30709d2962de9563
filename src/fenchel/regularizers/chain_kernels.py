"""Loops over a chain of numbers: the prox of `TotalVariation` by dynamic programming, the worst range of a sum, and the
decreasing fit of `Slope`.

Reference: Johnson (2013), A dynamic programming algorithm for the fused lasso and L0-segmentation.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.regularizers.numerics import Vector


@kernel
def chain_levels(y: Vector, strength: float, x: Vector) -> None:
    """x = argmin 1/2 |x - y|^2 + strength sum_j |x_j+1 - x_j|, for at least two numbers and strength > 0.

    The derivative of the best value of the first k terms, as a function of x_k, is piecewise linear; between the knots it is
    clipped to +-strength by the next term. Slopes and offsets of its pieces are kept as differences.
    """
    n = y.size
    knots, slopes, offsets = np.empty(2 * n), np.empty(2 * n), np.empty(2 * n)
    below, above = np.empty(n - 1), np.empty(n - 1)
    below[0], above[0] = y[0] - strength, y[0] + strength
    left, right = n - 1, n
    knots[left], knots[right] = below[0], above[0]
    slopes[left], offsets[left] = 1.0, -y[0] + strength
    slopes[right], offsets[right] = -1.0, y[0] + strength
    for k in range(1, n):
        goal = strength if k < n - 1 else 0.0
        slope, offset, low = 1.0, -strength - y[k], left
        while low <= right and slope * knots[low] + offset <= -goal:
            slope += slopes[low]
            offset += offsets[low]
            low += 1
        if k == n - 1:
            x[k] = -offset / slope
            break
        below[k] = (-strength - offset) / slope
        low_slope, low_offset = slope, offset + strength
        left = low - 1
        knots[left] = below[k]
        slope, offset, high = -1.0, -strength + y[k], right
        while high >= left and -slope * knots[high] - offset >= strength:
            slope += slopes[high]
            offset += offsets[high]
            high -= 1
        above[k] = (strength + offset) / -slope
        right = high + 1
        knots[right] = above[k]
        slopes[left], offsets[left] = low_slope, low_offset
        slopes[right], offsets[right] = slope, offset + strength
    for j in range(n - 2, -1, -1):
        x[j] = min(max(x[j + 1], below[j]), above[j])


@kernel
def worst_range(v: Vector, end: float, level: float) -> tuple[float, float, float]:
    """(excess, |sum|, bound) of the range of v with the largest |sum| - bound; bound = end per inner end + level per entry.

    Ranges with a bound of 0 are left out. Sums are kept with their rounding errors, so that they are as good as one rounding
    however long the range is.
    """
    last = v.size - 1
    worst, worst_sum, worst_bound = -np.inf, 0.0, 0.0
    for sign in (1.0, -1.0):
        total, rest, bound = 0.0, 0.0, 0.0
        for j in range(v.size):
            begin = end if j > 0 else 0.0
            if j == 0 or total + rest - bound <= -begin:
                total, rest, bound = sign * v[j], 0.0, begin
            else:
                new = total + sign * v[j]
                part = new - total
                rest += (total - (new - part)) + (sign * v[j] - part)
                total = new
            bound += level
            whole = bound + (end if j < last else 0.0)
            excess = total + rest - whole
            if excess > worst and whole > 0.0:
                worst, worst_sum, worst_bound = excess, total + rest, whole
    return worst, worst_sum, worst_bound


@kernel
def decreasing_fit(x: Vector) -> None:
    """Replace x by the nearest numbers, in least squares, that do not increase: means of neighbours that would."""
    means, counts = np.empty(x.size), np.empty(x.size)
    last = -1
    for j in range(x.size):
        mean, count = x[j], 1.0
        while last >= 0 and means[last] <= mean:
            total = count + counts[last]
            mean += (means[last] - mean) * (counts[last] / total)
            count = total
            last -= 1
        last += 1
        means[last], counts[last] = mean, count
    j = 0
    for k in range(last + 1):
        for _ in range(int(counts[k])):
            x[j] = means[k]
            j += 1
