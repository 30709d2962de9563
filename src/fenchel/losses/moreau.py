"""The Moreau envelope: any loss, smoothed."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from fenchel.losses.protocol import conjugate, dual_domain, dual_step, value
from fenchel.losses.targets import is_anything, require


class Moreau(NamedTuple):
    """min over x of loss(x, y) + (x - z)^2 / (2 gamma)

    Conjugate: loss*(u) + gamma u^2 / 2. The envelope is 1/gamma-smooth and lies below the loss by at most
    gamma L^2 / 2, where L bounds the slopes.

    >>> from fenchel.losses import Hinge
    >>> Moreau(Hinge(), 0.5).value(0.0, 1.0), Moreau(Hinge(), 0.5).slope(0.75, 1.0)
    (0.75, -0.5)
    """

    tex = r"\min_x \ell(x, y) + \frac{1}{2\gamma}(x - z)^2"
    tex_where = "ℓ the loss inside"
    loss: Any
    gamma: float = 1.0

    target_rule = "as the smoothed loss allows"

    def valid_target(self, y):
        return getattr(self.loss, "valid_target", is_anything)(y)

    @property
    def nonnegative(self):
        return getattr(self.loss, "nonnegative", False)

    def parameters_ok(self):
        require(0.0 < self.gamma < math.inf, "gamma", "greater than 0", self.gamma)
        getattr(self.loss, "parameters_ok", lambda: None)()

    def value(self, z, y):
        u = dual_step(self.loss, 0.0, z, self.gamma, y)
        return value(self.loss, z - self.gamma * u, y) + 0.5 * self.gamma * u * u

    def slope(self, z, y):
        return dual_step(self.loss, 0.0, z, self.gamma, y)

    def value_and_slope(self, z, y):
        u = dual_step(self.loss, 0.0, z, self.gamma, y)
        return value(self.loss, z - self.gamma * u, y) + 0.5 * self.gamma * u * u, u

    def conjugate(self, u, y):
        return conjugate(self.loss, u, y) + 0.5 * self.gamma * u * u

    def dual_step(self, u, z, q, y):
        return dual_step(self.loss, 0.0, z + q * u, self.gamma + q, y)

    def dual_domain(self, y):
        return dual_domain(self.loss, y)

    def smoothness(self):
        return 1.0 / self.gamma
