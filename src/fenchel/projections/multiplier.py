"""The nu with F(nu) = sum_i sigma_i clip(m_i + nu g_i, lower_i, upper_i) = z, where g_i = sigma_i / d_i^2, in O(n).

F is increasing and piecewise linear; each coordinate has two breakpoints. A bracket (a, b) around the root is narrowed
until no breakpoint is strictly inside. Coordinates without a breakpoint inside are decided: they are summed once, as
`base + slope nu`, and dropped. Ties are decided together, because only breakpoints *strictly* inside count.

One pass (`scan`) evaluates F at two pivots and copies, speculatively, the coordinates with a breakpoint between them. If the
root is not there, a second pass copies those of the other side. The first pivots come from a random sample, which leaves
about a tenth of the coordinates; the next ones from the chord of F, which by then is nearly linear. If they keep too many
coordinates, the next pivots are breakpoints of two random coordinates, so that the expected time is always linear.
"""

from __future__ import annotations

import math

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.projections.blocks import BLOCK, Columns, part, product_error, two_sum

HUGE = float(np.finfo(float).max)
EXACT = 512  # when at most so many coordinates (and 1/64 of all) are left, they are summed without rounding errors
SAMPLE = 8192
MIN_SAMPLED = 8000  # with fewer coordinates a sample does not pay
SAMPLE_DEVIATIONS = 3.0  # the distance of the pivots from the sample's root, in standard deviations of F
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

    Without divisions, so that the loop vectorises: the rounded x = m + nu g is monotone in nu, so equal clipped values at p and
    q mean that the coordinate is constant in between, and two unclipped values that it is linear.
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
    """Append the marked coordinates to the first `kept` columns of `rows`; returns the new number of columns."""
    end = np.uint64(0)  # unsigned, or every store would first test for a negative index
    for i in range(m.size):  # without a branch on the mark, which could not be predicted
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
def move_decided(rows, count, a, b, sums):
    """Move the columns without a breakpoint strictly inside (a, b) to `sums`; returns the number of the others.

    `scan` differs from this test only by rounding, but if many breakpoints tie with a or b it could keep all of them forever.
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

    p and q are the first pivots; with (-inf, inf) the first pass only copies. `decided` holds the sums between a and b, and
    must be 0 initially; up to `exact` coordinates are summed without rounding errors. The other arrays are workspace,
    allocated by the caller because that compiles faster.
    """
    a, b, touched, seed, count = -np.inf, np.inf, 0, SEED, m.size
    # A round that keeps too many is followed by one with a breakpoint as pivot, which keeps fewer: at most 4 n + log n rounds.
    while count > 0:
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
        while count > 0:  # at most twice: after `move_decided` all columns have a breakpoint inside
            seed = seed * 48271 % 2147483647
            p, q = breakpoint_inside(rows, seed % count, a, b), breakpoint_inside(rows, seed // 3 % count, a, b)
            if p == p and q == q:
                break
            touched += count
            count = move_decided(rows, count, a, b, more)
        p, q = min(p, q), max(p, q)
        if not poor and b - a < np.inf and 0.0 < f_q - f_p < np.inf:
            middle = a + (b - a) * ((z - f_p) / (f_q - f_p))
            width = 2.0 * (b - a) / np.sqrt(count)  # the typical deviation of F with `count` breakpoints from its chord
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


def finite_point(a: float, b: float) -> float:
    """A finite number in [a, b], one of the ends if possible."""
    return b if b < math.inf else (a if a > -math.inf else 0.0)


def first_pivots(columns: Columns, z: float) -> tuple[float, float, int]:
    """Two numbers between which the root very probably lies, and the number of coordinates read to find them."""
    n = columns[0].size
    if n < MIN_SAMPLED:
        return -math.inf, math.inf, 0
    size = min(SAMPLE, int(0.5 * n ** (2 / 3)))
    drawn = np.random.default_rng(SEED).integers(n, size=size)
    m, lower, upper, sigma, inv_d2 = sample = tuple(
        values[drawn] if values.size == n else np.full(size, values[0]) for values in columns
    )
    share = z * (size / n)
    a, b, _, touched = search(sample, share)
    with np.errstate(all="ignore"):  # invalid input is reported at the end
        values = sigma * np.clip(m + finite_point(a, b) * (sigma * inv_d2), lower, upper)
        error = SAMPLE_DEVIATIONS * math.sqrt(size) * float(np.std(values))
    p, _, _, left = search(sample, share - error)
    _, q, _, right = search(sample, share + error)
    return p, q, touched + left + right


def find_multiplier(columns: Columns, z: float) -> tuple[float, float, int]:
    """(nu, nu_low, number of coordinates touched): the root is nu + nu_low. Terminates for every input, also with NaN.

    The columns are m, lower, upper, sigma, 1 / d^2; constants are expanded to a block. If z is not attainable, nu is the
    outermost breakpoint and the sum differs from z.
    """
    p, q, drawn = first_pivots(columns, z)
    a, b, (base, base_low, slope, slope_low), touched = search(columns, z, p, q, min(EXACT, columns[0].size // 64))
    touched += drawn
    if not slope > 0.0:
        return finite_point(a, b), 0.0, touched
    missing, error = two_sum.py_func(z, -base)
    nu = missing / slope
    product = nu * slope
    rest = (missing - product) - product_error.py_func(nu, slope, product)
    if not a <= nu <= b:
        return min(max(nu, a), b), 0.0, touched
    return nu, (rest + error - base_low - nu * slope_low) / slope, touched
