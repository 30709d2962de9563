"""Least squares."""

from __future__ import annotations

import math
from typing import NamedTuple

from fenchel.losses.targets import for_numbers


@for_numbers
class Squared(NamedTuple):
    """(z - y)^2 / 2

    Conjugate: u^2 / 2 + u y.

    >>> Squared().value(3.0, 1.0), Squared().slope(3.0, 1.0)
    (2.0, 2.0)
    """

    tex = r"\frac{1}{2}(z - y)^2"

    def value(self, z, y):
        return 0.5 * (z - y) * (z - y)

    def slope(self, z, y):
        return z - y

    def conjugate(self, u, y):
        return u * (0.5 * u + y)

    def dual_step(self, u, z, q, y):
        return (z + q * u - y) / (1.0 + q)

    def dual_domain(self, y):
        return -math.inf, math.inf

    def curvature(self, z, y):
        return 1.0

    def smoothness(self):
        return 1.0
