"""Exact dual coordinate steps over a list of rows.

With w = transfer(v), v = -sum_i p_i u_i x_i / strength, changing u_i by t changes v by -t p_i x_i / strength, and the
row's score by at most -t q_i, q_i = p_i |x_i|^2 / strength (exactly that for L2). A free intercept enters as
b = centre - sum_i p_i u_i / bias_strength (the proximal point method in b): q_i grows by p_i / bias_strength.
"""

from __future__ import annotations

import numpy as np

from fenchel.data.rows import axpy, mapped_dot
from fenchel.jit import kernel
from fenchel.losses.protocol import dual_step, slope


@kernel(fastmath=True)
def dual_epoch(loss, rows, y, p, offset, transfer, order, norms, inverse_strength, inverse_bias, b, u, v, idle):
    """One step for every row of `order`; u, v and idle (epochs without change) are updated in place; returns b.

    norms are |x_i|^2, inverse_bias is 1 / bias_strength or 0 without an intercept.
    """
    for k in range(np.uint64(order.size)):
        i = order[k]
        z = mapped_dot(rows, i, v, transfer) + offset[i] + b
        q = p[i] * (norms[i] * inverse_strength + inverse_bias)
        new = dual_step(loss, u[i], z, q, y[i]) if q > 0.0 else slope(loss, z, y[i])
        change = new - u[i]
        if change == 0.0:
            idle[i] = min(idle[i] + 1, 100)
            continue
        idle[i] = 0
        u[i] = new
        axpy(rows, i, -change * p[i] * inverse_strength, v)
        b -= change * p[i] * inverse_bias
    return b
