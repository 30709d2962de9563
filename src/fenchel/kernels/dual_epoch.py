"""Dual coordinate steps over a list of rows.

With w = transfer(v) and v = -sum_i p_i u_i x_i / strength, a change of u_i by t changes v by -t p_i x_i / strength, and the
row's score by about -t q_i, where q_i = p_i c_i / strength and c_i is the curvature along the row (for L2 this is exact, with
c_i = |x_i|^2). A free intercept enters as b = centre - sum_i p_i u_i / bias_strength (the proximal point method in b), which
adds p_i / bias_strength to q_i.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.kernels.dual_rules import Place, new_dual
from fenchel.mirror_maps.coordinatewise import renew, row_score, row_update


@kernel(fastmath=True)
def dual_epoch(loss, rows, y, p, offset, ascent, order, bounds, inverse_strength, inverse_bias, b, u, v, idle):
    """One step for every row of `order`; u, v and idle (epochs without change) are updated in place; returns b.

    bounds are the curvatures along the rows, or upper bounds of them; inverse_bias is 1 / bias_strength, or 0 without an
    intercept.
    """
    transfer = ascent.transfer
    for k in range(np.uint64(order.size)):
        i = order[k]
        score, curvature = row_score(transfer, rows, i, v, bounds[i])
        z = score + offset[i] + b
        rate, bias = p[i] * inverse_strength, p[i] * inverse_bias
        place = Place(i, u[i], score, z, y[i], rate, bias, curvature, bounds[i])
        new = new_dual(ascent.rule, loss, transfer, rows, v, place)
        if ascent.damping != 1.0:
            new = u[i] + ascent.damping * (new - u[i])
        change = new - u[i]
        if change == 0.0:
            idle[i] = min(idle[i] + 1, 100)
            continue
        idle[i] = 0
        u[i] = new
        row_update(transfer, rows, i, -change * rate, v)
        b -= change * bias
    return b


@kernel
def renew_transfer(transfer, v):
    """Recompute what the transfer function caches about v."""
    renew(transfer, v)
