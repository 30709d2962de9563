"""The smoothed losses of the proximal point method in the dual.

phi(z) = max over u of u z - loss*(u) - gamma/2 (u - u0)^2. The maximiser is the dual step u = dual_step(u0, z, gamma), and
with x = z - gamma (u - u0) one has u in the subdifferential of the loss at x and phi = loss(x) + gamma/2 (u^2 - u0^2).
Where the loss is linear between x and z, phi = loss(z) - gamma/2 (u - u0)^2 and there is no curvature.
gamma = 0 is the loss itself.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.compile.kernel import kernel
from fenchel.losses.protocol import dual_domain, dual_step, local_model, slope, value

MAX_CURVATURE = 1e12  # larger curvatures are truncated
PROBE = 1e-3  # the difference quotients of u are taken over this width, in units of gamma


@helper
def smoothed_loss(loss, z, u0, gamma, y):
    """(phi, its derivative u, the loss at z, the Fenchel-Young residual of u at z), without branches."""
    u = dual_step(loss, u0, z, gamma, y)
    move = gamma * (u - u0)
    f, at_x = value(loss, z, y), value(loss, z - move, y)
    return at_x + 0.5 * move * (u + u0), u, f, f - at_x - u * move


@kernel(fastmath=True)
def smoothed_rows(loss, y, p, offset, gamma, u0, z, u, t, step):
    """Compute u at the scores z, step = u - old u, and t = p du/dz.

    Returns (sum p phi, sum p loss, sum p of the Fenchel-Young residuals, sum p u, sum t, sum t (x - offset)).
    """
    total, losses, residual, slopes, total_curvature, breakpoints = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    width = PROBE * gamma
    for i in range(np.uint64(y.size)):
        phi, new, f, miss = smoothed_loss(loss, z[i], u0[i], gamma, y[i])
        rise = dual_step(loss, u0[i], z[i] + width, gamma, y[i]) - new
        counts = p[i] > 0.0
        phi, f, miss = phi if counts else 0.0, f if counts else 0.0, miss if counts else 0.0
        total += p[i] * phi
        losses += p[i] * f
        residual += p[i] * miss
        slopes += p[i] * new
        t[i] = p[i] * (rise / width)
        total_curvature += t[i]
        breakpoints += t[i] * (z[i] - gamma * (new - u0[i]) - offset[i])
        step[i] = new - u[i]
        u[i] = new
    return total, losses, residual, slopes, total_curvature, breakpoints


@kernel(fastmath=True)
def curved_rows(loss, y, p, offset, z, u, t, step):
    """The same for a differentiable loss and gamma = 0."""
    total, slopes, total_curvature, breakpoints = 0.0, 0.0, 0.0, 0.0
    for i in range(np.uint64(y.size)):
        f, new, curvature = local_model(loss, z[i], y[i])
        counts = p[i] > 0.0
        f, new, curvature = (
            f if counts else 0.0,
            new if counts else u[i],
            min(curvature, MAX_CURVATURE) if counts else 0.0,
        )
        t[i] = p[i] * curvature
        total += p[i] * f
        slopes += p[i] * new
        total_curvature += t[i]
        breakpoints += t[i] * (z[i] - offset[i]) if counts else 0.0
        step[i] = new - u[i]
        u[i] = new
    return total, total, 0.0, slopes, total_curvature, breakpoints


@kernel(fastmath=True)
def smoothed_along(loss, y, p, z, dz, t, u0, gamma):
    """(sum p phi, its first and its second derivative in t) at scores z + t dz."""
    total, first, second = 0.0, 0.0, 0.0
    width = PROBE * gamma
    for i in range(np.uint64(z.size)):
        at = z[i] + t * dz[i]
        phi, u, _, _ = smoothed_loss(loss, at, u0[i], gamma, y[i])
        phi = phi if p[i] > 0.0 else 0.0
        total += p[i] * phi
        first += p[i] * u * dz[i]
        second += p[i] * (dual_step(loss, u0[i], at + width, gamma, y[i]) - u) * (dz[i] * dz[i])
    return total, first, second / width


@kernel(fastmath=True)
def curved_along(loss, y, p, z, dz, t):
    """The same for a differentiable loss and gamma = 0."""
    total, first, second = 0.0, 0.0, 0.0
    for i in range(np.uint64(z.size)):
        f, u, curvature = local_model(loss, z[i] + t * dz[i], y[i])
        counts = p[i] > 0.0
        f, u, curvature = f if counts else 0.0, u if counts else 0.0, min(curvature, MAX_CURVATURE) if counts else 0.0
        total += p[i] * f
        first += p[i] * u * dz[i]
        second += p[i] * curvature * (dz[i] * dz[i])
    return total, first, second


@kernel(fastmath=True)
def curved_weight(loss, y, p, z, gamma):
    """The sum of p over the rows that have curvature at scores z if u0 = 0."""
    total, width = 0.0, PROBE * gamma
    for i in range(np.uint64(z.size)):
        rise = dual_step(loss, 0.0, z[i] + width, gamma, y[i]) - dual_step(loss, 0.0, z[i], gamma, y[i])
        total += p[i] if rise > 0.0 else 0.0
    return total


@kernel
def curved_within(loss, y, p, z, u, reach, out):
    """out_i: whether row i has weight and its loss is not linear with slope u within `reach` of its score."""
    for i in range(z.size):
        flat = slope(loss, z[i] - reach, y[i]) == u[i] and slope(loss, z[i] + reach, y[i]) == u[i]
        out[i] = p[i] > 0.0 and not flat


@kernel
def domain_excess(loss, y, p, u, t, share):
    """sum p times the distance of u - share t / p from the domain of loss*, over the rows with curvature."""
    total = 0.0
    for i in range(y.size):
        if t[i] > 0.0 and p[i] > 0.0:
            low, high = dual_domain(loss, y[i])
            moved = u[i] - share * (t[i] / p[i])
            total += p[i] * max(low - moved, moved - high, 0.0)
    return total
