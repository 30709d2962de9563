"""Passes over the rows of a block for losses of several scores. W is (features, m), so that the scores of a row are a weighted
sum of rows of W. A last row of W beyond the features, if there is one, holds free intercepts.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.copy import copy
from fenchel.compile.kernel import kernel
from fenchel.data.rows import apply, row_column, row_entry, row_parts, row_span, row_vector, sqnorm
from fenchel.kernels.simd import LANES, add_to_rows, sum_rows
from fenchel.kernels.sparse_duals import add_change, keep_row
from fenchel.multiclass.protocol import conjugate, dual_prox, slopes, value, value_and_slopes


@kernel(fastmath=True)
def vector_scores(rows, W, features, Z):
    """Z_i = W'x_i."""
    for i in range(np.uint64(Z.shape[0])):
        row_scores(rows, i, W, features, Z[i])


@kernel(fastmath=True)
def row_scores(rows, i, W, features, z):
    """z = W'x_i."""
    if z.size >= LANES:
        columns, values = row_parts(rows, i)
        sum_rows(1.0, values, columns, W, z)
    else:
        z[:] = 0.0
        start, stop = row_span(rows, i)
        for k in range(start, stop):
            x, w = row_entry(rows, i, k), W[row_column(rows, k)]
            for c in range(z.size):
                z[c] += x * w[c]
    if W.shape[0] > features:
        w = W[features]
        for c in range(z.size):
            z[c] += w[c]


@kernel
def class_intercept_sums(loss, y, p, Z, c, b, total, size):
    """total_k += sum p u_c and size_k += sum p |u_c|, u the slopes at the scores with b_k added to that of class c."""
    z, u = np.empty(Z.shape[1]), np.empty(Z.shape[1])
    for i in range(Z.shape[0]):
        if p[i] > 0.0:
            copy(Z[i], z)
            for k in range(b.size):
                z[c] = Z[i, c] + b[k]
                slopes(loss, z, y[i], u)
                total[k] += p[i] * u[c]
                size[k] += p[i] * abs(u[c])


@kernel
def changing_class_rows(loss, y, p, Z, c, low, high, out):
    """Write the rows whose slope u_c differs between low and high added to the score of class c into `out`; returns (sum p u_c
    and sum p |u_c| of the other rows, the number of rows written)."""
    total, size, count = 0.0, 0.0, 0
    z, u = np.empty(Z.shape[1]), np.empty(Z.shape[1])
    for i in range(Z.shape[0]):
        if p[i] > 0.0:
            copy(Z[i], z)
            z[c] = Z[i, c] + low
            slopes(loss, z, y[i], u)
            lower = u[c]
            z[c] = Z[i, c] + high
            slopes(loss, z, y[i], u)
            if lower == u[c]:
                total += p[i] * lower
                size += p[i] * abs(lower)
            else:
                out[count] = i
                count += 1
    return total, size, count


@kernel(fastmath=True)
def vector_combine(rows, p, U, features, out):
    """out += sum_i p_i x_i u_i'."""
    for i in range(np.uint64(p.size)):
        add_row(rows, i, p[i], U[i], features, out)


@kernel(fastmath=True)
def add_row(rows, i, a, u, features, out):
    """out += a x_i u'."""
    if a == 0.0:
        return
    if out.shape[0] > features:
        for c in range(u.size):
            out[features, c] += a * u[c]
    columns, values = row_parts(rows, i)
    add_to_rows(a, values, columns, out, u)


@kernel
def vector_losses(loss, y, p, Z, U):
    """U_i = slopes at Z_i; U and Z may share memory. Returns sum p loss."""
    total, z = 0.0, np.empty(Z.shape[1])
    for i in range(Z.shape[0]):
        copy(Z[i], z)
        at = value_and_slopes(loss, z, y[i], U[i])
        if p[i] > 0.0:
            total += p[i] * at
    return total


@kernel
def vector_values(loss, y, p, Z):
    """sum p loss."""
    total = 0.0
    for i in range(Z.shape[0]):
        if p[i] > 0.0:
            total += p[i] * value(loss, Z[i], y[i])
    return total


@kernel
def vector_risk(loss, rows, y, p, W, features, gradient):
    """gradient += sum_i p_i x_i u_i' with u the slopes; returns sum p loss. Each row is read once."""
    total = 0.0
    z, u = np.empty(W.shape[1]), np.empty(W.shape[1])
    for i in range(np.uint64(p.size)):
        if p[i] > 0.0:
            row_scores(rows, i, W, features, z)
            total += p[i] * value_and_slopes(loss, z, y[i], u)
            add_row(rows, i, p[i], u, features, gradient)
    return total


@kernel
def vector_conjugates(loss, y, p, U):
    """sum p loss*(u)."""
    total = 0.0
    for i in range(p.size):
        if p[i] > 0.0:
            total += p[i] * conjugate(loss, U[i], y[i])
    return total


@kernel
def block_epoch(loss, rows, y, p, transfer, order, curvature, inverse_strength, V, duals, idle, gains):
    """One exact step for all dual variables of each row of `order`, with W = transfer(V), V = -sum p x u' / strength.

    `curvature` is p_i |x_i|^2 / strength; transfer None stands for W = V. V, the dual variables (`Dense` or `SparseDuals`),
    idle (epochs without change) and gains (lower bounds of the increase of D) are updated in place. Returns (the number of rows
    that took their step, which is smaller than that of all rows if the pool of sparse duals is full; sum p |change|).
    """
    m = V.shape[1]
    t, new, work, moved = np.empty(m), np.empty(m), np.empty(m), 0.0
    for k in range(np.uint64(order.size)):
        i = order[k]
        u, q = row_vector(duals, i, work), curvature[i]
        if transfer is None:
            row_scores(rows, i, V, V.shape[0], t)
        else:
            _mapped_scores(rows, i, transfer, V, t)
        if q > 0.0:
            for c in range(m):
                t[c] += q * u[c]
            dual_prox(loss, t, q, y[i], new)
        else:
            slopes(loss, t, y[i], new)
        size, squared = _difference(new, u)
        gains[i] = 0.5 * p[i] * q * squared
        if size > 0.0:
            if not keep_row(duals, i, u):
                return k, moved
            add_change(duals, rows, i, -p[i] * inverse_strength, new, V)
            moved += p[i] * size
            idle[i] = 0
        else:
            idle[i] = min(idle[i] + 1, 100)
    return np.uint64(order.size), moved


@kernel(fastmath=True)
def _difference(new, u):
    """u <- new, new <- new - u; returns the sums of absolute values and of squares of the change."""
    size, squared = 0.0, 0.0
    for c in range(u.size):
        change = new[c] - u[c]
        size += abs(change)
        squared += change * change
        u[c] = new[c]
        new[c] = change
    return size, squared


@kernel(fastmath=True)
def row_curvatures(rows, p, inverse_strength, out):
    """p_i |x_i|^2 / strength."""
    for i in range(np.uint64(p.size)):
        out[i] = p[i] * sqnorm(rows, i) * inverse_strength


@kernel(fastmath=True)
def _mapped_scores(rows, i, transfer, V, z):
    z[:] = 0.0
    start, stop = row_span(rows, i)
    for k in range(start, stop):
        x = row_entry(rows, i, k)
        if x != 0.0:
            v = V[row_column(rows, k)]
            for c in range(z.size):
                z[c] += x * apply(transfer, v[c])
