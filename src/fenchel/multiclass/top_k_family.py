"""max(0, sum_j rho_j c_[j]), c_[1] >= ... >= c_[m] the sorted margins c_j = 1 + z_j - z_y and, of the true class, c_y = 0.

With b_j = u_j, j != y: the conjugate is -sum b, and b is in its domain if some b_y >= 0 completes it to a point of
f P(rho), 0 <= f <= 1, where P(rho) is the convex hull of the orders of (rho_1, ..., rho_m), rho_m = 0. Missing weights are 0.
"""

from __future__ import annotations

import math

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.multiclass.descending import heap_of, kth_floor, pop_largest, sorted_others
from fenchel.multiclass.transfers import SLACK, clear, is_transfer, scale_transfer, taken
from fenchel.multiclass.usunier_family import positive_weights, total_weight


@helper
def top_k_ranks(z, y, rho, depth, keys, order):
    """Rank the margins -> (size of the heap, number popped, number ranked, rank of y or -1, sum_j rho_j c_[j]).

    The heap holds all margins that are at most `depth` below the last margin with a weight.
    """
    floor = kth_floor(z, y, positive_weights(rho, z.size))
    n = heap_of(z, y, z[y], 1.0, 1.0 + (floor - z[y]) - depth, keys, order)
    drawn, ranked, own, total, key = 0, 0, -1, 0.0, 0.0
    for rank in range(positive_weights(rho, z.size)):
        if drawn == ranked:
            if drawn == n:
                break  # fewer margins than ranks: some score is NaN
            key = pop_largest(keys, order, n - drawn)
            drawn += 1
        if own < 0 and key <= 0.0:
            own = rank
        else:
            total += rho[rank] * key
            ranked += 1
    return n, drawn, ranked, own, total


@helper
def top_k_value(z, y, rho):
    """max(0, sum_j rho_j c_[j])."""
    keys, order = np.empty(z.size), np.empty(z.size, np.int64)
    _, _, _, _, total = top_k_ranks(z, y, rho, 0.0, keys, order)
    return max(0.0, total)


@helper
def top_k_slopes(z, y, rho, out):
    """out = the weights of their ranks for all ranked classes if the loss is positive, else 0."""
    keys, order = np.empty(z.size), np.empty(z.size, np.int64)
    n, _, ranked, own, total = top_k_ranks(z, y, rho, 0.0, keys, order)
    clear(out)
    if total > 0.0:
        for i in range(ranked):
            weight = rho[i + 1 if 0 <= own <= i else i]
            out[order[n - 1 - i]] = weight
            out[y] -= weight


@helper
def top_k_factor(ordered, rho, support):
    """(the least feasible f, the slack of the other constraints at f, negative if no f is feasible) for a sorted b."""
    used, allowed, factor = 0.0, 0.0, 0.0
    for i in range(ordered.size):
        used += ordered[i]
        allowed += rho[i] if i < support else 0.0
        factor = max(factor, used / allowed)
    slack, rest, tail = math.inf, 0.0, 0.0
    for i in range(ordered.size):
        j = ordered.size - 1 - i
        rest += ordered[j]
        if tail > 0.0:
            slack = min(slack, rest - factor * tail)
        tail += rho[j] if j < support else 0.0
    return factor, slack


@helper
def top_k_conjugate(u, y, rho):
    """-sum b in the domain."""
    size = total_weight(rho, u.size)
    if not is_transfer(u, y, size):
        return math.inf
    factor, slack = top_k_factor(sorted_others(u, y), rho, positive_weights(rho, u.size))
    return -taken(u, y) if factor <= 1.0 + SLACK and slack >= -SLACK * size else math.inf


@helper
def top_k_into_domain(u, y, rho):
    """Mix b with its mean, multiples of which are in the domain, as little as necessary; then scale towards 0."""
    support, total = positive_weights(rho, u.size), taken(u, y)
    ordered = sorted_others(u, y)
    mean = total / ordered.size
    factor, slack = top_k_factor(ordered, rho, support)
    if slack < -SLACK * total:
        outside, inside = 0.0, 1.0
        mixed = np.empty(ordered.size)
        for _ in range(60):
            middle = 0.5 * (outside + inside)
            for i in range(ordered.size):
                mixed[i] = ordered[i] + middle * (mean - ordered[i])
            mixed_factor, slack = top_k_factor(mixed, rho, support)
            if slack < 0.0:
                outside = middle
            else:
                inside, factor = middle, mixed_factor
        for j in range(u.size):
            u[j] = max(u[j], 0.0) + inside * (mean - max(u[j], 0.0))
    scale_transfer(u, y, 1.0 / max(1.0, factor))
