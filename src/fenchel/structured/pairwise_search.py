"""The best label set: max over y in {0, 1}^m of <u, y> + sum_{i<j} Q_ij y_i y_j, exactly, by branch and bound."""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel

MOST_CHANGES = 10  # per label: a climb changes most labels once
SWEEPS = 3  # against one: equal on easy random problems, about twice as fast on hard ones of 30 and 40 labels


@kernel
def best_set(u, Q, limit, out):
    """(value, ceiling): out = the best y, its value, and what no y exceeds. Q symmetric, diagonal 0.

    The two are equal, and y is optimal, unless `limit` nodes (0: no limit) were not enough. A node settles the labels whose
    best value the others cannot change (persistency), then bounds what is left by `bound`. The open nodes are a stack: of two
    children the one without the label waits below the other.
    """
    m, nodes = u.size, 0
    best = climb(u, Q, out)
    ys, gains, free = np.empty((m + 1, m), np.int8), np.empty((m + 1, m)), np.empty(m, np.int64)
    values, ceilings = np.zeros(m + 1), np.full(m + 1, np.inf)
    for k in range(m):
        ys[0, k], gains[0, k] = -1, u[k]
    top = 0
    while top >= 0 and (limit == 0 or nodes < limit):  # a node has two children and at most m levels are below
        nodes += 1
        y, gain = ys[top], gains[top]
        values[top] += settle(Q, y, gain)
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
        values[top + 1] = values[top] + choose(Q, ys[top + 1], gains[top + 1], k, 1)
        ceilings[top + 1] = ceilings[top]
        y[k] = 0
        top += 1
    ceiling = best
    for k in range(top + 1):
        ceiling = max(ceiling, ceilings[k])
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
def choose(Q, y, gain, k, value):
    """Set label k; gain: what each label is worth given those that are set. Returns what was won."""
    y[k] = value
    if value == 0:
        return 0.0
    for j in range(y.size):
        gain[j] += Q[k, j]
    return gain[k]


@kernel
def settle(Q, y, gain):
    """Set free labels as long as their best value does not depend on the other free ones; returns what was won."""
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
                    won += choose(Q, y, gain, k, 0 if high <= 0.0 else 1)
                    changed = True
    return won


@kernel
def most_coupled(Q, free):
    """The free label whose pairs with the others weigh most."""
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
    """At least the most that the free labels can add; no effort is spent once it is down to `enough`.

    Q y y' <= t y + (Q - t) y' with any t in [0, Q] for Q > 0, and <= t (1 - y - y') with any t in [0, -Q] for Q < 0. With
    c the coefficients of the y, the bound is sum max(c, 0) + sum of the second t; sweeps choose each t best, given the others.
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
    """A set that no change of one label improves, unless that takes too many changes; returns its value."""
    gain, value = u.copy(), 0.0
    out[:] = 0
    for _ in range(MOST_CHANGES * u.size):  # any set will do to begin with: `best_set` goes on from there
        best, at = 0.0, -1
        for k in range(u.size):
            step = gain[k] if out[k] == 0 else -gain[k]
            if step > best:
                best, at = step, k
        if at < 0 or not value + best > value:  # below rounding, steps could go round in circles
            break
        sign = 1.0 if out[at] == 0 else -1.0
        value += best
        out[at] = 1 - out[at]
        for j in range(u.size):
            gain[j] += sign * Q[at, j]
    return value
