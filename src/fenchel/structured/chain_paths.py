"""Best paths of a chain: overall, and for every number of wrong positions.

Scores are flat: U[t m + c] of label c at position t; P[t step + a m + b] of a followed by b between positions t and t + 1.
A step of 0 means that all pairs of positions share one table.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.structured.chain_sums import fill


@kernel
def best_path(U, P, step, m, gold, extra, F, out):
    """out = argmax of the sum of scores, plus `extra` for every position that differs from gold; F: T m numbers of scratch.

    F_t[b] = U_t[b] + extra [b wrong] + max_a (F_{t-1}[a] + P[a, b]); the backward pass recomputes the maximising labels.
    """
    T = out.size
    for t in range(T):
        row, own = F[t * m : (t + 1) * m], U[t * m : (t + 1) * m]
        if t == 0:
            fill(row, 0.0)
        else:
            before = F[(t - 1) * m : t * m]
            fill(row, -np.inf)
            for a in range(m):
                pair = P[(t - 1) * step + a * m : (t - 1) * step + (a + 1) * m]
                for b in range(m):
                    row[b] = max(row[b], before[a] + pair[b])
        for b in range(m):
            row[b] += own[b] + extra
        row[gold[t]] -= extra
    best = 0
    for b in range(1, m):
        if F[(T - 1) * m + b] > F[(T - 1) * m + best]:
            best = b
    out[T - 1] = best
    for t in range(T - 2, -1, -1):
        after, best = out[t + 1], 0
        for a in range(1, m):
            if F[t * m + a] + P[t * step + a * m + after] > F[t * m + best] + P[t * step + best * m + after]:
                best = a
        out[t] = best


@kernel
def best_counted_path(U, P, step, m, gold, unit, beta, out):
    """out = argmax over paths of L + L^beta (score - score of gold), L = unit (positions that differ from gold).

    D[t, b, h] is the best score of positions 0 .. t that ends in b with h of them wrong; for fixed h the plane grows with D.
    """
    T = out.size
    D = np.full((T, m, T + 1), -np.inf)
    own = 0.0
    for b in range(m):
        D[0, b, 1 if b != gold[0] else 0] = U[b]
    for t in range(T):
        own += U[t * m + gold[t]]
        if t > 0:
            own += P[(t - 1) * step + gold[t - 1] * m + gold[t]]
            _count_on(D[t - 1], D[t], U[t * m : (t + 1) * m], P, (t - 1) * step, m, gold[t], t)
    last, wrong, top = int(gold[T - 1]), 0, 0.0
    for h in range(1, T + 1):
        cost = unit * h
        for b in range(m):
            plane = cost + cost**beta * (D[T - 1, b, h] - own)
            if plane > top or plane != plane:
                last, wrong, top = b, h, plane
    for t in range(T - 1, -1, -1):
        out[t] = last
        if t > 0:
            wrong -= last != gold[t]
            best, at = 0, (t - 1) * step
            for a in range(1, m):
                if D[t - 1, a, wrong] + P[at + a * m + last] > D[t - 1, best, wrong] + P[at + best * m + last]:
                    best = a
            last = best


@kernel
def _count_on(before, now, U, P, at, m, gold, t):
    """Advance by one position: compute now[b, h] from before[a, h or h - 1]."""
    for b in range(m):
        wrong = 1 if b != gold else 0
        row = now[b]
        for a in range(m):
            pair = P[at + a * m + b]
            for h in range(t + 1):
                row[h + wrong] = max(row[h + wrong], before[a, h] + pair)
        for h in range(t + 2):
            row[h] += U[b]
