"""Frank-Wolfe steps on the dual variables of one row after another, with L2: W = -sum p x u' / strength.

Along a direction d of a row's u, the dual increases by step * slope - step^2 / 2 * curvature, with curvature = q |d|^2 and
q = p_i |x_i|^2 / strength. The step maximises this increase over the part of the direction in the domain of loss*.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.data.rows import sqnorm
from fenchel.kernels.vector_passes import add_row, row_scores
from fenchel.multiclass.protocol import conjugate, slopes, value, vertex_margins

AWAY, PAIRWISE = 1, 2
NEGLIGIBLE_WEIGHT = 1e-12  # smaller weights are rounding errors: there is nothing to move away from


@kernel
def plain_epoch(loss, rows, y, p, order, inverse_strength, W, U):
    """For every row of `order`, one step towards the slopes at the row's scores; W and U are updated in place."""
    m = W.shape[1]
    z, d = np.empty(m), np.empty(m)
    for k in range(np.uint64(order.size)):
        i = order[k]
        u = U[i]
        row_scores(rows, i, W, W.shape[0], z)
        slopes(loss, z, y[i], d)
        slope = value(loss, z, y[i]) + conjugate(loss, u, y[i])
        size = 0.0
        for c in range(m):
            slope -= z[c] * u[c]
            d[c] -= u[c]
            size += d[c] * d[c]
        step = best_step(slope, p[i] * sqnorm(rows, i) * inverse_strength * size, 1.0)
        if step > 0.0:
            for c in range(m):
                d[c] *= step
                u[c] += d[c]
            add_row(rows, i, -p[i] * inverse_strength, d, W.shape[0], W)


@kernel
def best_step(slope, curvature, most):
    """argmax over [0, most] of step * slope - step^2 / 2 * curvature."""
    if not slope > 0.0:
        return 0.0
    return most if slope >= most * curvature else slope / curvature


@kernel
def vertex_epoch(loss, rows, y, p, order, inverse_strength, W, U, kind):
    """Away or pairwise steps, for losses whose u is a mixture of sizes_j (e_j - e_y) and 0 with weights u_j / sizes_j."""
    m = W.shape[1]
    z, margins, sizes, weights, d = np.empty(m), np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    for k in range(np.uint64(order.size)):
        i = order[k]
        u, true = U[i], y[i]
        row_scores(rows, i, W, W.shape[0], z)
        vertex_margins(loss, z, true, margins, sizes)
        rest, mean = 1.0, 0.0
        for c in range(m):
            if c != true:
                weights[c] = u[c] / sizes[c]
                rest -= weights[c]
                mean += weights[c] * margins[c]
        weights[true], margins[true], sizes[true] = max(rest, 0.0), 0.0, 0.0
        best, worst = true, -1
        for c in range(m):
            if margins[c] > margins[best]:
                best = c
            if weights[c] > NEGLIGIBLE_WEIGHT and (worst < 0 or margins[c] < margins[worst]):
                worst = c
        d[:] = 0.0
        if kind == PAIRWISE:
            slope, most = margins[best] - margins[worst], weights[worst]
            _towards(d, best, true, sizes, 1.0)
            _towards(d, worst, true, sizes, -1.0)
        elif margins[best] - mean >= mean - margins[worst] or weights[worst] >= 1.0:
            slope, most = margins[best] - mean, 1.0
            _towards(d, best, true, sizes, 1.0)
            d -= u
        else:
            slope, most = mean - margins[worst], weights[worst] / (1.0 - weights[worst])
            _towards(d, worst, true, sizes, -1.0)
            d += u
        step = best_step(slope, p[i] * sqnorm(rows, i) * inverse_strength * np.sum(d * d), most)
        if step > 0.0:
            total = 0.0
            for c in range(m):
                if c != true:
                    new = max(u[c] + step * d[c], 0.0)
                    d[c] = (new if new > NEGLIGIBLE_WEIGHT * sizes[c] else 0.0) - u[c]
                    u[c] += d[c]
                    total += d[c]
            d[true] = -total
            u[true] -= total
            add_row(rows, i, -p[i] * inverse_strength, d, W.shape[0], W)


@kernel
def _towards(d, c, true, sizes, sign):
    """d += sign (vertex c)."""
    d[c] += sign * sizes[c]
    d[true] -= sign * sizes[c]
