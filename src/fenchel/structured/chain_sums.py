"""Sums over all paths of a chain: log partition function and marginals.

Scores are stored as in `chain_paths`. First the largest score of every position is subtracted (`shift`), so that exp never
overflows. Then

scaled_sums    forward and backward in probabilities, each position's scaled to sum 1: a multiplication per pair of labels
log_sums       forward and backward in logarithms: an exponential per pair of labels, for scores of any size

Scaled sums are accurate as long as the scores of pairs differ by at most RANGE. A term that underflows, below 1e-308 of the
position's sum, is at all later positions below 1e-308 exp(RANGE) of what remains *in every label*; and each position's sum is
at least exp(-RANGE).
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.compile.kernel import kernel

RANGE = 300.0
ROUND = 1.5 * 2.0**52  # adding and subtracting it rounds to an integer


@helper
def fill(x, value):
    """x = value; much faster to compile than a slice assignment."""
    for k in range(x.size):
        x[k] = value


@kernel(fastmath=True)
def exp_table(P, M):
    """M = exp(P - its largest entry); returns (the largest entry, 1 if scaled sums are safe with M, else 0)."""
    top, bottom = P[0], P[0]
    for k in range(P.size):
        top, bottom = max(top, P[k]), min(bottom, P[k])
    for k in range(P.size):
        M[k] = np.exp(P[k] - top)
    return top, 1.0 if top - bottom <= RANGE else 0.0


@kernel(fastmath=True)
def shift(U, m, gold):
    """Subtract the largest score of each position; returns sum_t (that score - the gold label's)."""
    total = 0.0
    for t in range(gold.size):
        row = U[t * m : (t + 1) * m]
        top = row[0]
        for c in range(1, m):
            top = max(top, row[c])
        total += top - row[gold[t]]
        for c in range(m):
            row[c] -= top
    return total


@kernel
def exp_all(x, scratch):
    """x = exp(x) for x <= 0, by operations that vectorise; at least exp(-708).

    exp(x) = 2^n exp(r), |r| <= log(2) / 2, the second factor by its series. Not fastmath: r needs this order of operations.
    """
    bits = scratch.view(np.int64)
    for k in range(x.size):
        v = max(x[k], -708.0)
        n = (v * 1.4426950408889634 + ROUND) - ROUND
        r = (v - n * 0.6931471803691238) - n * 1.9082149292705877e-10
        bits[k] = (np.int64(np.int32(n)) + 1023) << 52
        q = r * (
            r * (r * (r * 1.6059043836821613e-10 + 2.08767569878681e-9) + 2.505210838544172e-8) + 2.755731922398589e-7
        )
        q = r * (r * (r * (q + 2.7557319223985893e-6) + 2.48015873015873e-5) + 1.984126984126984e-4)
        q = r * (r * (r * (q + 1.388888888888889e-3) + 8.333333333333333e-3) + 4.1666666666666664e-2)
        x[k] = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + q)))
    for k in range(x.size):
        x[k] *= scratch[k]


@kernel(fastmath=True)
def add_rows(out, x, stride, R, count, m):
    """out += sum_k x[k stride] (row k of R); four rows at a time, because out is then read and written less often."""
    k = 0
    while k + 4 <= count:  # k rises
        rows = R[k * m : (k + 4) * m]
        x0, x1, x2, x3 = x[k * stride], x[(k + 1) * stride], x[(k + 2) * stride], x[(k + 3) * stride]
        for b in range(m):
            out[b] += (x0 * rows[b] + x1 * rows[m + b]) + (x2 * rows[2 * m + b] + x3 * rows[3 * m + b])
        k += 4
    while k < count:  # k rises
        rows, x0 = R[k * m : (k + 1) * m], x[k * stride]
        for b in range(m):
            out[b] += x0 * rows[b]
        k += 1


@kernel(fastmath=True)
def scaled_sums(U, M, transposed, m, F, V, Q):
    """log sum over paths of exp(U + log M) with one table M for all pairs of positions.

    U becomes the marginals of labels, Q those of pairs, summed over positions. V holds T m + T numbers.
    F_t = e_t (F_{t-1} M) / scale_t with e = exp(U); V_t = e_t B_t / scale_t; B_{t-1} = M V_t; pair marginals F_{t-1} M V_t.
    """
    T = U.size // m
    scale = V[T * m :]
    exp_all(U, F)
    value = _forward(U, M, 0, m, F, scale)
    for t in range(T - 1, -1, -1):
        back, own, ahead = V[t * m : (t + 1) * m], U[t * m : (t + 1) * m], F[t * m : (t + 1) * m]
        if t == T - 1:
            fill(back, 1.0)
        else:
            fill(back, 0.0)
            add_rows(back, V[(t + 1) * m : (t + 2) * m], 1, transposed, m, m)
        for c in range(m):
            p = ahead[c] * back[c]
            back[c] *= own[c] * scale[t]
            own[c] = p
    for a in range(m):
        row = Q[a * m : (a + 1) * m]
        fill(row, 0.0)
        add_rows(row, F[a:], m, V[m:], T - 1, m)
        for b in range(m):
            row[b] *= M[a * m + b]
    return value


@kernel(fastmath=True)
def scaled_edge_sums(U, M, m, F, V):
    """The same with a table for each pair of positions; M becomes the marginals of pairs."""
    T, step = U.size // m, m * m
    scale = V[T * m :]
    exp_all(U, F)
    value = _forward(U, M, step, m, F, scale)
    for t in range(T - 1, -1, -1):
        back, own, ahead = V[t * m : (t + 1) * m], U[t * m : (t + 1) * m], F[t * m : (t + 1) * m]
        for a in range(m):
            onward = 1.0
            if t < T - 1:
                onward = 0.0
                pair = M[t * step + a * m : t * step + (a + 1) * m]
                for b in range(m):
                    pair[b] *= V[(t + 1) * m + b]
                    onward += pair[b]
                    pair[b] *= ahead[a]
            p = ahead[a] * onward
            back[a] = onward * own[a] * scale[t]
            own[a] = p
    return value


@kernel(fastmath=True)
def _forward(U, M, step, m, F, scale):
    """F = the scaled forward sums, scale = their factors; returns the log of the sum over paths. U holds exponentials."""
    value, product = 0.0, 1.0
    for t in range(U.size // m):
        row, own = F[t * m : (t + 1) * m], U[t * m : (t + 1) * m]
        if t == 0:
            fill(row, 1.0)
        else:
            fill(row, 0.0)
            add_rows(row, F[(t - 1) * m : t * m], 1, M[(t - 1) * step : (t - 1) * step + m * m], m, m)
        total = 0.0
        for c in range(m):
            row[c] *= own[c]
            total += row[c]
        scale[t] = 1.0 / total
        for c in range(m):
            row[c] *= scale[t]
        product *= total
        if not 1e-150 < product < 1e150:  # one logarithm for many positions
            value += np.log(product)
            product = 1.0
    return value + np.log(product)


@kernel
def log_sums(U, P, step, m, F, Q):
    """The same from scores P of pairs (step 0: one table for all positions), in logarithms; Q must not be P.

    Every table of marginals sums to 1.
    """
    T = U.size // m
    for c in range(m):
        F[c] = U[c]
    for t in range(1, T):
        for b in range(m):
            F[t * m + b] = U[t * m + b] + _log_sum(F[(t - 1) * m : t * m], P[(t - 1) * step + b :], m)
    B, V, table = np.empty(m), np.empty(m), np.empty(m * m)
    fill(B, 0.0)
    value = _log_sum(F[(T - 1) * m :], B, 1)
    if step == 0:
        fill(Q, 0.0)
    for t in range(T - 1, -1, -1):
        for c in range(m):
            V[c] = U[t * m + c] + B[c]
            U[t * m + c] = F[t * m + c] + B[c]
        normalise(U[t * m : (t + 1) * m])
        if t > 0:
            at = (t - 1) * step
            for a in range(m):
                B[a] = _log_sum(V, P[at + a * m :], 1)
                for b in range(m):
                    table[a * m + b] = F[(t - 1) * m + a] + P[at + a * m + b] + V[b]
            normalise(table)
            for k in range(m * m):
                Q[at + k] = table[k] + (Q[k] if step == 0 else 0.0)
    return value


@kernel
def _log_sum(x, y, stride):
    """log sum_k exp(x_k + y_{k stride})."""
    top = -np.inf
    for k in range(x.size):
        top = max(top, x[k] + y[k * stride])
    total = 0.0
    for k in range(x.size):
        total += np.exp(x[k] + y[k * stride] - top)
    return top + np.log(total)


@kernel
def normalise(x):
    """x = exp(x) / its sum."""
    top, total = x[0], 0.0
    for k in range(x.size):
        top = max(top, x[k])
    for k in range(x.size):
        x[k] = np.exp(x[k] - top)
        total += x[k]
    for k in range(x.size):
        x[k] /= total
