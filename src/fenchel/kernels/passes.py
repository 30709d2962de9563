"""Passes over the rows of a block. `p` are the weights s_i / S; rows of weight 0 do not count, whatever their loss.

Row indices are unsigned throughout: a signed one costs a test per access (and int64 + uint64 is a float in numba).
"""

from __future__ import annotations

import numpy as np

from fenchel.data.rows import add_rows, axpy, dot, sqnorm
from fenchel.jit import kernel
from fenchel.losses.protocol import conjugate, slope, value_and_slope


@kernel(fastmath=True)
def risk_pass(loss, rows, y, p, offset, w, b, gradient):
    """gradient += sum_i p_i u_i x_i with u the slopes; returns (sum p loss, sum p u). Each row is touched once."""
    total, slopes = 0.0, 0.0
    for i in range(np.uint64(y.size)):
        if p[i] > 0.0:
            f, u = value_and_slope(loss, dot(rows, i, w) + offset[i] + b, y[i])
            total += p[i] * f
            if u != 0.0:
                slopes += p[i] * u
                axpy(rows, i, p[i] * u, gradient)
    return total, slopes


@kernel(fastmath=True)
def scores_pass(rows, offset, w, out):
    """out_i = <x_i, w> + offset_i."""
    for i in range(np.uint64(out.size)):
        out[i] = dot(rows, i, w) + offset[i]


@kernel(fastmath=True)
def combine_pass(rows, p, u, out):
    """out += sum_i p_i u_i x_i."""
    add_rows(rows, np.uint64(0), np.uint64(p.size), p, u, out)


@kernel(fastmath=True)
def norms_pass(rows, out):
    """out_i = <x_i, x_i>."""
    for i in range(np.uint64(out.size)):
        out[i] = sqnorm(rows, i)


@kernel
def slopes_at(loss, y, z, b, out):
    """out_i = slope(z_i + b, y_i)."""
    for i in range(z.size):
        out[i] = slope(loss, z[i] + b, y[i])


@kernel
def loss_sums(loss, y, p, z, b):
    """(sum p loss, sum p u) from stored scores."""
    total, slopes = 0.0, 0.0
    for i in range(z.size):
        if p[i] > 0.0:
            f, u = value_and_slope(loss, z[i] + b, y[i])
            total += p[i] * f
            slopes += p[i] * u
    return total, slopes


@kernel
def conjugate_sum(loss, y, p, offset, u):
    """sum p (loss*(u) - u offset)."""
    total = 0.0
    for i in range(u.size):
        if p[i] > 0.0:
            total += p[i] * (conjugate(loss, u[i], y[i]) - u[i] * offset[i])
    return total
