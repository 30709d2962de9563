"""A Newton step of the dual on the rows whose u is free, by conjugate gradients.

Near u_i the loss's conjugate is c_i + rho_i u in its derivative, so that the best change x of all free u satisfies

    (Q + rho + gamma) x = r,   Q_ij = p_j (<x_i, x_j> / strength + inverse_bias),   r_i = z_i - c_i - rho_i u_i.

gamma damps it: near-duplicate rows make Q singular, and rho is 0 for hinges. r and rho are read off two dual steps with
large q, t(q) = r / (rho + q), which stay near u. Q is self-adjoint in the inner product with weights p.
"""

from __future__ import annotations

import math

import numpy as np

from fenchel.data.rows import axpy, dot
from fenchel.jit import kernel
from fenchel.losses.protocol import conjugate, dual_step
from fenchel.typed import helper

PROBE = 16.0  # steps are probed with so many times the row's own q
HALVINGS = 20  # of a step that does not raise D
ENOUGH = 0.1  # of the rise that the slope at the start promises


@kernel
def probe_rows(loss, y, p, q, u, z, free, r, rho):
    """Which rows are free (a list), and their r and rho; returns how many."""
    count = np.uint64(0)
    for i in range(np.uint64(u.size)):
        if p[i] > 0.0 and q[i] > 0.0:
            near, far = PROBE * q[i], 2.0 * PROBE * q[i]
            t_near = dual_step(loss, u[i], z[i], near, y[i]) - u[i]
            t_far = dual_step(loss, u[i], z[i], far, y[i]) - u[i]
            if t_far != 0.0:
                bend = (t_far * far - t_near * near) / (t_near - t_far) if t_near != t_far else 0.0
                rho[count] = bend if 1e-6 * near < bend < math.inf else 0.0
                r[count] = t_far * (far + rho[count])
                free[count] = i
                count += np.uint64(1)
    return count


@helper
def within(x, a, b):
    """x, kept between a and b in either order: rounding must not leave the domain of the conjugate."""
    return min(max(x, min(a, b)), max(a, b))


@kernel(fastmath=True)
def multiply(rows, p, q_shift, inverse_strength, inverse_bias, free, x, g, out):
    """out = (Q + q_shift) x; g is work space of d zeros, and is left as such."""
    total = 0.0
    for k in range(np.uint64(free.size)):
        i = free[k]
        total += p[i] * x[k]
        axpy(rows, i, p[i] * x[k] * inverse_strength, g)
    for k in range(np.uint64(free.size)):
        out[k] = dot(rows, free[k], g) + total * inverse_bias + q_shift[k] * x[k]
    for j in range(g.size):
        g[j] = 0.0


@kernel(fastmath=True)
def solve_free(rows, p, q, shift, inverse_strength, inverse_bias, free, r, held, x, first, steps, enough, g, work):
    """x with (Q + shift) x = r in the rows that are not held, whose x stays: by conjugate gradients from the given x.

    At most so many steps, or until the residual is the share `enough` of `first` (of its own at the start if that is 0);
    returns (steps taken, the size of the first residual). work holds four rows of numbers for the free rows.
    """
    residual, s, direction, out = work[0], work[1], work[2], work[3]
    for k in range(np.uint64(free.size)):
        out[k] = 0.0
    if first > 0.0:
        multiply(rows, p, shift, inverse_strength, inverse_bias, free, x, g, out)
    product = 0.0
    for k in range(np.uint64(free.size)):
        residual[k] = 0.0 if held[k] else r[k] - out[k]
        s[k] = residual[k] / (q[free[k]] + shift[k])
        direction[k] = s[k]
        product += p[free[k]] * residual[k] * s[k]
    if first == 0.0:
        first = product
    taken = 0
    while taken < steps and product > enough * enough * first:
        multiply(rows, p, shift, inverse_strength, inverse_bias, free, direction, g, out)
        taken += 1
        curvature = 0.0
        for k in range(np.uint64(free.size)):
            curvature += p[free[k]] * direction[k] * out[k]
        if not curvature > 0.0:
            break
        step = product / curvature
        old = product
        product = 0.0
        for k in range(np.uint64(free.size)):
            if not held[k]:
                x[k] += step * direction[k]
                residual[k] -= step * out[k]
                s[k] = residual[k] / (q[free[k]] + shift[k])
                product += p[free[k]] * residual[k] * s[k]
        share = product / old
        for k in range(np.uint64(free.size)):
            direction[k] = s[k] + share * direction[k]
    return taken, first


@kernel
def hold_clipped(loss, y, q, free, r, rho, u, z, held, x, goal):
    """goal = the projection of u + x; rows that it changes are held there. Returns how many more are.

    The projection is a dual step from the score that the row would have at u + x.
    """
    more = 0
    for k in range(np.uint64(free.size)):
        if not held[k]:
            i = free[k]
            near = PROBE * q[i]
            goal[k] = dual_step(loss, u[i], z[i] - r[k] + (rho[k] + near) * x[k], near, y[i])
            move = goal[k] - u[i]
            if abs(move - x[k]) > 1e-6 * (abs(x[k]) + abs(move)) + 1e-12 * abs(u[i]):
                x[k] = move
                held[k] = True
                more += 1
    return more


@kernel(fastmath=True)
def go_towards(loss, rows, y, p, strength, inverse_bias, free, r, goal, u, v, z, b, change):
    """u <- u + t (goal - u) with the t in [0, 1] that is best for D; (t, b). change is work space of d zeros."""
    rise, drop, total = 0.0, 0.0, 0.0
    for k in range(np.uint64(free.size)):
        i = free[k]
        move = goal[k] - u[i]
        if move != 0.0:
            rise += p[i] * r[k] * move
            drop += p[i] * (conjugate(loss, u[i], y[i]) - conjugate(loss, goal[k], y[i]) + z[i] * move)
            total += p[i] * move
            axpy(rows, i, -p[i] * move / strength, change)
    square = 0.0
    for j in range(change.size):
        square += change[j] * change[j]
    bend = strength * square + inverse_bias * total * total
    loss_bend = 2.0 * (rise - drop)  # 0 for hinges; with it, D(t) = rise t - (bend + loss_bend) t^2 / 2 if it is a parabola
    t = min(rise / (bend + loss_bend), 1.0) if bend + loss_bend > 0.0 else 1.0
    if not rise > 0.0:
        t = 0.0
    for _ in range(HALVINGS):  # for losses whose conjugate is no parabola
        drop = 0.0
        for k in range(np.uint64(free.size)):
            i = free[k]
            new = within(u[i] + t * (goal[k] - u[i]), u[i], goal[k])
            drop += p[i] * (conjugate(loss, u[i], y[i]) - conjugate(loss, new, y[i]) + z[i] * (new - u[i]))
        if drop - 0.5 * bend * t * t >= ENOUGH * rise * t:
            break
        t *= 0.5
    else:
        t = 0.0
    for j in range(change.size):
        v[j] += t * change[j]
        change[j] = 0.0
    for k in range(np.uint64(free.size)):
        i = free[k]
        u[i] = goal[k] if t == 1.0 else within(u[i] + t * (goal[k] - u[i]), u[i], goal[k])
    return t, b - t * total * inverse_bias
