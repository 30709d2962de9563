"""Linear systems in the free rows of a dual problem: (Q + shift) x = r, Q_ij = p_j (<x_i, x_j> / strength + inverse_bias).

Q is self-adjoint in the inner product with weights p, which the conjugate gradient method uses.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.data.rows import axpy, dot


@kernel(fastmath=True)
def add_rows(rows, free, a, out):
    """out += sum_k a_k x_i, i = free_k."""
    for k in range(np.uint64(free.size)):
        axpy(rows, free[k], a[k], out)


@kernel(fastmath=True)
def multiply(rows, p, shift, inverse_strength, inverse_bias, free, x, g, out):
    """out = (Q + shift) x; the workspace g has one entry per column, all zero before and after the call."""
    total = 0.0
    for k in range(np.uint64(free.size)):
        a = p[k] * x[k]
        total += a
        axpy(rows, free[k], a * inverse_strength, g)
    for k in range(np.uint64(free.size)):
        out[k] = dot(rows, free[k], g) + total * inverse_bias + shift[k] * x[k]
    for j in range(g.size):
        g[j] = 0.0


@kernel(fastmath=True)
def solve_free(rows, p, q, shift, inverse_strength, inverse_bias, free, r, held, x, first, steps, enough, g, work):
    """Solve (Q + shift) x = r in the rows that are not held, by conjugate gradients from the given x; held entries stay.

    p, q, shift, r and x belong to the free rows; q is the diagonal of Q. Stops after `steps` steps, or when the residual is at
    most `enough` times its first value, whose square is `first`; if `first` is 0, that is the residual of x = 0, from which the
    iteration then starts. Returns (steps taken, the square of the first residual). work is an array (4, number of free rows).
    """
    residual, s, direction, out = work[0], work[1], work[2], work[3]
    for k in range(np.uint64(free.size)):
        out[k] = 0.0
    if first > 0.0:
        multiply(rows, p, shift, inverse_strength, inverse_bias, free, x, g, out)
    product = 0.0
    for k in range(np.uint64(free.size)):
        residual[k] = 0.0 if held[k] else r[k] - out[k]
        s[k] = residual[k] / (q[k] + shift[k])
        direction[k] = s[k]
        product += p[k] * residual[k] * s[k]
    if first == 0.0:
        first = product
    taken = 0
    while taken < steps and product > enough * enough * first:  # at most `steps`
        multiply(rows, p, shift, inverse_strength, inverse_bias, free, direction, g, out)
        taken += 1
        curvature = 0.0
        for k in range(np.uint64(free.size)):
            curvature += p[k] * direction[k] * out[k]
        if not curvature > 0.0:
            break
        step, old, product = product / curvature, product, 0.0
        for k in range(np.uint64(free.size)):
            if not held[k]:
                x[k] += step * direction[k]
                residual[k] -= step * out[k]
                s[k] = residual[k] / (q[k] + shift[k])
                product += p[k] * residual[k] * s[k]
        share = product / old
        for k in range(np.uint64(free.size)):
            direction[k] = s[k] + share * direction[k]
    return taken, first
