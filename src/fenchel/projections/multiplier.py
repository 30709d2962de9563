"""The nu with F(nu) = sum_i sigma_i clip(m_i + nu g_i, lower_i, upper_i) = z, where g_i = sigma_i / d_i^2, in O(n).

F is increasing and piecewise linear; a coordinate bends it at two kinks. A bracket (a, b) around the root is narrowed
until no kink is strictly inside. Coordinates without a kink inside are decided: they are summed once, as
`base + slope (nu - anchor)`, and dropped. Ties vanish together, because only kinks *strictly* inside count.

One pass evaluates F at two pivots (`pivots.py`) and copies, on speculation, the few coordinates with a kink between
them (no division, so the pass vectorises). If the root is not there, the coordinates of the other side are kept
instead, and after a poor cut the next pivot is a median, so that the expected work stays linear whatever the
weights are.

An argument array of size 1 stands for a constant; it costs no memory traffic.
"""

from __future__ import annotations

import numpy as np

from fenchel.jit import kernel
from fenchel.projections.pivots import PIVOTS, SAMPLE, choose_pivots, draw, kinks

BLOCK = 1024
EXACT = 128  # up to here all kinks are looked at; sorting them is cheaper than sampling

HUGE = float(np.finfo(float).max)


@kernel
def constant_block(values):
    """A block filled with the value of an argument of size 1 (of no use for a full array, which is sliced)."""
    return np.full(BLOCK, values[0])


@kernel
def block(values, filled, start, stop):
    return values[start:stop] if values.size > 1 else filled[: stop - start]


@kernel(fastmath=True)
def scan_block(m, lower, upper, sigma, inv_d2, p, q, at_q, keep):
    """F(p), F(q), base and slope of the coordinates without a kink in (p, q); `keep` marks the others.

    Rounded x = m + nu g is monotone in nu, so equal clipped values at p and q mean a constant in between, and two
    unclipped values mean a straight line. p = -HUGE or
    q = HUGE stand for infinity (0 times that would be NaN); F there is not used and the base is taken at the other.
    """
    f_p = 0.0
    f_q = 0.0
    base = 0.0
    slope = 0.0
    for i in range(m.size):
        s = sigma[i]
        g = s * inv_d2[i]
        x_p = m[i] + p * g
        x_q = m[i] + q * g
        v_p = min(max(x_p, lower[i]), upper[i])
        v_q = min(max(x_q, lower[i]), upper[i])
        f_p += s * v_p
        f_q += s * v_q
        constant = v_p == v_q
        line = (x_p == v_p) & (x_q == v_q)
        v = v_q if at_q else v_p
        base += s * v if constant | line else 0.0
        slope += s * g if line & (not constant) else 0.0
        keep[i] = 0 if constant | line else 1
    return f_p, f_q, base, slope


@kernel
def cut_block(m, lower, upper, sigma, inv_d2, a, b, anchor, keep):
    """Base and slope of the coordinates without a kink strictly inside (a, b); a and b may be infinite."""
    base = 0.0
    slope = 0.0
    for i in range(m.size):
        low, high = kinks(m[i], lower[i], upper[i], sigma[i], inv_d2[i])
        s = sigma[i]
        keep[i] = 0
        if s == 0.0:
            continue
        if high <= a:
            base += s * (upper[i] if s > 0.0 else lower[i])
        elif low >= b:
            base += s * (lower[i] if s > 0.0 else upper[i])
        elif low <= a and high >= b:
            base += s * (m[i] + anchor * (s * inv_d2[i]))
            slope += s * (s * inv_d2[i])
        elif a < low < b or a < high < b:  # not so for NaN, which must not stay for ever
            keep[i] = 1
    return base, slope


@kernel
def pick(keep, picked):
    """The positions marked in `keep`, without a branch per position; how many."""
    end = np.uint64(0)  # unsigned, or every store would first test for a negative index
    for j in range(keep.size):
        picked[end] = np.uint64(j)
        end += np.uint64(keep[j])
    return np.int64(end)


@kernel
def copy_picked(values, picked, to):
    for j in range(to.size):
        to[j] = values[picked[j]]


@kernel
def scan(m, lower, upper, sigma, inv_d2, p, q, at_q, by_kinks, kept_rows):
    """`scan_block` (or, by_kinks, `cut_block`) over the undecided; those that stay so are copied to `kept_rows`.

    Base and slope refer to q if at_q, else to p.
    """
    keep, picked = np.empty(BLOCK, np.uint8), np.empty(BLOCK + 1, np.uint64)
    f_l, f_u, f_s, f_w = constant_block(lower), constant_block(upper), constant_block(sigma), constant_block(inv_d2)
    anchor = q if at_q else p
    anchor = anchor if abs(anchor) < np.inf else 0.0
    finite_p, finite_q = max(p, -HUGE), min(q, HUGE)
    f_p, f_q, base, slope, kept = 0.0, 0.0, 0.0, 0.0, 0
    for start in range(0, m.size, BLOCK):
        stop = min(start + BLOCK, m.size)
        x, mark = m[start:stop], keep[: stop - start]
        l, u = block(lower, f_l, start, stop), block(upper, f_u, start, stop)
        s, w = block(sigma, f_s, start, stop), block(inv_d2, f_w, start, stop)
        if by_kinks:
            more_base, more_slope = cut_block(x, l, u, s, w, p, q, anchor, mark)
        else:
            more_p, more_q, more_base, more_slope = scan_block(x, l, u, s, w, finite_p, finite_q, at_q, mark)
            f_p += more_p
            f_q += more_q
        base += more_base
        slope += more_slope
        end = kept + pick(mark, picked)
        copy_picked(x, picked, kept_rows[0, kept:end])
        if lower.size > 1:
            copy_picked(l, picked, kept_rows[1, kept:end])
        if upper.size > 1:
            copy_picked(u, picked, kept_rows[2, kept:end])
        if sigma.size > 1:
            copy_picked(s, picked, kept_rows[3, kept:end])
        if inv_d2.size > 1:
            copy_picked(w, picked, kept_rows[4, kept:end])
        kept = end
    return f_p, f_q, base, slope, kept


@kernel
def find_multiplier(m, lower, upper, sigma, inv_d2, z):
    """(nu, number of coordinates touched); m is always a full array. Ends for every input, also for NaN.

    If z is not attainable, nu is the outermost kink and the sum stays away from z.
    """
    count = m.size
    sample = np.empty((5, SAMPLE))
    inside = np.empty(2 * PIVOTS)
    a, b = -np.inf, np.inf
    base, slope, anchor = 0.0, 0.0, 0.0
    seed, touched, halve = 20261115, 0, False
    while count > 0:
        k = count if count <= EXACT else max(EXACT, min(SAMPLE, int(0.5 * count ** (2.0 / 3.0))))
        found, seed = draw(m, lower, upper, sigma, inv_d2, k, seed, sample, inside, a, b)
        touched += k
        by_kinks = True
        rows = np.empty((5, count))
        p, q = a, b
        if found > 0:
            p, q = choose_pivots(sample, k, count, inside, found, base, slope, anchor, z, a, b, halve)
            at_q = not abs(p) < np.inf
            new_anchor = q if at_q else p
            base += slope * (new_anchor - anchor)
            anchor = new_anchor
            f_p, f_q, more_base, more_slope, kept = scan(m, lower, upper, sigma, inv_d2, p, q, at_q, False, rows)
            touched += count
            at_p = base + slope * (p - anchor) + f_p if p > a else -np.inf
            at_b = base + slope * (q - anchor) + f_q if q < b else np.inf
            if at_p >= z:
                b = p
            elif at_b < z:
                a = q
            else:
                a, b, by_kinks = p, q, False
        if by_kinks:
            at_q = not abs(a) < np.inf
            new_anchor = b if at_q else a
            new_anchor = new_anchor if abs(new_anchor) < np.inf else 0.0
            base += slope * (new_anchor - anchor)
            anchor = new_anchor
            _, _, more_base, more_slope, kept = scan(m, lower, upper, sigma, inv_d2, a, b, at_q, True, rows)
            touched += count
        halve = 2 * kept > count
        base += more_base
        slope += more_slope
        m, count = rows[0, :kept], kept
        lower = rows[1, :kept] if lower.size > 1 else lower
        upper = rows[2, :kept] if upper.size > 1 else upper
        sigma = rows[3, :kept] if sigma.size > 1 else sigma
        inv_d2 = rows[4, :kept] if inv_d2.size > 1 else inv_d2
    if slope > 0.0:
        return min(max(anchor + (z - base) / slope, a), b), touched
    return (b if b < np.inf else (a if a > -np.inf else 0.0)), touched
