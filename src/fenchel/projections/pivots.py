"""Pivots for the search of the multiplier: two kinks between which the root lies very probably.

F is estimated from a random sample of the undecided coordinates; the pivots are the sample kinks at which the estimate
is three standard deviations below and above z. With 8192 coordinates about an eighth of all kinks lie between them.
"""

from __future__ import annotations

import numpy as np

from fenchel.jit import kernel

SAMPLE = 8192  # coordinates that estimate F
PIVOTS = 512  # coordinates whose kinks may become pivots; more would cost sorting and gain nothing
SPREAD = 3.0


@kernel(fastmath=True)
def sum_clipped(m, lower, upper, sigma, inv_d2, nu):
    """Sum and sum of squares of sigma_i clip(m_i + nu g_i)."""
    total = 0.0
    squares = 0.0
    for i in range(m.size):
        s = sigma[i]
        value = s * min(max(m[i] + nu * (s * inv_d2[i]), lower[i]), upper[i])
        total += value
        squares += value * value
    return total, squares


@kernel
def kinks(m, lower, upper, sigma, inv_d2):
    """The two kinks of one coordinate in increasing order; (inf, inf) for sigma = 0."""
    g = sigma * inv_d2
    if g == 0.0:
        return np.inf, np.inf
    first = (lower - m) / g
    second = (upper - m) / g
    return min(first, second), max(first, second)


@kernel
def draw(m, lower, upper, sigma, inv_d2, k, seed, sample, inside, a, b):
    """k undecided coordinates (all of them if k = m.size) to `sample`, kinks of the first ones to `inside`."""
    found = 0
    for j in range(k):
        seed = seed * 48271 % 2147483647
        i = j if k == m.size else int(seed / 2147483647.0 * m.size)
        sample[0, j] = m[i]
        sample[1, j] = lower[i if lower.size > 1 else 0]
        sample[2, j] = upper[i if upper.size > 1 else 0]
        sample[3, j] = sigma[i if sigma.size > 1 else 0]
        sample[4, j] = inv_d2[i if inv_d2.size > 1 else 0]
        if j >= PIVOTS:
            continue
        for kink in kinks(sample[0, j], sample[1, j], sample[2, j], sample[3, j], sample[4, j]):
            if a < kink < b:
                inside[found] = kink
                found += 1
    inside[:found].sort()
    return found, seed


@kernel
def rank(sample, k, inside, found, scale, base, slope, anchor, target):
    """The number of kinks at which the sample's estimate of F is below `target`."""
    low = 0
    high = found
    while low < high:
        middle = (low + high) // 2
        nu = inside[middle]
        total, _ = sum_clipped(sample[0, :k], sample[1, :k], sample[2, :k], sample[3, :k], sample[4, :k], nu)
        if base + slope * (nu - anchor) + scale * total < target:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def choose_pivots(sample, k, count, inside, found, base, slope, anchor, z, a, b, halve):
    """Two pivots p <= q, at least one of them a kink strictly inside (a, b)."""
    if halve:
        return inside[found // 2], inside[found // 2]
    scale = count / k
    r = rank(sample, k, inside, found, scale, base, slope, anchor, z)
    if k == count:  # exact: the root is between neighbours
        return (inside[r - 1] if r > 0 else a), (inside[r] if r < found else b)
    nu = inside[min(r, found - 1)]
    total, squares = sum_clipped(sample[0, :k], sample[1, :k], sample[2, :k], sample[3, :k], sample[4, :k], nu)
    error = SPREAD * scale * np.sqrt(max(squares - total * total / k, 0.0))
    low = rank(sample, k, inside, found, scale, base, slope, anchor, z - error) - 3
    high = rank(sample, k, inside, found, scale, base, slope, anchor, z + error) + 2
    if low < 0 and high >= found:
        return inside[found // 2], inside[found // 2]
    return (inside[low] if low >= 0 else a), (inside[high] if high < found else b)
