"""What solves prove at other strengths alpha, without another pass over the data.

With R = alpha R_1, the coefficients found at one strength have the objective P(alpha) = risk + alpha R_1(w) at every other, and
its dual point the value D(alpha) = -L*(u) - R*_alpha(v). Between two strengths a < b the mixture of their dual points is one
whose value is at least the mixture of their values, because L* is convex and R*_alpha(v) = alpha R_1*(v / alpha) is convex in
(v, alpha). So between a and b the optimum lies between the lower of two lines and a chord, and the gap, relative to the
objective, is largest where the lines cross.

Reference: Giesen, Mueller, Laue and Swiercy (NIPS 2012) and Ndiaye, Le, Fercoq, Salmon and Takeuchi (ICML 2019) for the pair of
one strength; the chord uses that the optimum is concave in alpha.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from fenchel.certificates import scalar, vector
from fenchel.certificates.kernel import products
from fenchel.certificates.unpenalised import split
from fenchel.compile.dispatch import is_ours
from fenchel.errors import InputError
from fenchel.regularizers.base import is_convex

if TYPE_CHECKING:
    from fenchel.result import Result

HALVINGS = 40  # of the search for the end of a reach, in log alpha
SLACK = 2.0  # times the rounding floor that a bound at another strength is lowered by


def relative(primal: float, dual: float) -> float:
    """(primal - dual) / |primal|, and 0 where both are 0."""
    gap = max(primal - dual, 0.0)
    if primal == 0.0:
        return 0.0 if gap == 0.0 else float("inf")
    return gap / abs(primal)


class Pair:
    """Coefficients and dual point of a result, with the sums that bound the optimum at every strength."""

    def __init__(self, result: Result):
        problem: Any = result.problem
        require_strength(problem)
        self.result, self.u = result, result.dual_point
        self.regularizer = problem.penalty if problem.is_vector else problem.regularizer
        self.alpha = float(self.regularizer.alpha)
        self.lower = result.certificate.dual - SLACK * result.certificate.floor
        self.v, self.gain = np.zeros(0), -np.inf
        known = self.u is not None and np.isfinite(self.lower)
        if problem.is_kernel:
            value, self.conjugate = self._squares(result)
        else:
            value, self.v = self._value_and_v(result, known)
            self.conjugate = self.regularizer.conjugate(self.v)
        self.risk, self.unit = result.certificate.primal - value, value / self.alpha
        if known:
            several = problem.is_vector
            self.gain = -float(
                vector.conjugates(problem, self.u)[0] if several else scalar.conjugates(problem, self.u).total
            )

    def _value_and_v(self, result: Result, known: bool) -> tuple[float, np.ndarray]:
        """(R(w), v), v = 0 if there is no dual point."""
        problem: Any = result.problem
        size = problem.features * problem.outputs if problem.is_vector else problem.d
        value = self.regularizer.value(problem.variables(result.coef, result.intercept)[0][:size])
        if not known:
            return value, np.zeros(size)
        if problem.is_vector:
            return value, vector.combined(problem, self.u)[0].ravel()
        return value, split(problem, *scalar.combined(problem, problem.weights, self.u)).v

    def _squares(self, result: Result) -> tuple[float, float]:
        """(R, R*) of a kernel: alpha/2 c'Kc and (p u)'K(p u) / (2 alpha)."""
        problem: Any = result.problem
        a = np.zeros(problem.n) if self.u is None else problem.weights * self.u
        both = np.column_stack([result.coef, a])
        norm, dual_norm = np.einsum("ij,ij->j", both, products(problem.gram, both)[0])
        return 0.5 * self.alpha * max(float(norm), 0.0), 0.5 * max(float(dual_norm), 0.0) / self.alpha

    def primal(self, alpha: float) -> float:
        """The objective of the coefficients at a strength."""
        return self.risk + alpha * self.unit

    def dual(self, alpha: float) -> float:
        """The value of the dual point at a strength, rounding taken off; -inf where it is not feasible."""
        if alpha == self.alpha:
            return self.lower
        degree, ratio = self.regularizer.degree, self.alpha / alpha
        if degree is not None and degree > 1.0:
            power = 1.0 / (
                degree - 1.0
            )  # R*_alpha is homogeneous of degree 1 + power, R*_alpha(v) of degree -power in alpha
            conjugate = self.conjugate * ratio**power
            slack = max(1.0, ratio) ** max(2.0, power)
        else:
            conjugate = self.regularizer.scaled(alpha).conjugate(self.v)
            slack = max(1.0, ratio) ** 2
        return self.gain - conjugate - SLACK * slack * self.result.certificate.floor

    def reach(self, end: float, eps: float) -> float:
        """The strength farthest from its own, towards `end`, up to which the relative gap of this pair is at most eps.

        gap(alpha) - eps P(alpha) is convex in alpha, so that it is at most eps everywhere in between.
        """

        def good(alpha: float) -> bool:
            return relative(self.primal(alpha), self.dual(alpha)) <= eps

        if good(end):
            return end
        near, far = np.log(self.alpha), np.log(end)
        for _ in range(HALVINGS if good(self.alpha) else 0):
            middle = 0.5 * (near + far)
            near, far = (middle, far) if good(float(np.exp(middle))) else (near, middle)
        return float(np.exp(near))


class Between:
    """Two pairs, and what they prove together between their strengths."""

    def __init__(self, one: Pair, other: Pair):
        self.low, self.high = sorted((one, other), key=lambda pair: pair.alpha)

    def share(self, alpha: float) -> float:
        """The share of the pair of the larger strength in the mixture at alpha; nan unless alpha is between both."""
        width = self.high.alpha - self.low.alpha
        return (
            (alpha - self.low.alpha) / width
            if width > 0.0 and self.low.alpha <= alpha <= self.high.alpha
            else float("nan")
        )

    def chord(self, alpha: float) -> float:
        """The value of the mixed dual points, at least."""
        share = self.share(alpha)
        value = share * self.high.lower + (1.0 - share) * self.low.lower
        return value if np.isfinite(value) else -np.inf

    def bound(self, alpha: float) -> float:
        """The relative gap of the better of both coefficients at a strength."""
        best = min(self.low.primal(alpha), self.high.primal(alpha))
        return relative(best, max(self.chord(alpha), self.low.dual(alpha), self.high.dual(alpha)))

    def worst(self, eps: float) -> float:
        """A strength at which the bound is largest, of those that neither pair certifies by itself; nan if there are none."""
        above, below = self.low.reach(self.high.alpha, eps), self.high.reach(self.low.alpha, eps)
        if above >= below:
            return float("nan")
        steeper = self.low.unit - self.high.unit  # coefficients of the smaller strength are larger
        crossing = (self.high.risk - self.low.risk) / steeper if steeper > 0.0 else 0.5 * (above + below)
        return float(np.clip(crossing, above, below))

    def covered(self, eps: float) -> bool:
        """Whether every strength between the two has a relative gap of at most eps."""
        worst = self.worst(eps)
        return bool(np.isnan(worst) or self.bound(worst) <= eps)

    def dual_point(self, alpha: float) -> Any:
        """The best known dual point at a strength."""
        values = {"low": self.low.dual(alpha), "high": self.high.dual(alpha), "both": self.chord(alpha)}
        best = max(values, key=lambda name: values[name])
        if best != "both":
            return self.low.u if best == "low" else self.high.u
        share = self.share(alpha)
        one, other = (u.toarray() if sp.issparse(u) else u for u in (self.high.u, self.low.u))
        return share * one + (1.0 - share) * other


def require_strength(problem: Any) -> None:
    """Raise InputError unless a pair bounds the optimum at every strength."""
    several = problem.is_vector and not problem.is_kernel and not problem.own
    one = problem.is_scalar or (problem.is_kernel and not problem.is_vector and not problem.is_measure)
    if problem.remote or not (one or several):
        raise InputError(
            "a range of strengths is certified for rows in memory and losses of one score, or, without a kernel, of several "
            "scores that are Fenchel's own; pass a list of alphas instead: each is certified by itself"
        )
    regularizer = problem.penalty if problem.is_vector else problem.regularizer
    if not is_convex(problem):
        raise InputError(
            f"regularizer {type(regularizer).__name__} is not convex: its gaps need not close, so no range of strengths can be "
            "certified; pass a list of alphas instead: each solve has its own bound"
        )
    if not is_ours(type(regularizer)) or np.ndim(getattr(regularizer, "alpha", None) or ()) or not _scales(regularizer):
        raise InputError(f"{regularizer!r} has no strength that could range: pass a regularizer with alpha")


def _scales(regularizer: Any) -> bool:
    """Whether there is an alpha that `scaled` sets."""
    try:
        return bool(regularizer.scaled(2.0 * regularizer.alpha).alpha == 2.0 * regularizer.alpha)
    except (TypeError, AttributeError, InputError):
        return False
