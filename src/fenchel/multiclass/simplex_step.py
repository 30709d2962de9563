"""The dual step of the max hinge, in a few passes over the scores and without sorting."""

from __future__ import annotations

import math

from fenchel.compile.dispatch import helper
from fenchel.multiclass.transfers import clear


@helper
def largest_other(t, y):
    """The largest score of the classes other than y; the two loops have no branches."""
    best = t[1] if y == 0 else t[0]
    for j in range(y):
        best = t[j] if t[j] > best else best
    for j in range(y + 1, t.size):
        best = t[j] if t[j] > best else best
    return best


@helper
def two_largest_others(t, y):
    """The two largest scores of the classes other than y; the second is -inf if there is one class only."""
    best = second = -math.inf
    for j in range(t.size):
        v = t[j] if j != y else -math.inf
        lower = v if v < best else best
        second = lower if lower > second else second
        best = v if v > best else best
    return best, second


@helper
def simplex_step(t, g, y, total, out):
    """out = the u that maximises <c, b> - g/2 (|b|^2 + S^2), b >= 0, S = sum b <= total, c_j = 1 + t_j - t_y.

    g b_j = (c_j - x)_+ where x solves sum (c_j - x)_+ = min(x, g total). Left minus right is convex and decreasing, so
    Newton's steps from the left increase to the root, and drop the entries that they pass. They start at the root for the two
    largest entries alone, which is on the left and usually close. All entries are relative to the largest: those smaller by
    more than g total do not matter, and the differences of the others are accurate. `out` must not be `t`; it first holds the
    entries that are not dropped yet.
    """
    best, second = two_largest_others(t, y)
    top, full = 1.0 + (best - t[y]), g * total
    if top <= 0.0:
        clear(out)
        return
    second -= best
    x = max(-0.5 * top, -full, (second - top) / 3.0, 0.5 * (second - full))
    n, below = 0, 0.0
    for j in range(t.size):
        d = t[j] - best
        if d > x and j != y:
            out[n] = d
            below += d
            n += 1
    while n > 0:  # n decreases, or this ends
        x = max(x, (below - top) / (n + 1), (below - full) / n)
        kept, below = 0, 0.0
        for i in range(n):
            d = out[i]
            if d > x:
                out[kept] = d
                below += d
                kept += 1
        if kept == n:
            break
        n = kept
    taken = 0.0
    for i in range(n):
        taken += out[i] - x
    for j in range(t.size):
        d = (t[j] - best) - x
        out[j] = d / g if d > 0.0 else 0.0
    out[y] = -taken / g
