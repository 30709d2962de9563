"""The smoothed losses of the proximal point method in the dual, row by row from stored scores.

phi(z) = max over u of u z - loss*(u) - gamma/2 (u - u0)^2. The maximiser is the dual step u = dual_step(u0, z, gamma), and
with x = z - gamma (u - u0) one has u in the subdifferential of the loss at x and phi = loss(x) + gamma/2 (u^2 - u0^2).
gamma = 0 is the loss itself.
"""

from __future__ import annotations

from fenchel.jit import kernel
from fenchel.losses.protocol import curvature, dual_step, value, value_and_slope

STEEPEST = 1e12  # curvature beyond which a row counts as having a kink
PROBE = 1e-3  # half width, in units of gamma, over which the change of u is measured


@kernel
def envelope_pass(loss, y, p, z, u0, gamma, u, h):
    """u and its rate of change h = du/dz; returns (sum p phi, sum p loss, sum p of the Fenchel-Young residuals of u)."""
    total, losses, residual = 0.0, 0.0, 0.0
    for i in range(z.size):
        if p[i] > 0.0:
            f = value(loss, z[i], y[i])
            u[i] = dual_step(loss, u0[i], z[i], gamma, y[i])
            x = z[i] - gamma * (u[i] - u0[i])
            at_x = value(loss, x, y[i])
            total += p[i] * (at_x + 0.5 * gamma * (u[i] - u0[i]) * (u[i] + u0[i]))
            losses += p[i] * f
            residual += p[i] * (f - at_x - u[i] * (z[i] - x))
            width = PROBE * gamma
            right = dual_step(loss, u0[i], z[i] + width, gamma, y[i])
            left = dual_step(loss, u0[i], z[i] - width, gamma, y[i])
            h[i] = (right - left) / (2.0 * width)
    return total, losses, residual


@kernel
def curved_pass(loss, y, p, z, u, h):
    """The same for a differentiable loss and gamma = 0: u the slopes, h their rate of change."""
    total = 0.0
    for i in range(z.size):
        if p[i] > 0.0:
            f, u[i] = value_and_slope(loss, z[i], y[i])
            total += p[i] * f
            h[i] = min(curvature(loss, z[i], y[i]), STEEPEST)
    return total


@kernel
def envelope_line(loss, y, p, z, dz, t, u0, gamma):
    """(sum p phi, its derivative in t) at scores z + t dz."""
    total, derivative = 0.0, 0.0
    for i in range(z.size):
        if p[i] > 0.0:
            at = z[i] + t * dz[i]
            if gamma > 0.0:
                u = dual_step(loss, u0[i], at, gamma, y[i])
                f = value(loss, at - gamma * (u - u0[i]), y[i]) + 0.5 * gamma * (u - u0[i]) * (u + u0[i])
            else:
                f, u = value_and_slope(loss, at, y[i])
            total += p[i] * f
            derivative += p[i] * u * dz[i]
    return total, derivative
