"""Scalar functions for kernels and plain Python alike, without overflow errors or warnings."""

from __future__ import annotations

import math

from fenchel.compile.dispatch import helper


@helper
def entropy_term(t):
    """t log t, 0 at 0."""
    return t * math.log(t) if t > 0.0 else 0.0


@helper
def power(x, p):
    """x^p for x >= 0, inf where it overflows (plain Python would raise)."""
    if p == 1.0:
        return x
    if p == 0.0:
        return 1.0
    if p == 2.0:
        return x * x
    if x > 0.0 and p * math.log(x) > 709.782712893384:
        return math.inf
    return x**p


@helper
def wright_omega(x):
    """The root w > 0 of w + log w = x, that is W(e^x) without overflow (two steps of Fritsch, Shafer and Crowley)."""
    if x < -40.0:
        return math.exp(x) if x > -745.0 else 0.0
    if x > 1e17:
        return x
    if x < -1.0:
        e = math.exp(x)
        w = e * (1.0 - e + 1.5 * e * e) if x < -2.0 else e / (1.0 + e)
    elif x < math.pi:
        w = 1.0 + (x - 1.0) * (0.5 + (x - 1.0) * (0.0625 - (x - 1.0) / 192.0))
    else:
        w = x - math.log(x)
    w = max(w, 1e-20)
    for _ in range(3):
        r = x - w - math.log(w)
        t = 1.0 + w
        s = 2.0 * t * (t + 2.0 / 3.0 * r)
        w *= 1.0 + r / t * (s - r) / (s - 2.0 * r)
    return w


@helper
def power_slope(r, q, p):
    """h^(p - 1) for the root h in [0, r] of h + q h^(p - 1) = r, with r > 0, q > 0, p > 1.

    The larger of the two terms is between r/2 and r, which brackets h within a factor. The left side is convex for p >= 2 and
    concave below, so Newton's steps are monotone from the right end of the bracket, or from the left one. For p = 3/2 and
    p = 3 the equation is quadratic.
    """
    if p == 1.5:
        return 2.0 * r / (q + math.hypot(q, 2.0 * math.sqrt(r)))
    if p == 3.0:
        h = 2.0 * r / (1.0 + math.hypot(1.0, 2.0 * math.sqrt(q) * math.sqrt(r)))
        return h * h
    low, high = 0.5 * min(r, power(0.5 * r / q, 1.0 / (p - 1.0))), min(r, 2.0 * power(r / q, 1.0 / (p - 1.0)))
    h = high if p >= 2.0 else low
    for _ in range(200):
        k = q * power(h, p - 1.0)
        f = h + k - r
        if f > 0.0:
            high = h
        else:
            low = h
        step = h - h * (f / (h + k * (p - 1.0))) if h > 0.0 else high
        new = step if low < step < high else low + 0.5 * (high - low)
        if abs(new - h) <= 1e-16 * h or not (low < new < high):
            break
        h = new
    return (r - h) / q if h < 0.5 * r else power(h, p - 1.0)
