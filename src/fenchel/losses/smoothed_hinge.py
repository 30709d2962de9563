"""The hinge with its corner replaced by a parabola."""

from __future__ import annotations

import math
from typing import NamedTuple

from fenchel.losses.targets import for_signs, require


@for_signs
class SmoothedHinge(NamedTuple):
    """0 if m <= 0, m^2 / (2 gamma) if m <= gamma, m - gamma/2 beyond; m = 1 - y z, y in {-1, +1}

    Conjugate: y u + gamma u^2 / 2 for y u in [-1, 0].

    >>> SmoothedHinge(0.5).value(0.0, 1.0), SmoothedHinge(0.5).slope(0.75, 1.0)
    (0.75, -0.5)
    """

    tex = r"\min_x \max(0,\, 1 - y x) + \frac{1}{2\gamma}(x - z)^2"
    tex_where = "y = ±1"
    gamma: float = 1.0

    def parameters_ok(self):
        require(0.0 < self.gamma < math.inf, "gamma", "greater than 0", self.gamma)

    def value(self, z, y):
        m = max(0.0, 1.0 - y * z)
        return 0.5 * m * m / self.gamma if m < self.gamma else m - 0.5 * self.gamma

    def slope(self, z, y):
        return -y * min(max((1.0 - y * z) / self.gamma, 0.0), 1.0)

    def conjugate(self, u, y):
        return y * u + 0.5 * self.gamma * u * u if -1.0 <= y * u <= 0.0 else math.inf

    def dual_step(self, u, z, q, y):
        return y * min(max((y * (z + q * u) - 1.0) / (self.gamma + q), -1.0), 0.0)

    def dual_domain(self, y):
        return min(-y, 0.0), max(-y, 0.0)

    def curvature(self, z, y):
        return 1.0 / self.gamma if 0.0 < 1.0 - y * z < self.gamma else 0.0

    def smoothness(self):
        return 1.0 / self.gamma
