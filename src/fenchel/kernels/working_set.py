"""Dual steps on a small working set of rows whose kernel matrix is in memory.

z_i = (K c)_i with c = -(p u) / alpha; changing u_i by t changes z_k by -t p_i K_ki / alpha. A row's violation is the exact
step du_i that it would take alone at the current intercept.
"""

from __future__ import annotations

from fenchel.compile.kernel import kernel
from fenchel.kernels.pair_step import pair_step
from fenchel.losses.protocol import dual_step

MAX_BALANCE_STEPS = 60
BALANCED = 0.1  # tolerance of sum p change relative to sum p |change|: small enough that rows of both signs are known
NEGATIVE = 1e-8  # curvature below minus this fraction of the diagonal is not a rounding error
SIMILAR_GAIN = (
    1e-3  # the intercept is sought again when the smaller gain of the two signs is below this fraction of the other
)
FLAT = 1e-12  # relative to the diagonal; pairs of equal rows have none, and the domain alone bounds their step


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
    """(b, sum p |change|) at which violations are nearly balanced, so that both signs occur; a sum of 0 means the optimum."""
    total, size = violations(loss, y, p, z, u, q, b, rows, change)
    bound = 0.0
    for k in range(rows.size):
        bound += p[rows[k]] / q[rows[k]]
    low = high = at_low = at_high = b
    below = above = False
    stride = 0.0
    for _ in range(MAX_BALANCE_STEPS):
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
    """Solve a small problem with kernel matrix K until the largest gain is at most `share` of the first one.

    Returns (b, steps), with steps = -1 if K has negative curvature. z and u are updated in place; rows is 0 .. m - 1.
    """
    first = -1.0
    for step in range(most):
        violations(loss, y, p, z, u, q, b, rows, change)
        i, j, up, down = _strongest(p, q, change)
        # The intercept of the last pair is kept while the gains of both signs are similar; else it is sought again.
        if free and (step == 0 or min(up, down) <= SIMILAR_GAIN * max(up, down) or max(up, down) <= share * first):
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
        # The partner is the row with which the pair gains most, among those whose violation exceeds rounding errors.
        gain, violation = 0.0, q[i] * change[i]
        for k in range(rows.size):
            if change[k] < 0.0 and p[k] * q[k] * change[k] * change[k] >= SIMILAR_GAIN * down:
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
    """(the row that gains most by an increase, the row that gains most by a decrease, their gains); -1 if there is none."""
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
