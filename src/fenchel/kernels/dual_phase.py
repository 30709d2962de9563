"""Whole phases of dual coordinate steps in one call: several epochs with their shuffling, for w = transfer(v) = v or soft(v).

As in `dual_epoch`, v = -sum_i p_i u_i x_i / strength, and a free intercept enters as b = centre - sum_i p_i u_i inverse_bias,
around a centre that follows it after every epoch (the method of multipliers). q_i = p_i (|x_i|^2 / strength + inverse_bias)
is how fast the row's score falls as u_i grows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.compile.kernel import kernel
from fenchel.data.accept import size
from fenchel.data.row_blocks import LONGEST
from fenchel.data.rows import axpy
from fenchel.losses.protocol import conjugate, dual_step, quick_dual_step, slope, value
from fenchel.mirror_maps.coordinatewise import row_look

if TYPE_CHECKING:
    from fenchel.data.types import Rows
    from fenchel.losses.protocol import Loss

RUN = 16  # rows that are shuffled together: 10-15 % more epochs, but each takes little more than half the time
FEW = 64 * RUN  # rows; fewer are shuffled one by one
REPEATS = 5  # epochs for the high-gain rows alone, at most,
HIGH_GAIN_RATIO = 1.0  # which gain so much of the mean gain at least,
MAX_HIGH_GAIN_SHARE = 0.5  # and of which there is at most such a share;
# and, by whether the loss is differentiable, only as long as an epoch gains so much of what as many steps on the other rows
# gained, and of the most that one gained. (At nonsmooth points most rows gain nothing: what the others do says little of
# what is left.)
WORTH = {True: (2.0, 0.35), False: (0.0, 0.5)}
ALL_WORTH = (0.0, 0.0)  # at nonsmooth points with a free intercept, whose balance these epochs keep


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


@kernel
def busy_rows(gains, chosen):
    """The rows that gained most, into chosen; returns (how many they are, 0 if it is not known or they are too many; the mean
    gain of the others)."""
    n, total, count = np.uint64(gains.size), 0.0, np.uint64(0)
    for i in range(n):
        total += gains[i]
    least = HIGH_GAIN_RATIO * total / gains.size if gains.size > 0 else 0.0
    for i in range(n):
        if gains[i] > least:
            chosen[count] = i
            count += np.uint64(1)
            total -= gains[i]
    if count >= np.uint64(MAX_HIGH_GAIN_SHARE * gains.size):
        return np.uint64(0), 0.0
    return count, total / (n - count)


@kernel(fastmath=True)
def sweep(loss, transfer, rows, y, p, offset, q, inverse_strength, inverse_bias, b, u, v, chosen, gains, runs, state):
    """Steps on the chosen rows (none: on all) in shuffled runs; gains_i is about how much D rose by row i; returns (b,
    their sum)."""
    n = np.uint64(chosen.size if chosen.size > 0 else u.size)
    run = np.uint64(RUN) if n >= np.uint64(FEW) else np.uint64(1)
    shift = next_random(state) % run
    count = (n + shift + run - np.uint64(1)) // run
    shuffle(state, runs, count)
    total = 0.0
    for k in range(count):
        stop = runs[k] * run + run - shift
        start = stop - run if stop >= run else np.uint64(0)
        for j in range(start, min(stop, n)):
            i = chosen[j] if chosen.size > 0 else j
            if p[i] > 0.0:
                z = row_look(transfer, rows, i, v, 0.0)[0] + offset[i] + b
                new = quick_dual_step(loss, u[i], z, q[i], y[i]) if q[i] > 0.0 else slope(loss, z, y[i])
                change = new - u[i]
                gain = 0.5 * p[i] * q[i] * change * change
                total += gain
                if gains.size > 0:
                    gains[i] = gain
                if change != 0.0:
                    u[i] = new
                    axpy(rows, i, -change * p[i] * inverse_strength, v)
                    b -= change * p[i] * inverse_bias
    return b, total


@kernel(fastmath=True)
def dual_phase(
    loss, transfer, rows, y, p, offset, q, inverse_strength, inverse_bias, b, centre, u, v, gains, worth, epochs, work,
    state,
):  # fmt: skip
    """`epochs` epochs over all rows; u and v are changed in place; returns (b, centre, how many steps there were).

    Before each of them, the rows that gained most in the one before have up to REPEATS epochs of their own: after a few
    epochs, some rows have nearly all that is left to gain, and they are the same ones in the next. No epochs at all: one of the
    rows that gained most, which is a tenth of the work and takes half of the gap away. gains are those of the last
    epoch (0: not known; none at all: epochs over all rows only), worth is one of WORTH. work is two rows of as many entries as
    there are rows, state that of the random numbers.
    """
    n, runs, none, steps = np.uint64(u.size), work[0], gains[:0], np.uint64(0)
    for _ in range(max(epochs, 1)):
        count, others = busy_rows(gains, work[1])
        most, repeats = 0.0, REPEATS if epochs > 0 else 1
        for _ in range(repeats if count > np.uint64(0) else 0):
            b, gained = sweep(
                loss, transfer, rows, y, p, offset, q, inverse_strength, inverse_bias, b, u, v, work[1, :count], none, runs,
                state,
            )  # fmt: skip
            steps += count
            most = max(most, gained)
            if gained < worth[0] * others * count or gained < worth[1] * most:
                break
        if epochs == 0:
            break
        b, _ = sweep(
            loss, transfer, rows, y, p, offset, q, inverse_strength, inverse_bias, b, u, v, work[1, :0], gains, runs, state,
        )  # fmt: skip
        centre, b = b, b - (centre - b)  # the multiplier step: b - centre is what sum p u adds
        steps += n
    return b, centre, steps


def phase(loss: Loss, transfer: Any, rows: Rows, *arguments: Any) -> tuple[float, float, int]:
    """`dual_phase`, sweep by sweep if the rows are so many that it must be possible to break it off."""
    return (dual_phase if size(rows) <= LONGEST else dual_phase.in_steps)(loss, transfer, rows, *arguments)


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


@kernel(fastmath=True)
def young_sums(loss, y, p, offset, u, z, b):
    """Sums of p times: loss(z + b), loss*(u) - u offset, and the residual of Fenchel and Young, loss + loss*(u) - u (z + b)."""
    losses, conjugates, residual = 0.0, 0.0, 0.0
    for i in range(np.uint64(u.size)):
        at = z[i] + b
        f, c = value(loss, at, y[i]), conjugate(loss, u[i], y[i])
        counts = p[i] > 0.0
        losses += p[i] * f if counts else 0.0
        conjugates += p[i] * (c - u[i] * offset[i]) if counts else 0.0
        residual += p[i] * ((f + c) - u[i] * at) if counts else 0.0
    return losses, conjugates, residual


@kernel(fastmath=True)
def violations(loss, y, p, q, u, z):
    """(the largest, the root of the mean square) of how far rows would move their scores, q times the dual step."""
    largest, squares = 0.0, 0.0
    for i in range(np.uint64(u.size)):
        violation = q[i] * abs(dual_step(loss, u[i], z[i], q[i], y[i]) - u[i]) if q[i] > 0.0 else 0.0
        largest = max(largest, violation)
        squares += p[i] * violation * violation
    return largest, np.sqrt(squares)


@kernel
def moving_rows(loss, y, p, q, u, z, margin, out):
    """out_i: whether row i counts and u_i would move if its score were off by the margin; returns how many would."""
    count = 0
    for i in range(np.uint64(u.size)):
        up = dual_step(loss, u[i], z[i] + margin, q[i], y[i])
        down = dual_step(loss, u[i], z[i] - margin, q[i], y[i])
        out[i] = ((up != u[i]) | (down != u[i])) & (p[i] > 0.0) & (q[i] > 0.0)  # without branches
        count += out[i]
    return count
