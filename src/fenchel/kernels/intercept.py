"""Exact minimisation over the free intercept: b with 0 in sum_i p_i subdifferential(z_i + b)."""

from __future__ import annotations

import math

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.data.sums import add
from fenchel.losses.protocol import dual_domain, slope, value_and_slope

MAX_DOUBLINGS = 60
MAX_STEPS = 200
CHUNK = np.uint64(512)  # rows whose slopes are added before their sum joins the compensated sum


@kernel
def slope_sum(loss, y, p, z, centre, reach, b):
    """sum p slope(z + b), with the scores clipped to `reach` around `centre`; nondecreasing in b."""
    total = 0.0
    for i in range(z.size):
        if p[i] > 0.0:
            total += p[i] * slope(loss, min(max(z[i] + b, centre[i] - reach), centre[i] + reach), y[i])
    return total


@kernel(fastmath=True)
def some_slopes(loss, y, p, z, b, start, stop):
    """(sum p slope(z + b), sum p |slope|) of the rows start..stop, few enough to be added without compensation."""
    total, size = 0.0, 0.0
    for i in range(start, stop):
        term = p[i] * slope(loss, z[i] + b, y[i])
        term = term if p[i] > 0.0 else 0.0
        total += term
        size += abs(term)
    return total, size


@kernel
def intercept_sums(loss, y, p, z, b, total, size):
    """total_k += sum p slope(z + b_k) and size_k += sum p |slope(z + b_k)|."""
    n = np.uint64(z.size)
    for k in range(b.size):
        found, correction = total[k], 0.0
        for start in range(np.uint64(0), n, CHUNK):
            more, sizes = some_slopes(loss, y, p, z, b[k], start, min(start + CHUNK, n))
            found, correction = add(found, correction, more)
            size[k] += sizes
        total[k] = found + correction


@kernel(fastmath=True)
def some_equal_slopes(loss, y, p, z, low, high, start, stop):
    """(sum p slope, sum p |slope|, number) of the rows among start..stop whose slopes at z + low and z + high are equal."""
    total, size, number = 0.0, 0.0, 0
    for i in range(start, stop):
        lower, upper = slope(loss, z[i] + low, y[i]), slope(loss, z[i] + high, y[i])
        same = lower == upper or not p[i] > 0.0
        term = p[i] * lower if same and p[i] > 0.0 else 0.0
        total += term
        size += abs(term)
        number += 1 if same else 0
    return total, size, number


@kernel
def changing_rows(loss, y, p, z, low, high, out):
    """Write the rows whose slopes at z + low and z + high differ into `out`; returns (sum p slope and sum p |slope| of the
    others, the number of rows written)."""
    n, found, correction, size, count = np.uint64(z.size), 0.0, 0.0, 0.0, 0
    for start in range(np.uint64(0), n, CHUNK):
        stop = min(start + CHUNK, n)
        more, sizes, number = some_equal_slopes(loss, y, p, z, low, high, start, stop)
        found, correction = add(found, correction, more)
        size += sizes
        if number < stop - start:
            for i in range(start, stop):
                if p[i] > 0.0 and slope(loss, z[i] + low, y[i]) != slope(loss, z[i] + high, y[i]):
                    out[count] = i
                    count += 1
    return found + correction, size, count


@kernel
def score_size(p, z):
    """sum p |z|."""
    size = 0.0
    for i in range(z.size):
        size += p[i] * abs(z[i]) if p[i] > 0.0 else 0.0
    return size


@kernel
def slope_limits(loss, y, p):
    """(sum p low, sum p high): the limits of the sum of slopes for b to -inf and +inf."""
    low, high = 0.0, 0.0
    for i in range(y.size):
        if p[i] > 0.0:
            lower, upper = dual_domain(loss, y[i])
            low += p[i] * lower
            high += p[i] * upper
    return low, high


@kernel
def intercept_bracket(loss, y, p, z, centre, reach, b):
    """(low, high) with slope_sum(low) <= 0 <= slope_sum(high), adjacent doubles or equal, by bisection with secant steps.

    If no finite b balances the slopes, the far end of the search is returned twice.
    """
    at = slope_sum(loss, y, p, z, centre, reach, b)
    low, high, f_low, f_high = b, b, at, at
    stride = 1.0
    for _ in range(MAX_DOUBLINGS):
        if f_low <= 0.0:
            break
        high, f_high = low, f_low
        low = b - stride
        f_low = slope_sum(loss, y, p, z, centre, reach, low)
        stride *= 2.0
    stride = 1.0
    for _ in range(MAX_DOUBLINGS):
        if f_high >= 0.0:
            break
        low, f_low = high, f_high
        high = b + stride
        f_high = slope_sum(loss, y, p, z, centre, reach, high)
        stride *= 2.0
    if f_low > 0.0 or f_low == 0.0:
        return low, low
    if f_high < 0.0 or f_high == 0.0:
        return high, high
    for step in range(MAX_STEPS):
        middle = low + 0.5 * (high - low)
        if step % 2 == 0 and f_high > f_low and math.isfinite(f_high) and math.isfinite(f_low):
            secant = low - f_low * (high - low) / (f_high - f_low)
            if low < secant < high:
                middle = secant
        if not (low < middle < high):
            break
        at = slope_sum(loss, y, p, z, centre, reach, middle)
        if at == 0.0:
            return middle, middle
        if at < 0.0:
            low, f_low = middle, at
        else:
            high, f_high = middle, at
    return low, high


@kernel
def balanced_plane(loss, y, p, offset, z, low, high, share, centre, reach, u):
    """u = (1 - share) slopes at z + low + share slopes at z + high; returns the plane's constant.

    The tangents of all rows, at any scores, sum to a lower bound of the risk, <sum p u x, w> + constant. The scores are
    clipped to `reach` around `centre` (the scores of the best point known), so that a fast-growing loss cannot give a useless
    plane; at the optimum this changes nothing.
    """
    constant = 0.0
    for i in range(z.size):
        u[i] = 0.0
        if p[i] > 0.0:
            at_low = min(max(z[i] + low, centre[i] - reach), centre[i] + reach)
            at_high = min(max(z[i] + high, centre[i] - reach), centre[i] + reach)
            f_low, u_low = value_and_slope(loss, at_low, y[i])
            f_high, u_high = value_and_slope(loss, at_high, y[i])
            u[i] = (1.0 - share) * u_low + share * u_high
            constant += p[i] * (
                (1.0 - share) * (f_low - u_low * at_low) + share * (f_high - u_high * at_high) + u[i] * offset[i]
            )
    return constant
