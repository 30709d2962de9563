"""Passes over long dense rows, four at a time.

When w and the gradient do not fit into the fastest cache, reading them costs as much as reading the rows. Here four rows share
each access to them. A pass takes 0.6 to 0.9 of the time, the less the longer the rows; on shorter rows it would take longer.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.compile.kernel import kernel
from fenchel.data.dense import FOUR, ONE, THREE, TWO, add_four_rows, four_dots
from fenchel.data.rows import axpy, dot
from fenchel.kernels.row_losses import counted, model_rows
from fenchel.losses.protocol import value_and_slope


@helper
def long_scores(rows, start, stop, w, z, first):
    """z_k = <x_i, w>, k = i - first, for the rows start .. stop."""
    i = start
    while i + FOUR <= stop:  # i rises
        k = i - first
        z[k], z[k + ONE], z[k + TWO], z[k + THREE] = four_dots(rows, i, w)
        i += FOUR
    while i < stop:  # i rises
        z[i - first] = dot(rows, i, w)
        i += ONE


@helper
def add_long_rows(rows, start, stop, a, first, out):
    """out += sum_i a_k x_i, k = i - first, over the rows start .. stop."""
    i = start
    while i + FOUR <= stop:  # i rises
        k = i - first
        add_four_rows(rows, i, a[k], a[k + ONE], a[k + TWO], a[k + THREE], out)
        i += FOUR
    while i < stop:  # i rises
        if a[i - first] != 0.0:
            axpy(rows, i, a[i - first], out)
        i += ONE


@kernel(fastmath=True)
def risk_of_long_rows(loss, rows, y, p, offset, w, b, gradient):
    """`risk_pass`."""
    total, slopes, n = 0.0, 0.0, np.uint64(y.size)
    z, a = np.empty(FOUR), np.empty(FOUR)
    for start in range(np.uint64(0), n, FOUR):
        stop = min(start + FOUR, n)
        long_scores(rows, start, stop, w, z, start)
        for i in range(start, stop):
            f, slope = counted(p[i], *value_and_slope(loss, z[i - start] + offset[i] + b, y[i]))
            total += p[i] * f
            a[i - start] = p[i] * slope
            slopes += a[i - start]
        add_long_rows(rows, start, stop, a, start, gradient)
    return total, slopes


@kernel(fastmath=True)
def newton_of_long_rows(loss, rows, y, p, offset, w, b, z, u, h, gradient, curvature_sum):
    """`newton_pass`."""
    total, slopes, n, zero, a = 0.0, 0.0, np.uint64(y.size), np.uint64(0), np.empty(FOUR)
    for start in range(zero, n, FOUR):
        stop = min(start + FOUR, n)
        long_scores(rows, start, stop, w, z, zero)
        for i in range(start, stop):
            z[i] += offset[i] + b
        risk, slope = model_rows(loss, y, p, start, stop, z, u, h)
        total += risk
        slopes += slope
        for i in range(start, stop):
            a[i - start] = p[i] * u[i]
            h[i] *= p[i]
        add_long_rows(rows, start, stop, a, start, gradient)
        if curvature_sum.size > 0:
            add_long_rows(rows, start, stop, h, zero, curvature_sum)
    return total, slopes


@kernel(fastmath=True)
def hessian_product_of_long_rows(rows, h, v, shift, out):
    """`hessian_product_pass`."""
    n, a = np.uint64(h.size), np.empty(FOUR)
    for start in range(np.uint64(0), n, FOUR):
        stop = min(start + FOUR, n)
        long_scores(rows, start, stop, v, a, start)
        for i in range(start, stop):
            a[i - start] = h[i] * (a[i - start] + shift)
        add_long_rows(rows, start, stop, a, start, out)


@kernel(fastmath=True)
def scores_of_long_rows(rows, offset, w, out):
    """`scores_pass`."""
    n, zero = np.uint64(out.size), np.uint64(0)
    long_scores(rows, zero, n, w, out, zero)
    for i in range(n):
        out[i] += offset[i]


@kernel(fastmath=True)
def combine_long_rows(rows, p, u, out):
    """`combine_pass`."""
    n, a = np.uint64(p.size), np.empty(FOUR)
    for start in range(np.uint64(0), n, FOUR):
        stop = min(start + FOUR, n)
        for i in range(start, stop):
            a[i - start] = p[i] * u[i]
        add_long_rows(rows, start, stop, a, start, out)
