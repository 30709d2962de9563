"""The compiled passes of the certificate: nobody else's, and so small that they can be read at once.

Sums over rows are compensated and not reordered; those within a row, whose rounding the floor bounds in any order,
may be.
"""

from __future__ import annotations

import numpy as np

from fenchel.data.rows import add_rows, sized_dot, sqnorm
from fenchel.data.sums import add
from fenchel.jit import kernel
from fenchel.losses.protocol import conjugate, dual_domain, slope, value

EPS = float(np.finfo(float).eps)
AT_ONCE = np.uint64(128)  # rows whose losses are found before they are added up
NEAR = np.uint64(32)  # rows that are gone through twice while they are in the cache


@kernel(fastmath=True)
def sized_scores(rows, offset, w, b, z, size):
    """z_i = <x_i, w> + offset_i + b, and size_i, the sum of the sizes of its terms."""
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


@kernel(fastmath=True)  # a bound on roundings, which may itself be rounded in any order
def through_pass(loss, y, p, z, size, u):
    """sum_i p_i size_i max(|u_i|, the steepest slope within the rounding of z_i): how the scores' rounding shows in P and D."""
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
    """u clipped into every row's dual domain, and the ends of that, unless low is empty."""
    for i in range(y.size):
        lower, upper = dual_domain(loss, y[i])
        out[i] = min(max(u[i], lower), upper)
        if low.size > 0:
            low[i], high[i] = lower, upper


@kernel
def conjugate_pass(loss, y, p, offset, u):
    """(sum p (loss*(u) - u offset), the sum of the sizes of its terms, sum p u)."""
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


@kernel(fastmath=True)  # a bound on roundings, which may itself be rounded in any order
def spread_pass(rows, start, stop, p, u):
    """sum_i p_i |u_i| |x_i| over the rows start..stop."""
    spread = 0.0
    for i in range(start, stop):
        a = abs(p[i] * u[i])
        if a != 0.0:
            spread += a * np.sqrt(sqnorm(rows, i))
    return spread


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
            add_rows(rows, near, end, p, u, part)
            spread += spread_pass(rows, near, end, p, u)
        for j in range(v.size):
            v[j] -= part[j]
            part[j] = 0.0
    return spread


@kernel
def balance_pass(u, low, high, p, keep_ends, out):
    """out = clip(u + shift, low, high) with sum p out = 0: safeguarded Newton on a piecewise linear function.

    With `keep_ends` only rows strictly inside move. Returns False if no shift does it. The rows strictly inside take what
    rounding leaves.
    """
    least, most, size = 0.0, 0.0, 0.0
    left, right, shift = -np.inf, np.inf, 0.0
    for trial in range(200):
        total, free = 0.0, 0.0
        for i in range(u.size):
            lower, upper = low[i], high[i]
            if keep_ends and not lower < u[i] < upper:
                lower, upper = u[i], u[i]
            moved = u[i] + shift
            out[i] = min(max(moved, lower), upper)
            if p[i] > 0.0:
                total += p[i] * out[i]
                free += p[i] * (1.0 if lower < moved < upper else 0.0)
                if trial == 0:
                    least += p[i] * lower
                    most += p[i] * upper
                    size += p[i] * abs(u[i])
        if abs(total) <= 1e-16 * size:
            return True
        if total < 0.0:
            left = shift
        else:
            right = shift
        step = shift - total / free if free > 0.0 else np.nan
        if not left < step < right:
            if np.isfinite(left) and np.isfinite(right):
                step = 0.5 * (left + right)
            elif total < 0.0:
                step = left + 2.0 * max(abs(left), size, 1e-300)
            else:
                step = right - 2.0 * max(abs(right), size, 1e-300)
        if step == shift or not np.isfinite(step):
            break
        shift = step
    return abs(total) <= 1e-9 * size and least <= 1e-9 * size and most >= -1e-9 * size
