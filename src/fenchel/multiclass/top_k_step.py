"""The dual step of the top-k family: a one-dimensional search with an isotonic regression in each step."""

from __future__ import annotations

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.multiclass.descending import pop_largest
from fenchel.multiclass.isotonic import COUNT, WEIGHT, above_block, block_value, pool
from fenchel.multiclass.simplex_step import simplex_step
from fenchel.multiclass.top_k_family import top_k_ranks
from fenchel.multiclass.transfers import clear
from fenchel.multiclass.usunier_family import positive_weights, total_weight

MAX_TRIES = 100
EPSILON = 2.0**-52


@helper
def top_k_step(t, g, y, rho, out):
    """out = the u that maximises <c, b> - g/2 (|b|^2 + S^2) over the domain, S = sum b, c_j = 1 + t_j - t_y.

    For a fixed f, (b, b_y) is the projection of (c/g, f sum rho) onto f P(rho): the sorted point minus the isotonic
    regression I of the point minus f rho. The derivative of the maximum in f is g sum_j rho_j (I_j - I_y), which decreases
    and is linear as long as the pools stay the same: Newton's steps, safeguarded by a bracket, find its root.
    """
    support = positive_weights(rho, t.size)
    if support == 1:
        simplex_step(t, g, y, rho[0], out)
        return
    clear(out)
    keys, order, blocks = np.empty(t.size), np.empty(t.size, np.int64), np.empty((4, t.size))
    n, drawn, _, _, rate = top_k_ranks(t, y, rho, g * rho[0], keys, order)
    if rate <= 0.0:
        return
    total = total_weight(rho, t.size)
    low, high, f = 0.0, 1.0, 1.0
    pooled, own = 0, -1
    for attempt in range(MAX_TRIES):
        drawn, pooled, own = project(keys, order, n, drawn, rho, support, g * f * total, g * f, blocks)
        rate, curvature, size = growth_rate(blocks, pooled, own, g, f, total)
        if rate >= 0.0:
            low = f
        else:
            high = f
        if low == 1.0 or abs(rate) <= EPSILON * size or high - low <= EPSILON * high:
            break
        newton = f - rate / curvature
        f = newton if low < newton < high and attempt % 4 != 3 else 0.5 * (low + high)
    i = 0
    for b in range(pooled):
        for _ in range(int(blocks[COUNT, b])):
            if i != own:
                place = n - 1 - (i - 1 if 0 <= own < i else i)
                share = max(0.0, above_block(blocks, b, g * f, keys[place])) / g
                out[order[place]] = share
                out[y] -= share
            i += 1


@helper
def project(keys, order, n, drawn, rho, support, level, scale, blocks):
    """Isotonic regression of the margins and y's `level`, sorted, minus scale rho -> (drawn, number of blocks, rank of y).

    Entries after the last weight that are not pooled equal their fitted values; the rank of y is -1 if y is among them.
    """
    used, pooled, own, taken = 0, 0, -1, 0
    while used <= n:  # used rises
        if taken == drawn and drawn < n:
            pop_largest(keys, order, n - drawn)
            drawn += 1
        is_own = own < 0 and (taken == n or level >= keys[n - 1 - taken])
        before = pooled
        value = level if is_own else keys[n - 1 - taken]
        pooled = pool(blocks, before, value, rho[used] if used < support else 0.0, scale)
        if used >= support and pooled > before:
            return drawn, before, own
        if is_own:
            own = used
        else:
            taken += 1
        used += 1
    return drawn, pooled, own


@helper
def growth_rate(blocks, pooled, own, g, f, total):
    """(sum_j rho_j (I_j - I_y), its derivative in f, the sum of the absolute values)."""
    fit, slope, first = g * f * total, g * total, 0
    for b in range(pooled):
        past = first + int(blocks[COUNT, b])
        if first <= own < past:
            fit = block_value(blocks, b, g * f)
            slope = g * (total - blocks[WEIGHT, b]) / blocks[COUNT, b]
            break
        first = past
    rate, curvature, size, first = 0.0, 0.0, 0.0, 0
    for b in range(pooled):
        weight, past = blocks[WEIGHT, b], first + int(blocks[COUNT, b])
        if not first <= own < past:
            gap = weight * (block_value(blocks, b, g * f) - fit)
            rate += gap
            size += abs(gap)
            curvature -= weight * (g * weight / blocks[COUNT, b] + slope)
        first = past
    return rate, curvature, size
