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
from fenchel.losses.protocol import dual_step, slope
from fenchel.typed import helper

RUN = 16  # rows that are shuffled together: 10-15 % more epochs, but each takes little more than half the time
FEW = 64 * RUN  # rows; fewer are shuffled one by one
ALL = np.empty(0, dtype=np.uint64)  # rows: those that are walked if none are chosen


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
    for k in range(one, count):
        last = count - k
        other = next_random(state) % (last + one)
        runs[last], runs[other] = runs[other], runs[last]


@kernel(fastmath=True)
def dual_phase(
    loss, transfer, rows, y, p, offset, q, inverse_strength, inverse_bias, b, centre, u, v, chosen, epochs, runs, state
):
    """`epochs` epochs of exact steps in shuffled runs; u and v are changed in place; returns (b, centre).

    chosen are the numbers of the rows that are walked, all of them if there are none; runs is work space for the order (as
    many entries as rows), state that of the random numbers.
    """
    n = np.uint64(chosen.size if chosen.size > 0 else u.size)
    run = np.uint64(RUN) if n >= np.uint64(FEW) else np.uint64(1)
    for _ in range(epochs):
        shift = next_random(state) % run
        count = (n + shift + run - np.uint64(1)) // run
        shuffle(state, runs, count)
        for k in range(count):
            stop = runs[k] * run + run - shift
            start = stop - run if stop >= run else np.uint64(0)
            for j in range(start, min(stop, n)):
                i = chosen[j] if chosen.size > 0 else j
                if p[i] > 0.0:
                    z = row_look(transfer, rows, i, v, 0.0)[0] + offset[i] + b
                    new = dual_step(loss, u[i], z, q[i], y[i]) if q[i] > 0.0 else slope(loss, z, y[i])
                    change = new - u[i]
                    if change != 0.0:
                        u[i] = new
                        axpy(rows, i, -change * p[i] * inverse_strength, v)
                        b -= change * p[i] * inverse_bias
        centre, b = b, b - (centre - b)  # the multiplier step: b - centre is what sum p u adds
    return b, centre


@kernel(fastmath=True)
def row_scores(transfer, rows, p, offset, b, v, z):
    """z_i = <x_i, transfer(v)> + offset_i + b for the rows with weight; the others are left out."""
    for i in range(np.uint64(z.size)):
        if p[i] > 0.0:
            z[i] = row_look(transfer, rows, i, v, 0.0)[0] + offset[i] + b


@kernel
def dual_steps(loss, y, q, u, z, shift, factor, out):
    """out_i = how far u_i would move if the score were z_i + shift, and fell by factor q_i as u_i grows."""
    for i in range(np.uint64(u.size)):
        out[i] = dual_step(loss, u[i], z[i] + shift, factor * q[i], y[i]) - u[i] if q[i] > 0.0 else 0.0
