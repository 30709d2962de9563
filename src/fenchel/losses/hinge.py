"""The hinge: support vector machines (margin 1) and the perceptron criterion (margin 0)."""

from __future__ import annotations

import math
from typing import NamedTuple

from fenchel.losses.targets import for_signs, require


@for_signs
class Hinge(NamedTuple):
    """max(0, margin - y z), y in {-1, +1}

    Conjugate: margin y u for y u in [-1, 0]. Margin 0 is the perceptron criterion.

    >>> Hinge().value(0.25, 1.0), Hinge().slope(0.25, 1.0)
    (0.75, -1.0)
    """

    tex = r"\max(0,\, \rho - y z)"
    tex_where = "y = ±1, ρ the margin"
    margin: float = 1.0

    def parameters_ok(self):
        require(0.0 <= self.margin < math.inf, "margin", "at least 0 and finite", self.margin)

    def value(self, z, y):
        return max(0.0, self.margin - y * z)

    def slope(self, z, y):
        return -y if y * z < self.margin else 0.0

    def conjugate(self, u, y):
        return self.margin * (y * u) if -1.0 <= y * u <= 0.0 else math.inf

    def dual_step(self, u, z, q, y):
        return y * min(max((y * (z + q * u) - self.margin) / q, -1.0), 0.0)

    def dual_domain(self, y):
        return min(-y, 0.0), max(-y, 0.0)

    def smoothness(self):
        return None
