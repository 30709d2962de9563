"""Second derivatives of losses of several scores, and the smoothed losses of the proximal point method in their dual.

The Jacobian of a row's slopes is diag(s) - s s' / sum(s) for all losses whose dual variables lie in a simplex. s holds the
probabilities of a softmax, or is constant on the face of the simplex that contains the projection. Row i of `S` is p_i s_i,
including the weight. As in `kernels/envelope.py`, phi(z) = max over u of <u, z> - loss*(u) - gamma/2 |u - u0|^2.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.kernels.vector_passes import add_row, row_scores
from fenchel.multiclass.protocol import dual_prox, value, value_and_slopes
from fenchel.multiclass.transfers import SLACK


@kernel(fastmath=True)
def apply_curvature(S, Z):
    """z_i <- (diag(s_i) - s_i s_i' / sum s_i) z_i in every row of Z."""
    for i in range(Z.shape[0]):
        _apply_curvature(S[i], Z[i])


@kernel(fastmath=True)
def _apply_curvature(s, z):
    total, product = 0.0, 0.0
    for c in range(z.size):
        total += s[c]
        z[c] *= s[c]
        product += z[c]
    if total > 0.0:
        mean = product / total
        for c in range(z.size):
            z[c] -= mean * s[c]


@kernel(fastmath=True)
def curvature_product(rows, S, V, features, out):
    """out += sum_i x_i (J_i V'x_i)', reading each row once; a last row of V beyond the features holds intercepts."""
    z = np.empty(V.shape[1])
    for i in range(np.uint64(S.shape[0])):
        row_scores(rows, i, V, features, z)
        _apply_curvature(S[i], z)
        add_row(rows, i, 1.0, z, features, out)


@kernel
def shares_of_slopes(y, p, U, S):
    """s = u + e_y, the probabilities of a softmax."""
    for i in range(U.shape[0]):
        for c in range(U.shape[1]):
            S[i, c] = p[i] * U[i, c]
        S[i, y[i]] = p[i] * max(0.0, 1.0 + U[i, y[i]])


@kernel
def shares_of_face(y, p, U, gamma, S):
    """s = 1/gamma on the support of u + e_y; rows with a single entry in the support have no curvature, and s = 0.

    u_y is minus a sum, so on the face u_y = -1 it may differ from -1 by rounding errors; the other entries are exactly 0.
    """
    for i in range(U.shape[0]):
        count, size = 0, p[i] / gamma
        for c in range(U.shape[1]):
            inside = U[i, c] > (0.0 if c != y[i] else SLACK - 1.0)
            count += inside
            S[i, c] = size if inside else 0.0
        if count < 2:
            S[i, :] = 0.0


@kernel(fastmath=True)
def vector_envelope(loss, y, p, Z, dZ, t, U0, gamma, U):
    """U = the maximisers at scores Z + t dZ; returns p-weighted sums of (phi, its derivative in t, loss, residual of U).

    The residual is that of the Fenchel-Young inequality between the loss and u. gamma = 0 is the loss itself.
    """
    m = Z.shape[1]
    total, derivative, losses, residual = 0.0, 0.0, 0.0, 0.0
    z, x = np.empty(m), np.empty(m)
    for i in range(Z.shape[0]):
        u = U[i]
        if p[i] == 0.0:
            u[:] = 0.0
            continue
        for c in range(m):
            z[c] = Z[i, c] + t * dZ[i, c]
        if gamma > 0.0:
            smoothed, f, missing = _smoothed(loss, y[i], z, U0[i], gamma, x, u)
        else:
            f = value_and_slopes(loss, z, y[i], u)
            smoothed, missing = f, 0.0
        slope = 0.0
        for c in range(m):
            slope += u[c] * dZ[i, c]
        total += p[i] * smoothed
        derivative += p[i] * slope
        losses += p[i] * f
        residual += p[i] * missing
    return total, derivative, losses, residual


@kernel(fastmath=True)
def _smoothed(loss, y, z, u0, gamma, x, u):
    """(phi, loss, residual) of a row at z; u = the maximiser, x = z - gamma (u - u0), where u is a slope of the loss."""
    for c in range(z.size):
        x[c] = z[c] + gamma * u0[c]
    dual_prox(loss, x, gamma, y, u)
    squares, product = 0.0, 0.0
    for c in range(z.size):
        change = u[c] - u0[c]
        squares += change * (u[c] + u0[c])
        product += change * u[c]
        x[c] = z[c] - gamma * change
    f, at_x = value(loss, z, y), value(loss, x, y)
    return at_x + 0.5 * gamma * squares, f, f - at_x - gamma * product
