"""sum_j rho_j max(0, c_[j]), c_[1] >= c_[2] >= ... the sorted margins c_j = 1 + z_j - z_y of the classes j != y.

With b_j = u_j, j != y: the conjugate is -sum b, and its domain is b >= 0, (sum of the j largest) <= rho_1 + ... + rho_j for
every j. `rho` may be shorter than the number of classes: missing weights are zero.
"""

from __future__ import annotations

import math

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.multiclass.descending import heap_of, kth_floor, pop_largest, sorted_others
from fenchel.multiclass.isotonic import COUNT, above_block, block_value, pool
from fenchel.multiclass.simplex_step import simplex_step
from fenchel.multiclass.transfers import SLACK, best_other, clear, is_transfer, scale_transfer, taken


@helper
def positive_weights(rho, m):
    """The number of positive weights."""
    n = min(rho.size, m - 1)
    while n > 1 and rho[n - 1] == 0.0:  # n falls
        n -= 1
    return n


@helper
def total_weight(rho, m):
    """The sum of the weights."""
    total = 0.0
    for i in range(positive_weights(rho, m)):
        total += rho[i]
    return total


@helper
def ranked_heap(z, y, rho, keys, order):
    """Build a heap of the nonnegative margins that may have a rank with a weight; returns their number."""
    floor = kth_floor(z, y, positive_weights(rho, z.size))
    return heap_of(z, y, z[y], 1.0, max(0.0, 1.0 + (floor - z[y])), keys, order)


@helper
def usunier_value(z, y, rho):
    """sum_j rho_j max(0, c_[j])."""
    keys, order = np.empty(z.size), np.empty(z.size, np.int64)
    n = ranked_heap(z, y, rho, keys, order)
    total = 0.0
    for i in range(min(n, positive_weights(rho, z.size))):
        total += rho[i] * pop_largest(keys, order, n - i)
    return total


@helper
def usunier_slopes(z, y, rho, out):
    """out = the weights of their ranks for the positive margins."""
    keys, order = np.empty(z.size), np.empty(z.size, np.int64)
    n = ranked_heap(z, y, rho, keys, order)
    clear(out)
    for i in range(min(n, positive_weights(rho, z.size))):
        if pop_largest(keys, order, n - i) <= 0.0:
            break
        out[order[n - 1 - i]] = rho[i]
        out[y] -= rho[i]


@helper
def usunier_excess(u, y, rho):
    """The least factor by which the polytope must be scaled to contain b."""
    ordered = sorted_others(u, y)
    support = positive_weights(rho, u.size)
    most, used, allowed = 0.0, 0.0, 0.0
    for i in range(ordered.size):
        used += ordered[i]
        allowed += rho[i] if i < support else 0.0
        most = max(most, used / allowed)
    return most


@helper
def usunier_conjugate(u, y, rho):
    """-sum b in the domain."""
    if not is_transfer(u, y, total_weight(rho, u.size)) or usunier_excess(u, y, rho) > 1.0 + SLACK:
        return math.inf
    return -taken(u, y)


@helper
def usunier_into_domain(u, y, rho):
    """Scale towards 0."""
    scale_transfer(u, y, 1.0 / max(1.0, usunier_excess(u, y, rho)))


@helper
def usunier_step(t, g, y, rho, out):
    """out = the u that maximises <c, b> - g/2 (|b|^2 + S^2) over the domain, S = sum b, c_j = 1 + t_j - t_y.

    g b_j = (c_j - max(x, I_j))_+ with I the isotonic regression of the sorted c_j - g rho_j and x = g S. Two kinds of entries
    are left out: those below g S, which is at least its value for the largest entry alone, and those after the last weight
    that are not pooled, for instance if they are g rho_1 below the last with a weight. All are relative to the largest.
    """
    support = positive_weights(rho, t.size)
    if support == 1:
        simplex_step(t, g, y, rho[0], out)
        return
    best = t[best_other(t, y)]
    top = 1.0 + (best - t[y])
    clear(out)
    if top <= 0.0:
        return
    keys, order, blocks = np.empty(t.size), np.empty(t.size, np.int64), np.empty((4, t.size))
    least = max(min(0.5 * top, g * rho[0]) - top, kth_floor(t, y, support) - best - g * rho[0])
    n = heap_of(t, y, best, 0.0, least, keys, order)
    used, pooled = 0, 0
    while used < n:  # used rises
        key = pop_largest(keys, order, n - used)
        before = pooled
        pooled = pool(blocks, before, key, rho[used] if used < support else 0.0, g)
        if used >= support and pooled > before:
            pooled = before
            break
        used += 1
    ordered, most, lowest = np.empty(used), np.empty(used), np.empty(used)
    i = 0
    for b in range(pooled):
        for _ in range(int(blocks[COUNT, b])):
            ordered[i] = keys[n - 1 - i]
            most[i] = above_block(blocks, b, g, ordered[i])
            lowest[i] = block_value(blocks, b, g)
            i += 1
    full, part, x = common_level(ordered, most, lowest, top)
    for i in range(part):
        share = most[i] if i < full else max(0.0, ordered[i] - x)
        j = order[n - 1 - i]
        out[j] = share / g
        out[y] -= out[j]


@helper
def common_level(ordered, most, least, top):
    """The x with sum_i min(most_i, (ordered_i - x)_+) = x + top -> (number at their maximum, number above x, x).

    x decreases past the sorted ordered_i, where entries begin to grow, and the sorted least_i = ordered_i - most_i, where they
    stop; between two of these both sides are linear.
    """
    n, full, part = ordered.size, 0, 0
    fixed, moving = top, 0.0  # sums of most_i + top over the full, of ordered_i over the others in part
    while full < n:  # part or full rises, and neither is ever above n
        grows = part < n and ordered[part] >= least[full]
        x = ordered[part] if grows else least[full]
        if fixed - top + moving - (part - full) * x >= x + top:
            break
        if grows:
            moving += ordered[part]
            part += 1
        else:
            moving -= ordered[full]
            fixed += most[full]
            full += 1
    # The sums are recomputed, without the rounding errors of the terms that were added and subtracted.
    moving, fixed = 0.0, 0.0
    for i in range(full):
        fixed += most[i]
    for i in range(full, part):
        moving += ordered[i]
    return full, part, (fixed + moving - top) / (1 + part - full)
