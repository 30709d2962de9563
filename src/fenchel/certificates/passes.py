"""The compiled passes of the certificate: used by nothing else, and short enough to be verified by reading.

Sums over rows are compensated and not reordered. Sums within a row may be reordered, because the floor bounds their rounding
errors in any order.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.compile.kernel import kernel
from fenchel.data.rows import add_sized_rows, sized_dot
from fenchel.data.sums import add
from fenchel.losses.protocol import conjugate, dual_domain, slope, value

EPS = float(np.finfo(float).eps)
AT_ONCE = np.uint64(128)  # rows whose losses are computed before they are added
# distances at which tangents of a custom loss are compared with values, from 2**-12 to 2**12 times the score
NEARBY = 14
UNEVEN = 1e-9  # relative tolerance by which a value may lie below a tangent
NEAR = np.uint64(32)  # rows that are read twice while they are in the cache


@kernel(fastmath=True)
def sized_scores(rows, offset, w, b, z, size):
    """z_i = <x_i, w> + offset_i + b, and size_i, the sum of the absolute values of its terms."""
    for i in range(np.uint64(z.size)):
        product, spread = sized_dot(rows, i, w)
        z[i] = product + offset[i] + b
        size[i] = spread + abs(offset[i]) + abs(b)


@kernel
def primal_pass(loss, rows, y, p, offset, w, b, z, size):
    """z and size, as `sized_scores`; returns (sum p loss, sum p |loss|)."""
    sized_scores(rows, offset, w, b, z, size)
    total, correction, magnitude, n, terms = 0.0, 0.0, 0.0, np.uint64(z.size), np.empty(AT_ONCE)
    for start in range(np.uint64(0), n, AT_ONCE):
        count = min(AT_ONCE, n - start)
        for k in range(count):  # vectorised; the sum below is not, and keeps its order
            term = p[start + k] * value(loss, z[start + k], y[start + k])
            terms[k] = term if p[start + k] > 0.0 else 0.0
        for k in range(count):
            magnitude += abs(terms[k])
            total, correction = add(total, correction, terms[k])
    return total + correction, magnitude


@kernel
def slopes_pass(loss, y, z, u):
    """u_i = slope(z_i, y_i)."""
    for i in range(z.size):
        u[i] = slope(loss, z[i], y[i])


@kernel
def subgradient_pass(loss, y, p, z):
    """(i, x): the first row and a score x with value(x) < value(z_i) + slope(z_i) (x - z_i); (n, nan) if there is none."""
    for i in range(z.size):
        if p[i] > 0.0:
            f, g, noise = value(loss, z[i], y[i]), slope(loss, z[i], y[i]), abs(value(loss, 0.0, y[i]))
            for k in range(NEARBY):
                step = (1.0 + abs(z[i])) * 2.0 ** (4 * (k // 2) - 12)
                x = z[i] + (step if k % 2 == 0 else -step)
                there, rise = value(loss, x, y[i]), g * (x - z[i])
                size = abs(there) + abs(f) + abs(rise)
                if there < f + rise - UNEVEN * size - 64.0 * EPS * noise:
                    return i, x
    return z.size, np.nan


@kernel(fastmath=True)  # a bound on rounding errors, whose own additions may be reordered
def through_pass(loss, y, p, z, size, u):
    """sum_i p_i size_i max(|u_i|, the largest slope within the rounding error of z_i): the effect of that error on P and D."""
    total = 0.0
    for i in range(np.uint64(z.size)):
        reach = EPS * size[i]
        steepest = max(abs(slope(loss, z[i] - reach, y[i])), abs(slope(loss, z[i] + reach, y[i])))
        term = size[i] * max(abs(u[i]), steepest)
        term = term if p[i] > 0.0 else 0.0
        total += p[i] * term
    return total


@kernel
def clip_pass(loss, y, u, low, high, out):
    """u clipped into the dual domain of every row, and the ends of the domains, unless low is empty."""
    for i in range(y.size):
        lower, upper = dual_domain(loss, y[i])
        out[i] = min(max(u[i], lower), upper)
        if low.size > 0:
            low[i], high[i] = lower, upper


@kernel
def conjugate_pass(loss, y, p, offset, u):
    """(sum p (loss*(u) - u offset), the sum of the absolute values of its terms, sum p u)."""
    total, correction, magnitude, slopes, slopes_correction = 0.0, 0.0, 0.0, 0.0, 0.0
    n, terms = np.uint64(u.size), np.empty(AT_ONCE)
    for start in range(np.uint64(0), n, AT_ONCE):
        count = min(AT_ONCE, n - start)
        for k in range(count):
            i = start + k
            term = p[i] * (conjugate(loss, u[i], y[i]) - u[i] * offset[i])
            terms[k] = term if p[i] > 0.0 else 0.0
        for k in range(count):
            magnitude += abs(terms[k])
            total, correction = add(total, correction, terms[k])
            term = p[start + k] * u[start + k] if p[start + k] > 0.0 else 0.0
            slopes, slopes_correction = add(slopes, slopes_correction, term)
    return total + correction, magnitude, slopes + slopes_correction


@kernel
def combine_pass(rows, p, u, chunk, part, v):
    """v = -sum_i p_i u_i x_i, added up chunk by chunk; returns sum_i p_i |u_i| |x_i|, which its rounding is proportional to."""
    spread, n, step = 0.0, np.uint64(u.size), np.uint64(chunk)
    for j in range(v.size):
        v[j] = 0.0
    for start in range(np.uint64(0), n, step):
        stop = min(start + step, n)
        for near in range(start, stop, NEAR):
            end = min(near + NEAR, stop)
            spread += add_sized_rows(rows, near, end, p, u, part)
        for j in range(v.size):
            v[j] -= part[j]
            part[j] = 0.0
    return spread


@helper
def shifted(u, low, high, shift, keep_ends):
    """(u + shift between the ends, whether it is strictly inside); with `keep_ends` only what is strictly inside moves."""
    stays = keep_ends and not (low < u < high)
    lower, upper = u if stays else low, u if stays else high
    return min(max(u + shift, lower), upper), lower < u + shift < upper


# The next two kernels write no arrays: in a loop that writes, the order of additions can depend on how close arrays are.


@kernel(fastmath=True)  # the compensated sum of `conjugate_pass` corrects these rounding errors
def shift_pass(u, low, high, p, shift, keep_ends):
    """(sum p u' for the u' of `shifted`, sum p of the rows strictly inside)."""
    total, free = 0.0, 0.0
    for i in range(np.uint64(u.size)):
        moved, inside = shifted(u[i], low[i], high[i], shift, keep_ends)
        total += p[i] * moved if p[i] > 0.0 else 0.0
        free += p[i] if inside else 0.0
    return total, free


@kernel(fastmath=True)
def reach_pass(u, low, high, p, keep_ends):
    """(sum p |u|, the smallest and the largest sum p u' of any shift)."""
    size, least, most = 0.0, 0.0, 0.0
    for i in range(np.uint64(u.size)):
        size += p[i] * abs(u[i])
        least += p[i] * shifted(u[i], low[i], high[i], -np.inf, keep_ends)[0] if p[i] > 0.0 else 0.0
        most += p[i] * shifted(u[i], low[i], high[i], np.inf, keep_ends)[0] if p[i] > 0.0 else 0.0
    return size, least, most


@kernel
def move_pass(u, low, high, shift, keep_ends, out):
    """out_i = u_i as `shifted` moves it."""
    for i in range(np.uint64(u.size)):
        out[i] = shifted(u[i], low[i], high[i], shift, keep_ends)[0]
