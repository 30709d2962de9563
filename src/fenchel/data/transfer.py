"""Transfer functions from dual to primal coordinates, w_j = transfer(v_j), as dual solvers need them row by row."""

from __future__ import annotations

import math
from typing import NamedTuple

from fenchel.typed import method


@method("transfer, v")
def apply(transfer, v):
    """One coordinate of the primal point."""


class Identity(NamedTuple):
    """w = v (the strength of the regularizer is folded into v): L2."""

    def apply(self, v):
        return v


class Soft(NamedTuple):
    """w = sign(v) max(0, |v| - threshold): L1 + L2."""

    threshold: float

    def apply(self, v):
        return math.copysign(max(abs(v) - self.threshold, 0.0), v)
