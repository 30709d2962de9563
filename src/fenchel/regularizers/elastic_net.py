"""alpha (l1_ratio |w|_1 + (1 - l1_ratio)/2 w'w)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fenchel.errors import InputError
from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.numerics import Vector, half_square, number, product, quiet, rescale, soft_threshold, vector


@dataclass(frozen=True, eq=False)
class ElasticNet(Regularizer):
    """R(w) = alpha (r |w|_1 + (1 - r)/2 w'w),   R*(v) = sum_j max(|v_j| - alpha r, 0)^2 / (2 alpha (1 - r)).

    r = l1_ratio in [0, 1); grad R*(v) is the soft threshold of v at alpha r, divided by alpha (1 - r).

    >>> reg = ElasticNet(2.0, l1_ratio=0.5)
    >>> reg.value([3.0, 4.0]), reg.conjugate([3.0, -0.5]), reg.primal_from_dual([3.0, -1.0])
    (19.5, 2.0, array([ 2., -0.]))
    """

    tex = r"\alpha \sum_j (r \lvert w_j \rvert + \frac{1 - r}{2} w_j^2)"
    tex_where = "r the L1 ratio"
    l1_ratio: float = 0.5

    formula: ClassVar[str] = "alpha (l1_ratio sum_j |w_j| + (1 - l1_ratio)/2 sum_j w_j^2)"
    strongly_convex: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        ratio = number("l1_ratio", self.l1_ratio)
        if ratio == 1.0:
            raise InputError("l1_ratio must be < 1, got 1: with no quadratic part, use L1(alpha).")
        if not 0.0 <= ratio < 1.0:
            raise InputError(f"l1_ratio must be in [0, 1), got {self.l1_ratio!r}.")
        self._set(l1_ratio=ratio)

    @property
    def _threshold(self) -> float:
        return self.alpha * self.l1_ratio

    @quiet
    def value(self, w: ArrayLike) -> float:
        """alpha (r |w|_1 + (1 - r)/2 w'w)."""
        w = vector(w)
        size = product(self.alpha, self.l1_ratio, float(np.sum(np.abs(w)))) if self.l1_ratio else 0.0
        return size + half_square(w, self.alpha, 1.0 - self.l1_ratio)

    def conjugate(self, v: ArrayLike) -> float:
        """sum_j max(|v_j| - alpha r, 0)^2 / (2 alpha (1 - r))."""
        return half_square(soft_threshold(vector(v), self._threshold), over=(self.alpha, 1.0 - self.l1_ratio))

    def primal_from_dual(self, v: ArrayLike) -> Vector:
        """soft_threshold(v, alpha r) / (alpha (1 - r))."""
        return rescale(soft_threshold(vector(v), self._threshold), over=(self.alpha, 1.0 - self.l1_ratio))

    @quiet
    def prox(self, w: ArrayLike, step: float) -> Vector:
        """soft_threshold(w, step alpha r) / (1 + step alpha (1 - r))."""
        shrunk = soft_threshold(vector(w), step * self._threshold)
        return shrunk / (1.0 + step * self.alpha * (1.0 - self.l1_ratio))

    @quiet
    def conjugate_hessian(self, v: ArrayLike, A: Vector) -> Vector:
        """A_s'A_s / (alpha (1 - r)) over the rows s with |v_j| > alpha r: an element of the generalised Hessian."""
        active = A[np.abs(vector(v)) > self._threshold]
        return rescale(active.T @ active, over=(self.alpha, 1.0 - self.l1_ratio))
