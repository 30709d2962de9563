"""The exact maximisation of the dual over two rows, at constant sum p u.

Moving mass t from row j to row i, p_i du_i = -p_j du_j = t, changes z_i - z_j by -Q t. The optimal t satisfies
z_i - Q t / 2 + b in subdifferential of loss_i* at u_i + t / p_i, and z_j + Q t / 2 + b likewise for j, with a common b.
For given b, each of the two is a `dual_step` with half of Q. So for every loss, b is the root of a continuous nondecreasing
function, p_i du_i(b) + p_j du_j(b) = 0. At any b where the two steps have opposite signs, moving the smaller of the two masses
increases the dual; the largest mass found so is moved, which at the root is the optimal one.
"""

from __future__ import annotations

from fenchel.compile.kernel import kernel
from fenchel.losses.protocol import dual_step

MAX_STEPS = 200
BALANCE_TOL = 1e-6  # the search for the root ends when the two masses agree to this relative accuracy


@kernel
def pair_step(loss, u_i, z_i, p_i, y_i, u_j, z_j, p_j, y_j, Q, b):
    """(new u_i, new u_j, b) for scores without the intercept; b is where the search starts and Q > 0."""
    q_i, q_j = 0.5 * p_i * Q, 0.5 * p_j * Q
    low = high = at_low = at_high = 0.0
    below = above = False
    stride, width = 0.0, 0.0
    best_i, best_j, most = u_i, u_j, 0.0
    for _ in range(MAX_STEPS):
        new_i = dual_step(loss, u_i, z_i + b, q_i, y_i)
        new_j = dual_step(loss, u_j, z_j + b, q_j, y_j)
        t_i, t_j = p_i * (new_i - u_i), p_j * (new_j - u_j)
        at = t_i + t_j
        if t_i * t_j < 0.0 and min(abs(t_i), abs(t_j)) > most:
            most = min(abs(t_i), abs(t_j))
            best_i, best_j = _between(u_i, new_i, most / abs(t_i)), _between(u_j, new_j, most / abs(t_j))
        if abs(at) <= BALANCE_TOL * min(abs(t_i), abs(t_j)):
            break
        if at < 0.0:
            low, at_low, below = b, at, True
        else:
            high, at_high, above = b, at, True
        if below and above:
            # A secant step, or bisection if the last bracket was not halved: between flat pieces there may be steep jumps.
            slow = width > 0.0 and high - low > 0.5 * width
            b = low - at_low * (high - low) / (at_high - at_low)
            if slow or not low < b < high:
                b = low + 0.5 * (high - low)
                if not low < b < high:
                    break
            width = 0.0 if slow else high - low
        else:
            # 0.25 Q bounds the inverse slope from below, so the first stride cannot cross the root.
            stride = max(2.0 * stride, 0.25 * Q * abs(at), 1e-15 * abs(b))
            b += stride if at < 0.0 else -stride
    return best_i, best_j, b


@kernel
def _between(old, new, share):
    """The point at the fraction `share` of the way; rounding must not lead beyond the ends, where the domain may end too."""
    if share >= 1.0:
        return new
    return min(max(old + share * (new - old), min(old, new)), max(old, new))
