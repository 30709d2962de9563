"""The set |w|_2 <= radius."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fenchel.regularizers.constraint_set import Ball, is_within, refit
from fenchel.regularizers.jacobian import ProxJacobian, with_clusters
from fenchel.regularizers.numerics import Vector, norm, product, quiet, vector


@dataclass(frozen=True, eq=False, repr=False)
class L2Ball(Ball):
    """R(w) = 0 if |w|_2 <= radius, else inf,   R*(v) = radius |v|_2.

    A norm counts as at most the radius up to a relative 16 eps. Of several scores, all coefficients together are meant.

    >>> ball = L2Ball(5.0)
    >>> ball.value([3.0, -4.0]), ball.value([4.0, 4.0]), ball.conjugate([3.0, 4.0]), ball.prox([6.0, 8.0], 1.0)
    (0.0, inf, 25.0, array([3., 4.]))
    """

    tex = r"\iota(\lVert w \rVert_2 \le r)"
    formula: ClassVar[str] = "0 if (sum_j w_j^2)^(1/2) <= radius, else inf"

    def value(self, w: ArrayLike) -> float:
        """0 in the ball, inf outside."""
        return 0.0 if is_within(norm(vector(w)), self.radius) else math.inf

    def conjugate(self, v: ArrayLike) -> float:
        """radius |v|_2."""
        return product(self.radius, norm(vector(v)))

    @quiet
    def prox(self, w: ArrayLike, step: float) -> Vector:
        """The nearest point of the ball."""
        w = vector(w)
        size = norm(w)
        return refit(w, size, self.radius) if size > self.radius else w.copy()

    @quiet
    def prox_jacobian(self, w: ArrayLike, step: float) -> ProxJacobian:
        """radius / |w| (I - q q') with q = w / |w|; the identity inside the ball."""
        w = vector(w)
        size = norm(w)
        if size <= self.radius:
            return ProxJacobian(np.ones(w.size))
        ratio = self.radius / size
        return with_clusters(np.full(w.size, ratio), np.zeros(w.size, dtype=np.intp), w / size, np.array([-ratio]))
