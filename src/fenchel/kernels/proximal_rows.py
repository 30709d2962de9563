"""Rows of a proximal point step in the scores, as functions of the dual variables.

For a centre c_i and a step gamma, the row's part of the dual of the step is

    p_i min over z of loss(z) - u_i (z - offset_i) + (z - c_i)^2 / (2 gamma),

attained at z = c - gamma (s - u) with s = dual_step(u, c, gamma), a subgradient of the loss at z. z moves with gamma u at a
rate D in [0, 1]: 1 where the loss is linear, 0 at a nonsmooth point.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.compile.kernel import kernel
from fenchel.losses.protocol import dual_step, value

# Width, in units of gamma, over which the change of s is measured: small, because a row whose u is closer to an end of the
# domain than this gets a rate between those of the two pieces, and Newton steps are then inexact.
PROBE = 1e-7
# The width is at most this share of the point of the prox, because pieces end there in units of scores if gamma is large ...
SCORE_PROBE = 1e-4
# ... but so much at least, in units of gamma, because of rounding.
LEAST_PROBE = 1e-10


@helper
def proximal_row(loss, u, centre, gamma, y):
    """(s, z, D)."""
    s = dual_step(loss, u, centre, gamma, y)
    width = max(min(PROBE, SCORE_PROBE * abs(centre / gamma + u)), LEAST_PROBE)
    rise = dual_step(loss, u, centre + width * gamma, gamma, y) - s
    return s, centre - gamma * (s - u), min(max(1.0 - rise / width, 0.0), 1.0)


@kernel(fastmath=True)
def proximal_rows(loss, y, p, gamma, centre, u, s, z, rate):
    """s, z and D of every row; D = 1 for rows of weight 0."""
    for i in range(np.uint64(y.size)):
        if p[i] > 0.0:
            s[i], z[i], rate[i] = proximal_row(loss, u[i], centre[i], gamma, y[i])
        else:
            s[i], z[i], rate[i] = u[i], centre[i], 1.0


@kernel(fastmath=True)
def proximal_along(loss, y, p, offset, gamma, sigma, centre, u0, u, du, t):
    """(the sum of the rows' parts at u + t du, less sigma/2 sum p (u + t du - u0)^2, and its derivative in t)."""
    total, slope = 0.0, 0.0
    for i in range(np.uint64(y.size)):
        if p[i] > 0.0:
            at = u[i] + t * du[i]
            s, turn = dual_step(loss, at, centre[i], gamma, y[i]), at - u0[i]
            z = centre[i] - gamma * (s - at)
            rest = 0.5 * gamma * (s - at) * (s - at) - 0.5 * sigma * turn * turn
            total += p[i] * (value(loss, z, y[i]) - at * (z - offset[i]) + rest)
            slope -= p[i] * du[i] * (z - offset[i] + sigma * turn)
    return total, slope


@kernel(fastmath=True)
def linear_weight(loss, y, p, gamma, centre):
    """sum p D at u = 0: how much of the rows the step leaves linear."""
    total = 0.0
    for i in range(np.uint64(y.size)):
        if p[i] > 0.0:
            total += p[i] * proximal_row(loss, 0.0, centre[i], gamma, y[i])[2]
    return total
