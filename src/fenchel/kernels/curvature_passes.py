"""What Newton steps for losses of one score ask of the rows: everything about one point in one pass, products with the Hessian,
and values along a step from stored scores. Rows of weight 0 are skipped, so that a weight vector can choose a sample."""

from __future__ import annotations

import numpy as np

from fenchel.data.rows import axpy, dot
from fenchel.jit import kernel
from fenchel.losses.protocol import local_model, value_and_slope

STEEPEST = 1e12  # curvature beyond which a row counts as having a kink


@kernel(fastmath=True)
def curved_pass(loss, rows, y, p, offset, w, b, z, u, h, gradient):
    """Scores z, slopes u, curvatures h times p, gradient += sum p u x; returns (sum p loss, sum p u)."""
    total, slopes = 0.0, 0.0
    for i in range(np.uint64(y.size)):
        if p[i] > 0.0:
            z[i] = dot(rows, i, w) + offset[i] + b
            f, slope, curvature = local_model(loss, z[i], y[i])
            total += p[i] * f
            u[i] = slope
            h[i] = p[i] * min(curvature, STEEPEST)
            if slope != 0.0:
                slopes += p[i] * slope
                axpy(rows, i, p[i] * slope, gradient)
    return total, slopes


@kernel(fastmath=True)
def bent_pass(rows, h, v, shift, out):
    """out += sum_i h_i (<x_i, v> + shift) x_i."""
    for i in range(np.uint64(h.size)):
        if h[i] != 0.0:
            axpy(rows, i, h[i] * (dot(rows, i, v) + shift), out)


@kernel
def line_pass(loss, y, p, z, dz, t):
    """(sum p loss, its derivative in t) at scores z + t dz."""
    total, derivative = 0.0, 0.0
    for i in range(z.size):
        if p[i] > 0.0:
            f, u = value_and_slope(loss, z[i] + t * dz[i], y[i])
            total += p[i] * f
            derivative += p[i] * u * dz[i]
    return total, derivative
