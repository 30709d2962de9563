"""Coordinate descent and swaps for min over x of <q, x - x0> + (x - x0)'H(x - x0) / 2 + sum_j r(|x_j|), r quadratic in pieces.

r need be neither convex nor continuous at 0. Every step minimises over one coordinate exactly; a swap sets one coordinate to 0
and minimises over another one that was 0. `r` in the arguments is `regularizers.nonconvex.Pieces`.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.compile.kernel import kernel

IMPROVEMENT = 1e-10  # by which a swap must decrease the value, relative to the penalty that it removes


@helper
def penalty_at(start, constant, slope, curvature, t):
    """r(t) for t > 0."""
    k = start.size - 1
    while k > 0 and start[k] > t:
        k -= 1
    return constant[k] + (slope[k] + 0.5 * curvature[k] * t) * t


@helper
def best_step(start, constant, slope, curvature, g, h):
    """(the x that minimises g x + h x^2 / 2 + r(|x|), the minimum)."""
    size, at, best = abs(g), 0.0, 0.0
    for k in range(start.size):
        rise = h + curvature[k]
        stop = start[k + 1] if k + 1 < start.size else np.inf
        if rise > 0.0:
            t = min(max((size - slope[k]) / rise, start[k]), stop)
        else:  # its minimum is at an end, which belongs to a neighbour, too
            t = start[k]
        value = constant[k] + (slope[k] - size + 0.5 * rise * t) * t
        if t > 0.0 and value < best:
            at, best = t, value
    return (-at if g > 0.0 else at), best


@helper
def sweep(H, start, constant, slope, curvature, x, q, sweeps, small):
    """Sweeps over all coordinates until no step changes a gradient by more than `small`; q is the gradient at x."""
    for _ in range(sweeps):
        largest = 0.0
        for j in range(x.size):
            h = H[j, j]
            new, _ = best_step(start, constant, slope, curvature, q[j] - h * x[j], h)
            step = new - x[j]
            if step != 0.0:
                x[j] = new
                largest = max(largest, abs(step) * h)
                for k in range(x.size):
                    q[k] += step * H[j, k]
        if largest <= small:
            break


@kernel
def local_search(H, start, constant, slope, curvature, x, q, sweeps, swaps, small):
    """Coordinate descent, and after it the best swap as long as there is one that helps; returns the number of swaps."""
    done = 0
    while True:
        sweep(H, start, constant, slope, curvature, x, q, sweeps, small)
        if done == swaps:
            return done
        best, out, into, value = 0.0, -1, -1, 0.0
        for j in range(x.size):
            if x[j] == 0.0:
                continue
            penalty = penalty_at(start, constant, slope, curvature, abs(x[j]))
            removal = -q[j] * x[j] + 0.5 * H[j, j] * x[j] * x[j] - penalty
            for k in range(x.size):
                if x[k] == 0.0:
                    new, gain = best_step(start, constant, slope, curvature, q[k] - H[j, k] * x[j], H[k, k])
                    if new != 0.0 and removal + gain < best - IMPROVEMENT * penalty:
                        best, out, into, value = removal + gain, j, k, new
        if out < 0:
            return done
        for k in range(x.size):
            q[k] += value * H[into, k] - x[out] * H[out, k]
        x[into], x[out] = value, 0.0
        done += 1
