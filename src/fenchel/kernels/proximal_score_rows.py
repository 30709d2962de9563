"""Proximal points of the conjugates of several scores, row by row."""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.kernels.proximal_rows import LEAST_PROBE, PROBE, SCORE_PROBE
from fenchel.multiclass.protocol import dual_prox, value


@kernel
def dual_prox_rows(loss, y, p, T, gamma, out):
    """out_i = dual_prox(t_i, gamma); 0 for rows of weight 0."""
    for i in range(T.shape[0]):
        if p[i] > 0.0:
            dual_prox(loss, T[i], gamma, y[i], out[i])
        else:
            out[i] = 0.0


@kernel
def score_rows_along(loss, y, p, gamma, sigma, centre, u0, u, du, t, T, s):
    """As `proximal_along` for several scores, without offsets; T = centre + gamma (u + t du) and s = dual_prox(T) are kept."""
    total, slope, z = 0.0, 0.0, np.empty(u.shape[1])
    for i in range(u.shape[0]):
        for c in range(u.shape[1]):
            T[i, c] = centre[i, c] + gamma * (u[i, c] + t * du[i, c])
        if p[i] > 0.0:
            dual_prox(loss, T[i], gamma, y[i], s[i])
            rest, first = 0.0, 0.0
            for c in range(u.shape[1]):
                at = u[i, c] + t * du[i, c]
                turn = at - u0[i, c]
                z[c] = centre[i, c] - gamma * (s[i, c] - at)
                rest += 0.5 * gamma * (s[i, c] - at) ** 2 - 0.5 * sigma * turn * turn - at * z[c]
                first += du[i, c] * (z[c] + sigma * turn)
            total += p[i] * (value(loss, z, y[i]) + rest)
            slope -= p[i] * first
        else:
            s[i] = 0.0
    return total, slope


@kernel
def score_jacobians(loss, y, p, T, gamma, s, J):
    """J_i = gamma times the Jacobian of dual_prox at t_i, where it is s_i, by differences over widths as for one score."""
    for i in range(T.shape[0]):
        J[i] = 0.0
        if p[i] > 0.0:
            t, moved = T[i].copy(), np.empty(T.shape[1])
            width = max(min(PROBE, SCORE_PROBE * np.abs(t).max() / gamma), LEAST_PROBE)
            for c in range(t.size):
                t[c] += gamma * width
                dual_prox(loss, t, gamma, y[i], moved)
                for k in range(t.size):
                    J[i, c, k] = (moved[k] - s[i, k]) / width
                t[c] = T[i, c]
