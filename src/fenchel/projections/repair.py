"""Compute alpha = clip(m + nu g) with one rounding per coordinate, and sum sigma_i alpha_i exactly up to its last rounding.

m + nu g cancels when |m| is far larger than the width of the box (with |m| ~ 1e13 and a width of 1e-3 all digits are lost), so
the rounding errors of the product and the sum are carried along (Dekker, Knuth) until the last operation.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fenchel.compile.kernel import kernel
from fenchel.projections.blocks import BLOCK, LANES, Columns, add_compensated, combine, part, product_error, two_sum


@kernel
def shift_block(m, sigma, inv_d2, nu, nu_low, out):
    """out_i = m_i + (nu + nu_low) g_i, rounded once."""
    for i in range(m.size):
        g = sigma[i] * inv_d2[i]
        product = nu * g
        total, error = two_sum(m[i], product)
        out[i] = total + (error + (product_error(nu, g, product) + nu_low * g))


@kernel(fastmath=True)
def clip_block(x, lower, upper, sigma, products):
    """Clip x in place; products_i = sigma_i x_i; sum |products|.

    The sum is NaN if x is not finite, a bound is NaN or the box is empty, which checks all arguments in the same pass.
    """
    size = 0.0
    for i in range(x.size):
        s, low, high, free = sigma[i], lower[i], upper[i], x[i]
        value = min(max(free, low), high)
        x[i] = value
        products[i] = s * value
        size += abs(s * value) + (0.0 * free if low <= high else np.nan)
    return size


@kernel
def move_blocks(m, lower, upper, sigma, inv_d2, nu, nu_low, products, high, low, out):
    """out = clip(m + (nu + nu_low) g); sum |sigma out|, and sum sigma out in the lanes of (high, low)."""
    size = 0.0
    for start in range(0, m.size, BLOCK):
        stop = min(start + BLOCK, m.size)
        x, s, here = out[start:stop], part(sigma, start, stop), products[: stop - start]
        shift_block(m[start:stop], s, part(inv_d2, start, stop), nu, nu_low, x)
        size += clip_block(x, part(lower, start, stop), part(upper, start, stop), s, here)
        add_compensated(here, high, low)
    return size


def move(columns: Columns, nu: float, nu_low: float, z: float, out: NDArray[np.float64]) -> tuple[float, float]:
    """out = clip(m + (nu + nu_low) g); residual z - sum sigma out, and sum |sigma out| (NaN if an argument is bad)."""
    products, high, low = np.empty(BLOCK), np.zeros(LANES), np.zeros(LANES)
    size = move_blocks(*columns, nu, nu_low, products, high, low, out)
    return (-combine(high, low, -z) if size + abs(z) < math.inf else math.nan), size


@kernel(fastmath=True)
def free_slope(alpha, lower, upper, sigma, inv_d2):
    """Slope of sum sigma alpha in nu: that of the coordinates strictly between their bounds."""
    slope = 0.0
    for start in range(0, alpha.size, BLOCK):
        stop = min(start + BLOCK, alpha.size)
        x, low, high = alpha[start:stop], part(lower, start, stop), part(upper, start, stop)
        s, w = part(sigma, start, stop), part(inv_d2, start, stop)
        for i in range(stop - start):
            slope += s[i] * (s[i] * w[i]) if (x[i] > low[i]) & (x[i] < high[i]) else 0.0
    return slope
