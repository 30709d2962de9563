"""alpha |w|_0 + ridge/2 w'w."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fenchel.regularizers.nonconvex import Derivative, Nonconvex, Pieces


@dataclass(frozen=True, eq=False, repr=False)
class L0(Nonconvex):
    """R(w) = alpha #{j: w_j != 0} + ridge/2 sum_j w_j^2,   R*(v) = sum_j max(0, v_j^2 / (2 ridge) - alpha).

    It is not convex: `fenchel.solve` finds good coefficients and bounds how far they are from the global optimum (status
    BOUNDED). With ridge = 0 the bound is the smallest risk without any penalty. `scales` s_j > 0 stand for columns divided by
    s_j.

    >>> reg = L0(2.0, ridge=1.0)
    >>> reg.value([3.0, 0.0]), round(reg.conjugate([3.0, 1.0]), 12)
    (6.5, 2.5)
    """

    tex = r"\alpha \lVert w \rVert_0 + \frac{\rho}{2} \sum_j w_j^2"
    tex_where = "ρ the ridge"
    ridge: float = 0.0
    scales: Any = None

    formula: ClassVar[str] = "alpha |w|_0 + ridge/2 sum_j w_j^2"

    def pieces(self) -> Pieces:
        """alpha + ridge t^2 / 2."""
        return Pieces(*(np.array([part]) for part in (0.0, self.alpha, 0.0, self.ridge)))

    def hull(self) -> Derivative:
        """The line through 0 that touches alpha + ridge t^2 / 2."""
        return touching_line(self.alpha, self.ridge)


def touching_line(constant: float, ridge: float) -> Derivative:
    """The derivative of the convex envelope of 0 at t = 0 and constant + ridge t^2 / 2 for t > 0."""
    slope, at = math.sqrt(2.0 * constant * ridge), math.sqrt(2.0 * constant / ridge)
    return Derivative(np.array([0.0, at]), np.array([slope, slope]), ridge)
