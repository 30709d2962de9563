"""alpha sum_j c_j |(w_j1, ..., w_jm)|_2: the coefficients of one feature for all m scores are a group."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fenchel.errors import InputError
from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.feature_weights import checked_vector, checked_weights, fit_vector
from fenchel.regularizers.groups import GroupPenalty
from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.regularizers.numerics import Vector, vector


def checked_outputs(outputs: Any) -> int:
    """A whole number >= 1, or an InputError."""
    if isinstance(outputs, (int, np.integer)) and not isinstance(outputs, bool) and outputs >= 1:
        return int(outputs)
    raise InputError(f"outputs must be a whole number >= 1, the number of scores, got {outputs!r}.")


def fit_outputs(dim: int, outputs: int) -> None:
    """Raise InputError unless `dim` variables are so many for every feature."""
    if dim % outputs:
        raise InputError(f"{dim} variables are not {outputs} for each feature; leave `outputs` to the problem.")


@dataclass(frozen=True, eq=False, repr=False)
class MultiTask(Regularizer):
    """R(W) = alpha sum_j c_j |(w_j1, ..., w_jm)|_2,   R*(V) = 0 if |(v_j1, ..., v_jm)|_2 <= alpha c_j for all j, else inf.

    For problems of several scores (classes or targets): a feature is used for all of them, or for none. c = weights, one
    number > 0 per feature; None means 1 each. m = outputs is set by the problem. The variables are W feature by feature.

    >>> reg = MultiTask(0.5, outputs=2)
    >>> reg.value([3.0, 4.0, 0.0, -1.0]), reg.conjugate([0.3, 0.4, 0.0, 0.5]), reg.dual_scale([3.0, 4.0, 1.0, 0.0])
    (3.0, 0.0, 0.1)
    """

    tex = r"\alpha \sum_j c_j \lVert (w_{j1}, \ldots, w_{jm}) \rVert_2"
    tex_where = "c_j the weight of feature j"
    weights: Any = None
    outputs: int = 1

    formula: ClassVar[str] = "alpha sum_j c_j (sum_k w_jk^2)^(1/2)"
    degree = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        weights = checked_weights(self.weights)
        if weights is not None and not weights.all():
            raise InputError(f"weights[{int(np.argmin(weights))}] is 0: give every feature a weight > 0.")
        self._set(weights=weights, outputs=checked_outputs(self.outputs))

    def _penalty(self, dim: int) -> GroupPenalty:
        return _rows(self, dim)

    def standardized(self, deviations: ArrayLike) -> MultiTask:
        """c_j s_j."""
        s = checked_vector("deviations", deviations)
        return replace(self, weights=s if self.weights is None else self.weights * s)

    def for_outputs(self, features: int, outputs: int) -> Regularizer:
        """The penalty of features * outputs variables."""
        return replace(self, outputs=outputs)

    def validate(self, dim: int) -> None:
        """Raise InputError when there is not one weight per feature."""
        super().validate(dim)
        fit_outputs(dim, self.outputs)
        fit_vector("weights", self.weights, dim // self.outputs)

    def value(self, w: ArrayLike) -> float:
        """alpha sum_j c_j |w_j|."""
        return self._penalty(np.size(w)).value(vector(w))

    def conjugate(self, v: ArrayLike) -> float:
        """0 if |v_j| <= alpha c_j for all j, else inf."""
        return 0.0 if self._penalty(np.size(v)).contains(vector(v)) else math.inf

    def dual_scale(self, v: ArrayLike) -> float:
        """min(1, min_j alpha c_j / |v_j|), rounded down until the scaled floats are inside."""
        return self._penalty(np.size(v)).scale_into(vector(v))

    def prox(self, w: ArrayLike, step: float) -> Vector:
        """w_j max(1 - step alpha c_j / |w_j|, 0)."""
        return self._penalty(np.size(w)).prox(vector(w), step)

    def prox_jacobian(self, w: ArrayLike, step: float) -> ProxJacobian:
        """As that of `GroupLasso`, a group being the coefficients of one feature."""
        return self._penalty(np.size(w)).prox_jacobian(vector(w), step)


@lru_cache(maxsize=16)
def _rows(reg: MultiTask, dim: int) -> GroupPenalty:
    features = dim // reg.outputs
    weights = np.ones(features) if reg.weights is None else reg.weights
    return GroupPenalty(np.repeat(np.arange(features), reg.outputs), reg.alpha * weights)
