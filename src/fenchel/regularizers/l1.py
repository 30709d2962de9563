"""alpha |w|_1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.numerics import Vector, largest, product, quiet, soft_threshold, vector


@dataclass(frozen=True, eq=False)
class L1(Regularizer):
    """R(w) = alpha |w|_1,   R*(v) = 0 if max_j |v_j| <= alpha, else inf.

    The bound is tested without tolerance, so that a finite conjugate is a proof; `dual_scale` respects it bit for bit.

    >>> L1(0.5).value([3.0, -4.0]), L1(0.5).conjugate([0.5, 0.0]), L1(0.5).dual_scale([1.0, -2.0])
    (3.5, 0.0, 0.25)
    """

    tex = r"\alpha \sum_j \lvert w_j \rvert"
    formula: ClassVar[str] = "alpha sum_j |w_j|"

    @quiet
    def value(self, w: ArrayLike) -> float:
        """alpha |w|_1."""
        return product(self.alpha, float(np.sum(np.abs(vector(w)))))

    def conjugate(self, v: ArrayLike) -> float:
        """0 inside the box |v_j| <= alpha, inf outside."""
        return 0.0 if largest(vector(v)) <= self.alpha else math.inf

    @quiet
    def dual_scale(self, v: ArrayLike) -> float:
        """min(1, alpha / max_j |v_j|), rounded down until the floats c * v_j are inside."""
        top = largest(vector(v))
        if top <= self.alpha:
            return 1.0
        scale = self.alpha / top
        while scale * top > self.alpha:  # rounding is monotone: when the largest entry is inside, all are
            scale = math.nextafter(scale, 0.0)
        return scale

    @quiet
    def prox(self, w: ArrayLike, step: float) -> Vector:
        """sign(w) max(|w| - step alpha, 0)."""
        return soft_threshold(vector(w), step * self.alpha)
