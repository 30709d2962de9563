"""Scalar functions that kernels and plain Python share: no overflow errors, no warnings."""

from __future__ import annotations

import math

from fenchel.typed import helper


@helper
def exp(x):
    """e^x, inf where it overflows (plain Python would raise)."""
    return math.inf if x > 709.782712893384 else math.exp(x)


@helper
def entropy_term(t):
    """t log t, 0 at 0."""
    return t * math.log(t) if t > 0.0 else 0.0


@helper
def power(x, p):
    """x^p for x >= 0, inf where it overflows (plain Python would raise)."""
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
def power_root(r, q, p):
    """The root h in [0, r] of h + q h^(p - 1) = r, for r > 0, q >= 0, p > 1: safeguarded Newton."""
    low, high = 0.0, r
    h = r / (1.0 + q) if r / (1.0 + q) <= 1.0 else (r / (1.0 + q)) ** min(1.0, 1.0 / (p - 1.0))
    h = min(max(h, 1e-3 * r), r)
    for _ in range(200):
        k = q * power(h, p - 1.0)
        f = h + k - r
        if f > 0.0:
            high = h
        else:
            low = h
        step = h - f / (1.0 + k * (p - 1.0) / h)
        new = step if low < step < high else 0.5 * (low + high)
        if new == h or new <= low or new >= high:
            break
        h = new
    return h
