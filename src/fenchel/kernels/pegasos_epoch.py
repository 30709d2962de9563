"""Stochastic subgradient steps with their dual variables.

w = factor V / (alpha t) and u_i = factor A_i / (p_i t). The decay by 1 - 1/t is part of the division, so that the cost of a
step is proportional to the stored values of its rows.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.data.rows import axpy, dot, sqnorm
from fenchel.losses.protocol import slope

SMALLEST_FACTOR = 1e-100


@kernel
def pegasos_epoch(loss, rows, y, offset, order, batch, alpha, radius, t, factor, squares, V, A):
    """One step for every `batch` rows of `order`; V and A are updated in place; returns (t, factor, |V|^2).

    A finite radius projects w onto the ball after every step.
    """
    u = np.empty(batch)
    for first in range(np.uint64(0), np.uint64(order.size - order.size % batch), np.uint64(batch)):
        shrink = factor / (alpha * t) if t > 0.0 else 0.0
        for k in range(np.uint64(batch)):
            i = order[first + k]
            u[k] = slope(loss, shrink * dot(rows, i, V) + offset[i], y[i])
        t += 1.0
        for k in range(np.uint64(batch)):
            if u[k] == 0.0:
                continue
            i = order[first + k]
            a = u[k] / (batch * factor)
            if radius < np.inf:
                squares += a * (a * sqnorm(rows, i) - 2.0 * dot(rows, i, V))
            axpy(rows, i, -a, V)
            A[i] += a
        length = factor * np.sqrt(max(squares, 0.0)) / (alpha * t)
        if length > radius:
            factor *= radius / length
            if factor < SMALLEST_FACTOR:
                V *= factor
                A *= factor
                squares *= factor * factor
                factor = 1.0
    return t, factor, squares
