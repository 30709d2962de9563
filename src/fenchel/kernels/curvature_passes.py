"""Passes over the rows for Newton steps with losses of one score: value, gradient and curvatures at a point in one pass,
Hessian-vector products, and values along a step from stored scores."""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.data.dense import is_long
from fenchel.data.rows import add_rows, axpy, dot
from fenchel.kernels.long_rows import hessian_product_of_long_rows, newton_of_long_rows
from fenchel.kernels.passes import RUN
from fenchel.kernels.row_losses import MAX_CURVATURE, counted, model_rows
from fenchel.losses.protocol import in_runs, local_model, value_and_slope


@kernel(fastmath=True)
def newton_by_rows(loss, rows, y, p, offset, w, b, z, u, h, gradient, curvature_sum):
    """`newton_pass`, row by row."""
    total, slopes = 0.0, 0.0
    for i in range(np.uint64(y.size)):
        if p[i] > 0.0:
            z[i] = dot(rows, i, w) + offset[i] + b
            f, slope, curvature = local_model(loss, z[i], y[i])
            total += p[i] * f
            u[i] = slope
            h[i] = p[i] * min(curvature, MAX_CURVATURE)
            if slope != 0.0:
                slopes += p[i] * slope
                axpy(rows, i, p[i] * slope, gradient)
            if curvature_sum.size > 0:
                axpy(rows, i, h[i], curvature_sum)
    return total, slopes


@kernel(fastmath=True)
def newton_by_runs(loss, rows, y, p, offset, w, b, z, u, h, gradient, curvature_sum):
    """`newton_pass`, a few rows at a time: their scores, then their losses in a vectorised loop, then their weighted sum."""
    total, slopes, n = 0.0, 0.0, np.uint64(y.size)
    for start in range(np.uint64(0), n, RUN):
        stop = min(start + RUN, n)
        for i in range(start, stop):
            z[i] = dot(rows, i, w) + offset[i] + b
        risk, slope = model_rows(loss, y, p, start, stop, z, u, h)
        total += risk
        slopes += slope
        add_rows(rows, start, stop, p, u, gradient)
        for i in range(start, stop):
            h[i] *= p[i]
        if curvature_sum.size > 0:
            for i in range(start, stop):
                axpy(rows, i, h[i], curvature_sum)
    return total, slopes


def newton_pass(loss, rows, y, p, offset, w, b, z, u, h, gradient, curvature_sum):
    """Compute scores z, slopes u, curvatures h (times p) and gradient += sum p u x; returns (sum p loss, sum p u).

    curvature_sum += sum h x, which a free intercept needs, unless it is empty. Each row is fetched once.
    """
    kind = (
        newton_by_runs if in_runs(loss) else newton_by_rows
    )  # chosen outside of the kernels, so that only one is compiled
    kind = newton_of_long_rows if is_long(rows) else kind
    return kind(loss, rows, y, p, offset, w, b, z, u, h, gradient, curvature_sum)


@kernel(fastmath=True)
def hessian_product_by_rows(rows, h, v, shift, out):
    """`hessian_product_pass`, row by row."""
    for i in range(np.uint64(h.size)):
        if h[i] != 0.0:
            axpy(rows, i, h[i] * (dot(rows, i, v) + shift), out)


def hessian_product_pass(rows, h, v, shift, out):
    """out += sum_i h_i (<x_i, v> + shift) x_i."""
    kind = hessian_product_of_long_rows if is_long(rows) else hessian_product_by_rows
    kind(rows, h, v, shift, out)


@kernel(fastmath=True)
def line_pass(loss, y, p, z, dz, t):
    """(sum p loss, its derivative in t) at scores z + t dz."""
    total, derivative = 0.0, 0.0
    for i in range(np.uint64(z.size)):
        f, slope = counted(p[i], *value_and_slope(loss, z[i] + t * dz[i], y[i]))
        total += p[i] * f
        derivative += p[i] * slope * dz[i]
    return total, derivative


@kernel(fastmath=True)
def curved_pass(loss, y, p, z, u, h):
    """Compute slopes u and curvatures h at stored scores z; returns sum p loss."""
    return model_rows(loss, y, p, np.uint64(0), np.uint64(z.size), z, u, h)[0]
