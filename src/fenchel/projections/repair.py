"""Move to alpha = clip(m + nu g) with one rounding per coordinate, and measure sum sigma_i alpha_i to the last bit.

m + nu g cancels when |m| is far above the width of the box (|m| ~ 1e13 in a box of width 1e-3 loses everything), so the
product and the sum carry their rounding errors (Dekker, Knuth) until the last operation. Sums are compensated in
independent lanes, because one chain of dependent additions would cost more than all the rest.
"""

from __future__ import annotations

import numpy as np

from fenchel.jit import kernel
from fenchel.projections.multiplier import BLOCK, block, constant_block

SPLIT = 134217729.0  # 2^27 + 1
LANES = 64


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
def shift_block(m, sigma, inv_d2, nu, nu_low, out):
    """out_i = m_i + (nu + nu_low) g_i, rounded once."""
    for i in range(m.size):
        g = sigma[i] * inv_d2[i]
        product = nu * g
        total, error = two_sum(m[i], product)
        out[i] = total + (error + (product_error(nu, g, product) + nu_low * g))


@kernel(fastmath=True)
def clip_block(x, lower, upper, sigma, inv_d2, reach, products, sums):
    """Clip x in place; products_i = sigma_i x_i. Add to sums: sum |products| and the slope of the free coordinates.

    The sum is NaN if x is not finite, a bound NaN or the box empty: the check of all arguments, while they are at hand.
    Returns how many coordinates could be free after a change of nu by at most `reach`.
    """
    size = 0.0
    slope = 0.0
    near = 0.0
    for i in range(x.size):
        s = sigma[i]
        g = s * inv_d2[i]
        poison = x[i]
        value = min(max(x[i], lower[i]), upper[i])
        slope += s * g if (x[i] > lower[i]) & (x[i] < upper[i]) else 0.0
        near += 1.0 if abs(x[i] - value) <= reach * abs(g) else 0.0
        x[i] = value
        products[i] = s * value
        size += abs(s * value) + (0.0 * poison if lower[i] <= upper[i] else np.nan)
    sums[0] += size
    sums[1] += slope
    return near


@kernel
def add_compensated(values, high, low):
    """Add values to the lanes of (high, low), with the rounding error of every addition collected in low."""
    for start in range(0, values.size, LANES):
        here = values[start : start + LANES]
        for j in range(here.size):
            high[j], error = two_sum(high[j], here[j])
            low[j] += error


@kernel
def combine(high, low, start):
    """start + sum of all lanes."""
    error = 0.0
    for j in range(high.size):
        start, more = two_sum(start, high[j])
        error += more + low[j]
    return start + error


@kernel
def move(m, lower, upper, sigma, inv_d2, nu, nu_low, z, reach, again, quiet, lanes, sums, out):
    """out = clip(m + (nu + nu_low) g); residual z - sum sigma out, sum |sigma out|, slope of the free set.

    Blocks that no change of nu up to `reach` can touch are marked quiet; their sums stay in row 0 of `lanes` and
    `sums`, and a call with `again` skips them. A projection onto the simplex has hardly any other blocks.
    """
    f_l, f_u = constant_block(lower), constant_block(upper)
    f_s, f_w = constant_block(sigma), constant_block(inv_d2)
    products = np.empty(BLOCK)
    first = 1 if again else 0
    lanes[first:] = 0.0
    sums[first:] = 0.0
    more = np.empty(2)
    for start in range(0, m.size, BLOCK):
        number = start // BLOCK
        if again and quiet[number]:
            continue
        stop = min(start + BLOCK, m.size)
        x, here = out[start:stop], products[: stop - start]
        s, w = block(sigma, f_s, start, stop), block(inv_d2, f_w, start, stop)
        l, u = block(lower, f_l, start, stop), block(upper, f_u, start, stop)
        shift_block(m[start:stop], s, w, nu, nu_low, x)
        more[:] = 0.0
        near = clip_block(x, l, u, s, w, reach, here, more)
        if not again:
            quiet[number] = near == 0.0
        row = 0 if quiet[number] else 1
        sums[row] += more
        add_compensated(here, lanes[row, 0], lanes[row, 1])
    residual = -combine(lanes[:, 0].ravel(), lanes[:, 1].ravel(), -z)
    return residual, sums[0, 0] + sums[1, 0], sums[0, 1] + sums[1, 1]


@kernel
def shift(m, sigma, inv_d2, nu, nu_low, out):
    """out = m + (nu + nu_low) g."""
    f_s, f_w = constant_block(sigma), constant_block(inv_d2)
    for start in range(0, m.size, BLOCK):
        stop = min(start + BLOCK, m.size)
        s, w = block(sigma, f_s, start, stop), block(inv_d2, f_w, start, stop)
        shift_block(m[start:stop], s, w, nu, nu_low, out[start:stop])


@kernel
def attainable(lower, upper, sigma, n):
    """Least and greatest value of sum sigma alpha over the box, and the sum of the absolute terms of each."""
    least, greatest, least_size, greatest_size = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        s = sigma[i if sigma.size > 1 else 0]
        if s != 0.0:
            first = s * lower[i if lower.size > 1 else 0]
            second = s * upper[i if upper.size > 1 else 0]
            least += min(first, second)
            greatest += max(first, second)
            least_size += abs(min(first, second))
            greatest_size += abs(max(first, second))
    return least, greatest, least_size, greatest_size
