"""Bounds on every coefficient, on top of a separable penalty."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from fenchel.errors import InputError
from fenchel.regularizers.base import Regularizer, available_if
from fenchel.regularizers.constraint_set import ROUNDING
from fenchel.regularizers.elastic_net import ElasticNet
from fenchel.regularizers.feature_weights import fit_vector, scale_into_box
from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.regularizers.l1 import L1
from fenchel.regularizers.l2 import L2
from fenchel.regularizers.metric import Metric
from fenchel.regularizers.numerics import Vector, quiet, soft_threshold, vector


class Terms(NamedTuple):
    """R0(w) = sum_j size_j |w_j| + square_j / 2 w_j^2."""

    size: Any
    square: Any


def terms_of(regularizer: Regularizer) -> Terms:
    """The terms of a separable penalty.

    >>> terms_of(ElasticNet(4.0, l1_ratio=0.25))
    Terms(size=1.0, square=3.0)
    """
    if type(regularizer) not in (L1, L2, ElasticNet):
        raise InputError(f"Bounded takes L1, L2 or ElasticNet, which are sums over the features, got {regularizer!r}.")
    weights: Any = getattr(regularizer, "weights", None)
    weights = 1.0 if weights is None else weights
    given: Any = getattr(regularizer, "square_weights", None)
    squares, alpha = weights if given is None else given, regularizer.alpha
    ratios: dict[type, float] = {L1: 1.0, L2: 0.0}
    ratio = ratios.get(type(regularizer), getattr(regularizer, "l1_ratio", 0.0))
    return Terms(ratio * (alpha * weights), (1.0 - ratio) * (alpha * squares))


def checked_bound(name: str, given: Any, unbounded: float) -> float | Vector | None:
    """A number, or a read-only 1-D array; None or `unbounded` (inf or -inf) means no bound, and its opposite is refused.

    >>> checked_bound("lower", -math.inf, -math.inf), checked_bound("lower", [0, 1], -math.inf)
    (None, array([0., 1.]))
    """
    if given is None:
        return None
    try:
        bound = np.array(given, dtype=np.float64) + 0.0
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number or a 1-D array of numbers, got {given!r}.") from None
    if bound.ndim > 1 or bound.size == 0:
        raise InputError(f"{name} must be a number or a 1-D array of numbers, got an array of shape {bound.shape}.")
    bad = np.flatnonzero(np.isnan(bound) | (bound == -unbounded))
    if bad.size:
        where = f"{name}[{bad[0]}]" if bound.ndim else name
        raise InputError(f"{where} is {bound.flat[bad[0]]}: give a number, or {unbounded} for no bound.")
    if bound.ndim == 0:
        return None if bound == unbounded else float(bound)
    bound.flags.writeable = False
    return bound


@dataclass(frozen=True, eq=False, repr=False)
class Bounded(Regularizer):
    """R(w) = R0(w) if lower_j <= w_j <= upper_j for all j, else inf, for R0 = L1, L2 or ElasticNet.

    R*(v) = R0-part at w = clip(soft(v, a) / q, lower, upper): sum_j v_j w_j - a_j |w_j| - q_j/2 w_j^2, with R0(w) =
    sum_j a_j |w_j| + q_j/2 w_j^2. Bounds are numbers or one number per feature, inclusive; None means no bound.
    `lower=0` gives non-negative coefficients. A coefficient counts as within a bound up to a relative 16 eps of the bound.

    >>> reg = Bounded(L2(2.0), lower=0.0)
    >>> reg.value([1.0, 2.0]), reg.value([1.0, -2.0]), reg.conjugate([4.0, -6.0]), reg.prox([3.0, -1.0], 1.0)
    (5.0, inf, 4.0, array([1., 0.]))
    >>> Bounded(L1(0.5), lower=-1.0, upper=[2.0, 3.0]).conjugate([1.5, -2.5])
    4.0
    """

    tex = r"R_0(w) + \iota(l \le w \le u)"
    tex_where = "ι 0 where its condition holds, else infinite; R₀ the inner regularizer, l and u the bounds"
    alpha: float = field(init=False)
    regularizer: Any
    lower: Any = None
    upper: Any = None

    formula: ClassVar[str] = "regularizer(w) if lower_j <= w_j <= upper_j for all j, else inf"
    omitted_if_none: ClassVar[tuple[str, ...]] = ("lower", "upper")
    separable: ClassVar[bool] = True

    @classmethod
    def example(cls, dim: int) -> Self:
        """An example for `dim` features."""
        return cls(L2(0.1), lower=0.0)

    def __post_init__(self) -> None:
        self._set(
            lower=checked_bound("lower", self.lower, -math.inf), upper=checked_bound("upper", self.upper, math.inf)
        )
        terms, low, high = self._terms, self._low, self._high
        sizes = {np.size(x) for x in (low, high, terms.square) if np.ndim(x)}
        if len(sizes) > 1:
            raise InputError(
                "lower, upper and the weights of the inner regularizer must have one entry per feature, "
                f"got {sorted(sizes)} entries."
            )
        crossed = np.flatnonzero(np.atleast_1d(np.asarray(low) > high))
        if crossed.size:
            j = int(crossed[0])
            l, u = (float(np.broadcast_to(x, max(sizes, default=1))[j]) for x in (low, high))
            raise InputError(f"no coefficient {j} exists: lower is {l} and upper is {u}; lower must be <= upper.")
        open_end = (np.asarray(terms.size) + terms.square == 0.0) & (np.isinf(low) | np.isinf(high))
        if np.any(open_end):
            raise InputError(
                f"feature {int(np.argmax(open_end))} has weight 0 and no bound on one side: an unpenalised feature needs "
                "both bounds finite, so that a lower bound of the optimum exists."
            )
        self._set(alpha=self.regularizer.alpha, strongly_convex=bool(np.all(np.asarray(terms.square) > 0.0)))

    @cached_property
    def _terms(self) -> Terms:
        return terms_of(self.regularizer)

    @property
    def _low(self) -> Any:
        return -math.inf if self.lower is None else self.lower

    @property
    def _high(self) -> Any:
        return math.inf if self.upper is None else self.upper

    def scaled(self, alpha: float) -> Self:
        """The inner regularizer with another alpha, within the same bounds."""
        return replace(self, regularizer=self.regularizer.scaled(alpha))

    def standardized(self, deviations: ArrayLike) -> Self:
        """The inner penalty standardized, within the same bounds, which are those of the coefficients as they are."""
        return replace(self, regularizer=self.regularizer.standardized(deviations))

    def for_outputs(self, features: int, outputs: int) -> Regularizer:
        """The same bounds for every score."""
        repeated = [np.repeat(x, outputs) if np.ndim(x) else x for x in (self.lower, self.upper)]
        return Bounded(self.regularizer.for_outputs(features, outputs), *repeated)

    def validate(self, dim: int) -> None:
        """Raise InputError when bounds or weights do not fit `dim` features."""
        super().validate(dim)
        for name, given in (("lower", self._low), ("upper", self._high), ("weights", self._terms.square)):
            if np.ndim(given):
                fit_vector(name, given, dim)

    def metric(self, dim: int) -> Metric | None:
        """That of the inner regularizer."""
        return self.regularizer.metric(dim)

    def start(self, dim: int) -> Vector:
        """The coefficients within the bounds that are closest to 0."""
        return self._clip(np.zeros(dim))

    def _clip(self, w: Vector) -> Vector:
        return np.minimum(np.maximum(w, self._low), self._high)

    @quiet
    def value(self, w: ArrayLike) -> float:
        """R0(w) within the bounds, inf outside."""
        w, low, high = vector(w), self._low, self._high
        inside = (w >= low - ROUNDING * np.abs(low)) & (w <= high + ROUNDING * np.abs(high))
        return self.regularizer.value(w) if np.all(inside) else math.inf

    @quiet
    def _maximiser(self, v: Vector) -> Vector:
        """The w within the bounds at which v'w - R0(w) is largest; entries may be infinite."""
        size, square = self._terms
        soft = soft_threshold(v, size)
        with_square = np.where(np.asarray(square) > 0.0, soft / np.where(np.asarray(square) > 0.0, square, 1.0), 0.0)
        without = np.where(soft == 0.0, 0.0, np.copysign(np.inf, soft))
        return self._clip(np.where(np.asarray(square) > 0.0, with_square, without))

    @quiet
    def conjugate(self, v: ArrayLike) -> float:
        """sum_j w_j (v_j - a_j sign w_j - q_j/2 w_j) at the maximiser w; inf if it is infinite."""
        v = vector(v)
        w = self._maximiser(v)
        if not np.all(np.isfinite(w)):
            return math.inf
        size, square = self._terms
        total = float(np.sum(w * (v - np.copysign(size, w) - 0.5 * square * w)))
        return total if total == total else math.inf

    def perturbed(self, v: Vector, error: float) -> tuple[Vector, ...]:
        """v moved by `error` in the directions of the maximiser, whose entries are the slopes of R*."""
        return (v + np.copysign(error, self._maximiser(v)), *super().perturbed(v, error))

    def dual_scale(self, v: ArrayLike) -> float:
        """1, or the largest scale at which v_j is within +-a_j where w_j is unbounded on that side and q_j = 0."""
        v = vector(v)
        flat = np.asarray(self._terms.square) == 0.0
        if not np.any(flat):
            return 1.0
        unbounded = np.where(v > 0.0, np.isinf(self._high), np.isinf(self._low)) & flat
        return scale_into_box(np.where(unbounded, v, 0.0), np.broadcast_to(self._terms.size, v.shape))

    @available_if(lambda self: self.strongly_convex)
    def primal_from_dual(self, v: ArrayLike) -> Vector:
        """clip(soft(v, a) / q, lower, upper)."""
        return self._maximiser(vector(v))

    @quiet
    def prox(self, w: ArrayLike, step: Any) -> Vector:
        """clip(soft(w, step a) / (1 + step q), lower, upper)."""
        size, square = self._terms
        return self._clip(soft_threshold(vector(w), step * size) / (1.0 + step * square))

    @quiet
    def prox_jacobian(self, w: ArrayLike, step: Any) -> ProxJacobian:
        """1 / (1 + step q) where |w_j| > step a_j and the prox is strictly within the bounds, else 0."""
        w = vector(w)
        x, threshold = self.prox(w, step), step * self._terms.size
        moves = (x > self._low) & (x < self._high) & ((np.abs(w) > threshold) | (np.asarray(threshold) == 0.0))
        return ProxJacobian(np.where(moves, 1.0, 0.0) / (1.0 + step * self._terms.square))

    @available_if(lambda self: self.strongly_convex)
    @quiet
    def conjugate_hessian(self, v: ArrayLike, A: Vector) -> Vector:
        """A_s' diag(1 / q_s) A_s over the features s whose maximiser is neither at a bound nor 0."""
        v = vector(v)
        w = self._maximiser(v)
        moves = (w > self._low) & (w < self._high) & (np.abs(v) > self._terms.size)
        root = A[moves] / np.sqrt(np.broadcast_to(self._terms.square, v.shape)[moves])[:, None]
        return root.T @ root
