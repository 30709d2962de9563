"""The logistic loss."""

from __future__ import annotations

import math
from typing import NamedTuple

from fenchel.losses.special import entropy_term, wright_omega
from fenchel.losses.targets import is_sign
from fenchel.typed import helper

NEAR = 1e-3  # a step of Newton that one of higher order, in its place, makes exact within rounding


@helper
def sigmoid(x):
    """1 / (1 + e^-x) without overflow."""
    e = math.exp(-abs(x))
    return 1.0 / (1.0 + e) if x >= 0.0 else e / (1.0 + e)


class Logistic(NamedTuple):
    """log(1 + exp(-y z)), y in {-1, +1}

    Conjugate: s log s + (1 - s) log(1 - s) with s = -y u in [0, 1]. P(y | z) = 1 / (1 + exp(-y z)).

    >>> round(Logistic().value(0.0, 1.0), 6), Logistic().slope(0.0, 1.0)
    (0.693147, -0.5)
    """

    valid_target = staticmethod(is_sign)
    target_rule = "-1 or +1"
    nonnegative = True

    def value(self, z, y):
        m = y * z
        return max(-m, 0.0) + math.log1p(math.exp(-abs(m)))

    def slope(self, z, y):
        return -y * sigmoid(-y * z)

    def value_and_slope(self, z, y):
        # One exponential serves both.
        m = y * z
        e = math.exp(-abs(m))
        p = 1.0 / (1.0 + e)
        return max(-m, 0.0) + math.log1p(e), -y * (e * p if m > 0.0 else p)

    def conjugate(self, u, y):
        s = -y * u
        if not 0.0 <= s <= 1.0:
            return math.inf
        # log1p: near s = 0 the second term is as large as the first, and log(1 - s) would lose it.
        return entropy_term(s) + ((1.0 - s) * math.log1p(-s) if s < 1.0 else 0.0)

    def dual_step(self, u, z, q, y):
        # In t with s = sigmoid(t) the equation is f(t) = t + m + q (s - s0) = 0. Reflected so that its root is not
        # positive, f is convex up to there: Newton's steps fall to the root from any point right of it, and from the
        # left the first one ends right of it. (On the other side they can run in a circle, for q > 20.) The root is
        # between -m and the t of s0, and not right of `top`, which s >= e^t / 2 makes close for large q.
        m, s0 = y * z, -y * u
        reflected = m + q * (0.5 - s0) < 0.0
        if reflected:
            m, s0 = -m, 1.0 - s0
        top = 0.0
        if q > 50.0:
            x = math.log(0.5 * q) - m + q * s0
            w = wright_omega(x)
            top = min(0.0, math.log(w) - math.log(0.5 * q) if x > 1.0 else q * s0 - m - w)
        s, r = s0, 1.0 - s0
        t = math.log(s / r) if 0.0 < s0 < 1.0 else -m
        if t > top or not 0.0 < s0 < 1.0:
            t = min(t, top)
            e = math.exp(t)
            r = 1.0 / (1.0 + e)
            s = e * r
        for _ in range(100):
            slope = s * r
            steep = 1.0 + q * slope
            step = -(t + m + q * (s - s0)) / steep
            if abs(step) <= NEAR:  # the next two derivatives leave its fourth power
                share, bend, twist = q * slope / steep, 0.5 * (r - s), (1.0 - 6.0 * slope) / 6.0
                step *= 1.0 - share * step * (bend + step * (twist - 2.0 * share * bend * bend))
                s += slope * step * (1.0 + step * (bend + step * twist))
                break
            t = min(t + step, top)
            e = math.exp(t)
            r = 1.0 / (1.0 + e)
            s = e * r
        return -y * (1.0 - s if reflected else s)

    def dual_domain(self, y):
        return min(-y, 0.0), max(-y, 0.0)

    def curvature(self, z, y):
        e = math.exp(-abs(z))
        return e / ((1.0 + e) * (1.0 + e))

    def local_model(self, z, y):
        m = y * z
        e = math.exp(-abs(m))
        p = 1.0 / (1.0 + e)
        slope, curvature = -y * (e * p if m > 0.0 else p), e * p * p
        if e < 1e-3:  # 1 + e would lose digits of e
            return max(-m, 0.0) + e * (1.0 - e * (0.5 - e * (1.0 / 3.0 - 0.25 * e))), 1.0, slope, curvature
        return max(-m, 0.0), 1.0 + e, slope, curvature

    def smoothness(self):
        return 0.25

    def probability(self, z):
        """P(y = +1 | z), on arrays."""
        from scipy.special import expit

        return expit(z)
