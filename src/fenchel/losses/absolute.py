"""Least absolute deviations."""

from __future__ import annotations

import math
from typing import NamedTuple

from fenchel.losses.targets import for_numbers


@for_numbers
class Absolute(NamedTuple):
    """|z - y|

    Conjugate: u y for |u| <= 1.

    >>> Absolute().value(3.0, 1.0), Absolute().slope(3.0, 1.0)
    (2.0, 1.0)
    """

    tex = r"\lvert z - y \rvert"

    def value(self, z, y):
        return abs(z - y)

    def slope(self, z, y):
        return 1.0 if z > y else -1.0 if z < y else 0.0

    def conjugate(self, u, y):
        return u * y if -1.0 <= u <= 1.0 else math.inf

    def dual_step(self, u, z, q, y):
        return min(max((z + q * u - y) / q, -1.0), 1.0)

    def dual_domain(self, y):
        return -1.0, 1.0

    def smoothness(self):
        return None
