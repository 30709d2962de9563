"""max(0, sum_j rho_j c_[j]), c_[1] >= ... >= c_[m] the sorted margins c_j = 1 + z_j - z_y and, of the true class, c_y = 0.

With b_j = u_j, j != y: the conjugate is -sum b, and b is in its domain if some b_y >= 0 completes it to a point of
f P(rho), 0 <= f <= 1, where P(rho) is the convex hull of the orders of (rho_1, ..., rho_m), rho_m = 0. Missing weights are 0.
"""

from __future__ import annotations

import math

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.multiclass.descending import draw, heap_of, kth_floor, sorted_others
from fenchel.multiclass.transfers import SLACK, clear, is_transfer, scale_transfer, taken
from fenchel.multiclass.us_family import positive_weights, total_weight


@helper
def tk_ranks(z, y, rho, room, keys, order):
    """Rank the margins -> (size of the heap, how many drawn, how many ranked, rank of y or -1, sum_j rho_j c_[j]).

    The heap holds all margins that are at most `room` below the last with a weight.
    """
    floor = kth_floor(z, y, positive_weights(rho, z.size))
    n = heap_of(z, y, z[y], 1.0, 1.0 + (floor - z[y]) - room, keys, order)
    drawn, ranked, own, total, key = 0, 0, -1, 0.0, 0.0
    for rank in range(positive_weights(rho, z.size)):
        if drawn == ranked:
            if drawn == n:
                break  # fewer margins than ranks: some score is NaN
            key = draw(keys, order, n - drawn)
            drawn += 1
        if own < 0 and key <= 0.0:
            own = rank
        else:
            total += rho[rank] * key
            ranked += 1
    return n, drawn, ranked, own, total


@helper
def tk_value(z, y, rho):
    """max(0, sum_j rho_j c_[j])."""
    keys, order = np.empty(z.size), np.empty(z.size, np.int64)
    _, _, _, _, total = tk_ranks(z, y, rho, 0.0, keys, order)
    return max(0.0, total)


@helper
def tk_slopes(z, y, rho, out):
    """All ranked classes take the weights of their ranks, or none does."""
    keys, order = np.empty(z.size), np.empty(z.size, np.int64)
    n, _, ranked, own, total = tk_ranks(z, y, rho, 0.0, keys, order)
    clear(out)
    if total > 0.0:
        for i in range(ranked):
            weight = rho[i + 1 if 0 <= own <= i else i]
            out[order[n - 1 - i]] = weight
            out[y] -= weight


@helper
def tk_factor(ordered, rho, support):
    """(the least f that b allows, how far b is inside the bounds above f; negative: no f will do), b sorted."""
    used, allowed, factor = 0.0, 0.0, 0.0
    for i in range(ordered.size):
        used += ordered[i]
        allowed += rho[i] if i < support else 0.0
        factor = max(factor, used / allowed)
    room, rest, tail = math.inf, 0.0, 0.0
    for i in range(ordered.size):
        j = ordered.size - 1 - i
        rest += ordered[j]
        if tail > 0.0:
            room = min(room, rest - factor * tail)
        tail += rho[j] if j < support else 0.0
    return factor, room


@helper
def tk_conjugate(u, y, rho):
    """-sum b in the domain."""
    size = total_weight(rho, u.size)
    if not is_transfer(u, y, size):
        return math.inf
    factor, room = tk_factor(sorted_others(u, y), rho, positive_weights(rho, u.size))
    return -taken(u, y) if factor <= 1.0 + SLACK and room >= -SLACK * size else math.inf


@helper
def tk_into_domain(u, y, rho):
    """Mix b with its mean, which always spans a ray of the domain, as little as needed; then scale towards 0."""
    support, total = positive_weights(rho, u.size), taken(u, y)
    ordered = sorted_others(u, y)
    mean = total / ordered.size
    factor, room = tk_factor(ordered, rho, support)
    if room < -SLACK * total:
        outside, inside = 0.0, 1.0
        mixed = np.empty(ordered.size)
        for _ in range(60):
            middle = 0.5 * (outside + inside)
            for i in range(ordered.size):
                mixed[i] = ordered[i] + middle * (mean - ordered[i])
            mixed_factor, room = tk_factor(mixed, rho, support)
            if room < 0.0:
                outside = middle
            else:
                inside, factor = middle, mixed_factor
        for j in range(u.size):
            u[j] = max(u[j], 0.0) + inside * (mean - max(u[j], 0.0))
    scale_transfer(u, y, 1.0 / max(1.0, factor))
