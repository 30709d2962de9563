"""The Newton system of the projection onto the marginals of a forest, eliminated from the leaves to the roots.

With A the 0/1 matrix of the positive entries of v's table, R and C the diagonal matrices of its row and column sums, the
quadratic model restricted to v's subtree is, as a function of the change d of mu_v, 1/2 <d, K_v d> + <b_v, d> up to a constant.
For the children c of v let G = sum K_c^-1 and h = sum K_c^-1 b_c. The sum q of their changes solves (I + G C) q = G A'd - h, so
that

    K_v = R + ridge - A N A',   b_v = g_v + A t,   N = (I + G C)^-1 G,   t = (I + G C)^-1 h.

With the symmetric S = I + C^1/2 G C^1/2 they are N = C^-1/2 (I - S^-1) C^-1/2 and t = C^-1/2 S^-1 C^1/2 h, without differences
of large numbers: rows without positive entries have K_c = ridge, so that G is large.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel

TINY = 1e-14  # the least pivot of a Cholesky factor, relative to the diagonal entry


@kernel
def factorize(K):
    """K = its lower Cholesky factor; pivots that are lost to rounding errors are raised."""
    m = K.shape[0]
    for j in range(m):
        pivot, floor = K[j, j], TINY * K[j, j]
        for k in range(j):
            pivot -= K[j, k] * K[j, k]
        K[j, j] = np.sqrt(max(pivot, floor))
        for i in range(j + 1, m):
            s = K[i, j]
            for k in range(j):
                s -= K[i, k] * K[j, k]
            K[i, j] = s / K[j, j]


@kernel
def solve(L, b):
    """b = (L L')^-1 b."""
    m = b.size
    for i in range(m):
        for k in range(i):
            b[i] -= L[i, k] * b[k]
        b[i] /= L[i, i]
    for i in range(m - 1, -1, -1):
        for k in range(i + 1, m):
            b[i] -= L[k, i] * b[k]
        b[i] /= L[i, i]


@kernel
def newton_step(order, parent, place, m, a, g, ridge, step):
    """step = the Newton step for the tables a and the gradient g."""
    n = order.size
    sums = np.empty(m)  # a row of A N
    G, h, N, t = np.zeros((n, m, m)), np.zeros((n, m)), np.zeros((m, m)), np.zeros((n, m))
    keep, factors, b = np.zeros((n, m, m)), np.zeros((n, m, m)), np.zeros((n, m))
    for s in range(n - 1, -1, -1):
        v = order[s]
        rows = m if parent[v] >= 0 else 1
        columns = column_counts(a, place[v], rows, m)
        eliminate_children(G[v], h[v], columns, N, t[v])
        keep[v] = N
        K = factors[v]
        for i in range(m):
            b[v, i] = g[v * m + i] if i < rows else 0.0
            K[i, i] = 1.0
        for i in range(rows):
            at, count = place[v] + i * m, 0
            sums[:] = 0.0
            for j in range(m):
                if a[at + j] > 0.0:
                    count += 1
                    b[v, i] += t[v, j]
                    for c in range(m):
                        sums[c] += N[j, c]
            K[i, i] = count + ridge
            for r in range(i + 1):
                for c in range(m):
                    K[i, r] -= sums[c] if a[place[v] + r * m + c] > 0.0 else 0.0
        factorize(K)
        if parent[v] >= 0:
            add_inverse(K, b[v], G[parent[v]], h[parent[v]])
    changes(order, parent, place, m, a, keep, t, factors, b, step)


@kernel
def column_counts(a, at, rows, m):
    """The number of positive entries in each column of a table."""
    columns = np.zeros(m)
    for i in range(rows):
        for j in range(m):
            columns[j] += a[at + i * m + j] > 0.0
    return columns


@kernel
def eliminate_children(G, h, columns, N, t):
    """N and t, 0 in the rows and columns where C = 0, which no positive entry of the table reaches."""
    m = t.size
    S, row, root = np.empty((m, m)), np.empty(m), np.sqrt(columns)
    for i in range(m):
        for j in range(m):
            S[i, j] = root[i] * G[i, j] * root[j] + (1.0 if i == j else 0.0)
    factorize(S)
    for i in range(m):
        t[i] = root[i] * h[i]
    solve(S, t)
    for i in range(m):
        row[:] = 0.0
        row[i] = 1.0
        solve(S, row)
        for j in range(m):
            reached = root[i] > 0.0 and root[j] > 0.0
            N[i, j] = ((1.0 if i == j else 0.0) - row[j]) / (root[i] * root[j]) if reached else 0.0
    for i in range(m):
        t[i] = t[i] / root[i] if root[i] > 0.0 else 0.0


@kernel
def add_inverse(L, b, G, h):
    """G += (L L')^-1, h += (L L')^-1 b."""
    m = b.size
    column = np.empty(m)
    for j in range(m):
        column[:] = 0.0
        column[j] = 1.0
        solve(L, column)
        for i in range(m):
            G[i, j] += column[i]
            h[i] += column[i] * b[j]


@kernel
def changes(order, parent, place, m, a, keep, t, factors, b, step):
    """step, from the roots to the leaves: that of a child c of v solves K_c d = A'd_v - C q - b_c."""
    n = order.size
    force = np.zeros((n, m))  # A'd_v - C q of each node
    for v in order:
        rows = m if parent[v] >= 0 else 1
        own, pull = np.empty(m), np.zeros(m)
        for i in range(m):
            own[i] = (force[parent[v], i] if parent[v] >= 0 else 0.0) - b[v, i]
        solve(factors[v], own)
        for i in range(m):
            step[v * m + i] = own[i] if i < rows else 0.0
        columns = column_counts(a, place[v], rows, m)
        for i in range(rows):
            for j in range(m):
                pull[j] += own[i] if a[place[v] + i * m + j] > 0.0 else 0.0
        for j in range(m):
            q = -t[v, j]
            for k in range(m):
                q += keep[v, j, k] * pull[k]
            force[v, j] = pull[j] - columns[j] * q
