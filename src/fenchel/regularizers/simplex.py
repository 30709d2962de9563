"""The set w >= 0, sum w = total."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fenchel.projections.simplex import simplex
from fenchel.regularizers.constraint_set import ConstraintSet, is_within
from fenchel.regularizers.jacobian import ProxJacobian, with_clusters
from fenchel.regularizers.numerics import Vector, positive, product, quiet, vector


@dataclass(frozen=True, eq=False, repr=False)
class Simplex(ConstraintSet):
    """R(w) = 0 if w >= 0 and sum_j w_j = total, else inf,   R*(v) = total max_j v_j.

    A sum counts as the total up to a relative 16 eps. Of several scores, all coefficients together are meant.

    >>> mix = Simplex()
    >>> mix.value([0.25, 0.75]), mix.value([0.5, 0.6]), mix.conjugate([-3.0, -4.0]), mix.prox([0.5, 1.0], 1.0)
    (0.0, inf, -3.0, array([0.25, 0.75]))
    """

    tex = r"\iota(w \ge 0, \sum_j w_j = t)"
    tex_where = "ι 0 where its condition holds, else infinite; t the total"
    total: float = 1.0

    formula: ClassVar[str] = "0 if w >= 0 and sum_j w_j = total, else inf"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(total=positive("total", self.total))

    def start(self, dim: int) -> Vector:
        """Equal shares."""
        return np.full(dim, self.total / dim)

    @quiet
    def value(self, w: ArrayLike) -> float:
        """0 in the simplex, inf outside."""
        w = vector(w)
        size = float(np.sum(w))
        inside = np.all(w >= 0.0) and is_within(size, self.total) and is_within(self.total, size)
        return 0.0 if inside else math.inf

    @quiet
    def conjugate(self, v: ArrayLike) -> float:
        """total max_j v_j."""
        return product(self.total, float(np.max(vector(v))))

    @quiet
    def prox(self, w: ArrayLike, step: float) -> Vector:
        """The nearest point of the simplex."""
        w = vector(w)
        x = simplex(w - (float(np.max(w)) - self.total), self.total)  # shifted: large numbers would lose the total
        return x * (self.total / float(np.sum(x)))

    def prox_jacobian(self, w: ArrayLike, step: float) -> ProxJacobian:
        """diag(a) - a a' / |a|^2 with a = 1 where prox(w) > 0, else 0."""
        active = self.prox(w, step) > 0.0
        ones = active.astype(np.float64)
        return with_clusters(ones, np.where(active, 0, -1), ones, np.array([-1.0 / np.count_nonzero(active)]))
