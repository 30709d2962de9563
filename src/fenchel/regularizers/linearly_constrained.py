"""Linear constraints on the coefficients, on top of another regularizer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from fenchel.errors import InputError
from fenchel.regularizers.base import Regularizer, require_convex
from fenchel.regularizers.bounded import Bounded
from fenchel.regularizers.constraint_rows import (
    END_ROUNDING,
    Rows,
    checked_ends,
    checked_limit,
    checked_matrix,
    covariances,
    differences,
    excess,
    support,
    unit_rows,
)
from fenchel.regularizers.elastic_net import ElasticNet
from fenchel.regularizers.feasibility import feasible_point
from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.regularizers.l1 import L1
from fenchel.regularizers.l2 import L2
from fenchel.regularizers.metric import Metric
from fenchel.regularizers.multipliers import Point, constrained_prox, corrected
from fenchel.regularizers.numerics import Vector, largest, quiet, vector
from fenchel.regularizers.shifted import Shifted
from fenchel.regularizers.slope import Slope
from fenchel.regularizers.total_variation import TotalVariation

LARGEST_DENSE = 50_000_000  # numbers of A
MAX_PROXIMAL_STEPS = 24  # of R*
STEP_GROWTH, LONGEST_STEP = 10.0, 1e8  # of these, relative to the first
CLOSE, LOOSE, TINY = 4e-15, 1e-12, 1e-300  # relative slacks at which R* is known, or known well enough
NOTHING = 1e-14  # the size of (w - old w) / t, relative to v, at which proximal steps have come to an end
STEADY, MAX_STEADY = 1e-10, 3  # its relative change, in so many steps, at which v is outside the domain of R*
OUTSIDE = 1e-7  # its size, relative to v, beyond which rounding errors are not the reason for that
MARGINS = (2.0**-46, 2.0**-40, 2.0**-34)  # by which v is enlarged, so that v / (1 + margin) is inside the domain of R*
NOISE = 64.0 * 2.0**-52  # a larger margin if v / alpha is large: the rounding error of v - A'y, relative to its terms
TIGHT = 1e-7  # relative slack of R*(c v) that dual_scale accepts
DOMAIN_MARGIN = 2.0**-31  # by which dual_scale stays inside the domain of R*
MAX_CUTS = 12  # Newton steps for the largest scale
FAR = 30.0  # times alpha, where R0* is tried
MOST_KEPT = 8  # evaluations that are remembered


class Bound(NamedTuple):
    """R*(v) from above, the multipliers y that prove it, and the point w at which v'w - R(w) is about as large."""

    value: float
    y: Vector
    w: Vector
    rest: Vector  # what is missing to a v in the domain of R*, if the value is inf
    slack: float  # of the value, relative to the magnitude of v'w
    last: Vector  # the multipliers of w, whose value may be inf because of rounding errors


def has_simple_domain(regularizer: Regularizer, dim: int) -> bool:
    """Whether R0* is finite everywhere, or on a polyhedron.

    >>> from fenchel.regularizers import GroupLasso
    >>> has_simple_domain(L2(1.0), 2), has_simple_domain(GroupLasso(1.0, [0, 0]), 2)
    (True, False)
    """
    inner = regularizer.regularizer if type(regularizer) is Shifted else regularizer
    if isinstance(inner, (Bounded, ElasticNet, L1, L2, Slope, TotalVariation)):
        return True
    far = FAR * inner.alpha * np.where(np.arange(dim) % 2 == 0, 1.0, -1.0)
    return all(inner.dual_scale(v) == 1.0 for v in (far, -far, np.abs(far), -np.abs(far)))


@dataclass(frozen=True, eq=False, repr=False)
class LinearlyConstrained(Regularizer):
    """R(w) = R0(w) if lower <= A w <= upper, else inf;  R*(v) = min over y of R0*(v - A'y) + S(y).

    S(y) = sum_i upper_i y_i where y_i > 0, lower_i y_i where y_i < 0. Every y gives an upper bound of R*(v), and so a lower
    bound of the optimum: `conjugate` finds a good y, and returns the bound that it proves. `A` is dense or sparse, a row for
    each constraint; `lower` and `upper` are numbers or one number per row, None for no bound, and equal for an equality.
    `monotone`, `sum_to` and `fair` make the usual ones. R0 has a `prox` with its Jacobian and penalises all coefficients: L1,
    L2, ElasticNet, Bounded, Slope, TotalVariation, balls, Simplex, entropies, but no norms of groups.

    Every evaluation of R* and of the prox is a quadratic program: this is for up to some hundred rows and features.

    A row counts as satisfied up to rounding: 64 eps times sum_j |A_ij| max |w_j| + |bound|. What such a deviation can change
    of the optimum, |y| times it, is in the certificate's rounding floor. `nearest(w)` moves coefficients into the constraints.
    If no coefficients satisfy them, there is an InputError with multipliers y that prove it.

    >>> reg = LinearlyConstrained(L2(1.0), [[1.0, 1.0]], lower=1.0, upper=1.0)
    >>> reg.value([0.5, 0.5]), reg.value([0.5, 0.6]), round(reg.conjugate([2.0, 0.0]), 12), reg.prox([2.0, 0.0], 1.0)
    (0.25, inf, 1.75, array([1., 0.]))
    >>> LinearlyConstrained(L2(1.0), [[1.0], [1.0]], lower=[2.0, -1.0], upper=[3.0, 1.0])
    Traceback (most recent call last):
    fenchel.errors.InputError: no coefficients satisfy lower <= A w <= upper: with the multipliers y = [-1, 1] of ...
    """

    tex = r"R_0(w) + \iota(l \le A w \le u)"
    tex_where = "ι 0 where its condition holds, else infinite; R₀ the inner regularizer, l and u the bounds of A w"
    alpha: float = field(init=False)
    regularizer: Any
    A: Any
    lower: Any = None
    upper: Any = None

    formula: ClassVar[str] = "regularizer(w) if lower <= A w <= upper, else inf"
    omitted_if_none: ClassVar[tuple[str, ...]] = ("lower", "upper")

    @classmethod
    def example(cls, dim: int) -> Self:
        """An example for `dim` features."""
        return cls.sum_to(L2(0.1), dim, 1.0)

    @classmethod
    def monotone(
        cls, regularizer: Regularizer, dim: int, columns: ArrayLike | None = None, increasing: bool = True
    ) -> Self:
        """w_j <= w_k for consecutive j, k in `columns` (by default all `dim`); >= if not `increasing`.

        For levels of an ordered factor, or bins of a feature.

        >>> LinearlyConstrained.monotone(L2(1.0), 3).prox([3.0, 1.0, 5.0], 1.0)
        array([1. , 1. , 2.5])
        """
        A = differences(dim, columns)
        return cls(regularizer, A, lower=0.0) if increasing else cls(regularizer, A, upper=0.0)

    @classmethod
    def sum_to(cls, regularizer: Regularizer, dim: int, total: float = 1.0, columns: ArrayLike | None = None) -> Self:
        """sum w_j = total over `columns` (by default all `dim`): weights of a mixture, or 0 for logarithms of shares.

        >>> LinearlyConstrained.sum_to(L2(1.0), 2, 0.0).prox([3.0, 1.0], 1.0)
        array([ 0.5, -0.5])
        """
        A = np.zeros((1, dim))
        A[0, slice(None) if columns is None else np.asarray(columns)] = 1.0
        return cls(regularizer, A, lower=total, upper=total)

    @classmethod
    def fair(
        cls,
        regularizer: Regularizer,
        X: Any,
        sensitive: ArrayLike,
        bound: float,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """|covariance of the scores X w with each sensitive attribute| <= bound (Zafar et al., 2017).

        `sensitive` has a number per row of X, or a column for each attribute (for a category, one per level). The covariance is
        the weighted mean of (s_i - mean s) <x_i, w>; an intercept does not change it.

        >>> X, group = np.array([[1.0, 0.0], [0.0, 1.0]]), [0, 1]
        >>> LinearlyConstrained.fair(L2(1.0), X, group, bound=0.0).prox([2.0, 0.0], 1.0)
        array([0.5, 0.5])
        """
        return cls(regularizer, covariances(X, sensitive, sample_weight), -checked_limit(bound), bound)

    def __post_init__(self) -> None:
        inner = self.regularizer
        if not isinstance(inner, Regularizer):
            raise InputError(f"regularizer must be a Regularizer such as L2(alpha), got {inner!r}.")
        require_convex(inner, "LinearlyConstrained")
        if not (hasattr(inner, "prox") and hasattr(inner, "prox_jacobian")):
            raise InputError(
                f"LinearlyConstrained needs the prox of its regularizer and the prox's Jacobian, and {inner!r} has not both."
            )
        A = checked_matrix(self.A)
        if A.shape[0] * A.shape[1] > LARGEST_DENSE:
            raise InputError(
                f"A has {A.shape[0]} rows and {A.shape[1]} columns; constraints are solved with a dense copy of at most "
                f"{LARGEST_DENSE} numbers."
            )
        lower, upper = checked_ends(self.lower, self.upper, A.shape[0])
        self._set(A=A, lower=lower, upper=upper, alpha=inner.alpha, strongly_convex=inner.strongly_convex)
        self.validate(A.shape[1])
        self._set(_start=feasible_point(inner, A, self._ends, self._rows))
        self._set(_kept=())

    @cached_property
    def _ends(self) -> tuple[Vector, Vector]:
        m = self.A.shape[0]
        return tuple(  # type: ignore[return-value]
            np.broadcast_to(default if end is None else end, m)
            for end, default in ((self.lower, -math.inf), (self.upper, math.inf))
        )

    @cached_property
    def _rows(self) -> Rows:
        return unit_rows(self.A, *self._ends)

    def scaled(self, alpha: float) -> Self:
        """The inner regularizer with another alpha, within the same constraints."""
        return replace(self, regularizer=self.regularizer.scaled(alpha))

    def standardized(self, deviations: ArrayLike) -> Self:
        """The inner penalty standardized, within the same constraints, which are those of the coefficients as they are."""
        return replace(self, regularizer=self.regularizer.standardized(deviations))

    def for_outputs(self, features: int, outputs: int) -> Regularizer:
        """The same constraints on the coefficients of every score."""
        A = sp.csc_array(sp.kron(sp.csc_array(self.A), sp.eye_array(outputs), format="csc"))
        ends = [np.repeat(x, outputs) if np.ndim(x) else x for x in (self.lower, self.upper)]
        return LinearlyConstrained(self.regularizer.for_outputs(features, outputs), A, *ends)

    def validate(self, dim: int) -> None:
        """Raise InputError when A or the inner regularizer does not fit `dim` features, or leaves some unpenalised."""
        super().validate(dim)
        if self.A.shape[1] != dim:
            raise InputError(
                f"A has {self.A.shape[1]} columns but there are {dim} features; give one column per feature."
            )
        self.regularizer.validate(dim)
        if (N := self.regularizer.unpenalised(dim)) is not None:
            raise InputError(
                f"{self.regularizer!r} does not penalise all coefficients (coefficient {N.indices[0]}, for one): "
                "LinearlyConstrained needs weights > 0; a small one, such as L2(1e-8), will do."
            )
        if not has_simple_domain(self.regularizer, dim):
            raise InputError(
                f"the domain of the conjugate of {self.regularizer!r} is neither all of the space nor a polyhedron, so that "
                "bounds with constraints would be poor: LinearlyConstrained takes L1, L2, ElasticNet, Bounded, Slope, "
                "TotalVariation, sets such as Simplex, and strongly convex regularizers."
            )

    def metric(self, dim: int) -> Metric | None:
        """That of the inner regularizer: constraints do not reduce curvature."""
        return self.regularizer.metric(dim)

    def start(self, dim: int) -> Vector:
        """Coefficients that satisfy the constraints, near the start of the inner regularizer."""
        return self._start.copy()  # type: ignore[attr-defined]

    def nearest(self, w: ArrayLike) -> Vector:
        """The coefficients closest to w among those that satisfy the constraints.

        >>> LinearlyConstrained.sum_to(L2(1.0), 2).nearest([1.0, 1.0])
        array([0.5, 0.5])
        """
        return self.prox(w, 2.0**-100 / self.alpha)

    @quiet
    def value(self, w: ArrayLike) -> float:
        """R0(w) where the constraints are satisfied, up to rounding; inf elsewhere."""
        w = vector(w)
        over, size = excess(self.A, *self._ends, w)
        return self.regularizer.value(w) if np.all(over <= END_ROUNDING * size) else math.inf

    @quiet
    def infeasibility(self, w: ArrayLike, v: ArrayLike) -> float:
        """|y| times the distance of A w to the constraints, with the multipliers y of R*(v): what deviations of the size of
        rounding errors can change of an optimum."""
        w = vector(w)
        over, size = excess(self.A, *self._ends, w)
        rounding = (self.A.shape[1] + 2) * 2.0**-53
        total = float(np.abs(self._bound(vector(v)).y) @ (np.maximum(over, 0.0) + rounding * size))
        return total if total == total else math.inf

    # --- the conjugate ------------------------------------------------------------------------------------------------

    @quiet
    def conjugate(self, v: ArrayLike) -> float:
        """R0*(v - A'y) + S(y) for the best y that was found: an upper bound of R*(v), equal to it up to rounding."""
        return self._bound(vector(v)).value

    def _bound(self, v: Vector) -> Bound:
        """The best bound; the last few are remembered, because certificates ask for the same v more than once."""
        return self._remembered(v.tobytes(), lambda: self._evaluated(v))

    def _point(self, w: Vector, step: float) -> Point:
        """The prox at w and its multipliers, for `prox` and `prox_jacobian`, which are asked for one after the other."""
        start = np.zeros(self._rows.upper.size)
        return self._remembered(
            (w.tobytes(), step), lambda: constrained_prox(self.regularizer, self._rows, w, step, start)
        )

    def _remembered(self, key: Any, evaluate: Callable[[], Any]) -> Any:
        kept: tuple[tuple[Any, Any], ...] = self._kept  # type: ignore[attr-defined]
        for known, value in kept:
            if known == key:
                return value
        found = evaluate()
        self._set(_kept=(*kept[1 - MOST_KEPT :], (key, found)))
        return found

    def _evaluated(self, v: Vector) -> Bound:
        if not np.isfinite(v).all():
            return Bound(math.inf, np.zeros(self.A.shape[0]), self._start, v, math.inf, np.zeros(0))  # type: ignore[attr-defined]
        found = self._minimised(v)
        noise = NOISE * self._magnitude(v, found.last) / self.alpha
        for margin in MARGINS if noise <= MARGINS[-1] else (*MARGINS, noise):
            if found.slack <= LOOSE or largest(found.rest) > OUTSIDE * self._magnitude(v, found.last):
                break
            # At the border of the domain of R0*, rounding errors decide; a larger v has a y for which v is inside.
            larger = self._minimised((1.0 + margin) * v)
            y = larger.last / (1.0 + margin)
            value = self.upper_bound(v, y)
            if value < found.value:
                found = found._replace(value=value, y=y, slack=min(found.slack, self._slack(value, v, found.w)))
        return found

    def upper_bound(self, v: ArrayLike, y: ArrayLike) -> float:
        """R0*(v - A'y) + S(y), with what rounding errors can add to it: a bound of R*(v) for every y.

        >>> reg = LinearlyConstrained(L2(1.0), [[1.0, 1.0]], lower=1.0, upper=1.0)
        >>> round(reg.upper_bound([2.0, 0.0], [0.0]), 9), round(reg.upper_bound([2.0, 0.0], [0.5]), 9)
        (2.0, 1.75)
        """
        v, y = vector(v), vector(y)
        total, magnitude = support(*self._ends, y)
        if not total < math.inf:
            return math.inf
        r = v - self.A.T @ y
        error = (self.A.shape[0] + 2) * 2.0**-53 * (np.abs(v) + abs(self.A).T @ np.abs(y))
        worst = float(np.max(error, initial=0.0))
        ends = [float(self.regularizer.conjugate(r))]
        if np.any(y):
            ends += [float(self.regularizer.conjugate(x)) for x in self.regularizer.perturbed(r, worst)]
        bound = max(ends) + total + (y.size + 2) * 2.0**-53 * magnitude
        return bound if bound == bound else math.inf

    def _minimised(self, v: Vector) -> Bound:
        """The bound by proximal steps w <- prox(w + t v, t), whose multipliers, divided by t, are those of R*."""
        w: Vector = self._start  # type: ignore[attr-defined]
        t = (1.0 + largest(w)) / max(self.alpha, largest(v))
        y = np.zeros(self.A.shape[0])
        best, rest, slack = Bound(self.upper_bound(v, y), y, w, v, math.inf, y), v, math.inf
        steady, limit, inner = 0, LONGEST_STEP * t, np.zeros(self._rows.upper.size)
        for _ in range(MAX_PROXIMAL_STEPS):
            point = constrained_prox(self.regularizer, self._rows, w + t * v, t, inner)
            if not (np.isfinite(point.y).all() and np.isfinite(point.x).all()):
                break
            before, rest = rest, (point.x - w) / t
            w, y = corrected(self.regularizer, self._rows, w + t * v, t, point), self._multipliers(point.y) / t
            bound = self.upper_bound(v, y)
            if bound < best.value or best.value == math.inf:
                best = best._replace(value=bound, y=y)
            slack = self._slack(best.value, v, w)
            missing = largest(rest)
            steady = steady + 1 if bound == math.inf and largest(rest - before) <= STEADY * missing else 0
            settled = missing <= NOTHING * self._magnitude(v, y) or steady == MAX_STEADY
            if slack <= CLOSE or settled:
                break
            new = min(STEP_GROWTH * t, limit)
            inner, t = point.y * (new / t), new
        return best._replace(w=w, rest=rest, slack=slack, last=y)

    def _slack(self, bound: float, v: Vector, w: Vector) -> float:
        """By how much the bound is above v'w - R(w), relative to the sizes of the terms."""
        below = float(v @ w) - float(self.regularizer.value(w))
        return (bound - below) / (float(np.abs(v) @ np.abs(w)) + abs(below) + TINY)

    def _magnitude(self, v: Vector, y: Vector) -> float:
        """The size of the terms of v - A'y."""
        return max(largest(v), largest(self.A.T @ y))

    def _multipliers(self, y: Vector) -> Vector:
        """Those of the rows as given, from those of the rows of length 1, with signs that S allows."""
        rows, (lower, upper) = self._rows, self._ends
        out = np.zeros(self.A.shape[0])
        out[rows.kept] = y / rows.length
        out = np.where(np.isinf(upper), np.minimum(out, 0.0), out)
        return np.where(np.isinf(lower), np.maximum(out, 0.0), out)

    def perturbed(self, v: Vector, error: float) -> tuple[Vector, ...]:
        """v moved along the slope of R*, and as far out of its domain as any error may."""
        bound = self._bound(v)
        r = v - self.A.T @ bound.y
        moved = self.regularizer.perturbed(r, error)
        outside = [c for c in map(self.regularizer.dual_scale, moved) if 0.0 < c < 1.0]
        return (
            v + np.copysign(error, bound.w), *(x - r + v for x in moved), *(v / c for c in outside[:1] if min(outside) == c)
        )  # fmt: skip

    @quiet
    def dual_scale(self, v: ArrayLike) -> float:
        """The largest c for which R*(c v) is finite and known, by hyperplanes through the nearest points of its domain."""
        v = vector(v)
        if not np.isfinite(v).all():
            return 0.0
        if (known := self._bound(v)).slack <= TIGHT:
            return 1.0
        scale = inside = 1.0
        for _ in range(MAX_CUTS):
            bound = self._minimised(scale * v)
            inside = self.regularizer.dual_scale(scale * v - self.A.T @ bound.last)
            if inside >= 1.0 - DOMAIN_MARGIN / 4.0:
                break
            # The nearest point of the domain is scale v - rest, and the hyperplane through it that is normal to rest bounds it.
            square, along = float(bound.rest @ bound.rest), float(v @ bound.rest)
            new = scale - square / along if along > 0.0 else scale
            if not new < scale * (1.0 - DOMAIN_MARGIN / 8.0):
                break
            scale, inside = max(new, 0.0), 1.0
        scale *= inside
        margin = DOMAIN_MARGIN
        while margin < 1.0 and scale > 0.0:
            if self._bound((1.0 - margin) * scale * v).slack <= TIGHT:
                return (1.0 - margin) * scale
            margin *= 4.0
        return 1.0 if known.value < math.inf else 0.0

    # --- the prox -----------------------------------------------------------------------------------------------------

    @quiet
    def prox(self, w: ArrayLike, step: float) -> Vector:
        """The minimiser of step R0(x) + 1/2 |x - w|^2 on the polyhedron."""
        w = vector(w)
        x = corrected(self.regularizer, self._rows, w, step, self._point(w, step))
        return x if np.isfinite(x).all() else self.start(w.size)

    @quiet
    def prox_jacobian(self, w: ArrayLike, step: float) -> ProxJacobian:
        """J - J A_a' (A_a J A_a')^-1 A_a J, with J of R0 and the active rows A_a."""
        rows, w = self._rows, vector(w)
        point = self._point(w, step)
        J = self.regularizer.prox_jacobian(w - rows.At @ point.y, step)
        active = np.flatnonzero((point.y != 0.0) | (rows.lower == rows.upper))
        JA = J @ rows.At[:, active]
        values, directions = np.linalg.eigh(rows.At[:, active].T @ JA)
        used = values > 1e-12 * np.max(values, initial=0.0)
        Q = JA @ (directions[:, used] / np.sqrt(values[used]))
        vectors, scales = J.outer_products()
        return ProxJacobian(
            J.diagonal, sp.csc_array(np.column_stack([Q, vectors])), np.concatenate([-np.ones(Q.shape[1]), scales])
        )
