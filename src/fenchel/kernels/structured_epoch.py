"""Frank-Wolfe steps on the weights of the labels of one example after another, with L2: w = -sum p a f psi / strength.

An example's vertices are the labels of its pool and the gold label, whose plane is 0. Along a direction c of their weights
(sum c = 0) the dual increases by step * <c, planes at w> - step^2 / 2 * p / strength * |sum c f psi|^2.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.copy import copy
from fenchel.compile.dispatch import helper
from fenchel.compile.kernel import kernel
from fenchel.kernels.structured_passes import ROUNDING, plane_at
from fenchel.kernels.thresholded_step import soft, thresholded_step
from fenchel.structured.protocol import (
    add_label,
    best_label,
    label_cost,
    label_size,
    part_scores,
    plane_factor,
    pop_square_norm,
)

PLAIN, AWAY, PAIRWISE = 0, 1, 2
ASK, CACHE_FIRST, CACHE_ONLY = 0, 1, 2
NEGLIGIBLE_WEIGHT = 1e-14  # smaller weights are rounding errors
# A cached label is used without an oracle call if it promises these fractions of the example's last gap and of the mean gap.
GOOD_SHARE, GOOD_PART = 0.25, 0.01


@kernel
def label_steps(
    model, p, order, inverse_strength, workspace_size, kind, asks, gaps, w, v, threshold, shrink, scratch, average,
    steps_before, start, weights, offsets, labels, used,
):  # fmt: skip
    """One step for every example of `order`; w, the pool, gaps and the average's correction are updated in place.

    Unless v is empty, the sums are kept in v and w = shrink (v with all entries moved towards 0 by `threshold`).
    `average` (empty if not needed) sums T_(k-1) (change of w in step k), T_k = 1 + .. + k, from which sum_k k w_k follows.
    Returns (oracle calls, first example with a bad oracle or -1).
    """
    S, candidate = np.empty(workspace_size), np.empty(1, dtype=np.int32)
    gains, c = np.empty(16), np.empty(16)
    calls, step_number, mean_gap = 0, steps_before, np.sum(p * gaps) / p.size
    for i in order:
        size, first = label_size(model, i), start[i]
        if candidate.size < size:
            candidate = np.empty(size, dtype=np.int32)
        if gains.size < used[i] + 2:
            gains, c = np.empty(2 * used[i] + 2), np.empty(2 * used[i] + 2)
        part_scores(model, w, i, S)
        mean, rest, best = planes_of(model, w, S, i, first, used[i], weights, offsets, labels, gains)
        top = gains[best] if best >= 0 else 0.0
        promise = p[i] * (top - mean)
        enough = promise >= max(GOOD_SHARE * p[i] * gaps[i], GOOD_PART * mean_gap) and promise > 0.0
        if asks == ASK or (asks == CACHE_FIRST and not enough):
            y = candidate[:size]
            best_label(model, w, S, i, y)
            value, cost = plane_at(model, w, S, i, y), label_cost(model, i, y)
            calls += 1
            if not value >= -ROUNDING * (cost + abs(value - cost)):
                return calls, i
            gaps[i] = max(value - mean, 0.0)
            if value > top:
                at = place_of(labels, offsets, first, used[i], y)
                if at == used[i]:
                    copy(y, labels[offsets[first + at] : offsets[first + at + 1]])
                    weights[first + at] = 0.0
                    used[i] += 1
                best, top, gains[at] = at, value, value
        elif asks == CACHE_ONLY:
            gaps[i] = max(top - mean, 0.0)
        step_number += 1
        slope, most = direction(kind, used[i], first, weights, gains, best, top, mean, rest, c)
        if slope > 0.0:
            move(
                model, p[i] * inverse_strength, i, slope, most, used[i], first, c, w, v, threshold, shrink, scratch, average,
                0.5 * step_number * (step_number - 1.0), weights, offsets, labels,
            )  # fmt: skip
    return calls, -1


@helper
def planes_of(model, w, S, i, first, used, weights, offsets, labels, gains):
    """(mean plane of the example's mixture, weight of the gold label, index of the best label or -1 for gold)."""
    mean, rest, best, top = 0.0, 1.0, -1, 0.0
    for k in range(used):
        gains[k] = plane_at(model, w, S, i, labels[offsets[first + k] : offsets[first + k + 1]])
        mean += weights[first + k] * gains[k]
        rest -= weights[first + k]
        if gains[k] > top:
            best, top = k, gains[k]
    return mean, max(rest, 0.0), best


@helper
def place_of(labels, offsets, first, used, y):
    """The index of an equal label in the pool, or `used` if there is none."""
    for k in range(used):
        at, same = offsets[first + k], True
        for j in range(y.size):
            if labels[at + j] != y[j]:
                same = False
                break
        if same:
            return k
    return used


@helper
def direction(kind, used, first, weights, gains, best, top, mean, rest, c):
    """(slope, largest step); c = the direction of the labels' weights; the weight of the gold label changes by -sum c."""
    worst, low = (-1, 0.0) if rest > NEGLIGIBLE_WEIGHT else (-2, np.inf)
    for k in range(used):
        c[k] = 0.0
        if weights[first + k] > NEGLIGIBLE_WEIGHT and gains[k] < low:
            worst, low = k, gains[k]
    if kind == PAIRWISE:
        if best >= 0:
            c[best] += 1.0
        if worst >= 0:
            c[worst] -= 1.0
        return top - low, weights[first + worst] if worst >= 0 else rest
    share = weights[first + worst] if worst >= 0 else rest
    if kind == AWAY and mean - low > top - mean and share < 1.0:
        for k in range(used):
            c[k] = weights[first + k]
        if worst >= 0:
            c[worst] -= 1.0
        return mean - low, share / (1.0 - share)
    for k in range(used):
        c[k] = -weights[first + k]
    if best >= 0:
        c[best] += 1.0
    return top - mean, 1.0


@helper
def move(
    model, pull, i, slope, most, used, first, c, w, v, threshold, shrink, scratch, average, triangle, weights, offsets, labels
):  # fmt: skip
    """Take the optimal step along c."""
    for k in range(used):
        if c[k] != 0.0:
            y = labels[offsets[first + k] : offsets[first + k + 1]]
            add_label(model, i, y, c[k] * plane_factor(model, label_cost(model, i, y)), scratch)
    if v.size > 0:
        most = thresholded_step(v, scratch, pull, threshold, shrink, slope, most)
    curvature = 0.0
    for k in range(used):
        if c[k] != 0.0:
            curvature += pop_square_norm(model, i, labels[offsets[first + k] : offsets[first + k + 1]], scratch)
    curvature = 0.0 if v.size > 0 else curvature * pull
    step = most if slope >= most * curvature else slope / curvature
    for k in range(used):
        if c[k] != 0.0:
            y = labels[offsets[first + k] : offsets[first + k + 1]]
            a = -step * pull * c[k] * plane_factor(model, label_cost(model, i, y))
            add_label(model, i, y, a, w if v.size == 0 else v)
            if average.size > 0:
                add_label(model, i, y, a * triangle, average)
            new = weights[first + k] + step * c[k]
            weights[first + k] = new if new > NEGLIGIBLE_WEIGHT else 0.0
    for j in range(v.size):
        w[j] = soft(v[j], threshold, shrink)


@kernel
def insert_labels(flat, first_of, start, offsets, labels, used):
    """Add the labels of a flat labeling to the pools of their examples, unless they are there already."""
    for i in range(used.size):
        y, first = flat[first_of[i] : first_of[i + 1]], start[i]
        at = place_of(labels, offsets, first, used[i], y)
        if at == used[i]:
            copy(y, labels[offsets[first + at] : offsets[first + at + 1]])
            used[i] += 1
