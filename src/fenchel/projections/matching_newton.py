"""The projection onto the polytope of bipartite matchings, by its dual.

With prices a_r of the rows and b_c of the columns, x = [theta - a_r - b_c]_+ at the minimum of

    phi(a, b) = 1/2 sum [theta_rc - a_r - b_c]_+^2 + sum_r a_r + sum_c b_c,    d phi / d a_r = 1 - sum_c x_rc,

where the price of a side whose sums may be below 1 is at least 0. Exact minimisation over all a and then over all b, in turn,
never increases phi; a semismooth Newton step on both, by conjugate gradients, follows while that is slow.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.copy import copy
from fenchel.compile.kernel import kernel
from fenchel.projections.chain_newton import simplex_threshold

MAX_ROUNDS = 200  # of both sweeps and a Newton step
FIRST_NEWTON = 3  # rounds before the first Newton step: the sweeps alone often do it
MAX_SCALINGS = 2000  # of both sides; sums that are still off are made exact
LARGE = 2.0  # size of theta up to which prices are sought from 0
MAX_EARLY_ROUNDS, PRECISE_EARLY = 12, 1e-3  # for smaller multiples of theta, whose prices are a start only
PRECISE = 1e-13  # the tolerance for sums, which are then made exact
RIDGE = 1e-12  # relative, of the Newton system: prices of the two sides may be exchanged
MAX_HALVINGS = 30  # of a Newton step
DECREASE = 1e-4  # of the linear model's decrease that a step must bring


@kernel
def project_matching(rows, columns, partial, x):
    """x = the nearest point of {x >= 0, sums of rows and columns at most 1}, where the sums of the smaller side are 1 unless
    `partial`.

    Where theta is large, the problem is nearly that of the best matching: the prices of theta / 2, doubled, are a start.
    """
    theta, a, b, size = x.copy(), np.zeros(rows), np.zeros(columns), np.max(np.abs(x))
    tight = (not partial and rows <= columns, not partial and columns <= rows)
    scale = 1.0
    while scale * size > LARGE:
        scale *= 0.5
    while scale < 1.0:
        for e in range(x.size):
            x[e] = scale * theta[e]
        project_from(x.copy(), rows, columns, tight, a, b, MAX_EARLY_ROUNDS, PRECISE_EARLY, x)
        scale *= 2.0
        a *= 2.0
        b *= 2.0
    project_from(theta, rows, columns, tight, a, b, MAX_ROUNDS, PRECISE, x)
    recover_matching(rows, columns, partial, x)


@kernel
def project_from(theta, rows, columns, tight, a, b, rounds, precise, x):
    """x = [theta - a - b]_+ after rounds from the prices (a, b), which change."""
    for k in range(rounds):
        sweep_prices(theta, rows, columns, True, tight[0], b, a)
        sweep_prices(theta, rows, columns, False, tight[1], a, b)
        g, _ = gradient(theta, rows, columns, a, b, x)
        worst = 0.0
        for j in range(rows + columns):
            price, tied = (a[j], tight[0]) if j < rows else (b[j - rows], tight[1])
            worst = max(worst, abs(g[j]) if tied or price > 0.0 else max(-g[j], 0.0))
        if worst <= precise:
            return
        if k >= FIRST_NEWTON:
            newton_step(theta, rows, columns, tight, a, b, g, x)


@kernel
def sweep_prices(theta, rows, columns, of_rows, tight, others, prices):
    """The best prices of one side, given those of the other."""
    many, few = (rows, columns) if of_rows else (columns, rows)
    values = np.empty(few)
    for r in range(many):
        total = 0.0
        for c in range(few):
            values[c] = (theta[r * columns + c] if of_rows else theta[c * columns + r]) - others[c]
            total += values[c] if values[c] > 0.0 else 0.0
        prices[r] = simplex_threshold(values, 1.0) if tight or total > 1.0 else 0.0


@kernel
def gradient(theta, rows, columns, a, b, x):
    """(the gradient of phi in (a, b), phi); x = [theta - a - b]_+."""
    g, value = np.ones(rows + columns), 0.0
    for r in range(rows):
        value += a[r]
        for c in range(columns):
            t = theta[r * columns + c] - a[r] - b[c]
            t = t if t > 0.0 else 0.0
            x[r * columns + c] = t
            value += 0.5 * t * t
            g[r] -= t
            g[rows + c] -= t
    return g, value + np.sum(b)


@kernel
def hessian_product(rows, columns, x, free, d, out):
    """out = H d for the free prices: the rows and columns that share an x_rc > 0."""
    out[:] = 0.0
    for r in range(rows):
        for c in range(columns):
            if x[r * columns + c] > 0.0:
                change = (d[r] if free[r] else 0.0) + (d[rows + c] if free[rows + c] else 0.0)
                out[r] += change
                out[rows + c] += change
    for j in range(rows + columns):
        out[j] = out[j] + RIDGE * columns * d[j] if free[j] else 0.0


@kernel
def newton_step(theta, rows, columns, tight, a, b, g, x):
    """Move the prices by a damped Newton step, if it decreases phi."""
    n = rows + columns
    free, d, rest, product = np.empty(n, np.bool_), np.zeros(n), np.zeros(n), np.empty(n)
    for j in range(n):
        price, tied = (a[j], tight[0]) if j < rows else (b[j - rows], tight[1])
        free[j] = tied or price > 0.0 or g[j] < 0.0
        rest[j] = -g[j] if free[j] else 0.0
    along, square = rest.copy(), np.sum(rest * rest)
    goal = 1e-20 * square
    for _ in range(2 * n):  # conjugate gradients
        if not square > goal:
            break
        hessian_product(rows, columns, x, free, along, product)
        curvature = np.sum(along * product)
        if not curvature > 0.0:
            break
        step = square / curvature
        d += step * along
        rest -= step * product
        before, square = square, np.sum(rest * rest)
        along = rest + (square / before) * along
    _, value = gradient(theta, rows, columns, a, b, x)
    length, old_a, old_b = 1.0, a.copy(), b.copy()
    for _ in range(MAX_HALVINGS):
        fall = 0.0
        for j in range(n):
            old = old_a[j] if j < rows else old_b[j - rows]
            tied = tight[0] if j < rows else tight[1]
            new = old + length * d[j]
            new = new if tied or new > 0.0 else 0.0
            fall += g[j] * (new - old)
            if j < rows:
                a[j] = new
            else:
                b[j - rows] = new
        _, found = gradient(theta, rows, columns, a, b, x)
        if found <= value + DECREASE * min(fall, 0.0):
            return
        length *= 0.5
    copy(old_a, a)
    copy(old_b, b)


@kernel
def scale_matching(rows, columns, partial, theta):
    """theta becomes x = argmax <theta, x> - sum x (ln x - 1), the slack of sums that may be below 1 included, by scaling rows
    and columns in turn (Sinkhorn), in logarithms; the prices of theta / 2, doubled, are a start."""
    a, b = np.zeros(rows), np.zeros(columns)  # x = exp(theta - a - b), slack exp(-a) or exp(-b)
    tight = (not partial and rows <= columns, not partial and columns <= rows)
    scale, size = 1.0, np.max(np.abs(theta))
    while scale * size > LARGE:
        scale *= 0.5
    while scale < 1.0:
        scale_from(theta, scale, rows, columns, tight, MAX_EARLY_ROUNDS, PRECISE_EARLY, a, b)
        scale *= 2.0
        a *= 2.0
        b *= 2.0
    scale_from(theta, 1.0, rows, columns, tight, MAX_SCALINGS, PRECISE, a, b)
    for r in range(rows):
        for c in range(columns):
            theta[r * columns + c] = np.exp(min(theta[r * columns + c] - a[r] - b[c], 0.0))
    recover_matching(rows, columns, partial, theta)


@kernel
def scale_from(theta, scale, rows, columns, tight, rounds, precise, a, b):
    """Scale both sides in turn, for scale theta, until the prices (a, b) move by no more than `precise`."""
    for _ in range(rounds):
        moved = 0.0
        for side in range(2):
            many, few = (rows, columns) if side == 0 else (columns, rows)
            prices, others = (a, b) if side == 0 else (b, a)
            along, across = (columns, 1) if side == 0 else (1, columns)
            for r in range(many):
                top = -np.inf if tight[side] else 0.0
                for c in range(few):
                    top = max(top, scale * theta[r * along + c * across] - others[c])
                total = 0.0 if tight[side] else np.exp(-top)
                for c in range(few):
                    total += np.exp(scale * theta[r * along + c * across] - others[c] - top)
                price = top + np.log(total)
                moved = max(moved, abs(price - prices[r]))
                prices[r] = price
        if moved <= precise:
            return


@kernel
def recover_matching(rows, columns, partial, x):
    """x becomes a point of the polytope, whatever finite numbers it holds; one of the polytope is not changed but for rounding.

    Rows and then columns whose sums exceed 1 are scaled down. If the smaller side must have sums of 1, what is missing is
    spread over what the other side has left.
    """
    row, column = np.zeros(rows), np.zeros(columns)
    for r in range(rows):
        for c in range(columns):
            e = r * columns + c
            x[e] = x[e] if x[e] > 0.0 else 0.0
            row[r] += x[e]
    for r in range(rows):
        for c in range(columns):
            e = r * columns + c
            x[e] = x[e] / row[r] if row[r] > 1.0 else x[e]
            column[c] += x[e]
    for r in range(rows):
        row[r] = 0.0
        for c in range(columns):
            e = r * columns + c
            x[e] = x[e] / column[c] if column[c] > 1.0 else x[e]
            row[r] += x[e]
    if partial:
        return
    left_row, left_column = 0.0, 0.0
    for r in range(rows):
        row[r] = max(1.0 - row[r], 0.0)
        left_row += row[r]
    for c in range(columns):
        total = 0.0
        for r in range(rows):
            total += x[r * columns + c]
        column[c] = max(1.0 - total, 0.0)
        left_column += column[c]
    most = max(left_row, left_column)
    if most > 0.0:
        for r in range(rows):
            for c in range(columns):
                x[r * columns + c] += row[r] * (column[c] / most)
