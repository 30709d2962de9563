"""Passes over the rows of a block. `p` are the weights s_i / S; rows of weight 0 are ignored, even if their loss is not finite.

Row indices are unsigned throughout: a signed index costs a test per access (and int64 + uint64 is a float in numba).
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.data.dense import is_long
from fenchel.data.rows import add_rows, axpy, dot, sqnorm
from fenchel.kernels.long_rows import combine_long_rows, risk_of_long_rows, scores_of_long_rows
from fenchel.kernels.row_losses import counted
from fenchel.losses.protocol import conjugate, in_runs, slope, value_and_slope

RUN = np.uint64(16)  # rows that are processed together, for losses with `in_runs`: few enough for the fastest cache


@kernel(fastmath=True)
def risk_by_rows(loss, rows, y, p, offset, w, b, gradient):
    """`risk_pass`, row by row."""
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
def risk_by_runs(loss, rows, y, p, offset, w, b, gradient):
    """`risk_pass`, a few rows at a time: their scores, then their losses in a vectorised loop, then their weighted sum."""
    total, slopes, n = 0.0, 0.0, np.uint64(y.size)
    z, u = np.empty(RUN), np.empty(RUN)
    for start in range(np.uint64(0), n, RUN):
        count = min(RUN, n - start)
        for k in range(count):
            z[k] = dot(rows, start + k, w) + offset[start + k] + b
        for k in range(count):
            f, slope = counted(p[start + k], *value_and_slope(loss, z[k], y[start + k]))
            total += p[start + k] * f
            u[k] = p[start + k] * slope
            slopes += u[k]
        for k in range(count):
            if u[k] != 0.0:
                axpy(rows, start + k, u[k], gradient)
    return total, slopes


def risk_pass(loss, rows, y, p, offset, w, b, gradient):
    """gradient += sum_i p_i u_i x_i with u the slopes; returns (sum p loss, sum p u). Each row is fetched once."""
    kind = (
        risk_by_runs if in_runs(loss) else risk_by_rows
    )  # chosen outside of the kernels, so that only one is compiled
    kind = risk_of_long_rows if is_long(rows) else kind
    return kind(loss, rows, y, p, offset, w, b, gradient)


@kernel(fastmath=True)
def scores_by_rows(rows, offset, w, out):
    """`scores_pass`, row by row."""
    for i in range(np.uint64(out.size)):
        out[i] = dot(rows, i, w) + offset[i]


def scores_pass(rows, offset, w, out):
    """out_i = <x_i, w> + offset_i."""
    kind = scores_of_long_rows if is_long(rows) else scores_by_rows
    kind(rows, offset, w, out)


@kernel(fastmath=True)
def combine_by_rows(rows, p, u, out):
    """`combine_pass`, by the `add_rows` of the storage format."""
    add_rows(rows, np.uint64(0), np.uint64(p.size), p, u, out)


def combine_pass(rows, p, u, out):
    """out += sum_i p_i u_i x_i."""
    kind = combine_long_rows if is_long(rows) else combine_by_rows
    kind(rows, p, u, out)


@kernel(fastmath=True)
def norms_pass(rows, out):
    """out_i = <x_i, x_i>."""
    for i in range(np.uint64(out.size)):
        out[i] = sqnorm(rows, i)


@kernel(fastmath=True)
def mean_square(rows, some):
    """The mean of <x_i, x_i> over the rows `some` (unsigned numbers)."""
    total = 0.0
    for k in range(np.uint64(some.size)):
        total += sqnorm(rows, some[k])
    return total / some.size


@kernel
def slopes_at(loss, y, z, b, out):
    """out_i = slope(z_i + b, y_i)."""
    for i in range(z.size):
        out[i] = slope(loss, z[i] + b, y[i])


@kernel(fastmath=True)
def loss_sums(loss, y, p, z, b):
    """(sum p loss, sum p u) from stored scores."""
    total, slopes = 0.0, 0.0
    for i in range(np.uint64(z.size)):
        f, u = counted(p[i], *value_and_slope(loss, z[i] + b, y[i]))
        total += p[i] * f
        slopes += p[i] * u
    return total, slopes


@kernel(fastmath=True)
def conjugate_sum(loss, y, p, offset, u):
    """sum p (loss*(u) - u offset)."""
    total = 0.0
    for i in range(np.uint64(u.size)):
        term = p[i] * (conjugate(loss, u[i], y[i]) - u[i] * offset[i])
        total += term if p[i] > 0.0 else 0.0
    return total
