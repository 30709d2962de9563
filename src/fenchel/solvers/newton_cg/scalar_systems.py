"""The linear systems of Newton steps for losses of one score: conjugate gradients, with a Cholesky factor where one pays.

The factor of an earlier Hessian, also that of a sample of the rows, is the preconditioner. When the Hessian-vector products
since then have cost about as much as a new factor would, one is made, and it solves the system at once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fenchel.regularizers import L2
from fenchel.solvers.linear_systems import Apply, factors
from fenchel.solvers.newton_cg.passes import Costs, Passes, Point
from fenchel.solvers.newton_cg.settings import SETTINGS
from fenchel.solvers.newton_line_search.settings import SETTINGS as LINE_SEARCH

if TYPE_CHECKING:
    from fenchel.problems.vector import VectorProblem


class Step(NamedTuple):
    """A direction, and minus the derivative along it."""

    dw: np.ndarray
    db: float
    decrement: float


class Hessian(NamedTuple):
    """The Hessian at a point with the intercept minimised out: rows centred at `mean`, `total` the sum of curvatures."""

    passes: Passes
    point: Point
    mean: np.ndarray
    total: float
    costs: Costs

    def __call__(self, v: np.ndarray) -> np.ndarray:
        shift = -float(self.mean @ v) if self.total > 0.0 else 0.0
        return self.passes.product(self.point, v, shift) + self.passes.problem.regularizer.gradient(v)


def hessian_at(passes: Passes, point: Point) -> Hessian:
    """The Hessian at a point."""
    mean = point.curvature_sum / point.total if point.total > 0.0 else np.zeros(point.w.size)
    return Hessian(passes, point, mean, point.total, passes.costs)


class Systems:
    """A sequence of Newton systems, each solved as accurately as the quadratic model of the last step was."""

    def __init__(self, problem: VectorProblem):
        self.problem = problem
        self.factor: Apply | None = None
        self.spent = 0.0  # Nanoseconds of products since the factor was made.
        self.steps = 0  # The number of products in the last system.
        self.begin()

    def begin(self) -> None:
        """Begin on other rows, where nothing is known of the model's error."""
        self.strict = False  # This is set after a direction along which the value did not fall.
        self.gap, self.residual, self.full_step = 0.0, np.zeros(0), False

    def took(self, t: float) -> None:
        """Note that the last step was taken with length t."""
        self.strict, self.full_step = False, t == 1.0

    def solve(self, passes: Passes, point: Point) -> Step | None:
        """A step that nearly solves the Newton system at a point; None if the factorization fails."""
        H = hessian_at(passes, point)
        right = -(point.gradient - point.slopes * H.mean)
        dw = self.direction(H, right, self.goal(right, point.value))
        if H.total > 0.0:
            db = -point.slopes / H.total - float(H.mean @ dw)
        else:  # No row has curvature: move the intercept far enough for the line search to find some.
            db = -math.copysign(1.0 + passes.magnitude(point), point.slopes) if point.slopes else 0.0
        decrement = -(float(point.gradient @ dw) + point.slopes * db)
        return Step(dw, db, decrement) if 0.0 < decrement < math.inf else None

    def goal(self, right: np.ndarray, value: float) -> float:
        """The value of R*(residual), the gap to expect after the step, at which to end the system."""
        conjugate = self.problem.regularizer.conjugate
        gap = conjugate(right)
        goal = aim(gap, value)
        if self.full_step and self.gap > 0.0:  # Eisenstat and Walker: no more accurate than the last model was.
            wrong = min(conjugate(right - self.residual) / self.gap, SETTINGS.max_wrong_model_residual_ratio**2)
            goal = max(goal, gap * wrong)
        self.gap = gap
        return 0.0 if self.strict else goal

    def direction(self, H: Hessian, right: np.ndarray, goal: float) -> np.ndarray:
        """x with R*(right - H x) <= goal by preconditioned conjugate gradients, or exactly by a new factor."""
        from scipy.linalg.blas import daxpy

        regularizer = self.problem.regularizer
        x, r, steps = np.zeros(right.size), right.copy(), 0
        self.residual = r
        rq, direction = 1.0, np.zeros(right.size)
        while steps < SETTINGS.max_cg_steps and regularizer.conjugate(r) > goal:
            if self.due(H.costs, fresh=steps == 0) and self.renew(H):
                x += self.factor(r)  # type: ignore[misc]
                r[:] = 0.0
                break
            q = self.factor(r) if self.factor is not None else regularizer.primal_from_dual(r)
            old, rq = rq, float(r @ q)
            direction *= rq / old if steps else 0.0
            direction += q
            product = H(direction)
            curved = float(direction @ product)
            if not (rq > 0.0 and curved > 0.0):
                break
            daxpy(direction, x, a=rq / curved)
            daxpy(product, r, a=-rq / curved)
            steps += 1
            self.spent += H.costs.product
        self.steps = steps
        return x

    def due(self, costs: Costs, fresh: bool) -> bool:
        """Whether to make a factor now."""
        if costs.factor == math.inf:
            return False
        if self.factor is None and factor_is_inexpensive(costs):
            return True
        return self.spent >= SETTINGS.renewal_cost_ratio * costs.factor or (self.strict and fresh)

    def hand_on(self, passes: Passes, point: Point, costs: Costs) -> None:
        """At the end of a sample, drop a factor that no longer fits, where one of all rows (which have `costs`) is inexpensive
        and is made at once; else renew it, if rows have lost their curvature and it costs less than it saves."""
        if self.factor is None or self.steps < SETTINGS.min_products_of_old_factor:
            return
        saved = SETTINGS.products_saved_by_factor * costs.product
        if costs.factor <= saved:
            self.factor = None
        elif passes.costs.factor <= saved and not passes.all_curved(point):
            self.renew(hessian_at(passes, point))

    def renew(self, H: Hessian) -> bool:
        """Make a factor of this Hessian; False if the factorization fails."""
        self.factor = None  # The memory of the old factor is free for the new one.
        self.factor, self.spent = cholesky(H), 0.0
        return self.factor is not None


def factor_is_inexpensive(costs: Costs) -> bool:
    """Whether a factor costs so little that it is made before any product."""
    return costs.factor <= SETTINGS.max_inexpensive_factor_products * costs.product


def aim(gap: float, value: float) -> float:
    """The gap to aim for: no smaller than Newton's model allows, and just below one of the usual tolerances."""
    relative = gap / max(abs(value), 1e-300)
    if not 0.0 < relative < math.inf:
        return 0.0
    fraction, base, loose = SETTINGS.tolerance_fraction, SETTINGS.tolerance_base, SETTINGS.max_residual_ratio**2
    asked = fraction * base ** math.ceil(math.log(relative / fraction) / math.log(base))
    return gap * max(min(loose, relative), min(asked / relative, loose))


def cholesky(H: Hessian) -> Apply | None:
    """v -> H^-1 v, or None if the factorization fails."""
    d, regularizer = H.mean.size, H.passes.problem.regularizer
    matrix = H.passes.gram(H.point)
    if H.total > 0.0:
        matrix -= H.total * np.outer(H.mean, H.mean)
    if isinstance(regularizer, L2):  # This avoids a second d x d matrix.
        matrix.flat[:: d + 1] += regularizer.alpha
    else:
        matrix += regularizer.hessian(d)
    if not np.isfinite(matrix).all():
        return None
    diagonal = np.diag(matrix).copy()
    return next(factors(matrix, (diagonal * (1.0 + ridge) for ridge in LINE_SEARCH.relative_ridges)), None)
