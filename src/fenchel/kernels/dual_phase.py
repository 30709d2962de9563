"""Phases of dual coordinate ascent: several shuffled epochs in one compiled call, for w = transfer(v) = v or soft(v).

As in `dual_epoch`, v = -sum_i p_i u_i x_i / strength, and a free intercept enters as b = centre - sum_i p_i u_i inverse_bias,
where the centre is updated after every epoch (the method of multipliers). q_i = p_i (|x_i|^2 / strength + inverse_bias) is the
rate at which the row's score decreases as u_i increases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.compile.kernel import kernel
from fenchel.data.accept import size
from fenchel.data.row_blocks import MAX_CALL_VALUES
from fenchel.data.rows import axpy
from fenchel.losses.protocol import conjugate, dual_step, quick_dual_step, slope, value
from fenchel.mirror_maps.coordinatewise import row_score
from fenchel.mirror_maps.kinds import MirrorMap

if TYPE_CHECKING:
    from fenchel.data.types import Rows
    from fenchel.losses.protocol import Loss

RUN = 16  # consecutive rows that are shuffled together: 10-15 % more epochs, but each takes little more than half the time
MIN_ROWS_FOR_RUNS = 64 * RUN  # fewer rows are shuffled one by one
REPEATS = 5  # the most epochs over the high-gain rows alone
HIGH_GAIN_RATIO = 1.0  # a high-gain row gains at least so many times the mean gain
MAX_HIGH_GAIN_SHARE = 0.5  # there are no epochs over the high-gain rows alone if they are a larger share of the rows
# By whether the loss is differentiable: these epochs go on only while one gains at least the first number times what as many
# steps on the other rows gained, and at least the second times the largest gain of one of them. (At nonsmooth points most rows
# gain nothing, so the gain of the other rows says little about what is left.)
REPEAT_RULE = {True: (2.0, 0.35), False: (0.0, 0.5)}
ALWAYS_REPEAT = (
    0.0,
    0.0,
)  # for nonsmooth losses with a free intercept, because these epochs keep the balance sum p u = 0


@helper
def next_random(state):
    """The next pseudo-random number (xorshift); state is an array of length one."""
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
def high_gain_rows(gains, chosen):
    """Write the high-gain rows into `chosen`; returns (their number, 0 if the gains are unknown or these rows are too many; the
    mean gain of the others)."""
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
    """Steps on the chosen rows (if empty, on all rows) in shuffled runs; gains_i is approximately the increase of D by row i.
    Returns (b, the sum of the gains)."""
    n = np.uint64(chosen.size if chosen.size > 0 else u.size)
    run = np.uint64(RUN) if n >= np.uint64(MIN_ROWS_FOR_RUNS) else np.uint64(1)
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
                z = row_score(transfer, rows, i, v, 0.0)[0] + offset[i] + b
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
    loss, transfer, rows, y, p, offset, q, inverse_strength, inverse_bias, b, centre, u, v, gains, repeat_rule, epochs, work,
    state,
):  # fmt: skip
    """`epochs` epochs over all rows; u and v are updated in place; returns (b, centre, number of steps).

    Before each of them, the high-gain rows of the previous epoch get up to REPEATS epochs of their own: after a few epochs, a
    few rows account for nearly all of the remaining gain, and they are the same ones from epoch to epoch. With epochs = 0 there
    is a single epoch over the high-gain rows, which is a tenth of the work and removes half of the gap.

    gains are those of the last epoch (0: unknown; an empty array: epochs over all rows only), repeat_rule is a value of
    REPEAT_RULE, work is an array (2, number of rows), and state that of the random numbers.
    """
    n, runs, none, steps = np.uint64(u.size), work[0], gains[:0], np.uint64(0)
    for _ in range(max(epochs, 1)):
        count, others = high_gain_rows(gains, work[1])
        most, repeats = 0.0, REPEATS if epochs > 0 else 1
        for _ in range(repeats if count > np.uint64(0) else 0):
            b, gained = sweep(
                loss, transfer, rows, y, p, offset, q, inverse_strength, inverse_bias, b, u, v, work[1, :count], none, runs,
                state,
            )  # fmt: skip
            steps += count
            most = max(most, gained)
            if gained < repeat_rule[0] * others * count or gained < repeat_rule[1] * most:
                break
        if epochs == 0:
            break
        b, _ = sweep(
            loss, transfer, rows, y, p, offset, q, inverse_strength, inverse_bias, b, u, v, work[1, :0], gains, runs, state,
        )  # fmt: skip
        centre, b = b, b - (centre - b)  # the multiplier step: b - centre is the contribution of sum p u
        steps += n
    return b, centre, steps


def phase(loss: Loss, transfer: MirrorMap, rows: Rows, *arguments: Any) -> tuple[float, float, int]:
    """`dual_phase`; with many rows it runs sweep by sweep, so that it can be interrupted."""
    return (dual_phase if size(rows) <= MAX_CALL_VALUES else dual_phase.in_steps)(loss, transfer, rows, *arguments)


@kernel(fastmath=True)
def row_scores(transfer, rows, p, offset, b, v, z):
    """z_i = <x_i, transfer(v)> + offset_i + b for the rows with weight; the others are left out."""
    for i in range(np.uint64(z.size)):
        if p[i] > 0.0:
            z[i] = row_score(transfer, rows, i, v, 0.0)[0] + offset[i] + b


@kernel
def dual_steps(loss, y, q, u, z, shift, factor, out):
    """out_i = the dual step of row i if its score were z_i + shift and decreased at the rate factor q_i."""
    for i in range(np.uint64(u.size)):
        out[i] = dual_step(loss, u[i], z[i] + shift, factor * q[i], y[i]) - u[i] if q[i] > 0.0 else 0.0


@kernel(fastmath=True)
def young_sums(loss, y, p, offset, u, z, b):
    """Sums of p times loss(z + b), times loss*(u) - u offset, and times the Fenchel-Young residual loss + loss* - u (z + b)."""
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
    """(maximum, root mean square) of the violations: the change of the row's score by its dual step, q |step|."""
    largest, squares = 0.0, 0.0
    for i in range(np.uint64(u.size)):
        violation = q[i] * abs(dual_step(loss, u[i], z[i], q[i], y[i]) - u[i]) if q[i] > 0.0 else 0.0
        largest = max(largest, violation)
        squares += p[i] * violation * violation
    return largest, np.sqrt(squares)


@kernel
def moving_rows(loss, y, p, q, u, z, margin, out):
    """out_i: if row i has weight and its dual step at score z_i + margin or z_i - margin is not 0; returns their number."""
    count = 0
    for i in range(np.uint64(u.size)):
        up = dual_step(loss, u[i], z[i] + margin, q[i], y[i])
        down = dual_step(loss, u[i], z[i] - margin, q[i], y[i])
        out[i] = ((up != u[i]) | (down != u[i])) & (p[i] > 0.0) & (q[i] > 0.0)  # without branches
        count += out[i]
    return count
