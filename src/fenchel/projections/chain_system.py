"""Newton systems of `chain_newton`: block-tridiagonal, a block per node of the chain, over the labels with active entries only.

An entry of a table is active if M + q > 0. The diagonal of the second derivative of phi counts the active entries that depend
on a multiplier; between labels i and j of neighbouring nodes it is -1 if entry (i, j) of the table between them is active.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.compile.kernel import kernel


@helper
def is_active(m, base, x, lam, t, i, j):
    """Whether entry (i, j) of table t is positive at x."""
    shift = lam if t == 0 else -x[t * m + i]
    return base[(t * m + i) * m + j] + (shift + x[(t + 1) * m + j]) > 0.0


@kernel
def degrees(E, m, base, x, D):
    """D = the diagonal of the second derivative: the number of active entries that depend on each multiplier."""
    lam = x[(E + 1) * m]
    for k in range(D.size):
        D[k] = 0.0
    for t in range(E):
        for i in range(m):
            for j in range(m):
                if is_active(m, base, x, lam, t, i, j):
                    D[t * m + i] += 1.0
                    D[(t + 1) * m + j] += 1.0
                    D[(E + 1) * m] += 1.0 if t == 0 else 0.0


@helper
def factor(S, size, smallest):
    """S = its Cholesky factor, in the lower triangle of the leading block; pivots stay above `smallest`."""
    for c in range(size):
        for r in range(c, size):
            s = S[r, c]
            for k in range(c):
                s -= S[r, k] * S[c, k]
            S[r, c] = np.sqrt(max(s, smallest)) if r == c else s / S[c, c]


@helper
def couple(m, base, x, lam, t, live, count, before, V):
    """V = L^-1 times the active entries of table t, between the live labels of node t (with factor L) and node t + 1."""
    for c in range(count[t + 1]):
        for r in range(count[t]):
            s = 1.0 if is_active(m, base, x, lam, t, live[t, r], live[t + 1, c]) else 0.0
            for k in range(r):
                s -= before[r, k] * V[k, c]
            V[r, c] = s / before[r, r]


@kernel
def eliminate(E, m, base, x, g, ridge, D, live, count, S, V, y):
    """Factors of the block-tridiagonal system, node by node over the labels with active entries; y = L^-1 (-g)."""
    last = (E + 1) * m
    lam, h = x[last], D[last] + ridge
    for t in range(1, E):
        k = 0
        for j in range(m):
            if D[t * m + j] > 0.0:
                live[t, k] = j
                k += 1
        count[t] = k
        here, size = S[t], count[t]
        if t > 1:
            couple(m, base, x, lam, t - 1, live, count, S[t - 1], V[t - 1])
        for r in range(size):
            y[t, r] = -g[t * m + live[t, r]]
            for c in range(r + 1):
                here[r, c] = D[t * m + live[t, r]] + ridge if r == c else 0.0
                for k in range(count[t - 1] if t > 1 else 0):
                    here[r, c] -= V[t - 1, k, r] * V[t - 1, k, c]
            for k in range(count[t - 1] if t > 1 else 0):
                y[t, r] += V[t - 1, k, r] * y[t - 1, k]
        if t == 1:  # lam was eliminated first: all entries of table 0 depend on it
            for r in range(size):
                V[0, 0, r] = 0.0
                for i in range(m):
                    V[0, 0, r] += 1.0 if is_active(m, base, x, lam, 0, i, live[1, r]) else 0.0
            for r in range(size):
                y[1, r] += V[0, 0, r] * g[last] / h
                for c in range(r + 1):
                    here[r, c] -= V[0, 0, r] * V[0, 0, c] / h
        factor(here, size, 0.5 * ridge)
        for r in range(size):
            for c in range(r):
                y[t, r] -= here[r, c] * y[t, c]
            y[t, r] /= here[r, r]


@kernel
def substitute(E, m, g, ridge, D, live, count, S, V, y, step):
    """step = the solution, by back substitution from the end of the chain."""
    last = (E + 1) * m
    for k in range(step.size):
        step[k] = 0.0
    for t in range(E - 1, 0, -1):
        for r in range(count[t] - 1, -1, -1):
            s = y[t, r]
            if t + 1 < E:
                for c in range(count[t + 1]):
                    s += V[t, r, c] * step[(t + 1) * m + live[t + 1, c]]
            for k in range(r + 1, count[t]):
                s -= S[t, k, r] * step[t * m + live[t, k]]
            step[t * m + live[t, r]] = s / S[t, r, r]
    s = -g[last]
    if E > 1:
        for r in range(count[1]):
            s -= V[0, 0, r] * step[m + live[1, r]]
    step[last] = s / (D[last] + ridge)
