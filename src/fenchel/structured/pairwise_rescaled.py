"""The label set with the largest rescaled plane, exactly, by branch and bound.

The plane of y is L + L^beta m, L = unit (labels that differ from gold), m = <u, y> + sum_{i<j} Q_ij y_i y_j - the same of gold.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.compile.poll import poll
from fenchel.structured.pairwise_search import (
    MANY_NODES,
    WORK_PER_POLL,
    bound,
    climb,
    free_labels,
    most_coupled,
    set_label,
)
from fenchel.structured.rescaled import plane_bound, touching_slope

ROUNDS = 2  # of slopes at the root, for every number of wrong labels: those of the second round know a good plane


@kernel
def best_rescaled_set(u, Q, gold, unit, beta, limit, out):
    """out = the y with the largest plane; returns (that plane, an upper bound of the planes of all y), which are equal
    unless `limit` nodes (0: no limit) were not enough.

    A node sets some labels. Its planes are bounded by `rescaled.plane_bound`, with `bound` for the maximum of m + s L, which is
    a sum over labels and pairs again. s is the one that bounded the parent best, or one of the slopes that touch the best plane
    so far where few, half or all of the free labels are wrong. The open nodes form a stack.
    """
    m, nodes = u.size, 0
    nodes_per_poll = max(WORK_PER_POLL // (4 * m * m), 1)
    own, found = value_of(u, Q, gold), np.empty(m, np.int32)
    best, total = 0.0, own
    for k in range(m):
        out[k] = gold[k]
        total += abs(u[k])
    if not np.isfinite(total):
        return best, np.inf  # scores that overflowed make every plane NaN, which the caller detects
    ys, gains, free = np.empty((m + 1, m), np.int8), np.empty((m + 1, m)), np.empty(m, np.int64)
    values, wrong = np.zeros(m + 1), np.zeros(m + 1, np.int64)
    slopes, ceilings = np.zeros(m + 1), np.full(m + 1, np.inf)
    for k in range(m):
        ys[0, k], gains[0, k], free[k] = -1, u[k], k
    for _ in range(ROUNDS):
        for h in range(1, m + 1):
            s = touching_slope(unit * h, beta, best)
            climb(tilted(u, gold, s * unit), Q, found)
            plane = rescaled_plane(u, Q, gold, own, unit, beta, found)
            if plane > best:
                best = plane
                for k in range(m):
                    out[k] = found[k]
            ceiling = node_ceiling(Q, gains[0], free, gold, -own, 0, unit, beta, s)
            if ceiling < ceilings[0]:
                ceilings[0], slopes[0] = ceiling, s
    top = 0
    while top >= 0 and (limit == 0 or nodes < limit):  # a node has two children and at most m levels are below
        nodes += 1
        if nodes % nodes_per_poll == 0:
            poll()
        y, gain, margin = ys[top], gains[top], values[top] - own
        left = free_labels(y, free)
        if left == 0:
            cost = unit * wrong[top]
            plane = plane_bound(cost, beta, margin, 0.0)
            if plane > best:
                best = plane
                for k in range(m):
                    out[k] = y[k]
            top -= 1
            continue
        for trial in range(4):
            if not ceilings[top] > best:
                break
            h = max(wrong[top], 1) if trial == 1 else wrong[top] + (left if trial == 2 else (left + 1) // 2)
            s = slopes[top] if trial == 0 else touching_slope(unit * h, beta, best)
            ceiling = node_ceiling(Q, gain, free[:left], gold, margin, wrong[top], unit, beta, s)
            if ceiling < ceilings[top]:
                ceilings[top], slopes[top] = ceiling, s
        if not ceilings[top] > best:
            top -= 1
            continue
        for k in range(m):
            ys[top + 1, k], gains[top + 1, k] = y[k], gain[k]
        k = most_coupled(Q, free[:left])
        values[top + 1] = values[top] + set_label(Q, ys[top + 1], gains[top + 1], k, 1)
        wrong[top + 1] = wrong[top] + (gold[k] != 1)
        slopes[top + 1], ceilings[top + 1] = slopes[top], ceilings[top]
        y[k] = 0
        wrong[top] += gold[k] != 0
        top += 1
    ceiling = best
    for k in range(top + 1):
        ceiling = max(ceiling, ceilings[k])
    if nodes >= MANY_NODES:
        poll()
    return best, ceiling


@kernel
def node_ceiling(Q, gain, free, gold, margin, wrong, unit, beta, s):
    """An upper bound of the planes of a node, from the maximum of m + s L; `margin` and `wrong` are those of its set labels."""
    raised, most = gain.copy(), margin + s * unit * wrong
    for k in free:
        if gold[k] == 1:
            most += s * unit
            raised[k] -= s * unit
        else:
            raised[k] += s * unit
    most += bound(Q, raised, free, -np.inf)
    ceiling = 0.0
    for h in range(max(wrong, 1), wrong + free.size + 1):
        ceiling = max(ceiling, plane_bound(unit * h, beta, most, s))
    return ceiling


@kernel
def tilted(u, gold, reward):
    """u with `reward` for every label that differs from gold."""
    raised = np.empty(u.size)
    for k in range(u.size):
        raised[k] = u[k] + (reward if gold[k] == 0 else -reward)
    return raised


@kernel
def value_of(u, Q, y):
    """<u, y> + sum_{i<j} Q_ij y_i y_j."""
    total = 0.0
    for k in range(u.size):
        if y[k] == 1:
            total += u[k]
            for j in range(k):
                total += Q[j, k] * y[j]
    return total


@kernel
def rescaled_plane(u, Q, gold, own, unit, beta, y):
    """The plane of y; `own` is the value of gold."""
    wrong = 0
    for k in range(y.size):
        wrong += y[k] != gold[k]
    return plane_bound(unit * wrong, beta, value_of(u, Q, y) - own, 0.0)
