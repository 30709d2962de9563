"""alpha sum_g c_g |w_g|_2."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.feature_weights import fit_vector
from fenchel.regularizers.groups import GroupPenalty, checked_group_weights, checked_groups
from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.regularizers.numerics import Vector, vector


@dataclass(frozen=True, eq=False, repr=False)
class GroupLasso(Regularizer):
    """R(w) = alpha sum_g c_g |w_g|_2,   R*(v) = 0 if |v_g|_2 <= alpha c_g for all g, else inf.

    groups: the group number of every feature, or a list of features for every group; they must not overlap. c = weights, one
    number > 0 per group; None means the square root of the group's size. Whole groups of coefficients become 0.

    >>> reg = GroupLasso(0.5, groups=[0, 0, 1], weights=[1.0, 2.0])
    >>> reg.value([3.0, 4.0, -1.0]), reg.conjugate([0.3, 0.4, 1.0]), reg.dual_scale([3.0, 4.0, 1.0])
    (3.5, 0.0, 0.1)
    >>> GroupLasso(0.5, groups=[[0, 1], [2]], weights=[1.0, 2.0]) == reg
    True
    """

    tex = r"\alpha \sum_g c_g \lVert w_g \rVert_2"
    tex_where = "c_g the weight of group g"
    groups: Any
    weights: Any = None

    formula: ClassVar[str] = "alpha sum_g c_g (sum_{j in g} w_j^2)^(1/2)"
    degree = 1.0

    @classmethod
    def example(cls, dim: int) -> Self:
        """One that fits `dim` features."""
        return cls(0.1, np.arange(dim) // 2)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(groups=checked_groups(self.groups))
        self._set(weights=checked_group_weights(self.weights, self.groups))

    @cached_property
    def _penalty(self) -> GroupPenalty:
        weights = np.sqrt(np.bincount(self.groups)) if self.weights is None else self.weights
        return GroupPenalty(self.groups, self.alpha * weights)

    def for_outputs(self, features: int, outputs: int) -> Regularizer:
        """The same groups for every score, each score by itself."""
        labels = np.repeat(self.groups * outputs, outputs) + np.tile(np.arange(outputs), self.groups.size)
        weights = None if self.weights is None else np.repeat(self.weights, outputs)
        return replace(self, groups=labels, weights=weights)

    def validate(self, dim: int) -> None:
        """Raise InputError when there is not one group number per feature."""
        super().validate(dim)
        fit_vector("groups", self.groups, dim)

    def value(self, w: ArrayLike) -> float:
        """alpha sum_g c_g |w_g|."""
        return self._penalty.value(vector(w))

    def conjugate(self, v: ArrayLike) -> float:
        """0 if |v_g| <= alpha c_g for all g, else inf."""
        return 0.0 if self._penalty.contains(vector(v)) else math.inf

    def dual_scale(self, v: ArrayLike) -> float:
        """min(1, min_g alpha c_g / |v_g|), rounded down until the scaled floats are inside."""
        return self._penalty.scale_into(vector(v))

    def prox(self, w: ArrayLike, step: float) -> Vector:
        """w_g max(1 - step alpha c_g / |w_g|, 0)."""
        return self._penalty.prox(vector(w), step)

    def prox_jacobian(self, w: ArrayLike, step: float) -> ProxJacobian:
        """f_g I + (1 - f_g) q_g q_g' for every group with f_g = 1 - step alpha c_g / |w_g| > 0, q_g = w_g / |w_g|."""
        return self._penalty.prox_jacobian(vector(w), step)
