"""Max-product and sum-product on forests.

`order` has parents before their children; T[a, b] is the weight of parent label a with child label b.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel


@kernel
def best_tree(S, T, order, parent, m, out):
    """out = the labels with the largest sum of S[node m + label] and transitions; S is overwritten."""
    back = np.zeros((order.size, m), np.int32)
    for k in range(order.size - 1, -1, -1):
        v = order[k]
        if parent[v] >= 0:
            for a in range(m):
                best = 0
                for b in range(1, m):
                    if S[v * m + b] + T[a, b] > S[v * m + best] + T[a, best]:
                        best = b
                back[v, a] = best
                S[parent[v] * m + a] += S[v * m + best] + T[a, best]
    for v in order:
        if parent[v] >= 0:
            out[v] = back[v, out[parent[v]]]
        else:
            out[v] = np.argmax(S[v * m : (v + 1) * m])


@kernel
def best_raised_tree(S, T, order, parent, m, gold, unit, out):
    """out = the labels with the largest sum of scores and of `unit` for every node that differs from gold."""
    raised = S[: order.size * m].copy()
    for v in range(order.size):
        for c in range(m):
            if c != gold[v]:
                raised[v * m + c] += unit
    best_tree(raised, T, order, parent, m, out)


@kernel
def sums_of_tree(S, T, order, parent, m, pairs):
    """log sum over labelings of exp(score). S becomes P(label of node); pairs += the expected number of each transition."""
    value, message = 0.0, np.empty((order.size, m))
    for k in range(order.size - 1, -1, -1):
        v = order[k]
        if parent[v] >= 0:
            for a in range(m):
                message[v, a] = log_sum(S, v * m, T[a])
                S[parent[v] * m + a] += message[v, a]
    nothing = np.zeros(m)
    for v in order:
        own = S[v * m : (v + 1) * m]
        if parent[v] < 0:
            total = log_sum(S, v * m, nothing)
            value += total
            for b in range(m):
                own[b] = np.exp(own[b] - total)
        else:
            below = own.copy()
            own[:] = 0.0
            for a in range(m):
                above = S[parent[v] * m + a]
                for b in range(m):
                    p = above * np.exp(T[a, b] + below[b] - message[v, a])
                    own[b] += p
                    pairs[a, b] += p
    return value


@kernel
def log_sum(S, at, row):
    """log sum_b exp(S[at + b] + row[b])."""
    top, total = S[at] + row[0], 0.0
    for b in range(1, row.size):
        top = max(top, S[at + b] + row[b])
    for b in range(row.size):
        total += np.exp(S[at + b] + row[b] - top)
    return np.log(total) + top


@kernel
def depths(parent, depth):
    """depth[v] = the number of v's ancestors; False if the parents form a cycle."""
    depth[:] = -1
    for v in range(parent.size):
        steps, u = 0, v
        while u >= 0 and depth[u] < 0:  # ends, because steps are counted
            steps, u = steps + 1, parent[u]
            if steps > parent.size:
                return False
        here, u = steps + (depth[u] if u >= 0 else -1), v
        while u >= 0 and depth[u] < 0:  # ends, because the loop above has found no cycle
            depth[u], here, u = here, here - 1, parent[u]
    return True
