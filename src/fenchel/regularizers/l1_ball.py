"""The set |w|_1 <= radius."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fenchel.projections.simplex import simplex
from fenchel.regularizers.constraint_set import Ball, is_within, refit
from fenchel.regularizers.jacobian import ProxJacobian, with_clusters
from fenchel.regularizers.numerics import Vector, largest, product, quiet, vector


@dataclass(frozen=True, eq=False, repr=False)
class L1Ball(Ball):
    """R(w) = 0 if sum_j |w_j| <= radius, else inf,   R*(v) = radius max_j |v_j|.

    A sum counts as at most the radius up to a relative 16 eps. Of several scores, all coefficients together are meant.

    >>> ball = L1Ball(2.0)
    >>> ball.value([1.0, -1.0]), ball.value([1.0, 2.0]), ball.conjugate([3.0, -4.0]), ball.prox([3.0, -2.0], 1.0)
    (0.0, inf, 8.0, array([ 1.5, -0.5]))
    """

    tex = r"\iota(\lVert w \rVert_1 \le r)"
    formula: ClassVar[str] = "0 if sum_j |w_j| <= radius, else inf"

    @quiet
    def value(self, w: ArrayLike) -> float:
        """0 in the ball, inf outside."""
        return 0.0 if is_within(float(np.sum(np.abs(vector(w)))), self.radius) else math.inf

    @quiet
    def conjugate(self, v: ArrayLike) -> float:
        """radius max_j |v_j|."""
        return product(self.radius, largest(vector(v)))

    @quiet
    def prox(self, w: ArrayLike, step: float) -> Vector:
        """The nearest point of the ball: a soft threshold that brings the sum to the radius."""
        w = vector(w)
        size = np.abs(w)
        if float(np.sum(size)) <= self.radius:
            return w.copy()
        x = simplex(size - (largest(w) - self.radius), self.radius)  # shifted: large numbers would lose the radius
        return np.copysign(refit(x, float(np.sum(x)), self.radius), w)

    def prox_jacobian(self, w: ArrayLike, step: float) -> ProxJacobian:
        """diag(a) - s s' / |s|^2 with a, s = |sign x|, sign x at x = prox(w); the identity inside the ball."""
        w = vector(w)
        x = self.prox(w, step)
        if np.array_equal(x, w):
            return ProxJacobian(np.ones(w.size))
        s = np.sign(x)
        return with_clusters(np.abs(s), np.where(s != 0.0, 0, -1), s, np.array([-1.0 / np.count_nonzero(s)]))
