"""Defaults for the optional methods of a loss, computed from its value and slope alone.

They use bisection, because the slope of a convex function is nondecreasing. The conjugate, on which certificates depend,
relies on nothing but the convexity of `value`.

* The dual step is the root z' of z' + q slope(z') = z + q u, and u' = (z + q u - z') / q. The result is clipped to the
  slopes at the two ends of the final bracket: otherwise rounding leaves the domain by one ulp and the certificate is
  +inf.
* The conjugate is bounded from above, which gives a lower bound D. The slopes only suggest where to search: the concave
  function g(z) = u z - loss(z) has its maximum where they cross u, between a and b. This is then verified by values alone. On
  either side g is evaluated at distances d, 16 d, 16^2 d, ..., from one rounding of z to a million times its magnitude. If g
  exceeds its values at a and b by e at some distance, concavity allows at most 16 e before the next one; if it still rises at
  the last distance, there is no bound. A slope that is not the derivative of the value thus costs accuracy, never validity.
* The domain is the range of slopes that are attained at finite scores: a subset of the true domain, hence safe.
"""

from __future__ import annotations

import math

from fenchel.compile.dispatch import helper
from fenchel.losses.required import slope, value

MAX_SCORE_EXPONENT = 1022  # the search goes up to scores of 2**MAX_SCORE_EXPONENT
MAX_SLOPE = 1e100  # larger slopes do not count as dual variables: their squares, which envelopes need, would overflow
MAX_HALVINGS = 2200  # a backstop: between two doubles of the same sign there are fewer than 2**64 others
EPS = 2.0**-52
GROWTH = 16.0  # ratio of successive distances at which values are compared
DISTANCE_COUNT = 19  # distances from EPS (1 + |z|) to 2**20 (1 + |z|)
ROUNDINGS = 8.0  # a rise of u z - loss(z) counts if it exceeds so many rounding errors of its terms


@helper
def middle(a, b):
    """A point strictly between a and b if there is one; when they are far apart, it halves the range of exponents."""
    if a < 0.0 < b:
        return 0.0
    if a >= 0.0 and b > 4.0 * a + 1.0:
        return 2.0 * a + 0.5 if b > 1e8 * (a + 1.0) else math.sqrt((a + 1e-300) * b) if a > 0.0 else 0.5 * b
    if b <= 0.0 and a < 4.0 * b - 1.0:
        return 2.0 * b - 0.5 if a < 1e8 * (b - 1.0) else -math.sqrt((-b + 1e-300) * -a) if b < 0.0 else 0.5 * a
    return a + 0.5 * (b - a)


@helper
def bracket(loss, u, y):
    """(a, b) with slope(a) <= u <= slope(b), as tight as doubles allow; NaN on a side where no such point exists."""
    a, b = -1.0, 1.0
    for _ in range(MAX_SCORE_EXPONENT):
        if not slope(loss, a, y) > u:
            break
        b, a = a, 2.0 * a
    for _ in range(MAX_SCORE_EXPONENT):
        if not slope(loss, b, y) < u:
            break
        a, b = b, 2.0 * b
    left, right = slope(loss, a, y), slope(loss, b, y)
    if not left <= u:
        a = math.nan
    if not right >= u:
        b = math.nan
    if not (a < b):
        return a, b
    for _ in range(MAX_HALVINGS):
        c = middle(a, b)
        if c <= a or c >= b:
            break
        if slope(loss, c, y) <= u:
            a = c
        else:
            b = c
    return a, b


@helper
def largest_rise(loss, u, y, start, side, level):
    """How far u z - loss(z) rises above `level` on one side of `start`; inf if it still does at the largest distance."""
    largest, rise, distance = 0.0, 0.0, EPS * (1.0 + abs(start))
    for _ in range(DISTANCE_COUNT):
        z = start + side * distance
        f = value(loss, z, y)
        rise = u * z - f - level - ROUNDINGS * EPS * (abs(u * z) + abs(f) + abs(level))
        rise = math.inf if f == -math.inf else rise
        largest = max(largest, rise) if rise > 0.0 else largest  # NaN does not count as a rise
        distance *= GROWTH
    return math.inf if rise > 0.0 else largest


def conjugate(loss, u, y):
    """An upper bound of sup over z of u z - loss(z, y), exact up to rounding; inf outside the range of slopes."""
    a, b = bracket(loss, u, y)
    if not (a < b):
        return math.inf
    at_a, at_b = u * a - value(loss, a, y), u * b - value(loss, b, y)
    left, right = slope(loss, a, y), slope(loss, b, y)
    best = max(at_a, at_b)
    if left < u < right:
        # Tangents: at_a + (u - left)(z - a) and at_b + (u - right)(z - b) both bound u z - loss(z) from above.
        crossing = (at_b - at_a + (u - left) * a - (u - right) * b) / (right - left)
        crossing = min(max(crossing, a), b)
        best = max(best, min(at_a + (u - left) * (crossing - a), at_b + (u - right) * (crossing - b)))
    if not best < math.inf:
        return math.inf
    rise = max(largest_rise(loss, u, y, a, -1.0, best), largest_rise(loss, u, y, b, 1.0, best))
    return best + GROWTH * rise


def dual_step(loss, u, z, q, y):
    """The u' with u' in subdifferential(z - q (u' - u)), by bisection for the root of z' + q slope(z') = z + q u."""
    target = z + q * u
    a, b = target - 1.0, target + 1.0
    reach = 1.0
    for _ in range(MAX_SCORE_EXPONENT):
        if a + q * slope(loss, a, y) <= target:
            break
        reach *= 2.0
        a, b = target - reach, a
    reach = 1.0
    for _ in range(MAX_SCORE_EXPONENT):
        if b + q * slope(loss, b, y) >= target:
            break
        reach *= 2.0
        a, b = b, target + reach
    for _ in range(MAX_HALVINGS):
        c = middle(a, b)
        if c <= a or c >= b:
            break
        if c + q * slope(loss, c, y) <= target:
            a = c
        else:
            b = c
    return min(max((target - a) / q, slope(loss, a, y)), slope(loss, b, y))


def curvature(loss, z, y):
    """The derivative of the slope, by a central difference."""
    width = 1e-6 * (1.0 + abs(z))
    return (slope(loss, z + width, y) - slope(loss, z - width, y)) / (2.0 * width)


def dual_domain(loss, y):
    """The range of the slopes at -2**k and 2**k, leaving out those that are not finite or exceed MAX_SLOPE."""
    low, high = slope(loss, 0.0, y), slope(loss, 0.0, y)
    step = 1.0
    for _ in range(60):
        left, right = slope(loss, -step, y), slope(loss, step, y)
        if abs(left) < MAX_SLOPE and math.isfinite(value(loss, -step, y)):
            low = min(low, left)
        if abs(right) < MAX_SLOPE and math.isfinite(value(loss, step, y)):
            high = max(high, right)
        step *= 2.0
    return low, high


def is_differentiable(loss, targets) -> bool:
    """False if the slope jumps somewhere on [-16, 16] for one of the targets (used when smoothness() is absent)."""
    for y in targets:
        grid = [k / 64 for k in range(-1024, 1025)]
        slopes = [slope(loss, z, y) for z in grid]
        jumps = sorted(range(len(grid) - 1), key=lambda k: slopes[k] - slopes[k + 1])[:4]
        if any(_jumps_between(loss, grid[k], grid[k + 1], y) for k in jumps):
            return False
    return True


def _jumps_between(loss, a: float, b: float, y: float) -> bool:
    whole = slope(loss, b, y) - slope(loss, a, y)
    for _ in range(30):
        c = 0.5 * (a + b)
        left, middle_, right = slope(loss, a, y), slope(loss, c, y), slope(loss, b, y)
        a, b = (a, c) if middle_ - left >= right - middle_ else (c, b)
    return whole > 0 and slope(loss, b, y) - slope(loss, a, y) > 1e-3 * whole
