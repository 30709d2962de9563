"""The minimax concave penalty, with a ridge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fenchel.regularizers.l0 import touching_line
from fenchel.regularizers.nonconvex import Derivative, Nonconvex, Pieces, greater


@dataclass(frozen=True, eq=False, repr=False)
class MCP(Nonconvex):
    """R(w) = sum_j m(|w_j|) + ridge/2 sum_j w_j^2 with m(t) = alpha t - t^2 / (2 gamma) up to t = gamma alpha.

    From there on m is constant, gamma alpha^2 / 2. Starts like alpha |w|_1 and does not shrink large coefficients, apart from
    the ridge. gamma > 0; m tends to alpha t as gamma grows. It is not convex unless
    ridge >= 1 / gamma: `fenchel.solve` bounds the distance from the global optimum (status BOUNDED). With ridge = 0 the bound
    is the smallest risk without any penalty.

    Reference: Zhang (Annals of Statistics 2010).

    >>> reg = MCP(1.0, gamma=3.0, ridge=0.1)
    >>> reg.value([10.0]), round(reg.value([1.0]), 12)
    (6.5, 0.883333333333)
    """

    tex = r"\sum_j m(\lvert w_j \rvert) + \frac{\rho}{2} \sum_j w_j^2"
    tex_where = "m the minimax concave penalty of width γ, ρ the ridge"
    gamma: float = 3.0
    ridge: float = 0.0
    scales: Any = None

    formula: ClassVar[str] = "sum_j MCP(|w_j|; alpha, gamma) + ridge/2 sum_j w_j^2"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(gamma=greater("gamma", self.gamma, 0.0))

    def pieces(self) -> Pieces:
        """The concave piece, with the ridge, and the constant one."""
        end = self.gamma * self.alpha
        return Pieces(
            np.array([0.0, end]),
            np.array([0.0, 0.5 * end * self.alpha]),
            np.array([self.alpha, 0.0]),
            np.array([self.ridge - 1.0 / self.gamma, self.ridge]),
        )

    def hull(self) -> Derivative:
        """R itself if the ridge makes it convex, otherwise that of L0 with the constant of the last piece."""
        end = self.gamma * self.alpha
        if self.ridge * self.gamma < 1.0:
            return touching_line(0.5 * end * self.alpha, self.ridge)
        return Derivative(np.array([0.0, end]), np.array([self.alpha, self.ridge * end]), self.ridge)
