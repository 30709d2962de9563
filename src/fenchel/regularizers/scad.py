"""The smoothly clipped absolute deviation, with a ridge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fenchel.regularizers.l0 import touching_line
from fenchel.regularizers.nonconvex import Derivative, Nonconvex, Pieces, greater


@dataclass(frozen=True, eq=False, repr=False)
class SCAD(Nonconvex):
    """R(w) = sum_j m(|w_j|) + ridge/2 sum_j w_j^2 with m'(t) = alpha up to t = alpha, falling to 0 at t = a alpha.

    It falls linearly, and a > 2. Starts like alpha |w|_1 and does not shrink coefficients above a alpha, apart from the ridge.
    It is not convex unless ridge >= 1 / (a - 1): `fenchel.solve` bounds the distance from the global optimum (status
    BOUNDED). With ridge = 0 the bound is the smallest risk without any penalty.

    Reference: Fan and Li (JASA 2001).

    >>> reg = SCAD(1.0, a=3.7)
    >>> reg.value([0.5]), round(reg.value([10.0]), 12)
    (0.5, 2.35)
    """

    tex = r"\sum_j m(\lvert w_j \rvert) + \frac{\rho}{2} \sum_j w_j^2"
    tex_where = "m the smoothly clipped absolute deviation, up to a α, ρ the ridge"
    a: float = 3.7
    ridge: float = 0.0
    scales: Any = None

    formula: ClassVar[str] = "sum_j SCAD(|w_j|; alpha, a) + ridge/2 sum_j w_j^2"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(a=greater("a", self.a, 2.0))

    def pieces(self) -> Pieces:
        """The linear, the concave and the constant piece, each with the ridge."""
        alpha, a, ridge = self.alpha, self.a, self.ridge
        return Pieces(
            np.array([0.0, alpha, a * alpha]),
            np.array([0.0, -0.5 * alpha * alpha / (a - 1.0), 0.5 * (a + 1.0) * alpha * alpha]),
            np.array([alpha, a * alpha / (a - 1.0), 0.0]),
            np.array([ridge, ridge - 1.0 / (a - 1.0), ridge]),
        )

    def hull(self) -> Derivative:
        """A line replaces the concave part; it begins at 0 if the ridge is less than 1 / (a + 1)."""
        alpha, a, ridge = self.alpha, self.a, self.ridge
        if ridge * (a + 1.0) < 1.0:
            return touching_line(0.5 * (a + 1.0) * alpha * alpha, ridge)
        if ridge * (a - 1.0) < 1.0:  # it touches the first and the last piece
            slope = 0.5 * alpha * (1.0 + ridge * (a + 1.0))
            return Derivative(
                np.array([0.0, (slope - alpha) / ridge, slope / ridge]), np.array([alpha, slope, slope]), ridge
            )
        return Derivative(
            np.array([0.0, alpha, a * alpha]), np.array([alpha, alpha * (1.0 + ridge), ridge * a * alpha]), ridge
        )
