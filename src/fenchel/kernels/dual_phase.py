"""Whole phases of dual coordinate steps in one call: several epochs with their shuffling, for w = transfer(v) = v or soft(v).

As in `dual_epoch`, v = -sum_i p_i u_i x_i / strength, and a free intercept enters as b = centre - sum_i p_i u_i inverse_bias,
around a centre that follows it after every epoch (the method of multipliers). q_i = p_i (|x_i|^2 / strength + inverse_bias)
is how fast the row's score falls as u_i grows.
"""

from __future__ import annotations

import numpy as np

from fenchel.data.rows import axpy
from fenchel.data.transfer import row_look
from fenchel.jit import kernel
from fenchel.losses.protocol import conjugate, dual_step, slope, value
from fenchel.typed import helper

RUN = 16  # rows that are shuffled together: 10-15 % more epochs, but each takes little more than half the time
FEW = 64 * RUN  # rows; fewer are shuffled one by one


@helper
def next_random(state):
    """The next of a series of pseudo-random numbers (xorshift); state is an array of one."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return x >> np.uint64(16)


@helper
def shuffle(state, runs, count):
    """runs[:count] = 0 .. count - 1 in random order."""
    one = np.uint64(1)
    for k in range(count):
        runs[k] = k
    for k in range(count - one):
        last = count - one - k
        other = next_random(state) % (last + one)
        runs[last], runs[other] = runs[other], runs[last]


@kernel(fastmath=True)
def dual_phase(loss, transfer, rows, y, p, offset, q, inverse_strength, inverse_bias, b, u, v, epochs, runs, state):
    """`epochs` epochs of exact steps over all rows in shuffled runs; u and v are changed in place; returns b.

    runs is work space for the order (as many entries as rows), state that of the random numbers.
    """
    n = np.uint64(u.size)
    run = np.uint64(RUN) if n >= np.uint64(FEW) else np.uint64(1)
    centre = b
    for _ in range(epochs):
        shift = next_random(state) % run
        count = (n + shift + run - np.uint64(1)) // run
        shuffle(state, runs, count)
        for k in range(count):
            stop = runs[k] * run + run - shift
            start = stop - run if stop >= run else np.uint64(0)
            for i in range(start, min(stop, n)):
                if p[i] > 0.0:
                    z = row_look(transfer, rows, i, v, 0.0)[0] + offset[i] + b
                    new = dual_step(loss, u[i], z, q[i], y[i]) if q[i] > 0.0 else slope(loss, z, y[i])
                    change = new - u[i]
                    if change != 0.0:
                        u[i] = new
                        axpy(rows, i, -change * p[i] * inverse_strength, v)
                        b -= change * p[i] * inverse_bias
        centre, b = b, b - (centre - b)
    return b


@kernel(fastmath=True)
def look_rows(loss, transfer, rows, y, p, offset, b, u, v, skip, z):
    """Scores z of the rows that are not to be skipped; (sum p loss, sum p (loss*(u) - u offset), sum p residual) over them.

    The residual is that of Fenchel and Young, loss(z) + loss*(u) - u z >= 0: the row's share of the gap.
    """
    losses, conjugates, residual = 0.0, 0.0, 0.0
    for i in range(np.uint64(u.size)):
        if p[i] > 0.0 and not skip[i]:
            z[i] = row_look(transfer, rows, i, v, 0.0)[0] + offset[i] + b
            f, c = value(loss, z[i], y[i]), conjugate(loss, u[i], y[i])
            losses += p[i] * f
            conjugates += p[i] * (c - u[i] * offset[i])
            residual += p[i] * (f + c - u[i] * z[i])
    return losses, conjugates, residual


@kernel
def violations(loss, y, p, q, u, z):
    """(the largest, the mean square) of how far from their best scores the rows are, as their own steps would show."""
    largest, square = 0.0, 0.0
    for i in range(np.uint64(u.size)):
        if p[i] > 0.0 and q[i] > 0.0:
            far = abs(dual_step(loss, u[i], z[i], q[i], y[i]) - u[i]) * q[i]
            largest = max(largest, far)
            square += p[i] * far * far
    return largest, square


@kernel
def find_active(loss, y, p, q, u, z, margin, active):
    """active_i = whether a change of the score of row i by the margin would move u_i; returns how many are."""
    count = 0
    for i in range(np.uint64(u.size)):
        active[i] = False
        if p[i] > 0.0 and q[i] > 0.0:
            up = dual_step(loss, u[i], z[i] + margin, q[i], y[i])
            down = dual_step(loss, u[i], z[i] - margin, q[i], y[i])
            active[i] = up != u[i] or down != u[i]
            count += active[i]
    return count
