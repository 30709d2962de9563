"""The best labels of any graph: max over y of sum_v U[v, y_v] + sum over edges of P[e, y_u, y_v], by branch and bound.

Upper bounds come from messages M[arc], a number for each label of the node to which the arc goes. For all M and all weights g_v

    max_y  <=  sum_v max_a (1 - out_v g_v) B_v(a) + sum_uv max_ab [P_uv(a, b) - M_vu(a) - M_uv(b) + g_u B_u(a)],

with B_v = U_v + the messages to v, since the terms of any y add up to its value; edges are directed along a sweep over the
nodes and out_v of them leave v. The messages are those of sequential tree-reweighted message passing (Kolmogorov 2006,
"Convergent tree-reweighted message passing for energy minimization"), which solves chains in one sweep. Where the bound stays
above the best labels found, a node is given a label, or denied it: `denied[v, a]` counts the decisions that exclude label a
of node v.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.copy import copy
from fenchel.compile.kernel import kernel
from fenchel.compile.poll import poll
from fenchel.structured.min_cut import head_of

SWEEPS = 200  # most sweeps for a bound
LOW_GAIN = 0.02  # a sweep that closes no more than this share of what is open is the last one before a decision
PRECISE = 1e-13  # a bound so close to the best value, relative to the largest scores, cannot be told from it


@kernel
def best_labels(U, P, tails, heads, start, arcs, limit, out):
    """out = the best labels; returns (their value, an upper bound of all values). `limit`: bounds to compute, 0: no limit.

    The value is the largest, up to rounding errors, unless the limit was too small. Decisions form a path in a binary tree:
    decided[k] is a node and a label, which the node has (stage 0) or does not have (stage 1), and above[k] bounds what the
    other branch of stage 0 may reach.
    """
    n, m = U.shape
    M, B, denied, y = np.zeros((arcs.size, m)), np.empty((n, m)), np.zeros((n, m), np.int64), np.zeros(n, np.int64)
    most = n * m
    decided, stage, above = np.empty((most, 2), np.int64), np.empty(most, np.int64), np.empty(most)
    slack = PRECISE * scale_of(U, P)
    best, ceiling, depth, nodes = -np.inf, -np.inf, 0, 0
    out[:] = 0
    while True:  # every round is a node of the tree of decisions, which has at most m^n leaves
        nodes += 1
        bound, found, v, a = bounded(U, P, tails, heads, start, arcs, M, B, denied, best, slack, y, out)
        best = max(best, found)
        if v >= 0 and bound > best + slack and (limit == 0 or nodes < limit):
            decided[depth, 0], decided[depth, 1], stage[depth], above[depth] = v, a, 0, bound
            depth += 1
            give(denied, v, a, 1)
            continue
        ceiling = max(ceiling, bound)
        while depth > 0 and (
            stage[depth - 1] == 1 or (limit > 0 and nodes >= limit) or not above[depth - 1] > best + slack
        ):
            depth -= 1
            v, a = decided[depth, 0], decided[depth, 1]
            if stage[depth] == 0:
                give(denied, v, a, -1)
                ceiling = max(ceiling, above[depth])
            else:
                denied[v, a] -= 1
        if depth == 0:
            break
        v, a = decided[depth - 1, 0], decided[depth - 1, 1]
        stage[depth - 1] = 1
        give(denied, v, a, -1)
        denied[v, a] += 1
    return best, max(best, ceiling)


@kernel
def scale_of(U, P):
    """The sum of the largest scores of all nodes and edges."""
    total = 0.0
    for v in range(U.shape[0]):
        total += np.max(np.abs(U[v]))
    for e in range(P.shape[0]):
        total += np.max(np.abs(P[e]))
    return total


@kernel
def give(denied, v, a, by):
    """Deny node v all labels but a (by = 1), or take that back (by = -1)."""
    for b in range(denied.shape[1]):
        if b != a:
            denied[v, b] += by


@kernel
def bounded(U, P, tails, heads, start, arcs, M, B, denied, goal, slack, y, out):
    """(an upper bound, the best value found, a node and a label to decide on; -1 if all nodes have one label left).

    `out` is changed to labels whose value exceeds `goal`; the value found is -inf if there are none.
    """
    bound, found = np.inf, -np.inf
    for k in range(SWEEPS):
        poll()
        sweep(U, P, tails, heads, start, arcs, M, B, denied, k % 2 == 0, y)
        new = upper_bound(U, P, tails, heads, start, arcs, M, B, denied, k % 2 == 0)
        value = improved(U, P, tails, heads, start, arcs, denied, y)
        if value > max(goal, found):
            found = value
            copy(y, out)
        fall, bound = bound - new, min(bound, new)
        open_part = bound - max(goal, found)
        if not open_part > slack or (k >= 2 and not fall > LOW_GAIN * open_part):  # `not`: NaN ends it
            break
    v, a = undecided(B, denied)
    return bound, found, v, a


@kernel
def later(v, u, forward):
    """Whether a sweep visits node u after node v."""
    return u > v if forward else u < v


@kernel
def share_of(v, tails, heads, start, arcs, forward):
    """(the weight g_v of a sweep, the number of arcs to later nodes)."""
    after, before = 0, 0
    for k in range(start[v], start[v + 1]):
        if later(v, head_of(arcs[k - start[0]], tails, heads), forward):
            after += 1
        else:
            before += 1
    return 1.0 / max(after, before, 1), after


@kernel
def pair_score(P, arc, a, b):
    """The score of an arc's edge for label a where it leaves and b where it arrives."""
    return P[arc // 2, a, b] if arc % 2 == 0 else P[arc // 2, b, a]


@kernel
def belief(U, M, start, arcs, v, B):
    """B[v] = U[v] + the messages to v."""
    for a in range(U.shape[1]):
        B[v, a] = U[v, a]
    for k in range(start[v], start[v + 1]):
        back = arcs[k - start[0]] ^ 1
        for a in range(U.shape[1]):
            B[v, a] += M[back, a]


@kernel
def sweep(U, P, tails, heads, start, arcs, M, B, denied, forward, y):
    """New messages to later nodes; y = the best labels one by one, given the earlier ones and the messages of later nodes."""
    n, m = U.shape
    for step in range(n):
        v = step if forward else n - 1 - step
        belief(U, M, start, arcs, v, B)
        g, _ = share_of(v, tails, heads, start, arcs, forward)
        y[v] = sequential_label(U, P, M, tails, heads, start, arcs, denied, forward, v, y)
        for k in range(start[v], start[v + 1]):
            arc = arcs[k - start[0]]
            if later(v, head_of(arc, tails, heads), forward):
                top = -np.inf
                for b in range(m):
                    most = -np.inf
                    for a in range(m):
                        if denied[v, a] == 0:
                            most = max(most, g * B[v, a] - M[arc ^ 1, a] + pair_score(P, arc, a, b))
                    M[arc, b] = most
                    top = max(top, most)
                for b in range(m):
                    M[arc, b] -= top


@kernel
def sequential_label(U, P, M, tails, heads, start, arcs, denied, forward, v, y):
    """The best label of v, given those of earlier nodes and the messages of later ones."""
    best, most = -1, -np.inf
    for a in range(U.shape[1]):
        if denied[v, a] == 0:
            score = U[v, a]
            for k in range(start[v], start[v + 1]):
                arc = arcs[k - start[0]]
                u = head_of(arc, tails, heads)
                score += M[arc ^ 1, a] if later(v, u, forward) else pair_score(P, arc, a, y[u])
            if best < 0 or score > most:
                best, most = a, score
    return best


@kernel
def upper_bound(U, P, tails, heads, start, arcs, M, B, denied, forward):
    """The bound above, for the messages and beliefs of a sweep that has just ended."""
    n, m = U.shape
    total = 0.0
    for v in range(n):
        belief(U, M, start, arcs, v, B)
        g, after = share_of(v, tails, heads, start, arcs, forward)
        most = -np.inf
        for a in range(m):
            if denied[v, a] == 0:
                most = max(most, (1.0 - after * g) * B[v, a])
        total += most
        for k in range(start[v], start[v + 1]):
            arc = arcs[k - start[0]]
            u = head_of(arc, tails, heads)
            if later(v, u, forward):
                most = -np.inf
                for a in range(m):
                    if denied[v, a] == 0:
                        for b in range(m):
                            if denied[u, b] == 0:
                                edge = pair_score(P, arc, a, b) - M[arc ^ 1, a] - M[arc, b]
                                most = max(most, edge + g * B[v, a])
                total += most
    return total


@kernel
def improved(U, P, tails, heads, start, arcs, denied, y):
    """The value of y after steps of single nodes to better labels, at most one for each node."""
    n, m = U.shape
    for v in range(n):
        best, most = y[v], -np.inf
        for a in range(m):
            if denied[v, a] == 0:
                score = U[v, a]
                for k in range(start[v], start[v + 1]):
                    arc = arcs[k - start[0]]
                    score += pair_score(P, arc, a, y[head_of(arc, tails, heads)])
                if score > most:
                    best, most = a, score
        y[v] = best
    value = 0.0
    for v in range(n):
        value += U[v, y[v]]
    for e in range(tails.size):
        value += P[e, y[tails[e]], y[heads[e]]]
    return value


@kernel
def undecided(B, denied):
    """The node whose two best labels are closest, and its best label; (-1, -1) if every node has one label left."""
    node, label, closest = -1, -1, np.inf
    for v in range(B.shape[0]):
        best, first, second, left = -1, -np.inf, -np.inf, 0
        for a in range(B.shape[1]):
            if denied[v, a] == 0:
                left += 1
                if best < 0 or B[v, a] > first:
                    best, first, second = a, B[v, a], first
                else:
                    second = max(second, B[v, a])
        if left > 1 and (node < 0 or first - second < closest):
            node, label, closest = v, best, first - second
    return node, label
