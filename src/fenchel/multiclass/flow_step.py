"""The dual step of the max-margin loss of a tree: an optimal flow from the root to the leaves, found without sorting."""

from __future__ import annotations

import numpy as np

from fenchel.compile.dispatch import helper


@helper
def flow_step(parent, leaf, gain, g, out):
    """out = the flows at the leaves (0 elsewhere) that maximise sum over nodes of gain_v P_v - g/2 P_v^2.

    P >= 0 are unit flows from the root to the leaves. l_v is the multiplier of flow conservation at the inner node v: the leaf
    c below v receives (l_v + a_c)_+, a = gain / g, and a node v below w receives what it passes to its children, where
    l_v + P_v = l_w + a_v. All these are convex and nondecreasing in the multipliers. If a set of active leaves may receive any
    amount, also a negative one, and the others nothing, the flows are linear in the multipliers and never too large. The
    multipliers at which they sum to 1 are therefore never too small, and a leaf with no flow there has none in the solution.
    The first active set are the best leaves alone, the next all leaves that it does not rule out, and so on until nothing
    changes: finitely many exact rounds. `gain` is overwritten.
    """
    size = parent.size
    is_leaf, active = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    for c in range(leaf.size):
        is_leaf[leaf[c]] = True
    centre(parent, is_leaf, gain)
    best = np.zeros(size, np.bool_)
    best[0] = True
    for v in range(1, size):
        best[v] = best[parent[v]] and gain[v] == 0.0
        active[v] = best[v] and is_leaf[v]
        gain[v] /= g
    slope, shift, pay = np.empty(size), np.empty(size), np.empty(size)
    multipliers(parent, is_leaf, active, gain, slope, shift, pay)
    for c in range(leaf.size):
        v = leaf[c]
        active[v] = pay[parent[v]] + gain[v] > 0.0
    changed = True
    while changed:  # leaves are only removed: at most one round for each
        changed = False
        multipliers(parent, is_leaf, active, gain, slope, shift, pay)
        for c in range(leaf.size):
            v = leaf[c]
            if active[v] and not pay[parent[v]] + gain[v] > 0.0:
                active[v] = False
                changed = True
    out[:] = 0.0
    for c in range(leaf.size):
        v = leaf[c]
        if active[v]:
            out[v - 1] = pay[parent[v]] + gain[v]


@helper
def centre(parent, is_leaf, gain):
    """gain_v <- the largest gain of a path from v down, minus that of its best sibling.

    A gain that all children of a node have in common may be attributed to the node, so this does not change the problem; the
    gains of the active leaves are then small, however large the scores are.
    """
    best = np.full(parent.size, -np.inf)
    for v in range(parent.size - 1, 0, -1):
        if not is_leaf[v]:
            gain[v] += best[v]
        best[parent[v]] = max(best[parent[v]], gain[v])
    for v in range(1, parent.size):
        gain[v] -= best[parent[v]]


@helper
def multipliers(parent, is_leaf, active, a, slope, shift, pay):
    """pay_v, the multipliers l_v, if the active leaves may receive any amount: the flow out of v is slope_v pay_v + shift_v."""
    slope[:] = 0.0
    shift[:] = 0.0
    for v in range(parent.size - 1, 0, -1):
        p = parent[v]
        if active[v]:
            slope[p] += 1.0
            shift[p] += a[v]
        elif slope[v] > 0.0:
            factor = 1.0 / (1.0 + slope[v])
            slope[p] += factor * slope[v]
            shift[p] += factor * (slope[v] * a[v] + shift[v])
    pay[0] = (1.0 - shift[0]) / slope[0]
    for v in range(1, parent.size):
        if not is_leaf[v]:
            pay[v] = (pay[parent[v]] + a[v] - shift[v]) / (1.0 + slope[v])
