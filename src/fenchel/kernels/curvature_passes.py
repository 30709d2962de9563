"""What Newton steps for losses of one score ask of the rows: everything about one point in one pass, products with the Hessian,
and values along a step from stored scores."""

from __future__ import annotations

import math

import numpy as np

from fenchel.data.rows import axpy, dot
from fenchel.jit import kernel
from fenchel.losses.protocol import local_model
from fenchel.typed import helper

STEEPEST = 1e12  # curvature beyond which a row counts as having a kink
FULL = 1e150  # a product of factors beyond which its logarithm is taken


@helper
def with_factor(total, product, weight, p, factor):
    """total + weight log(product), still to be taken, with p log(factor) added: one logarithm for rows of one weight."""
    if factor == 1.0:
        return total, product, weight
    if p != weight or product > FULL:
        return total + weight * math.log(product), factor, p
    return total, product * factor, weight


@kernel(fastmath=True)
def newton_pass(loss, rows, y, p, offset, w, b, z, u, h, gradient, bent):
    """Scores z, slopes u, curvatures h times p, gradient += sum p u x; returns (sum p loss, sum p u).

    bent += sum h x, which a free intercept needs, unless it is empty.
    """
    total, slopes, product, shared = 0.0, 0.0, 1.0, 0.0
    for i in range(np.uint64(y.size)):
        if p[i] > 0.0:
            z[i] = dot(rows, i, w) + offset[i] + b
            rest, factor, slope, curvature = local_model(loss, z[i], y[i])
            total += p[i] * rest
            total, product, shared = with_factor(total, product, shared, p[i], factor)
            u[i] = slope
            h[i] = p[i] * min(curvature, STEEPEST)
            if slope != 0.0:
                slopes += p[i] * slope
                axpy(rows, i, p[i] * slope, gradient)
            if bent.size > 0:
                axpy(rows, i, h[i], bent)
    return total + shared * math.log(product), slopes


@kernel(fastmath=True)
def bent_pass(rows, h, v, shift, out):
    """out += sum_i h_i (<x_i, v> + shift) x_i."""
    for i in range(np.uint64(h.size)):
        if h[i] != 0.0:
            axpy(rows, i, h[i] * (dot(rows, i, v) + shift), out)


@kernel(fastmath=True)
def line_pass(loss, y, p, z, dz, t):
    """(sum p loss, its derivative in t) at scores z + t dz."""
    total, derivative, product, shared = 0.0, 0.0, 1.0, 0.0
    for i in range(np.uint64(z.size)):
        if p[i] > 0.0:
            rest, factor, slope, _ = local_model(loss, z[i] + t * dz[i], y[i])
            total += p[i] * rest
            total, product, shared = with_factor(total, product, shared, p[i], factor)
            derivative += p[i] * slope * dz[i]
    return total + shared * math.log(product), derivative


@kernel(fastmath=True)
def curved_pass(loss, y, p, z, u, h):
    """Slopes u and curvatures h at stored scores z; returns sum p loss."""
    total, product, shared = 0.0, 1.0, 0.0
    for i in range(np.uint64(z.size)):
        if p[i] > 0.0:
            rest, factor, u[i], curvature = local_model(loss, z[i], y[i])
            total += p[i] * rest
            total, product, shared = with_factor(total, product, shared, p[i], factor)
            h[i] = min(curvature, STEEPEST)
    return total + shared * math.log(product)
