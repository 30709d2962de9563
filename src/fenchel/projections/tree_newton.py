"""The projection onto the marginals of a forest, by semismooth Newton steps on its dual.

A root has a table of m numbers, every other node v one of m x m, (label of its parent, its label). With a multiplier mu_v(i)
for the sum of row i of v's table, which is the probability of label i at the parent, lam for the sum of a root's table, and q_v
the sum of mu over the children of v,

    a_v(i, j) = [M_v(i, j) - mu_v(i) + q_v(j)]_+,    a_r(j) = [M_r(j) - lam_r + q_r(j)]_+,    phi = 1/2 sum a^2 + sum lam,
    d phi / d mu_v(i) = (probability of i at the parent) - sum_j a_v(i, j),    d phi / d lam_r = 1 - sum a_r.

Multipliers are one array: mu_v in v m .. v m + m, lam_r in r m. Node v's table starts at place[v]; `order` has parents first.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.projections.chain_newton import inner, largest, simplex_threshold
from fenchel.projections.tree_system import newton_step

MAX_STEPS = 200
ROUNDS = 2  # rounds of the initial guess, as for chains
DAMPING = 1e-3  # of the first Newton system; it decreases after full steps and increases after short ones
PRECISE = 1e-13  # the tolerance for sums of probabilities, which are then made exact
NOISE = 1e-10  # smaller decreases of phi may be rounding errors
MIN_RIDGE = 1e-11


@kernel
def project_tree(order, parent, place, m, M):
    """M becomes its projection; returns the Newton steps taken."""
    n = order.size * m
    x, g, trial, g_trial, step = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    base, a = M.copy(), np.empty(M.size)
    begin_tree(order, parent, place, m, base)
    value = tree_value(order, parent, place, m, base, x, a, g)
    steps, damping = 0, DAMPING
    while steps < MAX_STEPS and largest(g) > PRECISE:
        ridge = MIN_RIDGE + min(damping, 1e-2 * np.sqrt(inner(g, g)))
        newton_step(order, parent, place, m, a, g, ridge, step)
        slope, share = inner(g, step), 1.0
        while True:  # share halves, 31 times at most
            for k in range(n):
                trial[k] = x[k] + share * step[k]
            found = tree_value(order, parent, place, m, base, trial, a, g_trial)
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
    for k in range(M.size):
        M[k] = a[k]
    recover_tree(order, parent, place, m, M)
    return steps


@kernel
def tree_value(order, parent, place, m, base, x, a, g):
    """phi at x; a = the tables there, g = the gradient."""
    q, share = np.zeros(x.size), np.zeros(x.size)
    for v in order:
        if parent[v] >= 0:
            for j in range(m):
                q[parent[v] * m + j] += x[v * m + j]
    value = 0.0
    for v in order:
        g[v * m : (v + 1) * m] = 0.0
        rows = m if parent[v] >= 0 else 1
        for i in range(rows):
            at, shift = place[v] + i * m, x[v * m + i]
            row = 0.0
            for j in range(m):
                entry = max(base[at + j] - shift + q[v * m + j], 0.0)
                a[at + j] = entry
                value += 0.5 * entry * entry
                row += entry
                share[v * m + j] += entry
            g[v * m + i] = (share[parent[v] * m + i] if parent[v] >= 0 else 1.0) - row
        value += x[v * m] if parent[v] < 0 else 0.0
    return value


@kernel
def begin_tree(order, parent, place, m, base):
    """Shift `base` by the multipliers of an initial guess: every row of a table gets the sum of its label's probability.

    The rows are shifted from the leaves on, then the probabilities are computed from the roots on. This predicts the positive
    entries and removes the magnitude of the tables: later rounding errors are those of numbers around 1.
    """
    share, shifts, M = np.ones(order.size * m), np.zeros(order.size * m), base.copy()
    for k in range(ROUNDS):
        shifts[:] = 0.0
        for t in range(order.size - 1, -1, -1):
            v = order[t]
            rows = m if parent[v] >= 0 else 1
            for i in range(rows):
                at = place[v] + i * m
                for j in range(m):
                    base[at + j] = M[at + j] + shifts[v * m + j]
                tau = simplex_threshold(base[at : at + m], share[parent[v] * m + i] if parent[v] >= 0 else 1.0)
                for j in range(m):
                    base[at + j] -= tau
                if parent[v] >= 0:
                    shifts[parent[v] * m + i] += tau
        if k + 1 < ROUNDS:
            share[:] = 0.0
            for v in order:
                rows = m if parent[v] >= 0 else 1
                for i in range(rows):
                    at, row = place[v] + i * m, 0.0
                    for j in range(m):
                        row += max(base[at + j], 0.0)
                    p = share[parent[v] * m + i] if parent[v] >= 0 else 1.0
                    for j in range(m):
                        share[v * m + j] += p * max(base[at + j], 0.0) / row if row > 0.0 else 0.0


@kernel
def recover_tree(order, parent, place, m, a):
    """a = the marginals of a forest, from those of the roots and the conditionals of each table, whatever a holds."""
    share = np.zeros(order.size * m)
    for v in order:
        rows = m if parent[v] >= 0 else 1
        for i in range(rows):
            at, row = place[v] + i * m, 0.0
            for j in range(m):
                a[at + j] = a[at + j] if a[at + j] > 0.0 else 0.0
                row += a[at + j]
            p = share[parent[v] * m + i] if parent[v] >= 0 else 1.0
            for j in range(m):
                a[at + j] = p * (a[at + j] / row if row > 0.0 else 1.0 / m)
                share[v * m + j] += a[at + j]


@kernel
def tree_marginals(order, parent, place, m, theta):
    """theta becomes the marginals of p(y) proportional to exp(sum of theta over the parts of y)."""
    below = np.zeros(order.size * m)
    for t in range(order.size - 1, -1, -1):
        v = order[t]
        rows = m if parent[v] >= 0 else 1
        for i in range(rows):
            at, top, total = place[v] + i * m, -np.inf, 0.0
            for j in range(m):
                theta[at + j] += below[v * m + j]
                top = max(top, theta[at + j])
            for j in range(m):
                theta[at + j] = np.exp(theta[at + j] - top)
                total += theta[at + j]
            if parent[v] >= 0:
                below[parent[v] * m + i] += top + np.log(total)
    recover_tree(order, parent, place, m, theta)
