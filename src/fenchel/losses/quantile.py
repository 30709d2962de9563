"""The pinball loss of quantile regression."""

from __future__ import annotations

import math
from typing import NamedTuple

from fenchel.losses.targets import for_numbers, require


@for_numbers
class Quantile(NamedTuple):
    """max(tau (y - z), (1 - tau) (z - y)): predicts the tau-quantile

    Conjugate: u y for u in [-tau, 1 - tau].

    >>> Quantile(0.9).value(0.0, 1.0), Quantile(0.9).slope(0.0, 1.0)
    (0.9, -0.9)
    """

    tex = r"\max(\tau (y - z),\, (1 - \tau)(z - y))"
    tex_where = "the τ-quantile"
    tau: float = 0.5

    def parameters_ok(self):
        require(0.0 < self.tau < 1.0, "tau", "strictly between 0 and 1", self.tau)

    def value(self, z, y):
        return max(self.tau * (y - z), (1.0 - self.tau) * (z - y))

    def slope(self, z, y):
        return 1.0 - self.tau if z > y else -self.tau if z < y else 0.0

    def conjugate(self, u, y):
        return u * y if -self.tau <= u <= 1.0 - self.tau else math.inf

    def dual_step(self, u, z, q, y):
        return min(max((z + q * u - y) / q, -self.tau), 1.0 - self.tau)

    def dual_domain(self, y):
        return -self.tau, 1.0 - self.tau

    def smoothness(self):
        return None
