"""alpha (l1_ratio |w|_1 + (1 - l1_ratio) sum_g c_g |w_g|_2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fenchel.errors import InputError
from fenchel.regularizers.group_lasso import GroupLasso
from fenchel.regularizers.groups import GroupPenalty
from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.regularizers.numerics import Vector, number, product, quiet, round_into, soft_threshold, vector

MAX_STEPS = 100


@dataclass(frozen=True, eq=False, repr=False)
class SparseGroupLasso(GroupLasso):
    """R(w) = alpha (r |w|_1 + (1 - r) sum_g c_g |w_g|_2),  R*(v) = 0 if |soft(v_g, alpha r)|_2 <= alpha (1 - r) c_g for all g.

    r = l1_ratio in [0, 1); soft is the soft threshold. Groups and weights are as in `GroupLasso`. Whole groups become 0, and
    single coefficients of the others.

    >>> reg = SparseGroupLasso(2.0, groups=[0, 0, 1], weights=[1.0, 1.0], l1_ratio=0.5)
    >>> reg.value([3.0, 4.0, -1.0]), reg.conjugate([1.6, 1.8, 0.0]), reg.dual_scale([0.0, 0.0, 4.0])
    (14.0, 0.0, 0.5)
    """

    tex = r"\alpha (r \lVert w \rVert_1 + (1 - r) \sum_g c_g \lVert w_g \rVert_2)"
    tex_where = "r the L1 ratio, c_g the weight of group g"
    l1_ratio: float = 0.5

    formula: ClassVar[str] = "alpha (l1_ratio sum_j |w_j| + (1 - l1_ratio) sum_g c_g (sum_{j in g} w_j^2)^(1/2))"

    def __post_init__(self) -> None:
        super().__post_init__()
        ratio = number("l1_ratio", self.l1_ratio)
        if not 0.0 <= ratio < 1.0:
            raise InputError(f"l1_ratio must be in [0, 1), got {self.l1_ratio!r}; for 1, use L1(alpha).")
        self._set(l1_ratio=ratio)

    @cached_property
    def _penalty(self) -> GroupPenalty:
        weights = np.sqrt(np.bincount(self.groups)) if self.weights is None else self.weights
        return GroupPenalty(self.groups, self.alpha * (1.0 - self.l1_ratio) * weights)

    @property
    def _threshold(self) -> float:
        return self.alpha * self.l1_ratio

    @quiet
    def value(self, w: ArrayLike) -> float:
        """alpha (r |w|_1 + (1 - r) sum_g c_g |w_g|)."""
        return product(self._threshold, float(np.sum(np.abs(vector(w))))) + super().value(w)

    def conjugate(self, v: ArrayLike) -> float:
        """0 if |soft(v_g, alpha r)| <= alpha (1 - r) c_g for all g, else inf."""
        return super().conjugate(soft_threshold(vector(v), self._threshold))

    @quiet
    def dual_scale(self, v: ArrayLike) -> float:
        """The root of the last group to enter: |soft(c v_g, alpha r)| is convex in c, so Newton's method descends to it."""
        v = vector(v)
        groups, bounds = self._penalty.groups, self._penalty.bounds
        if self.conjugate(v) == 0.0:
            return 1.0
        scale = 1.0
        for _ in range(MAX_STEPS):
            soft = soft_threshold(scale * v, self._threshold)
            norms = groups.norms(soft)
            unit = soft / np.where(norms > 0.0, norms, 1.0)[groups.labels]
            rise = np.bincount(groups.labels, unit * v)
            outside = norms > bounds
            if not outside.any():
                break
            following = scale - float(np.max((norms - bounds)[outside] / rise[outside]))
            if not 0.0 < following < scale:
                break
            scale = following
        return round_into(scale, lambda c: self.conjugate(c * v) == 0.0)

    @quiet
    def prox(self, w: ArrayLike, step: float) -> Vector:
        """The group prox of the soft threshold of w."""
        return super().prox(soft_threshold(vector(w), step * self._threshold), step)

    @quiet
    def prox_jacobian(self, w: ArrayLike, step: float) -> ProxJacobian:
        """That of the group prox at the soft threshold of w, on the coefficients beyond the threshold."""
        threshold = step * self._threshold
        moves = (np.abs(vector(w)) > threshold) | (threshold == 0.0)
        return self._penalty.prox_jacobian(soft_threshold(vector(w), threshold), step, moves.astype(np.float64))
