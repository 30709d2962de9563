"""The dual step of the max hinge, in a few passes over the scores and without sorting."""

from __future__ import annotations

from fenchel.multiclass.transfers import best_other, clear
from fenchel.typed import helper


@helper
def simplex_step(t, g, y, total, out):
    """out = the u that maximises <c, b> - g/2 (|b|^2 + S^2), b >= 0, S = sum b <= total, c_j = 1 + t_j - t_y.

    g b_j = (c_j - x)_+ where x solves sum (c_j - x)_+ = min(x, g total): left minus right is convex and decreasing, so
    Newton's steps from the left rise to the root, and drop the entries that they pass. The root for some entries alone
    is on the left: one pass begins with the largest and raises x with every entry it keeps. All are counted from the
    largest: what is below it by more than g total plays no part, and the differences of the rest keep their digits.
    `out` must not be `t`; it first holds the entries not yet dropped.
    """
    largest = best_other(t, y)
    best = t[largest]
    top, full = 1.0 + (best - t[y]), g * total
    if top <= 0.0:
        clear(out)
        return
    x = -min(0.5 * top, full)
    n, below = 1, 0.0
    out[0] = 0.0
    for j in range(t.size):
        d = t[j] - best
        if d > x and j != y and j != largest:
            out[n] = d
            below += d
            n += 1
            x = max(x, (below - top) / (n + 1), (below - full) / n)
    while n > 0:
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
    for j in range(t.size):
        d = t[j] - best
        if d > x and j != y:
            out[j] = (d - x) / g
            taken += out[j]
        else:
            out[j] = 0.0
    out[y] = -taken
