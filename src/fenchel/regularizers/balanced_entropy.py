"""The entropies of w = a - b, a and b >= 0 with equal priors: balanced Winnow in d instead of 2d variables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fenchel.regularizers.base import Regularizer, available_if
from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.regularizers.numerics import Vector, largest, positive, product, quiet, vector
from fenchel.regularizers.prior import Prior, checked_prior, fit_prior, resolve_prior

EPS = float(np.finfo(np.float64).eps)
MOST_STEPS = 100  # of Newton's method; 5 to 10 are taken as a rule


@dataclass(frozen=True, eq=False)
class BalancedEntropy(Regularizer):
    """R(w) = alpha sum_j (w_j asinh(w_j / 2p_j) - sqrt(w_j^2 + 4p_j^2) + 2p_j).

    R*(v) = 2 alpha sum_j p_j (cosh(v_j / alpha) - 1), grad R*(v) = 2p sinh(v / alpha). With a total A, R(w) is the entropy
    of the best a - b = w, sum(a + b) = A, and inf if |w|_1 > A (up to a relative 1e-12 + d eps); then
    R*(v) = alpha A ln sum_j (2p_j / A) cosh(v_j / alpha), grad R*(v) = A p sinh(v / alpha) / sum(p cosh(v / alpha)).
    The prior p is one number or one per feature; None means 1/(2d) each, A/(2d) with a total.

    >>> reg = BalancedEntropy(2.0, prior=0.5)
    >>> reg.value([0.0, 0.0]), reg.conjugate([0.0, 0.0]), reg.primal_from_dual([0.0, 0.0])
    (0.0, 0.0, array([0., 0.]))
    >>> BalancedEntropy(2.0, total=1.0).value([0.9, -0.2])
    inf
    """

    tex = r"\alpha \sum_j (w_j \asinh \frac{w_j}{2 p_j} - \sqrt{w_j^2 + 4 p_j^2} + 2 p_j)"
    tex_where = "p the prior"
    prior: Prior = None
    total: float | None = None

    formula: ClassVar[str] = "alpha sum_j (w_j asinh(w_j / 2 prior_j) - sqrt(w_j^2 + 4 prior_j^2) + 2 prior_j)"

    def __post_init__(self) -> None:
        super().__post_init__()
        total = None if self.total is None else positive("total", self.total)
        self._set(prior=checked_prior(self.prior), total=total, strongly_convex=total is not None)

    def _prior(self, dim: int) -> Vector:
        return resolve_prior(self.prior, (1.0 if self.total is None else self.total) / (2 * max(dim, 1)), dim)

    def validate(self, dim: int) -> None:
        """Raise InputError when there is not one prior per feature."""
        super().validate(dim)
        fit_prior(self.prior, dim)

    @quiet
    def value(self, w: ArrayLike) -> float:
        """alpha sum_j (w_j asinh(w_j / 2p_j) - sqrt(w_j^2 + 4p_j^2) + 2p_j), or the entropy with a total."""
        w = vector(w)
        p = self._prior(w.size)
        if self.total is None:
            # sqrt(w^2 + 4p^2) - 2p without cancellation
            rise = w * (w / (np.hypot(w, 2.0 * p) + 2.0 * p))
            return product(self.alpha, float(np.sum(w * np.arcsinh(w / (2.0 * p)) - rise)))
        size = np.abs(w)
        if float(np.sum(size)) > self.total * (1.0 + 1e-12 + w.size * EPS):
            return math.inf
        k = _common_factor(size, p, self.total)
        if k == 0.0:
            return product(self.alpha, float(np.sum(np.where(size > 0.0, size * (np.log(size) - np.log(p)), 0.0))))
        return product(self.alpha, self.total * math.log(k) + float(np.sum(w * np.arcsinh(w / (2.0 * p * k)))))

    @quiet
    def conjugate(self, v: ArrayLike) -> float:
        """2 alpha sum_j p_j (cosh(v_j / alpha) - 1), or alpha total ln sum_j (2p_j / total) cosh(v_j / alpha)."""
        v = vector(v)
        p, half = self._prior(v.size), v / (2.0 * self.alpha)
        if self.total is None:
            return product(self.alpha, float(np.sum(4.0 * p * np.sinh(half) ** 2)))
        mass = float(np.sum(p))
        constant = self.alpha * math.log(2.0 * mass / self.total)
        if largest(half) <= 0.5:  # cosh - 1 = 2 sinh(half)^2: the logarithm of a sum near 1 would lose it
            mean = self.alpha * math.log1p(float(np.sum(p / mass * 2.0 * np.sinh(half) ** 2)))
        else:
            up, down = self._terms(v, p / mass)
            mean = largest(v) + self.alpha * math.log(float(np.sum(up + down)) / 2.0)
        return product(self.total, mean + constant)

    @quiet
    def _terms(self, v: Vector, p: Vector) -> tuple[Vector, Vector]:
        """p e^((v - top) / alpha) and p e^((-v - top) / alpha) with top = max |v|."""
        top = largest(v)
        return p * np.exp((v - top) / self.alpha), p * np.exp((-v - top) / self.alpha)

    @quiet
    def primal_from_dual(self, v: ArrayLike) -> Vector:
        """2p sinh(v / alpha), with a total: total p sinh(v / alpha) / sum(p cosh(v / alpha))."""
        v = vector(v)
        p = self._prior(v.size)
        if self.total is None:
            return 2.0 * p * np.sinh(v / self.alpha)
        up, down = self._terms(v, p / float(np.max(p)))
        difference = (up + down) * np.tanh(v / self.alpha)  # up - down without cancellation
        return difference * (self.total / float(np.sum(up + down)))

    @available_if(lambda self: self.total is None)
    @quiet
    def prox(self, w: ArrayLike, step: float) -> Vector:
        """2p sinh(s) with 2p sinh(s) + step alpha s = w, without a total.

        Newton's method from above for |w|: the left side is convex in s >= 0, so the steps never pass the root.
        """
        w = vector(w)
        size, p, slope = np.abs(w), self._prior(w.size), step * self.alpha
        s = np.minimum(np.arcsinh(size / (2.0 * p)), size / (slope + 2.0 * p))
        for _ in range(MOST_STEPS):
            following = s - (2.0 * p * np.sinh(s) + slope * s - size) / (2.0 * p * np.cosh(s) + slope)
            if not np.any(following < s):
                break
            s = np.minimum(np.maximum(following, 0.0), s)
        return np.copysign(2.0 * p * np.sinh(s), w)

    @available_if(lambda self: self.total is None)
    @quiet
    def prox_jacobian(self, w: ArrayLike, step: float) -> ProxJacobian:
        """h / (h + step alpha) on the diagonal, h = sqrt(x^2 + 4p^2) at x = prox(w, step), without a total."""
        x = self.prox(w, step)
        h = np.hypot(x, 2.0 * self._prior(x.size))
        return ProxJacobian(h / (h + step * self.alpha))

    @quiet
    def conjugate_hessian(self, v: ArrayLike, A: Vector) -> Vector:
        """A' diag(2p cosh(v / alpha)) A / alpha; with a total A' (diag(m) - w w' / total) A / alpha, sum m = total."""
        v = vector(v)
        p = self._prior(v.size)
        if self.total is None:
            root = np.sqrt(np.minimum(2.0 * p * np.cosh(v / self.alpha), 1e300))[:, None] * A
            return (root.T @ root) / self.alpha
        w = self.primal_from_dual(v)
        up, down = self._terms(v, p / float(np.max(p)))
        mass = float(np.sum(up + down))
        mean = (w / self.total) @ A
        # the variance of +-A_j under the shares of a and b: positive semidefinite also in floats
        rise, fall = np.sqrt(up / mass)[:, None] * (A - mean), np.sqrt(down / mass)[:, None] * (A + mean)
        return (rise.T @ rise + fall.T @ fall) * (self.total / self.alpha)


@quiet
def _common_factor(size: Vector, p: Vector, total: float) -> float:
    """The k >= 0 with sum sqrt(size^2 + 4 p^2 k^2) = total; 0 if the sizes alone reach it.

    Newton's method from above: the sum is convex and increasing in k.
    """
    if float(np.sum(size)) >= total:
        return 0.0
    k = total / (2.0 * float(np.sum(p)))
    for _ in range(200):
        parts = np.hypot(size, 2.0 * p * k)
        excess = float(np.sum(parts)) - total
        slope = float(np.sum(4.0 * p * p * k / parts))
        following = k - excess / slope
        if not 0.0 < following < k:
            break
        k = following
    return k
