"""Coordinate descent for min over x of <q, d> + d'H d / 2 + sum_j lam_j |x_j + d_j|, H >= 0; q becomes the gradient at x + d.

H is either a matrix, or B'B + ridge with the columns of B stored as the rows of B' (see `kernels/columns.py`).
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.compile.kernel import kernel
from fenchel.data.rows import axpy, dot


@helper
def shrunk(a, lam):
    """Soft-thresholding: sign(a) max(|a| - lam, 0)."""
    return a - lam if a > lam else (a + lam if a < -lam else 0.0)


@kernel(fastmath=True)
def gram_descent(H, lam, x, q, sweeps, small):
    """At most `sweeps` sweeps over all coordinates, until no step changes its gradient by more than `small`."""
    for _ in range(sweeps):
        largest = 0.0
        for j in range(np.uint64(x.size)):
            h = H[j, j]
            if h > 0.0:
                new = shrunk(h * x[j] - q[j], lam[j]) / h
                step = new - x[j]
                if step != 0.0:
                    x[j] = new
                    largest = max(largest, abs(step) * h)
                    for k in range(np.uint64(x.size)):
                        q[k] += step * H[j, k]
        if largest <= small:
            break
    return largest


@kernel
def largest_violation(x, q, lam):
    """The largest distance of -q_j from the subdifferential of lam_j |x_j|; NaN if any of them is NaN."""
    largest = 0.0
    for j in range(x.size):
        if x[j] == 0.0:
            off = max(abs(q[j]) - lam[j], 0.0)
        else:
            off = abs(q[j] + (lam[j] if x[j] > 0.0 else -lam[j]))
        if not off <= largest:
            largest = off
    return largest


@kernel(fastmath=True)
def column_descent(columns, order, diagonal, ridge, q, lam, x, moved, residual):
    """One sweep over the coordinates in `order`; q is the gradient at the point x0 where the sweeps started.

    moved = x - x0 and residual = B moved are updated. Returns the largest change of a gradient.
    """
    largest = 0.0
    for k in range(np.uint64(order.size)):
        j = order[k]
        h = diagonal[j]
        if h > 0.0:
            gradient = q[j] + dot(columns, j, residual) + ridge[j] * moved[j]
            step = shrunk(h * x[j] - gradient, lam[j]) / h - x[j]
            if step != 0.0:
                x[j] += step
                moved[j] += step
                largest = max(largest, abs(step) * h)
                axpy(columns, j, step, residual)
    return largest


@kernel(fastmath=True)
def normal_product(columns, order, v, ridge, residual, out):
    """out_k = <B_j, sum_l v_l B_l> + ridge_j v_k, j the k-th and l all coordinates in `order`."""
    for i in range(np.uint64(residual.size)):
        residual[i] = 0.0
    for k in range(np.uint64(order.size)):
        axpy(columns, order[k], v[k], residual)
    for k in range(np.uint64(order.size)):
        out[k] = dot(columns, order[k], residual) + ridge[order[k]] * v[k]


@kernel(fastmath=True)
def column_products(columns, order, residual, out):
    """out_k = <B_j, residual>, j the k-th coordinate in `order`."""
    for k in range(np.uint64(order.size)):
        out[k] = dot(columns, order[k], residual)
