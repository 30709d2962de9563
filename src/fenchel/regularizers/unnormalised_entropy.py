"""alpha sum_j (w_j ln(w_j / prior_j) - w_j + prior_j) on w >= 0."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.regularizers.numerics import Vector, largest, product, quiet, vector
from fenchel.regularizers.prior import Prior, checked_prior, fit_prior, relative_entropy, resolve_prior


@dataclass(frozen=True, eq=False)
class UnnormalisedEntropy(Regularizer):
    """R(w) = alpha sum_j (w_j ln(w_j / p_j) - w_j + p_j) on w >= 0,   R*(v) = alpha sum_j p_j (e^(v_j / alpha) - 1).

    grad R*(v) = p e^(v / alpha). The prior p is one number or one per feature; None means 1/d each.

    >>> reg = UnnormalisedEntropy(2.0, prior=1.0)
    >>> reg.value([1.0, 0.0]), reg.conjugate([0.0, 0.0]), reg.primal_from_dual([0.0, 0.0])
    (2.0, 0.0, array([1., 1.]))
    """

    tex = r"\alpha \sum_j (w_j \log \frac{w_j}{p_j} - w_j + p_j)"
    tex_where = "w ≥ 0, p the prior"
    prior: Prior = None

    formula: ClassVar[str] = "alpha sum_j (w_j ln(w_j / prior_j) - w_j + prior_j), w >= 0"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(prior=checked_prior(self.prior))

    def _prior(self, dim: int) -> Vector:
        return resolve_prior(self.prior, 1.0 / max(dim, 1), dim)

    def validate(self, dim: int) -> None:
        """Raise InputError when there is not one prior per feature."""
        super().validate(dim)
        fit_prior(self.prior, dim)

    def start(self, dim: int) -> Vector:
        """The prior, where R is 0."""
        return self._prior(dim).copy()

    @quiet
    def value(self, w: ArrayLike) -> float:
        """alpha sum_j (w_j ln(w_j / p_j) - w_j + p_j), inf if any w_j < 0."""
        w = vector(w)
        if np.any(w < 0.0):
            return math.inf
        p = self._prior(w.size)
        return product(self.alpha, relative_entropy(w, p, np.log(p)))

    @quiet
    def _weights(self, v: Vector, p: Vector) -> Vector:
        exponent = v / self.alpha
        # p may be tiny where the exponential alone overflows
        return np.where(exponent > 1.0, np.exp(exponent + np.log(p)), p * np.exp(exponent))

    @quiet
    def conjugate(self, v: ArrayLike) -> float:
        """alpha sum_j p_j (e^(v_j / alpha) - 1)."""
        v = vector(v)
        p = self._prior(v.size)
        if largest(v) <= 1e-20 * self.alpha:  # the quotient may underflow, and the linear term is all that shows
            return float(np.dot(p, v))
        small = np.minimum(v / self.alpha, 1.0)  # e^x - 1 loses all digits near x = 0, expm1 does not
        terms = np.where(v > self.alpha, self._weights(v, p) - p, p * np.expm1(small))
        return product(self.alpha, float(np.sum(terms)))

    def primal_from_dual(self, v: ArrayLike) -> Vector:
        """p e^(v / alpha)."""
        v = vector(v)
        return self._weights(v, self._prior(v.size))

    @quiet
    def prox(self, w: ArrayLike, step: float) -> Vector:
        """t omega(w / t + ln(p / t)) with t = step alpha and omega the Wright omega function."""
        from scipy.special import wrightomega

        w, t = vector(w), step * self.alpha
        if t == 0.0:
            return np.maximum(w, 0.0)
        p = self._prior(w.size)
        z = w / t + (np.log(p) - math.log(t) if t < math.inf else -math.inf)
        # omega(z) = e^z below -50 and z - ln z above 1e20, to the last digit; t * omega would under- or overflow there
        x = np.where(z < -50.0, p * np.exp(w / t), t * wrightomega(z))
        return np.where(w / t > 1e20, w, x)

    @quiet
    def conjugate_hessian(self, v: ArrayLike, A: Vector) -> Vector:
        """A' diag(p e^(v / alpha)) A / alpha."""
        root = np.sqrt(np.minimum(self.primal_from_dual(v), 1e300))[:, None] * A
        return (root.T @ root) / self.alpha

    @quiet
    def prox_jacobian(self, w: ArrayLike, step: float) -> ProxJacobian:
        """x / (x + step alpha) on the diagonal, at x = prox(w, step)."""
        x = self.prox(w, step)
        return ProxJacobian(x / (x + step * self.alpha))
