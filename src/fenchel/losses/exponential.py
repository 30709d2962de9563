"""The exponential loss of boosting."""

from __future__ import annotations

import math
from typing import NamedTuple

from fenchel.losses.branchless import exp
from fenchel.losses.special import entropy_term, wright_omega
from fenchel.losses.targets import for_signs


@for_signs
class Exponential(NamedTuple):
    """exp(-y z), y in {-1, +1}

    Conjugate: s log s - s with s = -y u >= 0.

    >>> Exponential().value(0.0, 1.0), Exponential().slope(0.0, -1.0)
    (1.0, 1.0)
    """

    tex = r"\exp(-y z)"
    tex_where = "y = ±1"
    grows_exponentially = True

    def value(self, z, y):
        return exp(-y * z)

    def slope(self, z, y):
        return -y * exp(-y * z)

    def value_and_slope(self, z, y):
        e = exp(-y * z)
        return e, -y * e

    def conjugate(self, u, y):
        return entropy_term(-y * u) + y * u if y * u <= 0.0 else math.inf

    def dual_step(self, u, z, q, y):
        return -y * wright_omega(math.log(q) - y * (z + q * u)) / q

    def dual_domain(self, y):
        return (-math.inf, 0.0) if y > 0 else (0.0, math.inf)

    def curvature(self, z, y):
        return exp(-y * z)

    def local_model(self, z, y):
        e = exp(-y * z)
        return e, -y * e, e

    def in_runs(self):
        return True

    def smoothness(self):
        return math.inf
