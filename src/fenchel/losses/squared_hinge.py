"""The squared hinge."""

from __future__ import annotations

import math
from typing import NamedTuple

from fenchel.losses.targets import for_signs, require


@for_signs
class SquaredHinge(NamedTuple):
    """max(0, margin - y z)^2 / 2, y in {-1, +1}

    Conjugate: margin y u + u^2 / 2 for y u <= 0.

    >>> SquaredHinge().value(0.0, 1.0), SquaredHinge().slope(0.0, 1.0)
    (0.5, -1.0)
    """

    tex = r"\frac{1}{2} \max(0,\, \rho - y z)^2"
    tex_where = "y = ±1, ρ the margin"
    margin: float = 1.0

    def parameters_ok(self):
        require(0.0 <= self.margin < math.inf, "margin", "at least 0 and finite", self.margin)

    def value(self, z, y):
        r = max(0.0, self.margin - y * z)
        return 0.5 * r * r

    def slope(self, z, y):
        return -y * max(0.0, self.margin - y * z)

    def conjugate(self, u, y):
        return self.margin * (y * u) + 0.5 * u * u if y * u <= 0.0 else math.inf

    def dual_step(self, u, z, q, y):
        return y * min((y * (z + q * u) - self.margin) / (1.0 + q), 0.0)

    def dual_domain(self, y):
        return (-math.inf, 0.0) if y > 0 else (0.0, math.inf)

    def curvature(self, z, y):
        return 1.0 if y * z < self.margin else 0.0

    def smoothness(self):
        return 1.0
