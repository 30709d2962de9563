"""The smoothed losses of the proximal point method in the dual.

phi(z) = max over u of u z - loss*(u) - gamma/2 (u - u0)^2. The maximiser is the dual step u = dual_step(u0, z, gamma), and
with x = z - gamma (u - u0) one has u in the subdifferential of the loss at x and phi = loss(x) + gamma/2 (u^2 - u0^2).
Where the loss is linear between x and z, phi = loss(z) - gamma/2 (u - u0)^2 and nothing bends.
gamma = 0 is the loss itself.
"""

from __future__ import annotations

import numpy as np

from fenchel.data.rows import axpy, dot
from fenchel.jit import kernel
from fenchel.losses.protocol import curvature, dual_step, slope, value, value_and_slope
from fenchel.typed import helper

STEEPEST = 1e12  # curvature beyond which a row counts as having a kink
PROBE = 1e-3  # half width, in units of gamma, over which the change of u is measured


@helper
def smoothed_loss(loss, z, u0, gamma, y):
    """(phi, its derivative u, loss at z, Fenchel-Young residual of u at z, du/dz)."""
    f, s = value_and_slope(loss, z, y)
    if gamma == 0.0:
        return f, s, f, 0.0, min(curvature(loss, z, y), STEEPEST)
    u = dual_step(loss, u0, z, gamma, y)
    width, move = PROBE * gamma, gamma * (u - u0)
    if u == s and slope(loss, z - width, y) == u and slope(loss, z + width, y) == u:
        return f - 0.5 * move * (u - u0), u, f, 0.0, 0.0
    at_x = value(loss, z - move, y)
    rise = dual_step(loss, u0, z + width, gamma, y) - dual_step(loss, u0, z - width, gamma, y)
    return at_x + 0.5 * move * (u + u0), u, f, f - at_x - u * move, rise / (2.0 * width)


@kernel(fastmath=True)
def envelope_pass(loss, rows, y, p, offset, w, b, gamma, fresh, u0, z, u, t, change, border):
    """One pass: scores (those in z, unless `fresh`), u, and t = p du/dz; change += sum p (u - old u) x.

    border += sum t x, if it has entries. Returns (sum p phi, sum p loss, sum p of the Fenchel-Young residuals,
    sum p u, sum t, sum t (x - offset) with x the scores at which u are slopes). Only rows whose u changed or, for
    the border, bend are touched a second time.
    """
    total, losses, residual, slopes, bend, kinks = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    bordered = border.size > 0
    for i in range(np.uint64(y.size)):
        if p[i] > 0.0:
            if fresh:
                z[i] = dot(rows, i, w) + offset[i] + b
            phi, new, f, miss, h = smoothed_loss(loss, z[i], u0[i], gamma, y[i])
            total += p[i] * phi
            losses += p[i] * f
            residual += p[i] * miss
            slopes += p[i] * new
            t[i] = p[i] * h
            if new != u[i]:
                axpy(rows, i, p[i] * (new - u[i]), change)
                u[i] = new
            if bordered and h > 0.0:
                bend += t[i]
                kinks += t[i] * (z[i] - gamma * (new - u0[i]) - offset[i])
                axpy(rows, i, t[i], border)
    return total, losses, residual, slopes, bend, kinks


@kernel
def envelope_line(loss, y, p, z, dz, t, u0, gamma):
    """(sum p phi, its derivative in t) at scores z + t dz."""
    total, derivative = 0.0, 0.0
    for i in range(z.size):
        if p[i] > 0.0:
            phi, u, _, _, _ = smoothed_loss(loss, z[i] + t * dz[i], u0[i], gamma, y[i])
            total += p[i] * phi
            derivative += p[i] * u * dz[i]
    return total, derivative


@kernel
def bent_within(loss, y, p, z, u, reach, out):
    """out_i: whether row i counts and its loss is not linear with slope u within `reach` of its score."""
    for i in range(z.size):
        flat = slope(loss, z[i] - reach, y[i]) == u[i] and slope(loss, z[i] + reach, y[i]) == u[i]
        out[i] = p[i] > 0.0 and not flat
