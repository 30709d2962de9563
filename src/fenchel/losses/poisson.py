"""Poisson regression with the log link."""

from __future__ import annotations

import math
from typing import NamedTuple

from fenchel.compile.dispatch import helper
from fenchel.losses.branchless import excess, exp, log, log1p
from fenchel.losses.special import wright_omega
from fenchel.losses.targets import is_nonnegative

TINY = 1e-300


@helper
def deviance(z, y, e):
    """The loss, with e = exp(z)."""
    d = z - log(max(y, TINY))
    # y (e^d - 1 - d) is nearly zero for small d: the series keeps the digits that the exponential would cancel.
    near = y * excess(min(max(d, -1.0), 1.0))
    far = e - y - y * d if y > 0.0 else e
    return near if abs(d) < 1.0 and y > 0.0 else far


class Poisson(NamedTuple):
    """exp(z) - y z + (y log y - y), y >= 0: half the Poisson deviance, at least 0

    Conjugate: t log t - t - (y log y - y) with t = u + y >= 0. Exposure e enters as the offset log e.

    >>> Poisson().value(0.0, 1.0), Poisson().slope(0.0, 3.0)
    (0.0, -2.0)
    """

    tex = r"\exp(z) - y z + y \log(y) - y"
    tex_where = "half the deviance"
    valid_target = staticmethod(is_nonnegative)
    target_rule = "at least 0"
    task = "regression"
    response = "exp"
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
        top, base = log(max(t, TINY)), log(max(y, TINY))
        change = u / max(y, TINY)
        # log(t / y), which is nearly zero for small u
        ratio = log1p(min(max(change, -0.5), 1.0)) if -0.5 <= change <= 1.0 else top - base
        term = t * ratio + u * (base - 1.0) if y > 0.0 else t * (top - 1.0)
        return term if t >= 0.0 else math.inf

    def dual_step(self, u, z, q, y):
        return wright_omega(math.log(q) + z + q * (y + u)) / q - y

    def dual_domain(self, y):
        return -y, math.inf

    def curvature(self, z, y):
        return exp(z)

    def local_model(self, z, y):
        e = exp(z)
        return deviance(z, y, e), e - y, e

    def in_runs(self):
        return True

    def smoothness(self):
        return math.inf
