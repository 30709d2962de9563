"""A region that holds the exact optimum, from a certificate.

If R is strongly convex in a norm |.|_M, every point w and every feasible dual point u satisfy

    |w* - c|_M^2 <= gap - |w - w_u|_M^2 / 4,    c = (w + w_u) / 2,   w_u = grad R*(v),   gap = P(w) - D(u),

because P(w) - P* >= |w - w*|_M^2 / 2 and P* - D(u) >= |w* - w_u|_M^2 / 2. Where w_u is not known, c = w and the bound is 2 gap.
The gap counts with its rounding floor.

Reference: Ndiaye, Fercoq, Gramfort and Salmon (JMLR 2017) for the ball about w; the mean of both points makes it smaller.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.certificates.passes import slopes_pass
from fenchel.errors import InputError
from fenchel.proofs.spaces import KernelSpace, LinearSpace, space_of

if TYPE_CHECKING:
    from fenchel.problems.scalar import Problem
    from fenchel.result import Result

EPS = float(np.finfo(np.float64).eps)
ENLARGEMENTS, HALVINGS = 80, 60  # of the search for the ends of the intercept
FACTOR, PRECISION = 8.0, 1e-3  # of an enlargement; of an end, relative to its distance from the intercept
WIDENING = 1.0 + 1e-9  # of the radius, for its own rounding


class Interval(NamedTuple):
    """Lower and upper ends, numbers or arrays."""

    low: Any
    high: Any


@dataclass(frozen=True)
class Ball:
    """A region that holds the coefficients of the exact optimum: |w* - center|_M <= distance, M the regularizer's own norm.

    Attributes
    ----------
    center : coefficients, of the shape of `Result.coef`.
    distance : the bound in the norm M, in which the regularizer is strongly convex: for L2, |w|_M = sqrt(alpha) |w|.
    radius : the same as a Euclidean distance (for a kernel, in the norm of its space).
    intercept : Interval that holds the best intercept; (0, 0) where there is none.

    Examples
    --------
    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0]], [1.0, 3.0], loss="squared", alpha=0.5)
    >>> ball = fenchel.solve(problem, tol=1e-3).ball()
    >>> ball.contains([7 / 6]), ball.radius < 0.1  # the closed form is X'y / (X'X + 2 alpha) = 7 / 6
    (True, True)
    """

    center: np.ndarray
    distance: float
    space: LinearSpace | KernelSpace = field(repr=False)
    given_intercept: Any = field(repr=False)

    @property
    def radius(self) -> float:
        """The distance as a Euclidean one."""
        if isinstance(self.space, KernelSpace):
            return self.distance / float(np.sqrt(self.space.problem.alpha))
        return self.distance * float(np.max(self.space.half_widths())) if self.distance else 0.0

    @property
    def half_widths(self) -> np.ndarray:
        """|w*_j - center_j| is at most this, feature by feature."""
        return self.space.half_widths() * self.distance

    def contains(self, coef: Any) -> bool:
        """Whether coefficients lie in the region; a point on its boundary may count as inside.

        Of a kernel machine, whose coefficients are not unique, functions are compared.
        """
        return self.space.norm(np.asarray(coef, dtype=np.float64) - self.center) <= self.distance

    @cached_property
    def intercept(self) -> Interval:
        """An interval that holds every best intercept: the slopes of the losses at the lowest and at the highest possible
        scores bound the slope of the risk in b."""
        problem = self.space.problem
        if not problem.has_intercept:
            return Interval(0.0, 0.0)
        if problem.is_vector or not np.isfinite(self.distance):
            shape = np.shape(self.given_intercept)
            return Interval(np.full(shape, -np.inf), np.full(shape, np.inf))
        z, width = self.around(self.space.training_rows())
        z = z + problem.offset
        b = float(self.given_intercept)
        return Interval(-_end(problem, -1.0, z + width, b), _end(problem, 1.0, z - width, b))

    def scores(self, X: Any, offset: Any = None) -> Interval:
        """Intervals that hold the exact optimum's scores <x, w*> + b* of rows, one per row, or rows x scores.

        Where nothing is known of an intercept, as with free intercepts of several scores, they are infinite.
        """
        if self.space.problem.is_structured:
            raise InputError("scores of structured outputs are not bounded: a ball holds their coefficients")
        z, width = self.around(X)
        if z.ndim == 2:
            width = width[:, None]
        if offset is not None:
            z = z + np.asarray(offset, dtype=np.float64)
        low, high = self.intercept
        with np.errstate(invalid="ignore"):
            return Interval(np.nan_to_num(z - width + low, nan=-np.inf), np.nan_to_num(z + width + high, nan=np.inf))

    def around(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """(scores <x, center> of rows, how far those of the optimum may be from them), without intercepts."""
        reach = self.space.reach(X, self.center)
        far = np.where(reach.per_distance > 0.0, reach.per_distance * self.distance, 0.0)
        sizes = np.abs(reach.scores)
        largest = sizes if sizes.ndim == 1 else sizes.max(axis=1, initial=0.0)
        b = float(np.max(np.abs(self.given_intercept), initial=0.0))
        return reach.scores, far + reach.rounding + 8.0 * EPS * (largest + b)


def ball(result: Result) -> Ball:
    """The region that the certificate of a result proves to hold the exact optimum."""
    return ball_at(result.problem, result.coef, result.intercept, result.certificate, result.dual_point)


def ball_at(problem: Any, coef: np.ndarray, intercept: Any, certificate: Any, u: Any) -> Ball:
    """The region for coefficients with their certificate and its dual point."""
    space = space_of(problem)
    if space.metric is None:
        name = type(problem.given if problem.is_vector else problem.regularizer).__name__
        raise InputError(
            f"regularizer {name} is not strongly convex in a norm that is known, so a gap does not bound the distance to the "
            "optimum: use L2, ElasticNet or another regularizer that is, with weights > 0"
        )
    gap = max(certificate.gap, 0.0) + certificate.floor
    if not np.isfinite(gap):
        return Ball(np.asarray(coef), np.inf, space, intercept)
    dual = space.dual(u)
    if dual is None or not np.isfinite(dual.error):
        return Ball(np.asarray(coef), float(np.sqrt(2.0 * gap)) * WIDENING, space, intercept)
    apart = max(space.norm(coef - dual.coef) - dual.error, 0.0)
    square = max(gap - 0.25 * apart * apart, 0.0) + EPS * gap
    return Ball(0.5 * (coef + dual.coef), float(np.sqrt(square)) * WIDENING + 0.5 * dual.error, space, intercept)


def _end(problem: Problem, sign: float, z: np.ndarray, b: float) -> float:
    """With sign 1, some b' so small as a search finds it with sum p slope(z + b') > 0; with sign -1, -b' with the sum < 0.

    As z are the lowest possible scores, the slope of the risk in b is positive at b', too, and every best b is below it.
    """
    u = np.empty(problem.n)

    def beyond(step: float) -> bool:
        slopes_pass(problem.compiled_loss, problem.y, z + (b + sign * step), u)
        terms = problem.weights * u
        return bool(sign * float(terms.sum()) > (problem.n + 8) * EPS * float(np.abs(terms).sum()))

    size = max(abs(b), float(np.abs(z).mean()), 1e-12) * 1e-9
    high, tries = size, 0
    with np.errstate(all="ignore"):
        while not beyond(high):
            high, tries = FACTOR * high, tries + 1
            if tries == ENLARGEMENTS:
                return np.inf
        low = high / FACTOR if tries else -size
        for _ in range(HALVINGS if tries else 0):
            middle = 0.5 * (low + high)
            if high - low <= PRECISION * high:
                break
            low, high = (low, middle) if beyond(middle) else (middle, high)
    end = sign * (b + sign * high)
    return float(end + 4.0 * EPS * (abs(b) + high))
