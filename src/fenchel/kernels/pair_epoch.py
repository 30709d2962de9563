"""Steps on pairs of rows, which keep sum p u = 0, over a list of rows.

A row's violation is the step it would take alone at the current estimate b of the intercept. The row waits in one of two small
pools, one for dual variables that should increase and one for those that should decrease, until a row of the other kind is
visited. The two then take the exact pair step, and b moves towards the intercept of that pair.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.data.rows import axpy, dot, mapped_dot
from fenchel.kernels.pair_step import pair_step
from fenchel.losses.protocol import dual_step

MIN_CURVATURE = 1e-12  # relative to the mean; pairs of equal rows have none, and the domain alone bounds their step
INTERCEPT_STEP = 0.25  # the fraction of the way that b moves towards the intercept of a pair


@kernel
def pair_epoch(
    loss,
    rows,
    y,
    p,
    offset,
    transfer,
    order,
    norms,
    typical,
    inverse_strength,
    b,
    u,
    v,
    idle,
    work,
    pool,
    count,
    violation,
):
    """One visit to every row of `order`; u, v and idle (visits without a violation) are updated in place; returns b.

    norms are |x_i|^2 and typical is their mean; work is a vector of d zeros. pool (2, m) holds the waiting rows, count the
    numbers of those to be decreased and to be increased, violation (2, m) the violations in units of the score. These three
    persist from epoch to epoch.
    """
    least = MIN_CURVATURE * typical + 1e-300
    for k in range(np.uint64(order.size)):
        i = order[k]
        z_i = mapped_dot(rows, i, v, transfer) + offset[i]
        q_i = p[i] * max(norms[i], least) * inverse_strength
        change = dual_step(loss, u[i], z_i + b, q_i, y[i]) - u[i]
        if change == 0.0:
            idle[i] = min(idle[i] + 1, 100)
            continue
        idle[i] = 0
        mine, other = (1, 0) if change > 0.0 else (0, 1)
        partner = i
        z_j = 0.0
        while count[other] > 0:  # count[other] falls
            # The waiting row with the largest violation, if it still has one.
            best = 0
            for m in range(1, count[other]):
                if violation[other, m] > violation[other, best]:
                    best = m
            j = pool[other, best]
            last = count[other] - 1
            pool[other, best], violation[other, best] = pool[other, last], violation[other, last]
            count[other] = last
            z_j = mapped_dot(rows, j, v, transfer) + offset[j]
            q_j = p[j] * max(norms[j], least) * inverse_strength
            theirs = dual_step(loss, u[j], z_j + b, q_j, y[j]) - u[j]
            if j != i and theirs * change < 0.0:
                partner = j
                break
        if partner == i:
            if count[mine] == pool.shape[1]:
                # The pool is full of violations of one sign, so the error of b is at least the smallest of them.
                weakest = 0
                for m in range(1, count[mine]):
                    if violation[mine, m] < violation[mine, weakest]:
                        weakest = m
                b -= INTERCEPT_STEP * violation[mine, weakest] * (1.0 if change > 0.0 else -1.0)
                at = weakest
            else:
                at = count[mine]
                count[mine] += 1
            pool[mine, at], violation[mine, at] = i, abs(q_i * change)
            continue
        j = partner
        axpy(rows, j, 1.0, work)
        apart = norms[i] + norms[j] - 2.0 * dot(rows, i, work)
        axpy(rows, j, -1.0, work)
        Q = max(apart, least) * inverse_strength
        new_i, new_j, found = pair_step(loss, u[i], z_i, p[i], y[i], u[j], z_j, p[j], y[j], Q, b)
        if new_i != u[i] or new_j != u[j]:
            axpy(rows, i, (u[i] - new_i) * p[i] * inverse_strength, v)
            axpy(rows, j, (u[j] - new_j) * p[j] * inverse_strength, v)
            u[i], u[j] = new_i, new_j
            b += INTERCEPT_STEP * (found - b)
    return b
