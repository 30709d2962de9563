"""The best label set: max over y in {0, 1}^m of <u, y> + sum_{i<j} Q_ij y_i y_j, exactly, by branch and bound."""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.compile.poll import poll

MAX_CHANGES_PER_LABEL = 10  # of the local search, which changes most labels once
WORK_PER_POLL = 1 << 22  # operations between two looks at the limit of time: some milliseconds
MANY_NODES = 32  # a search of so many looks once more at its end, since the next example may take as long
SWEEPS = 3  # compared with one: equal on easy random problems, about twice as fast on hard ones of 30 and 40 labels


@kernel
def best_set(u, Q, limit, out):
    """out = the best y; returns (its value, an upper bound of the values of all y). Q is symmetric with diagonal 0.

    The two are equal, and y is optimal, unless `limit` nodes (0: no limit) were not enough. A node fixes the labels whose
    best value the others cannot change (persistency), then bounds the rest by `bound`. The open nodes form a stack: of two
    children, the one without the label lies below the other.
    """
    m, nodes = u.size, 0
    nodes_per_poll = max(WORK_PER_POLL // (m * m), 1)
    best = climb(u, Q, out)
    ys, gains, free = np.empty((m + 1, m), np.int8), np.empty((m + 1, m)), np.empty(m, np.int64)
    values, ceilings = np.zeros(m + 1), np.full(m + 1, np.inf)
    for k in range(m):
        ys[0, k], gains[0, k] = -1, u[k]
    top = 0
    while top >= 0 and (limit == 0 or nodes < limit):  # a node has two children and at most m levels are below
        nodes += 1
        if nodes % nodes_per_poll == 0:
            poll()
        y, gain = ys[top], gains[top]
        values[top] += fix_persistent(Q, y, gain)
        left = free_labels(y, free)
        ceilings[top] = values[top] + bound(Q, gain, free[:left], best - values[top])
        if left == 0 and values[top] > best:
            best = values[top]
            for k in range(m):
                out[k] = y[k]
        if left == 0 or not ceilings[top] > best:
            top -= 1
            continue
        for k in range(m):
            ys[top + 1, k], gains[top + 1, k] = y[k], gain[k]
        k = most_coupled(Q, free[:left])
        values[top + 1] = values[top] + set_label(Q, ys[top + 1], gains[top + 1], k, 1)
        ceilings[top + 1] = ceilings[top]
        y[k] = 0
        top += 1
    ceiling = best
    for k in range(top + 1):
        ceiling = max(ceiling, ceilings[k])
    if nodes >= MANY_NODES:
        poll()
    return best, ceiling


@kernel
def free_labels(y, free):
    """free = the labels that are not set; returns their number."""
    left = 0
    for k in range(y.size):
        if y[k] < 0:
            free[left] = k
            left += 1
    return left


@kernel
def set_label(Q, y, gain, k, value):
    """Set label k; `gain` holds the gain of each label given those that are set. Returns the increase of the value."""
    y[k] = value
    if value == 0:
        return 0.0
    for j in range(y.size):
        gain[j] += Q[k, j]
    return gain[k]


@kernel
def fix_persistent(Q, y, gain):
    """Set free labels while their best value does not depend on the other free ones; returns the increase of the value."""
    won, changed = 0.0, True
    while changed:  # a label is set in every round
        changed = False
        for k in range(y.size):
            if y[k] < 0:
                low = high = gain[k]
                for j in range(y.size):
                    if y[j] < 0:
                        low += min(Q[k, j], 0.0)
                        high += max(Q[k, j], 0.0)
                if high <= 0.0 or low >= 0.0:
                    won += set_label(Q, y, gain, k, 0 if high <= 0.0 else 1)
                    changed = True
    return won


@kernel
def most_coupled(Q, free):
    """The free label with the largest sum of absolute pair weights with the others."""
    k, most = free[0], -1.0
    for i in free:
        weight = 0.0
        for j in free:
            weight += abs(Q[i, j])
        if weight > most:
            k, most = i, weight
    return k


@kernel
def bound(Q, gain, free, enough):
    """An upper bound of what the free labels can add; it is no longer improved once it is at most `enough`.

    Q y y' <= t y + (Q - t) y' with any t in [0, Q] for Q > 0, and <= t (1 - y - y') with any t in [0, -Q] for Q < 0. With
    c the coefficients of the y, the bound is sum max(c, 0) + sum of the second t; sweeps optimise each t.
    Their limit is near the roof dual, the bound of the linear relaxation.
    """
    size, constant, above = free.size, 0.0, 0.0
    c, t = np.zeros(size), np.zeros((size, size))
    for a in range(size):
        c[a] += gain[free[a]]
        for b in range(a + 1, size):
            half = 0.5 * max(Q[free[a], free[b]], 0.0)
            t[a, b], c[a], c[b] = half, c[a] + half, c[b] + half
    for _ in range(SWEEPS):
        for a in range(size):
            for b in range(a + 1, size):
                q, old = Q[free[a], free[b]], t[a, b]
                if q < 0.0:
                    middle = 0.5 * (max(c[a] + old, 0.0) + max(c[b] + old, 0.0))
                    t[a, b] = min(middle, -q)
                    c[a], c[b], constant = c[a] + old - t[a, b], c[b] + old - t[a, b], constant + t[a, b] - old
                elif q > 0.0:
                    t[a, b] = min(max(old + 0.5 * (c[b] - c[a]), 0.0), q)
                    c[a], c[b] = c[a] + t[a, b] - old, c[b] + old - t[a, b]
        above = constant
        for a in range(size):
            above += max(c[a], 0.0)
        if above <= enough:
            break
    return above


@kernel
def climb(u, Q, out):
    """Local search: a set that no change of one label improves, unless that takes too many changes; returns its value."""
    gain, value = u.copy(), 0.0
    out[:] = 0
    for _ in range(MAX_CHANGES_PER_LABEL * u.size):  # `best_set` may start from any set
        best, at = 0.0, -1
        for k in range(u.size):
            step = gain[k] if out[k] == 0 else -gain[k]
            if step > best:
                best, at = step, k
        if at < 0 or not value + best > value:  # gains below rounding errors could lead to cycles
            break
        sign = 1.0 if out[at] == 0 else -1.0
        value += best
        out[at] = 1 - out[at]
        for j in range(u.size):
            gain[j] += sign * Q[at, j]
    return value
