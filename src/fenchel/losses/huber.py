"""Huber's robust loss."""

from __future__ import annotations

import math
from typing import NamedTuple

from fenchel.losses.targets import for_numbers, require


@for_numbers
class Huber(NamedTuple):
    """r^2 / 2 for |r| <= delta, delta |r| - delta^2 / 2 beyond; r = z - y

    Conjugate: u^2 / 2 + u y for |u| <= delta.

    >>> Huber(1.0).value(3.0, 1.0), Huber(1.0).slope(3.0, 1.0)
    (1.5, 1.0)
    """

    tex = r"\min_x \frac{1}{2}(z - y - x)^2 + \delta \lvert x \rvert"
    delta: float = 1.0

    def parameters_ok(self):
        require(0.0 < self.delta < math.inf, "delta", "greater than 0", self.delta)

    def value(self, z, y):
        r = abs(z - y)
        return 0.5 * r * r if r <= self.delta else self.delta * (r - 0.5 * self.delta)

    def slope(self, z, y):
        return min(max(z - y, -self.delta), self.delta)

    def conjugate(self, u, y):
        return u * (0.5 * u + y) if -self.delta <= u <= self.delta else math.inf

    def dual_step(self, u, z, q, y):
        return min(max((z + q * u - y) / (1.0 + q), -self.delta), self.delta)

    def dual_domain(self, y):
        return -self.delta, self.delta

    def curvature(self, z, y):
        return 1.0 if abs(z - y) < self.delta else 0.0

    def smoothness(self):
        return 1.0
