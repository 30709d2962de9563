"""The one-class loss of novelty detection."""

from __future__ import annotations

import math
from typing import NamedTuple

from fenchel.losses.targets import is_anything


class Novelty(NamedTuple):
    """max(0, 1 - z); the target is not used

    Conjugate: u for u in [-1, 0].

    >>> Novelty().value(0.25, 0.0), Novelty().slope(0.25, 0.0)
    (0.75, -1.0)
    """

    tex = r"\max(0,\, 1 - z)"
    valid_target = staticmethod(is_anything)
    target_rule = "anything (it is not used)"
    task = "novelty"
    nonnegative = True

    def value(self, z, y):
        return max(0.0, 1.0 - z)

    def slope(self, z, y):
        return -1.0 if z < 1.0 else 0.0

    def conjugate(self, u, y):
        return u if -1.0 <= u <= 0.0 else math.inf

    def dual_step(self, u, z, q, y):
        return min(max((z + q * u - 1.0) / q, -1.0), 0.0)

    def dual_domain(self, y):
        return -1.0, 0.0

    def smoothness(self):
        return None
