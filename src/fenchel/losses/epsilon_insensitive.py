"""Support vector regression."""

from __future__ import annotations

import math
from typing import NamedTuple

from fenchel.losses.special import power, power_slope
from fenchel.losses.targets import for_numbers, require


class _Tube(NamedTuple):
    """EpsilonInsensitive with p = 1, without branches, so that loops over rows are vectorised."""

    epsilon: float

    def value(self, z, y):
        return max(0.0, abs(z - y) - self.epsilon)

    def slope(self, z, y):
        return math.copysign(1.0, z - y) if abs(z - y) > self.epsilon else 0.0

    def conjugate(self, u, y):
        return u * y + self.epsilon * abs(u) if -1.0 <= u <= 1.0 else math.inf

    def dual_step(self, u, z, q, y):
        r = z + q * u - y
        return math.copysign(min(1.0, max(0.0, abs(r) - self.epsilon) / q), r)

    def dual_domain(self, y):
        return -1.0, 1.0

    def smoothness(self):
        return None


@for_numbers
class EpsilonInsensitive(NamedTuple):
    """max(0, |z - y| - epsilon)^p / p, p >= 1

    Conjugate: u y + epsilon |u|, plus the indicator of |u| <= 1 (p = 1) or |u|^q / q (p > 1, 1/p + 1/q = 1).

    >>> EpsilonInsensitive(0.5).value(3.0, 1.0), EpsilonInsensitive(0.5, p=2.0).value(3.0, 1.0)
    (1.5, 1.125)
    """

    tex = r"\frac{1}{p} \max(0,\, \lvert z - y \rvert - \epsilon)^p"
    epsilon: float = 0.1
    p: float = 1.0

    def in_kernels(self):
        return _Tube(self.epsilon) if self.p == 1.0 else self

    def parameters_ok(self):
        require(0.0 <= self.epsilon < math.inf, "epsilon", "at least 0", self.epsilon)
        require(1.0 <= self.p < math.inf, "p", "at least 1", self.p)

    def value(self, z, y):
        a = max(0.0, abs(z - y) - self.epsilon)
        return a if self.p == 1.0 else power(a, self.p) / self.p

    def slope(self, z, y):
        a = abs(z - y) - self.epsilon
        if a <= 0.0:
            return 0.0
        return math.copysign(power(a, self.p - 1.0), z - y)

    def conjugate(self, u, y):
        base = u * y + self.epsilon * abs(u)
        if self.p == 1.0:
            return base if -1.0 <= u <= 1.0 else math.inf
        q = self.p / (self.p - 1.0)
        return base + power(abs(u), q) / q

    def dual_step(self, u, z, q, y):
        r = z + q * u - y
        a = max(0.0, abs(r) - self.epsilon)
        if self.p == 1.0:
            return math.copysign(min(1.0, a / q), r)
        if a == 0.0:
            return 0.0
        if self.p == 2.0:
            return math.copysign(a / (1.0 + q), r)
        return math.copysign(power_slope(a, q, self.p), r)

    def dual_domain(self, y):
        return (-1.0, 1.0) if self.p == 1.0 else (-math.inf, math.inf)

    def curvature(self, z, y):
        a = abs(z - y) - self.epsilon
        return (self.p - 1.0) * power(a, self.p - 2.0) if a > 0.0 else 0.0

    def smoothness(self):
        return None if self.p == 1.0 else 1.0 if self.p == 2.0 else math.inf
