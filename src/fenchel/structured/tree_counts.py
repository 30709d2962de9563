"""The best labels of a forest for every number of wrong nodes, and with it the largest rescaled plane.

`order` has parents before their children; T[a, b] is the weight of parent label a with child label b.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel


@kernel
def best_counted_tree(S, T, order, parent, m, gold, unit, beta, out):
    """out = argmax over labels of L + L^beta (score - score of gold), L = unit (nodes that differ from gold).

    D[v, a, h] is the best score of the nodes below v that are merged so far, and of v itself with label a, with h of them
    wrong. Each node is merged into its parent (a root into the forest): split[v, a, h] of the h wrong nodes are then below v,
    which has the label back[v, a, h]. For fixed h the plane grows with the score. O(n^2 m + n^2 m^2) operations.
    """
    n = order.size
    D, size, own = np.full((n, m, n + 1), -np.inf), np.ones(n, np.int64), 0.0
    back, split = np.zeros((n, m, n + 1), np.int32), np.zeros((n, m, n + 1), np.int32)
    forest, trees = np.full(n + 1, -np.inf), 0
    forest[0] = 0.0
    for v in range(n):
        own += S[v * m + gold[v]]
        if parent[v] >= 0:
            own += T[gold[parent[v]], gold[v]]
        for c in range(m):
            D[v, c, 1 if c != gold[v] else 0] = S[v * m + c]
    message, before = np.empty(n + 1), np.empty(n + 1)
    for k in range(n - 1, -1, -1):
        v = order[k]
        u = parent[v]
        for a in range(m if u >= 0 else 1):
            for h in range(size[v] + 1):
                best = 0
                for b in range(1, m):
                    if D[v, b, h] + (T[a, b] if u >= 0 else 0.0) > D[v, best, h] + (T[a, best] if u >= 0 else 0.0):
                        best = b
                back[v, a, h] = best
                message[h] = D[v, best, h] + (T[a, best] if u >= 0 else 0.0)
            merged = D[u, a] if u >= 0 else forest
            merge(merged, before, size[u] if u >= 0 else trees, message, size[v], split[v, a])
        if u >= 0:
            size[u] += size[v]
        else:
            trees += size[v]
    wrong, top = 0, 0.0
    for h in range(1, n + 1):
        cost = unit * h
        plane = cost + cost**beta * (forest[h] - own)
        if plane > top or plane != plane:
            wrong, top = h, plane
    left = np.zeros(n, np.int64)
    for v in order:  # merges are undone in the reverse order
        u = parent[v]
        a, h = (out[u], left[u]) if u >= 0 else (0, wrong)
        left[v] = split[v, a, h]
        out[v] = back[v, a, left[v]]
        if u >= 0:
            left[u] -= left[v]
        else:
            wrong -= left[v]


@kernel
def merge(total, before, many, message, few, split):
    """total[h + j] = the largest total[h] + message[j], h <= many, j <= few; split holds that j."""
    for h in range(many + 1):
        before[h] = total[h]
    for h in range(many + few + 1):
        total[h] = -np.inf
        for j in range(max(0, h - many), min(few, h) + 1):
            if before[h - j] + message[j] > total[h]:
                total[h], split[h] = before[h - j] + message[j], j
