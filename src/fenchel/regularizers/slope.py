"""alpha sum_j c_j |w|_(j), with |w|_(1) >= |w|_(2) >= ...: the sorted L1 norm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from fenchel.errors import InputError
from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.chain_kernels import decreasing_fit
from fenchel.regularizers.feature_weights import checked_weights, fit_vector
from fenchel.regularizers.jacobian import ProxJacobian, with_clusters
from fenchel.regularizers.numerics import Vector, product, quiet, round_into, vector

LOWEST = -1e307  # for differences that overflow: so low that sums with them stay below 0


@dataclass(frozen=True, eq=False, repr=False)
class Slope(Regularizer):
    """R(w) = alpha sum_j c_j |w|_(j),   R*(v) = 0 if |v|_(1) + ... + |v|_(k) <= alpha (c_1 + ... + c_k) for all k, else inf.

    |w|_(1) >= |w|_(2) >= ... are the sorted absolute values; c = weights >= 0 must not increase. Features that are
    correlated get coefficients of equal size. Constant weights give L1, (1, 0, ..., 0) the largest absolute value.

    >>> reg = Slope(0.5, weights=[2.0, 1.0])
    >>> reg.value([3.0, -4.0]), reg.conjugate([0.5, -1.0]), reg.dual_scale([2.0, 2.0]), reg.prox([4.0, -3.5], 2.0)
    (5.5, 0.0, 0.375, array([ 2.25, -2.25]))
    """

    tex = r"\alpha \sum_j c_j \lvert w \rvert_{(j)}"
    tex_where = "c the weights of the sorted sizes"
    weights: Any

    formula: ClassVar[str] = "alpha sum_j c_j |w|_(j), |w|_(1) >= |w|_(2) >= ..."
    degree = 1.0
    sorts: ClassVar[bool] = True

    @classmethod
    def example(cls, dim: int) -> Self:
        """One that fits `dim` features."""
        return cls(0.1, np.arange(dim, 0.0, -1.0))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights is None:
            raise InputError("weights of Slope are needed: one number per feature, none larger than the one before it.")
        weights = checked_weights(self.weights)
        assert weights is not None
        rises = np.flatnonzero(np.diff(weights) > 0.0)
        if rises.size:
            j = int(rises[0])
            raise InputError(
                f"weights must not increase: weights[{j}] is {weights[j]} and weights[{j + 1}] is {weights[j + 1]}; sort them "
                "in descending order, as the penalty is not convex otherwise."
            )
        if not weights[0] > 0.0:
            raise InputError("weights[0] is 0: the largest weight must be > 0.")
        self._set(weights=weights)

    def for_outputs(self, features: int, outputs: int) -> Regularizer:
        """Refused: the sizes would be sorted for each score by itself, which is another function."""
        raise InputError("Slope is for problems of one score per row; use MultiTask or L1 for several.")

    def validate(self, dim: int) -> None:
        """Raise InputError when there is not one weight per feature."""
        super().validate(dim)
        fit_vector("weights", self.weights, dim)

    @quiet
    def value(self, w: ArrayLike) -> float:
        """alpha sum_j c_j |w|_(j)."""
        return product(self.alpha, float(self.weights @ np.sort(np.abs(vector(w)))[::-1]))

    @quiet
    def _sums(self, v: Vector) -> tuple[Vector, Vector]:
        return np.cumsum(np.sort(np.abs(v))[::-1]), self.alpha * np.cumsum(self.weights)

    def conjugate(self, v: ArrayLike) -> float:
        """0 where no sum of the largest |v_j| exceeds alpha times that of the largest weights, else inf."""
        sums, bounds = self._sums(vector(v))
        return 0.0 if np.all(sums <= bounds) else math.inf

    @quiet
    def dual_scale(self, v: ArrayLike) -> float:
        """The smallest ratio of the two sums, rounded down until the scaled floats are inside."""
        v = vector(v)
        sums, bounds = self._sums(v)
        outside = sums > bounds
        if not outside.any():
            return 1.0
        return round_into(float(np.min(bounds[outside] / sums[outside])), lambda c: self.conjugate(c * v) == 0.0)

    @quiet
    def _fitted(self, w: Vector, step: float) -> tuple[np.ndarray, Vector]:
        """(the order of the |w_j|, the largest first; the sizes of the prox in that order)."""
        size = np.abs(w)
        order = np.argsort(-size, kind="stable")
        thresholds = np.where(self.weights > 0.0, step * self.alpha * self.weights, 0.0)
        fitted = np.maximum(size[order] - thresholds, LOWEST)
        decreasing_fit(fitted)
        return order, np.maximum(fitted, 0.0)

    def prox(self, w: ArrayLike, step: float) -> Vector:
        """Isotonic regression of the sorted |w| - step alpha c, at least 0."""
        w = vector(w)
        order, fitted = self._fitted(w, step)
        x = np.empty(w.size)
        x[order] = fitted
        return np.copysign(x, w)

    def prox_jacobian(self, w: ArrayLike, step: float) -> ProxJacobian:
        """s s' / |s|^2 for every set of coefficients that have the same size > 0, with s their signs."""
        w = vector(w)
        order, fitted = self._fitted(w, step)
        starts = np.flatnonzero(np.append(True, fitted[1:] != fitted[:-1]))
        counts = np.diff(np.append(starts, w.size))
        moves = fitted[starts] > 0.0
        tied = moves & (counts > 1)
        alone, labels = np.zeros(w.size), np.empty(w.size, dtype=np.intp)
        alone[order] = np.repeat(moves & ~tied, counts)
        labels[order] = np.repeat(np.where(tied, np.cumsum(tied) - 1, -1), counts)
        return with_clusters(alone, labels, np.sign(w), 1.0 / counts[tied])
