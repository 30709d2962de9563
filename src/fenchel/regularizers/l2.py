"""alpha/2 sum_j c_j w_j^2."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fenchel.regularizers.base import available_if
from fenchel.regularizers.feature_weighted import FeatureWeighted
from fenchel.regularizers.feature_weights import checked_vector, checked_weights
from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.regularizers.metric import DiagonalMetric
from fenchel.regularizers.numerics import Vector, half_square, quiet, vector


@dataclass(frozen=True, eq=False, repr=False)
class L2(FeatureWeighted):
    """R(w) = alpha/2 sum_j c_j w_j^2,   R*(v) = sum_j v_j^2 / (2 alpha c_j),   grad R*(v) = v / (alpha c).

    c = weights, one number >= 0 per feature; None means 1 each. Where c_j = 0 the feature is not penalised: R*(v) is inf
    unless v_j = 0, and there is no grad R*.

    >>> L2(0.5).value([3.0, 4.0]), L2(0.5).conjugate([3.0, 4.0]), L2(0.5).primal_from_dual([1.0, 2.0])
    (6.25, 25.0, array([2., 4.]))
    >>> L2(0.5, weights=[1.0, 0.0]).value([3.0, 4.0]), L2(0.5, weights=[1.0, 0.0]).conjugate([3.0, 4.0])
    (2.25, inf)
    """

    tex = r"\frac{\alpha}{2} \sum_j w_j^2"
    weights: Any = None

    formula: ClassVar[str] = "alpha/2 sum_j w_j^2"
    degree = 2.0
    separable: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    strongly_convex: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(weights=checked_weights(self.weights))
        if not self._invertible:
            self._set(strongly_convex=False)

    @property
    def _invertible(self) -> bool:
        return self.weights is None or bool(np.all(self.weights > 0.0))

    @property
    def _strengths(self) -> Any:
        """alpha c."""
        return self.alpha if self.weights is None else self.alpha * self.weights

    def standardized(self, deviations: ArrayLike) -> L2:
        """c_j s_j^2."""
        s = checked_vector("deviations", deviations)
        return replace(self, weights=s * s if self.weights is None else self.weights * s * s)

    def metric(self, dim: int) -> DiagonalMetric:
        """sqrt(sum_j alpha c_j w_j^2)."""
        return DiagonalMetric(np.broadcast_to(np.asarray(self._strengths, dtype=np.float64), (dim,)))

    def value(self, w: ArrayLike) -> float:
        """alpha/2 sum_j c_j w_j^2."""
        x = vector(w)
        return half_square(x if self.weights is None else self._weighted(x), self.alpha)

    def conjugate(self, v: ArrayLike) -> float:
        """sum_j v_j^2 / (2 alpha c_j); inf unless v_j = 0 where c_j = 0."""
        x = vector(v)
        if self.weights is not None:
            free = self.weights == 0.0
            if np.any(x[free] != 0.0):
                return math.inf
            x = self._divided(x, ~free)
        return half_square(x, over=(self.alpha,))

    @quiet
    def _weighted(self, x: Vector) -> Vector:
        return np.sqrt(self.weights) * x

    @quiet
    def _divided(self, x: Vector, at: Vector) -> Vector:
        assert self.weights is not None
        return x[at] / np.sqrt(self.weights[at])

    def dual_scale(self, v: ArrayLike) -> float:
        """1, or 0 if v_j is not 0 for a feature that is not penalised."""
        if self._invertible:
            return 1.0
        return 0.0 if np.any(vector(v)[self.weights == 0.0] != 0.0) else 1.0

    @available_if(lambda self: self._invertible)
    @quiet
    def primal_from_dual(self, v: ArrayLike) -> Vector:
        """v / (alpha c)."""
        return vector(v) / self._strengths

    @quiet
    def gradient(self, w: ArrayLike) -> Vector:
        """alpha c w."""
        return self._strengths * vector(w)

    def hessian(self, dim: int) -> Vector:
        """alpha diag(c)."""
        return self.alpha * np.eye(dim) if self.weights is None else np.diag(self._strengths)

    @quiet
    def prox(self, w: ArrayLike, step: float) -> Vector:
        """w / (1 + step alpha c)."""
        return vector(w) / (1.0 + step * self._strengths)

    @quiet
    def prox_jacobian(self, w: ArrayLike, step: float) -> ProxJacobian:
        """1 / (1 + step alpha c) on the diagonal."""
        return ProxJacobian(np.ones(np.shape(w)) / (1.0 + step * self._strengths))

    @available_if(lambda self: self._invertible)
    @quiet
    def conjugate_hessian(self, v: ArrayLike, A: Vector) -> Vector:
        """A' diag(1 / (alpha c)) A."""
        if self.weights is not None:
            A = A / np.sqrt(self.weights)[:, None]
        return (A.T @ A) / self.alpha
