"""Poisson regression with the log link."""

from __future__ import annotations

import math
from typing import NamedTuple

from fenchel.losses.special import entropy_term, wright_omega
from fenchel.losses.straight import exp
from fenchel.losses.targets import is_nonnegative
from fenchel.typed import helper


@helper
def deviance(z, y, e):
    """The loss, with e = exp(z)."""
    if y <= 0.0:
        return e
    d = z - math.log(y)
    # y (e^d - 1 - d) is nearly zero for small d: expm1 keeps what exp would lose.
    return y * (math.expm1(d) - d) if abs(d) < 1.0 else e - y - y * d


class Poisson(NamedTuple):
    """exp(z) - y z + (y log y - y), y >= 0: half the Poisson deviance, at least 0

    Conjugate: t log t - t - (y log y - y) with t = u + y >= 0. Exposure e enters as the offset log e.

    >>> Poisson().value(0.0, 1.0), Poisson().slope(0.0, 3.0)
    (0.0, -2.0)
    """

    valid_target = staticmethod(is_nonnegative)
    target_rule = "at least 0"
    nonnegative = True
    grows_exponentially = True

    def value(self, z, y):
        return deviance(z, y, exp(z))

    def slope(self, z, y):
        return exp(z) - y

    def value_and_slope(self, z, y):
        e = exp(z)
        return deviance(z, y, e), e - y

    def conjugate(self, u, y):
        t = u + y
        if t < 0.0:
            return math.inf
        if y <= 0.0 or t <= 0.0:
            return entropy_term(t) - t - (entropy_term(y) - y)
        return t * math.log1p(u / y) + u * (math.log(y) - 1.0)

    def dual_step(self, u, z, q, y):
        return wright_omega(math.log(q) + z + q * (y + u)) / q - y

    def dual_domain(self, y):
        return -y, math.inf

    def curvature(self, z, y):
        return exp(z)

    def local_model(self, z, y):
        e = exp(z)
        return deviance(z, y, e), e - y, e

    def smoothness(self):
        return math.inf
