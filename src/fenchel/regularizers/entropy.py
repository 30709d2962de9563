"""alpha sum_j w_j ln(w_j / prior_j) on the simplex w >= 0, sum w = total."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.jacobian import ProxJacobian, with_clusters
from fenchel.regularizers.metric import DiagonalMetric
from fenchel.regularizers.numerics import Vector, largest, positive, product, quiet, rescale, vector
from fenchel.regularizers.prior import Prior, checked_prior, fit_prior, relative_entropy, resolve_prior

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Entropy(Regularizer):
    """R(w) = alpha sum_j w_j ln(w_j / p_j) on {w >= 0, sum w = A},  R*(v) = alpha A ln sum_j (p_j / A) e^(v_j / alpha).

    A = total; grad R*(v) = A p e^(v / alpha) / sum(p e^(v / alpha)). The prior p is one number or one per feature and
    need not sum to the total; None means total/d each. A sum counts as the total up to a relative 1e-12 + d eps.

    >>> reg = Entropy(2.0)
    >>> reg.value([0.5, 0.5]), reg.value([0.5, 0.6]), reg.primal_from_dual([1.0, 1.0])
    (0.0, inf, array([0.5, 0.5]))
    """

    tex = r"\alpha \sum_j w_j \log \frac{w_j}{p_j}"
    tex_where = "w ≥ 0 with a given sum, p the prior"
    prior: Prior = None
    total: float = 1.0

    formula: ClassVar[str] = "alpha sum_j w_j ln(w_j / prior_j), w >= 0, sum_j w_j = total"
    strongly_convex: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(prior=checked_prior(self.prior), total=positive("total", self.total))

    def _shares(self, dim: int) -> tuple[Vector, Vector, float]:
        """(c, ln c, ln S) with p_j = total S c_j and sum c = 1."""
        if self.prior is None:
            return np.full(dim, 1.0 / dim), np.full(dim, -math.log(dim)), 0.0
        p = resolve_prior(self.prior, 1.0, dim)
        top = float(np.max(p))
        part = float(np.sum(p / top))
        log_sum = math.log(top) + math.log(part)
        return p / top / part, np.log(p) - log_sum, log_sum - math.log(self.total)

    def validate(self, dim: int) -> None:
        """Raise InputError when there is not one prior per feature."""
        super().validate(dim)
        fit_prior(self.prior, dim)

    def metric(self, dim: int) -> DiagonalMetric:
        """sqrt(alpha / A) |w|_2: the second derivatives alpha / w_j are at least alpha / A."""
        return DiagonalMetric(np.full(dim, self.alpha / self.total))

    def start(self, dim: int) -> Vector:
        """The prior, scaled to the total."""
        return self.primal_from_dual(np.zeros(dim))

    @quiet
    def value(self, w: ArrayLike) -> float:
        """alpha sum_j w_j ln(w_j / p_j), inf off the simplex."""
        w = vector(w)
        off = abs(float(np.sum(w)) - self.total)
        if np.any(w < 0.0) or off > self.total * (1e-12 + w.size * EPS):
            return math.inf
        c, log_c, log_sum = self._shares(w.size)
        # Both w / total and c sum to 1, so the relative entropy differs from sum w ln(w / c) by nothing but rounding.
        return product(self.alpha, self.total, relative_entropy(w / self.total, c, log_c) - log_sum)

    @quiet
    def _shifted(self, v: Vector, log_c: Vector) -> tuple[float, float, Vector]:
        """(top, m, e) with top = max v and e^m e_j = c_j e^((v_j - top) / alpha), max e = 1."""
        top = float(np.max(v))
        logs = (v - top) / self.alpha + log_c
        m = float(np.max(logs))
        return top, m, np.exp(logs - m)

    @quiet
    def conjugate(self, v: ArrayLike) -> float:
        """alpha total ln sum_j (p_j / total) e^(v_j / alpha)."""
        v = vector(v)
        c, log_c, log_sum = self._shares(v.size)
        if largest(v) <= 1e-20 * self.alpha:  # v / alpha may underflow, and the linear term is all that shows
            mean = float(np.dot(c, v))
        elif largest(v) <= self.alpha:  # an error of eps v, where the logarithm of a sum near 1 has eps alpha
            mean = self.alpha * math.log1p(float(np.dot(c, np.expm1(v / self.alpha))))
        else:
            top, m, e = self._shifted(v, log_c)
            mean = top + self.alpha * (m + math.log(float(np.sum(e))))
        return product(self.total, mean + self.alpha * log_sum)

    def primal_from_dual(self, v: ArrayLike) -> Vector:
        """total p e^(v / alpha) / sum(p e^(v / alpha))."""
        v = vector(v)
        e = self._shifted(v, self._shares(v.size)[1])[2]
        return rescale(e, self.total, over=(float(np.sum(e)),))

    @quiet
    def prox(self, w: ArrayLike, step: float) -> Vector:
        """t omega((w - nu) / t + ln(p / t)) with t = step alpha and nu the root that gives sum x = total.

        t is kept within 1e-30 total .. 1e300: beyond, x no longer changes in its leading digits.
        """
        w = vector(w)
        t = min(max(step * self.alpha, 1e-30 * self.total), 1e300)
        # Adding a constant to w does not change x; with the maximum at 0 no quotient below overflows to +inf.
        shares = _omega_shares((w - np.max(w)) / t + self._shares(w.size)[1], self.total / t)
        return rescale(shares, self.total)

    @quiet
    def prox_jacobian(self, w: ArrayLike, step: float) -> ProxJacobian:
        """diag(h) - h h' / sum h with h = x / (x + step alpha) at x = prox(w, step): sum x is fixed."""
        x = self.prox(w, step)
        h = x / (x + step * self.alpha)
        return with_clusters(h, np.zeros(h.size, dtype=np.intp), h, np.array([-1.0 / float(h.sum())]))

    @quiet
    def conjugate_hessian(self, v: ArrayLike, A: Vector) -> Vector:
        """A' (diag(w) - w w' / total) A / alpha at w = grad R*(v)."""
        w = self.primal_from_dual(v)
        root = np.sqrt(w)[:, None] * (A - (w / self.total) @ A)  # centred: positive semidefinite also in floats
        return (root.T @ root) / self.alpha


@quiet
def _omega_shares(a: Vector, target: float) -> Vector:
    """omega(a + tau) / target for the tau at which these sum to 1.

    sum omega(a + tau) is convex and increasing in tau with omega' = omega / (1 + omega), so Newton's method from above
    the root descends to it; a bracket guards it against rounding.
    """
    from scipy.special import wrightomega

    top, d = float(np.max(a)), a.size
    # omega(x + ln x) = x: the largest term alone reaches the target at `high`, d times the largest does at `low`
    high, low = target + math.log(target) - top, target / d + math.log(target / d) - top
    tau = high
    for _ in range(200):
        omega = wrightomega(a + tau)
        total = float(np.sum(omega))
        low, high = (tau, high) if total <= target else (low, tau)
        step = (total - target) / float(np.sum(omega / (1.0 + omega)))
        following = tau - step if low <= tau - step <= high else 0.5 * (low + high)
        if abs(total - target) <= 4.0 * EPS * target or following == tau:
            break
        tau = following
    return omega / total
