"""The logistic loss."""

from __future__ import annotations

import math
from typing import NamedTuple

from fenchel.compile.dispatch import helper
from fenchel.losses.branchless import exp, log, log1p
from fenchel.losses.special import wright_omega
from fenchel.losses.targets import for_signs

# The largest Newton step that is replaced by a final step of higher order: the result is then exact up to rounding, or up to a
# few percent.
EXACT_STEP, QUICK_STEP = 1e-3, 1.0
TINY = 1e-300


@helper
def tail(m):
    """(e, p) with e = exp(-|m|) and p = 1 / (1 + e): at margin m the larger of the two probabilities is p, the other e p."""
    e = exp(-abs(m))
    return e, 1.0 / (1.0 + e)


@helper
def step_within(near, u, z, q, y):
    """The dual step by Newton's method; a step of at most `near` in t is corrected up to its fourth power, and is the last."""
    # In t with s = sigmoid(t) the equation is f(t) = t + m + q (s - s0) = 0. It is reflected so that its root is not
    # positive. Up to the root f is then convex: Newton's steps decrease to the root from any point right of it, and the
    # first step from the left ends right of it. (On the other side they can cycle, for q > 20.) The root is between -m
    # and the t of s0, and not right of `top`, which is close to it for large q because s >= e^t / 2.
    m, s0 = y * z, -y * u
    s, r = s0, 1.0 - s0
    inside = 0.0 < s0 < 1.0
    t = math.log(s / r) if inside else 0.0  # before z is used, whose computation may still be in the pipeline
    reflected = m + q * (0.5 - s0) < 0.0
    if reflected:
        m, t, s0, s, r = -m, -t, r, r, s
    top = 0.0
    if q > 50.0:
        x = math.log(0.5 * q) - m + q * s0
        w = wright_omega(x)
        top = min(0.0, math.log(w) - math.log(0.5 * q) if x > 1.0 else q * s0 - m - w)
    if t > top or not inside:
        t = min(t if inside else -m, top)
        e = math.exp(t)
        r = 1.0 / (1.0 + e)
        s = e * r
    for _ in range(100):
        slope = s * r
        steep = 1.0 + q * slope
        step = -(t + m + q * (s - s0)) / steep
        if abs(step) <= near:  # with the next two derivatives, the error is of the fourth order
            share, curvature, third = q * slope / steep, 0.5 * (r - s), (1.0 - 6.0 * slope) / 6.0
            step *= 1.0 - share * step * (curvature + step * (third - 2.0 * share * curvature * curvature))
            s += slope * step * (1.0 + step * (curvature + step * third))
            break
        t = min(t + step, top)
        e = math.exp(t)
        r = 1.0 / (1.0 + e)
        s = e * r
    return -y * (1.0 - s if reflected else s)


@for_signs
class Logistic(NamedTuple):
    """log(1 + exp(-y z)), y in {-1, +1}

    Conjugate: s log s + (1 - s) log(1 - s) with s = -y u in [0, 1]. P(y | z) = 1 / (1 + exp(-y z)).

    >>> round(Logistic().value(0.0, 1.0), 6), Logistic().slope(0.0, 1.0)
    (0.693147, -0.5)
    """

    tex = r"\log(1 + \exp(-y z))"
    tex_where = "y = ±1"
    response = "sigmoid"

    def value(self, z, y):
        m = y * z
        return max(-m, 0.0) + log1p(exp(-abs(m)))

    def slope(self, z, y):
        m = y * z
        e, p = tail(m)
        return -y * (e * p if m > 0.0 else p)

    def value_and_slope(self, z, y):
        # One exponential serves both.
        m = y * z
        e, p = tail(m)
        return max(-m, 0.0) + log1p(e), -y * (e * p if m > 0.0 else p)

    def conjugate(self, u, y):
        # a is the smaller of s and 1 - s, so that log(1 - a) keeps its accuracy; the larger one is 1 - a.
        s = -y * u
        a = min(s, 1.0 - s)
        entropy = a * log(max(a, TINY)) + (1.0 - a) * log1p(-min(max(a, 0.0), 0.5))
        return entropy if 0.0 <= s <= 1.0 else math.inf

    def dual_step(self, u, z, q, y):
        return step_within(EXACT_STEP, u, z, q, y)

    def quick_dual_step(self, u, z, q, y):
        return step_within(QUICK_STEP, u, z, q, y)

    def dual_domain(self, y):
        return min(-y, 0.0), max(-y, 0.0)

    def curvature(self, z, y):
        e, p = tail(z)
        return e * p * p

    def local_model(self, z, y):
        m = y * z
        e, p = tail(m)
        return max(-m, 0.0) + log1p(e), -y * (e * p if m > 0.0 else p), e * p * p

    def in_runs(self):
        return True

    def smoothness(self):
        return 0.25

    def probability(self, z):
        """P(y = +1 | z), on arrays."""
        from scipy.special import expit

        return expit(z)
