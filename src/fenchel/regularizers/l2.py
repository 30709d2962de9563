"""alpha/2 w'w."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.numerics import Vector, half_square, quiet, vector


@dataclass(frozen=True, eq=False)
class L2(Regularizer):
    """R(w) = alpha/2 w'w,   R*(v) = v'v / (2 alpha),   grad R*(v) = v / alpha.

    >>> L2(0.5).value([3.0, 4.0]), L2(0.5).conjugate([3.0, 4.0]), L2(0.5).primal_from_dual([1.0, 2.0])
    (6.25, 25.0, array([2., 4.]))
    """

    tex = r"\frac{\alpha}{2} \sum_j w_j^2"
    formula: ClassVar[str] = "alpha/2 sum_j w_j^2"
    smooth: ClassVar[bool] = True
    strongly_convex: ClassVar[bool] = True

    def value(self, w: ArrayLike) -> float:
        """alpha/2 w'w."""
        return half_square(vector(w), self.alpha)

    def conjugate(self, v: ArrayLike) -> float:
        """v'v / (2 alpha)."""
        return half_square(vector(v), over=(self.alpha,))

    @quiet
    def primal_from_dual(self, v: ArrayLike) -> Vector:
        """v / alpha."""
        return vector(v) / self.alpha

    @quiet
    def gradient(self, w: ArrayLike) -> Vector:
        """alpha w."""
        return self.alpha * vector(w)

    def hessian(self, dim: int) -> Vector:
        """alpha times the identity."""
        return self.alpha * np.eye(dim)

    @quiet
    def prox(self, w: ArrayLike, step: float) -> Vector:
        """w / (1 + step alpha)."""
        return vector(w) / (1.0 + step * self.alpha)

    @quiet
    def conjugate_hessian(self, v: ArrayLike, A: Vector) -> Vector:
        """A'A / alpha."""
        return (A.T @ A) / self.alpha
