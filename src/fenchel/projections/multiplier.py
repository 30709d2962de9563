"""The nu with F(nu) = sum_i sigma_i clip(m_i + nu g_i, lower_i, upper_i) = z, where g_i = sigma_i / d_i^2, in O(n).

F is increasing and piecewise linear; each coordinate has two breakpoints. A bracket (a, b) around the root is narrowed
until no breakpoint is strictly inside. Coordinates without a breakpoint inside are decided: they are summed once, as
`base + slope nu`, and dropped. Ties vanish together, because only breakpoints *strictly* inside count.

One pass (`scan`) evaluates F at two pivots and copies, on speculation, the coordinates with a breakpoint between them. If the
root is not there, a second pass keeps those of the other side. The first pivots come from a random sample, which leaves
about a tenth of the coordinates; the next ones from the chord of F, which by then is nearly straight; and after a
poor cut they are breakpoints of two random coordinates, so that the expected work is linear whatever the weights are.
"""

from __future__ import annotations

import math

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.projections.blocks import BLOCK, Columns, part, product_error, two_sum

HUGE = float(np.finfo(float).max)
EXACT = 512  # when at most so many (and 1/64 of all) are left, they are summed without rounding error
SAMPLE = 8192
ALONE = 8000  # a sample does not pay for fewer coordinates
SPREAD = 3.0  # standard deviations between the sample's F and the pivots
SEED = 20261115


@kernel
def canonical(m, lower, upper, sigma, inv_d2):
    """(c, k, low, high) with sigma clip(m + nu sigma inv_d2, lower, upper) = clip(c + nu k, low, high) and k >= 0."""
    first = sigma * lower if sigma != 0.0 else 0.0  # 0 times an infinite bound would be NaN
    second = sigma * upper if sigma != 0.0 else 0.0
    return sigma * m, sigma * (sigma * inv_d2), min(first, second), max(first, second)


@kernel(fastmath=True)
def scan_block(m, lower, upper, sigma, inv_d2, p, q, keep):
    """F(p), F(q), and base and slope of the coordinates without a breakpoint in (p, q); `keep` marks the others.

    No division, so that the loop vectorises: rounded x = m + nu g is monotone in nu, so equal clipped values at p and q
    mean a constant in between, and two unclipped values a straight line.
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
        base += s * (v_p if constant else (m[i] if line else 0.0))
        slope += s * g if line & (not constant) else 0.0
        keep[i] = 0 if constant | line else 1
    return f_p, f_q, base, slope


@kernel
def keep_block(m, lower, upper, sigma, inv_d2, keep, picked, rows, kept):
    """Append the marked coordinates to the first `kept` columns of `rows`; the new number of them."""
    end = np.uint64(0)  # unsigned, or every store would first test for a negative index
    for i in range(m.size):  # no branch on the mark, which nothing could predict
        picked[end] = np.uint64(i)
        end += np.uint64(keep[i])
    for j in range(end):
        i = picked[j]
        c, k, low, high = canonical(m[i], lower[i], upper[i], sigma[i], inv_d2[i])
        rows[0, kept], rows[1, kept], rows[2, kept], rows[3, kept] = c, k, low, high
        kept += 1
    return kept


@kernel
def add(sums, base, slope):
    """Add to the decided part, sums = (base, its rounding error, slope, its rounding error)."""
    sums[0], error = two_sum(sums[0], base)
    sums[1] += error
    sums[2], error = two_sum(sums[2], slope)
    sums[3] += error


@kernel
def scan(m, lower, upper, sigma, inv_d2, p, q, exact, sums, keep, picked, rows):
    """F(p), F(q) and the number of coordinates with a breakpoint in (p, q).

    Those are copied to `rows` in the form (c, k, low, high); `sums` becomes the base and slope of the others.
    """
    for i in range(4):
        sums[i] = 0.0
    p, q = max(p, -HUGE), min(q, HUGE)  # 0 times infinity would be NaN; F is not used there
    f_p, f_q, kept = 0.0, 0.0, np.int64(0)
    step = BLOCK if m.size > exact else 1  # few free coordinates: summed exactly, or nu would need a correction
    for start in range(0, m.size, step):
        stop = min(start + step, m.size)
        x, l, u = part(m, start, stop), part(lower, start, stop), part(upper, start, stop)
        s, w = part(sigma, start, stop), part(inv_d2, start, stop)
        at_p, at_q, base, slope = scan_block(x, l, u, s, w, p, q, keep)
        kept = keep_block(x, l, u, s, w, keep, picked, rows, kept)
        add(sums, base, slope)
        f_p += at_p
        f_q += at_q
    return f_p, f_q, kept


@kernel
def breakpoint_inside(rows, j, a, b):
    """A breakpoint of column j strictly inside (a, b), or NaN."""
    first, second = (rows[2, j] - rows[0, j]) / rows[1, j], (rows[3, j] - rows[0, j]) / rows[1, j]
    return first if a < first < b else (second if a < second < b else np.nan)


@kernel
def settle(rows, count, a, b, sums):
    """Move the columns without a breakpoint strictly inside (a, b) to `sums`; the number of the others.

    `scan` differs from this by rounding, but where many breakpoints tie with a or b that would keep all of them for ever.
    """
    kept = np.int64(0)
    for j in range(count):
        c, k, low, high = rows[0, j], rows[1, j], rows[2, j], rows[3, j]
        first, second = (low - c) / k, (high - c) / k
        if a < first < b or a < second < b:
            rows[0, kept], rows[1, kept], rows[2, kept], rows[3, kept] = c, k, low, high
            kept += 1
        elif second <= a:
            add(sums, high, 0.0)
        elif first >= b:
            add(sums, low, 0.0)
        elif first <= a and second >= b:  # not so for NaN
            add(sums, c, k)
    return kept


@kernel
def narrow(m, lower, upper, sigma, inv_d2, z, p, q, exact, decided, more, keep, picked, ones, rows):
    """A bracket (a, b) of the root without a breakpoint strictly inside, and the number of coordinates touched.

    p and q are the first pivots; with (-inf, inf) the first pass only copies. `decided` is the sums between a and b, and
    must be 0 at the start; up to `exact` coordinates are summed without rounding error. The other arrays are for work:
    made by the caller, because that compiles faster.
    """
    a, b, touched, seed, count = -np.inf, np.inf, 0, SEED, m.size
    while (
        count > 0
    ):  # a poor cut is followed by one at a breakpoint, so that fewer are inside: at most 4 n + log n rounds
        base, slope = decided[0], decided[2]
        while True:  # at most twice: then p = a or q = b
            f_p, f_q, kept = scan(m, lower, upper, sigma, inv_d2, p, q, exact, more, keep, picked, rows)
            f_p += base + slope * p
            f_q += base + slope * q
            touched += count
            if p > a and f_p >= z:
                b, p, q = p, a, p
            elif q < b and f_q < z:
                a, p, q = q, q, b
            else:
                break
        a, b = p, q
        poor = 2 * kept > count
        count = kept
        while count > 0:  # at most twice: after `settle` all have a breakpoint inside
            seed = seed * 48271 % 2147483647
            p, q = breakpoint_inside(rows, seed % count, a, b), breakpoint_inside(rows, seed // 3 % count, a, b)
            if p == p and q == q:
                break
            touched += count
            count = settle(rows, count, a, b, more)
        p, q = min(p, q), max(p, q)
        if not poor and b - a < np.inf and 0.0 < f_q - f_p < np.inf:
            middle = a + (b - a) * ((z - f_p) / (f_q - f_p))
            width = 2.0 * (b - a) / np.sqrt(count)  # that of the noise of `count` breakpoints around a straight line
            p, q = max(a, middle - width), min(b, middle + width)
        add(decided, more[0], more[2])
        decided[1] += more[1]
        decided[3] += more[3]
        m, inv_d2, lower, upper, sigma = rows[0, :count], rows[1, :count], rows[2, :count], rows[3, :count], ones
        rows = np.empty((4, count))
    return a, b, touched


def search(
    columns: Columns, z: float, p: float = -math.inf, q: float = math.inf, exact: int = 0
) -> tuple[float, float, list, int]:
    """(a, b, sums between a and b, coordinates touched), by `narrow`."""
    decided, more, ones, rows = np.zeros(4), np.empty(4), np.ones(BLOCK), np.empty((4, columns[0].size))
    keep, picked = np.empty(BLOCK, np.uint8), np.empty(BLOCK + 1, np.uint64)
    a, b, touched = narrow(*columns, z, p, q, exact, decided, more, keep, picked, ones, rows)
    return a, b, decided.tolist(), touched


def some_inside(a: float, b: float) -> float:
    """A finite number in [a, b], an end if there is one."""
    return b if b < math.inf else (a if a > -math.inf else 0.0)


def first_pivots(columns: Columns, z: float) -> tuple[float, float, int]:
    """Two numbers between which the root lies very probably, and the number of coordinates looked at for that."""
    n = columns[0].size
    if n < ALONE:
        return -math.inf, math.inf, 0
    size = min(SAMPLE, int(0.5 * n ** (2 / 3)))
    drawn = np.random.default_rng(SEED).integers(n, size=size)
    m, lower, upper, sigma, inv_d2 = sample = tuple(
        values[drawn] if values.size == n else np.full(size, values[0]) for values in columns
    )
    share = z * (size / n)
    a, b, _, touched = search(sample, share)
    with np.errstate(all="ignore"):  # bad input is found, and named, at the end
        values = sigma * np.clip(m + some_inside(a, b) * (sigma * inv_d2), lower, upper)
        error = SPREAD * math.sqrt(size) * float(np.std(values))
    p, _, _, left = search(sample, share - error)
    _, q, _, right = search(sample, share + error)
    return p, q, touched + left + right


def find_multiplier(columns: Columns, z: float) -> tuple[float, float, int]:
    """(nu, nu_low, number of coordinates touched): the root is nu + nu_low. Ends for every input, also for NaN.

    The columns are m, lower, upper, sigma, 1 / d^2, the constant ones widened to a block. If z is not attainable, nu is
    the outermost breakpoint and the sum stays away from z.
    """
    p, q, drawn = first_pivots(columns, z)
    a, b, (base, base_low, slope, slope_low), touched = search(columns, z, p, q, min(EXACT, columns[0].size // 64))
    touched += drawn
    if not slope > 0.0:
        return some_inside(a, b), 0.0, touched
    missing, error = two_sum.py_func(z, -base)
    nu = missing / slope
    product = nu * slope
    rest = (missing - product) - product_error.py_func(nu, slope, product)
    if not a <= nu <= b:
        return min(max(nu, a), b), 0.0, touched
    return nu, (rest + error - base_low - nu * slope_low) / slope, touched
