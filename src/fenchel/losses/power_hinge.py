"""The hinge to a power."""

from __future__ import annotations

import math
from typing import NamedTuple

from fenchel.losses.special import power, power_slope
from fenchel.losses.targets import for_signs, require


@for_signs
class PowerHinge(NamedTuple):
    """max(0, 1 - y z)^p / p, y in {-1, +1}, p > 1

    Conjugate: y u + |u|^q / q for y u <= 0, 1/p + 1/q = 1.

    >>> PowerHinge(3.0).value(-1.0, 1.0), PowerHinge(3.0).slope(-1.0, 1.0)
    (2.6666666666666665, -4.0)
    """

    tex = r"\frac{1}{p} \max(0,\, 1 - y z)^p"
    tex_where = "y = ±1"
    p: float = 1.5

    def parameters_ok(self):
        require(1.0 < self.p < math.inf, "p", "greater than 1 (use Hinge for 1)", self.p)

    def value(self, z, y):
        return power(max(0.0, 1.0 - y * z), self.p) / self.p

    def slope(self, z, y):
        return -y * power(max(0.0, 1.0 - y * z), self.p - 1.0)

    def conjugate(self, u, y):
        q = self.p / (self.p - 1.0)
        return y * u + power(abs(u), q) / q if y * u <= 0.0 else math.inf

    def dual_step(self, u, z, q, y):
        r = 1.0 - y * (z + q * u)
        return -y * power_slope(r, q, self.p) if r > 0.0 else 0.0

    def dual_domain(self, y):
        return (-math.inf, 0.0) if y > 0 else (0.0, math.inf)

    def curvature(self, z, y):
        r = 1.0 - y * z
        return (self.p - 1.0) * power(r, self.p - 2.0) if r > 0.0 else 0.0

    def smoothness(self):
        return 1.0 if self.p == 2.0 else math.inf
