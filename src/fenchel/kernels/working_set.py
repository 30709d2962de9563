"""Dual steps on a few rows at a time, with their kernel matrix at hand.

z_i = (K c)_i with c = -(p u) / alpha; changing u_i by t changes z_k by -t p_i K_ki / alpha. A row's violation is the exact
step it would take alone: du_i at the present intercept.
"""

from __future__ import annotations

from fenchel.compile.kernel import kernel
from fenchel.kernels.pair_step import pair_step
from fenchel.losses.protocol import dual_step

MOST_BALANCING = 60
BALANCED = 0.1  # share of the violations that may be left over: enough for rows of both signs to be known
NEGATIVE = 1e-8  # curvature below minus this share of the diagonal is not rounding
ALIKE = 1e-3  # gains by going up and down that differ more are not alike
FLAT = 1e-12  # least curvature, as a share of the diagonal: equal rows exchange all they can


@kernel
def violations(loss, y, p, z, u, q, b, rows, change):
    """change_i = the step of row i alone at intercept b, for i in rows; returns (sum p change, sum p |change|)."""
    total, size = 0.0, 0.0
    for k in range(rows.size):
        i = rows[k]
        change[i] = dual_step(loss, u[i], z[i] + b, q[i], y[i]) - u[i]
        total += p[i] * change[i]
        size += p[i] * abs(change[i])
    return total, size


@kernel
def balance(loss, y, p, z, u, q, b, rows, change):
    """(b, size) with nearly balanced violations, so that rows of both signs are among them; size 0 means the optimum."""
    total, size = violations(loss, y, p, z, u, q, b, rows, change)
    bound = 0.0
    for k in range(rows.size):
        bound += p[rows[k]] / q[rows[k]]
    low = high = at_low = at_high = b
    below = above = False
    stride = 0.0
    for _ in range(MOST_BALANCING):
        if abs(total) <= BALANCED * size:
            break
        if total < 0.0:
            low, at_low, below = b, total, True
        else:
            high, at_high, above = b, total, True
        if below and above:
            b = low - at_low * (high - low) / (at_high - at_low)
            b = min(max(b, low + 0.05 * (high - low)), high - 0.05 * (high - low))
            if not low < b < high:
                break
        else:
            stride = max(4.0 * stride, abs(total) / bound, 1e-15 * abs(b))
            b += stride if total < 0.0 else -stride
        total, size = violations(loss, y, p, z, u, q, b, rows, change)
    return b, size


@kernel
def solve_block(loss, y, p, K, inverse_alpha, q, z, u, b, free, share, most, rows, change):
    """Steps on all rows of a small problem with kernel matrix K until the violations shrink to `share` of the first ones.

    Returns (b, steps), steps -1 if K has negative curvature. z and u are updated in place; rows is 0 .. m - 1.
    """
    first = -1.0
    for step in range(most):
        violations(loss, y, p, z, u, q, b, rows, change)
        i, j, up, down = _strongest(p, q, change)
        # The intercept of the last pair will do while violations of both signs are alike; else it is sought again.
        if free and (step == 0 or min(up, down) <= ALIKE * max(up, down) or max(up, down) <= share * first):
            b, _ = balance(loss, y, p, z, u, q, b, rows, change)
            i, j, up, down = _strongest(p, q, change)
        gain = max(up, down)
        if gain <= share * first or gain == 0.0 or (free and (i < 0 or j < 0)):
            return b, step
        first = max(first, gain) if step == 0 else first
        if not free:
            i = i if up >= down else j
            _move(p, K, inverse_alpha, z, u, i, u[i] + change[i])
            continue
        # Of the rows whose violation is more than rounding, the one with which the pair gains most.
        gain, violation = 0.0, q[i] * change[i]
        for k in range(rows.size):
            if change[k] < 0.0 and p[k] * q[k] * change[k] * change[k] >= ALIKE * down:
                Q = K[i, i] + K[k, k] - 2.0 * K[i, k]
                apart = violation - q[k] * change[k]
                mine = apart * apart / max(Q, FLAT * (K[i, i] + K[k, k]) + 1e-300)
                if mine > gain:
                    gain, j = mine, k
        Q = K[i, i] + K[j, j] - 2.0 * K[i, j]
        if -NEGATIVE * (K[i, i] + K[j, j]) > Q:
            return b, -1
        Q = max(Q, FLAT * (K[i, i] + K[j, j]) + 1e-300) * inverse_alpha
        new_i, new_j, b = pair_step(loss, u[i], z[i], p[i], y[i], u[j], z[j], p[j], y[j], Q, b)
        if new_i == u[i] and new_j == u[j]:
            return b, step
        _move(p, K, inverse_alpha, z, u, i, new_i)
        _move(p, K, inverse_alpha, z, u, j, new_j)
    return b, most


@kernel
def _strongest(p, q, change):
    """(the row that gains most by going up, the one by going down, their gains); -1 where there is none."""
    i, j, up, down = -1, -1, 0.0, 0.0
    for k in range(change.size):
        gain = p[k] * q[k] * change[k] * change[k]
        if change[k] > 0.0 and gain > up:
            i, up = k, gain
        elif change[k] < 0.0 and gain > down:
            j, down = k, gain
    return i, j, up, down


@kernel
def _move(p, K, inverse_alpha, z, u, i, new):
    a = -(new - u[i]) * p[i] * inverse_alpha
    u[i] = new
    for k in range(z.size):
        z[k] += a * K[i, k]


@kernel(fastmath=True)
def add_columns(store, slots, coefficients, z):
    """z += sum_k coefficients_k store[slots_k]."""
    for k in range(slots.size):
        a = coefficients[k]
        if a != 0.0:
            column = store[slots[k]]
            for i in range(z.size):
                z[i] += a * column[i]
