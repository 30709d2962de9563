"""The dual of the projection onto the chain polytope, minimised by semismooth Newton steps.

Tables a_0 .. a_{E-1} of m x m numbers lie between nodes 0 .. E. With a multiplier mu_t(j) for the two sums at label j of node t
(0 < t < E) and lam for the sum of a_0, q_t(i, j) = mu_{t+1}(j) - mu_t(i), plus lam for t = 0, and

    phi(lam, mu) = 1/2 sum [M + q]_+^2 - lam,    a = [M + q]_+ at its minimum,
    d phi / d mu_t(j) = sum_i a_{t-1}(i, j) - sum_k a_t(j, k),    d phi / d lam = sum a_0 - 1.

Multipliers are kept as one array: that of label j at node t in t m + j (0 at the ends of the chain), lam last.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.compile.kernel import kernel
from fenchel.projections.chain_recovery import recover_chain
from fenchel.projections.chain_system import degrees, eliminate, substitute

MAX_STEPS = 200
ROUNDS = 2  # rounds of the initial guess: one is poor for long chains, and more make it worse
DAMPING = 1e-3  # of the first Newton system; it decreases after full steps and increases after short ones
PRECISE = 1e-13  # the tolerance for sums of probabilities, which are then made exact
NOISE = 1e-10  # smaller decreases of phi may be rounding errors


@helper
def fill(values, start):
    """Set the entries from `start` on to 0."""
    for k in range(start, values.size):
        values[k] = 0.0


@helper
def simplex_threshold(values, total):
    """tau with sum of [values - tau]_+ = total, from the mean of the remaining values until none is below tau (Michelot).

    In exact arithmetic tau increases from round to round. Rounding could decrease it where values tie with it, so the larger
    one is kept: values that were left out stay out, and there are no more rounds than values.
    """
    top = values[0]
    for v in values:
        top = max(top, v)
    if not total > 0.0:
        return top
    tau, count = -np.inf, values.size + 1  # relative to the largest value, because the others may be much smaller
    while True:  # at most values.size rounds: count decreases, or this returns
        kept, part = 0, 0.0
        for v in values:
            if v - top > tau:
                kept += 1
                part += v - top
        if kept == 0:  # total / kept was below the smallest number
            return top
        tau = max(tau, (part - total) / kept)
        if kept >= count:
            return top + tau
        count = kept


@kernel
def begin(E, m, M, base, x):
    """base = M shifted by the multipliers of an initial guess, found by backward and forward passes along the chain.

    The backward pass gives every row of a table the sum of its label's probability (initially 1), the forward pass computes
    these probabilities. This predicts the positive entries and removes the magnitude of M: later rounding errors are those of
    numbers around 1.
    """
    share = np.ones((E + 1) * m)
    for k in range(ROUNDS):
        fill(x, 0)
        for t in range(E - 1, -1, -1):
            for i in range(m):
                at = (t * m + i) * m
                for j in range(m):
                    base[at + j] = M[at + j] + x[(t + 1) * m + j]
                if t > 0:
                    tau = simplex_threshold(base[at : at + m], share[t * m + i])
                    x[t * m + i] = tau
                    for j in range(m):
                        base[at + j] -= tau
        tau = simplex_threshold(base[: m * m], 1.0)
        for c in range(m * m):
            base[c] -= tau
        if k + 1 < ROUNDS:
            forward(E, m, base, share)
    fill(x, 0)


@kernel
def forward(E, m, base, share):
    """share = probabilities of labels at each node, from those of the first table and the rows of the others."""
    fill(share, m)
    for t in range(E):
        for i in range(m):
            row, at = 0.0, (t * m + i) * m
            for j in range(m):
                row += max(base[at + j], 0.0)
            scale = 1.0 if t == 0 else (share[t * m + i] / row if row > 0.0 else 0.0)
            for j in range(m):
                share[(t + 1) * m + j] += scale * max(base[at + j], 0.0)


@kernel
def dual_value(E, m, base, x, g):
    """phi at x; g = its gradient."""
    lam = x[(E + 1) * m]
    fill(g, 0)
    value, total = 0.0, 0.0
    for t in range(E):
        for i in range(m):
            at, row = (t * m + i) * m, 0.0
            shift = lam if t == 0 else -x[t * m + i]
            for j in range(m):
                a = base[at + j] + (shift + x[(t + 1) * m + j])
                if a > 0.0:
                    value += 0.5 * a * a
                    row += a
                    g[(t + 1) * m + j] += a
            g[t * m + i] -= row
            total += row if t == 0 else 0.0
    for j in range(m):
        g[j] = g[E * m + j] = 0.0
    g[(E + 1) * m] = total - 1.0
    return value - lam


@kernel
def project_chain(E, m, M, out):
    """out = the projection of M (both flat, perhaps the same array); Newton steps taken."""
    n = (E + 1) * m + 1
    x, g, trial, g_trial, D, step = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    base, S, V = np.empty(E * m * m), np.empty((E, m, m)), np.empty((E, m, m))
    y, live, count = np.zeros((E, m)), np.zeros((E, m), dtype=np.int64), np.zeros(E, dtype=np.int64)
    begin(E, m, M, base, x)
    value = dual_value(E, m, base, x, g)
    steps, damping = 0, DAMPING
    while steps < MAX_STEPS and largest(g) > PRECISE:
        ridge = 1e-13 + min(damping, 1e-2 * np.sqrt(inner(g, g)))
        degrees(E, m, base, x, D)
        eliminate(E, m, base, x, g, ridge, D, live, count, S, V, y)
        substitute(E, m, g, ridge, D, live, count, S, V, y, step)
        slope, share = inner(g, step), 1.0
        while True:  # share halves, 31 times at most
            for k in range(n):
                trial[k] = x[k] + share * step[k]
            found = dual_value(E, m, base, trial, g_trial)
            # The differences of phi are lost in rounding errors long before its slope is.
            lower = (
                found <= value + 1e-4 * share * slope
                if share * slope < -NOISE
                else inner(g_trial, step) <= -0.3 * slope
            )
            if lower or share < 1e-9:
                break
            share *= 0.5
        damping = max(0.5 * damping, 1e-9) if share == 1.0 else min(2.0 * damping, 0.1) if share < 0.3 else damping
        for k in range(n):
            x[k], g[k] = trial[k], g_trial[k]
        value = found
        steps += 1
    for t in range(E):
        for i in range(m):
            shift = x[(E + 1) * m] if t == 0 else -x[t * m + i]
            for j in range(m):
                at = (t * m + i) * m + j
                out[at] = base[at] + (shift + x[(t + 1) * m + j])
    recover_chain(E, m, out)
    return steps


@helper
def inner(a, b):
    """<a, b>."""
    total = 0.0
    for k in range(a.size):
        total += a[k] * b[k]
    return total


@helper
def largest(g):
    """max |g|; NaN counts as 0, so that loops terminate."""
    top = 0.0
    for k in range(g.size):
        top = max(top, abs(g[k]))
    return top
