"""alpha sum_j c_j |w_j|."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fenchel.regularizers.feature_weighted import FeatureWeighted
from fenchel.regularizers.feature_weights import (
    checked_vector,
    checked_weights,
    scale_into_box,
)
from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.regularizers.numerics import Vector, largest, product, quiet, soft_threshold, vector


@dataclass(frozen=True, eq=False, repr=False)
class L1(FeatureWeighted):
    """R(w) = alpha sum_j c_j |w_j|,   R*(v) = 0 if |v_j| <= alpha c_j for all j, else inf.

    c = weights, one number >= 0 per feature (0: not penalised); None means 1 each.
    The bound is tested without tolerance, so that a finite conjugate is a proof; `dual_scale` respects it bit for bit.

    >>> L1(0.5).value([3.0, -4.0]), L1(0.5).conjugate([0.5, 0.0]), L1(0.5).dual_scale([1.0, -2.0])
    (3.5, 0.0, 0.25)
    >>> L1(0.5, weights=[1.0, 0.0]).value([3.0, -4.0])
    1.5
    """

    tex = r"\alpha \sum_j \lvert w_j \rvert"
    weights: Any = None

    formula: ClassVar[str] = "alpha sum_j |w_j|"
    degree = 1.0
    separable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(weights=checked_weights(self.weights))

    def standardized(self, deviations: ArrayLike) -> L1:
        """c_j s_j."""
        s = checked_vector("deviations", deviations)
        return replace(self, weights=s if self.weights is None else self.weights * s)

    @quiet
    def value(self, w: ArrayLike) -> float:
        """alpha sum_j c_j |w_j|."""
        if self.weights is not None:
            return product(self.alpha, float(self.weights @ np.abs(vector(w))))
        return product(self.alpha, float(np.sum(np.abs(vector(w)))))

    def conjugate(self, v: ArrayLike) -> float:
        """0 inside the box |v_j| <= alpha c_j, inf outside."""
        if self.weights is not None:
            return 0.0 if np.all(np.abs(vector(v)) <= self.alpha * self.weights) else math.inf
        return 0.0 if largest(vector(v)) <= self.alpha else math.inf

    @quiet
    def dual_scale(self, v: ArrayLike) -> float:
        """min(1, min_j alpha c_j / |v_j|), rounded down until the scaled floats are inside."""
        if self.weights is not None:
            return scale_into_box(vector(v), self.alpha * self.weights)
        top = largest(vector(v))
        if top <= self.alpha:
            return 1.0
        scale = self.alpha / top
        while scale * top > self.alpha:  # rounding is monotone: when the largest entry is inside, all are
            scale = math.nextafter(scale, 0.0)
        return scale

    @quiet
    def prox(self, w: ArrayLike, step: float) -> Vector:
        """sign(w) max(|w| - step alpha c, 0)."""
        return soft_threshold(vector(w), self._thresholds(step))

    def _thresholds(self, step: float) -> Any:
        return step * (self.alpha if self.weights is None else self.alpha * self.weights)

    @quiet
    def prox_jacobian(self, w: ArrayLike, step: float) -> ProxJacobian:
        """1 where |w_j| > step alpha c_j, else 0."""
        w = vector(w)
        active = np.abs(w) > self._thresholds(step)
        if self.weights is not None:
            active |= self.weights == 0.0
        return ProxJacobian(active.astype(np.float64))
