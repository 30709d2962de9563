"""alpha (l1_ratio |w|_1 + (1 - l1_ratio)/2 w'w)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fenchel.errors import InputError
from fenchel.regularizers.base import available_if
from fenchel.regularizers.feature_weighted import FeatureWeighted
from fenchel.regularizers.feature_weights import checked_vector, checked_weights
from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.regularizers.metric import DiagonalMetric
from fenchel.regularizers.numerics import Vector, half_square, number, product, quiet, rescale, soft_threshold, vector


@dataclass(frozen=True, eq=False, repr=False)
class ElasticNet(FeatureWeighted):
    """R(w) = alpha sum_j c_j (r |w_j| + (1 - r)/2 w_j^2),  R*(v) = sum_j max(|v_j| - alpha c_j r, 0)^2 / (2 alpha c_j (1 - r)).

    r = l1_ratio in [0, 1); grad R*(v) is the soft threshold of v at alpha c r, divided by alpha c (1 - r). c = weights, one
    number >= 0 per feature; None means 1 each. Where c_j = 0 the feature is not penalised: R*(v) is inf unless v_j = 0.
    The squares may have weights of their own, `square_weights`, which are 0 for the same features.

    >>> reg = ElasticNet(2.0, l1_ratio=0.5)
    >>> reg.value([3.0, 4.0]), reg.conjugate([3.0, -0.5]), reg.primal_from_dual([3.0, -1.0])
    (19.5, 2.0, array([ 2., -0.]))
    >>> ElasticNet(2.0, weights=[1.0, 0.0]).value([3.0, 4.0])
    7.5
    """

    tex = r"\alpha \sum_j (r \lvert w_j \rvert + \frac{1 - r}{2} w_j^2)"
    tex_where = "r the L1 ratio"
    l1_ratio: float = 0.5
    weights: Any = None
    square_weights: Any = None

    omitted_if_none: ClassVar[tuple[str, ...]] = ("weights", "square_weights")
    formula: ClassVar[str] = "alpha (l1_ratio sum_j |w_j| + (1 - l1_ratio)/2 sum_j w_j^2)"
    separable: ClassVar[bool] = True
    strongly_convex: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        ratio = number("l1_ratio", self.l1_ratio)
        if ratio == 1.0:
            raise InputError("l1_ratio must be < 1, got 1: with no quadratic part, use L1(alpha).")
        if not 0.0 <= ratio < 1.0:
            raise InputError(f"l1_ratio must be in [0, 1), got {self.l1_ratio!r}.")
        self._set(l1_ratio=ratio, weights=checked_weights(self.weights))
        self._set(square_weights=checked_weights(self.square_weights, "square_weights"))
        self._check_square_weights()
        if not self._invertible:
            self._set(strongly_convex=False)

    @property
    def _invertible(self) -> bool:
        return self.weights is None or bool(np.all(self.weights > 0.0))

    def _check_square_weights(self) -> None:
        if self.square_weights is None:
            return
        if self.weights is None or self.weights.shape != self.square_weights.shape:
            raise InputError("square_weights needs weights beside it, with as many entries.")
        one = np.flatnonzero((self.weights == 0.0) != (self.square_weights == 0.0))
        if one.size:
            raise InputError(f"only one of weights[{one[0]}] and square_weights[{one[0]}] is 0: make both 0, or none.")

    @property
    def _square_weights(self) -> Any:
        return self.weights if self.square_weights is None else self.square_weights

    @property
    def _threshold(self) -> Any:
        """alpha c r."""
        threshold = self.alpha * self.l1_ratio
        return threshold if self.weights is None else threshold * self.weights

    def standardized(self, deviations: ArrayLike) -> ElasticNet:
        """c_j s_j for the absolute values, c_j s_j^2 for the squares."""
        s = checked_vector("deviations", deviations)
        c, square = (1.0, 1.0) if self.weights is None else (self.weights, self._square_weights)
        return replace(self, weights=c * s, square_weights=square * s * s)

    def dual_scale(self, v: ArrayLike) -> float:
        """1, or 0 if v_j is not 0 for a feature that is not penalised."""
        if self._invertible:
            return 1.0
        return 0.0 if np.any(vector(v)[self.weights == 0.0] != 0.0) else 1.0

    def metric(self, dim: int) -> DiagonalMetric:
        """sqrt(sum_j alpha c_j (1 - r) w_j^2), c the weights of the squares."""
        c = 1.0 if self.weights is None else self._square_weights
        return DiagonalMetric(np.broadcast_to(np.asarray(self.alpha * (1.0 - self.l1_ratio) * c), (dim,)))

    @quiet
    def value(self, w: ArrayLike) -> float:
        """alpha (r |w|_1 + (1 - r)/2 w'w)."""
        x = vector(w)
        size = 0.0
        if self.l1_ratio:
            total = np.sum(np.abs(x)) if self.weights is None else self.weights @ np.abs(x)
            size = product(self.alpha, self.l1_ratio, float(total))
        if self.weights is not None:
            x = np.sqrt(self._square_weights) * x
        return size + half_square(x, self.alpha, 1.0 - self.l1_ratio)

    @quiet
    def conjugate(self, v: ArrayLike) -> float:
        """sum_j max(|v_j| - alpha c_j r, 0)^2 / (2 alpha c_j (1 - r)); inf unless v_j = 0 where c_j = 0."""
        v = vector(v)
        soft = soft_threshold(v, self._threshold)
        if self.weights is not None:
            free = self.weights == 0.0
            if np.any(v[free] != 0.0):
                return math.inf
            soft = soft[~free] / np.sqrt(self._square_weights[~free])
        return half_square(soft, over=(self.alpha, 1.0 - self.l1_ratio))

    @available_if(lambda self: self._invertible)
    @quiet
    def primal_from_dual(self, v: ArrayLike) -> Vector:
        """soft_threshold(v, alpha c r) / (alpha c (1 - r))."""
        soft = soft_threshold(vector(v), self._threshold)
        if self.weights is not None:
            soft = soft / self._square_weights
        return rescale(soft, over=(self.alpha, 1.0 - self.l1_ratio))

    @quiet
    def prox(self, w: ArrayLike, step: float) -> Vector:
        """soft_threshold(w, step alpha c r) / (1 + step alpha c (1 - r))."""
        shrunk = soft_threshold(vector(w), step * self._threshold)
        return shrunk / self._shrinkage(step)

    def _shrinkage(self, step: float) -> Any:
        """1 + step alpha c (1 - r)."""
        if self.weights is None:
            return 1.0 + step * self.alpha * (1.0 - self.l1_ratio)
        return 1.0 + step * (self.alpha * (1.0 - self.l1_ratio) * self._square_weights)

    @quiet
    def prox_jacobian(self, w: ArrayLike, step: float) -> ProxJacobian:
        """1 / (1 + step alpha c (1 - r)) where |w_j| > step alpha c_j r, else 0."""
        threshold = step * self._threshold
        active = (np.abs(vector(w)) > threshold) | (np.asarray(threshold) == 0.0)
        return ProxJacobian(np.where(active, 1.0, 0.0) / self._shrinkage(step))

    @available_if(lambda self: self._invertible)
    @quiet
    def conjugate_hessian(self, v: ArrayLike, A: Vector) -> Vector:
        """A_s' diag(1/c_s) A_s / (alpha (1 - r)) over the rows s with |v_j| > alpha c_j r, of the generalised Hessian."""
        if self.weights is not None:
            A = A / np.sqrt(self._square_weights)[:, None]
        active = A[np.abs(vector(v)) > self._threshold]
        return rescale(active.T @ active, over=(self.alpha, 1.0 - self.l1_ratio))
