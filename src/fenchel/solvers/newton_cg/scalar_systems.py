"""The linear systems of Newton steps for losses of one score: conjugate gradients, with a Cholesky factor where one pays.

The factor of a Hessian found earlier, also that of a sample of the rows, preconditions. When the products with the Hessian
since then have cost as much as a new factor would, one is made, and it ends the system at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fenchel.kernels.gram import symmetric
from fenchel.regularizers import L2
from fenchel.solvers.newton_cg.passes import Costs, Passes, Point
from fenchel.solvers.newton_line_search.settings import SETTINGS as LINE_SEARCH

LOOSE = 0.1  # residual of a system relative to the gradient, at most
LOOSEST = 0.7  # ... after a step whose model was wrong
AIM = 0.3  # of 1e-3, 1e-6, 1e-9 ...
PATIENCE = 0.75  # of a factor's cost: what products may cost before it is renewed
CHEAP = 10.0  # products with the Hessian: a factor that costs less is made at once
MOST_STEPS = 250
WORN, SAVED = 2, 3.0  # products of a system that show a factor to be old; those of all rows that a new one saves, about

Apply = Callable[[np.ndarray], np.ndarray]


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
    total = passes.curvature_of(point) if passes.problem.fit_intercept else 0.0
    mean = point.curvature_sum / total if total > 0.0 else np.zeros(point.w.size)
    return Hessian(passes, point, mean, total, passes.costs)


class Systems:
    """Newton systems one after the other, each solved as well as the last step's model was right."""

    def __init__(self, problem: Any):
        self.problem = problem
        self.factor: Apply | None = None
        self.spent = 0.0  # on products since the factor was made
        self.steps = 0  # products in the last system
        self.begin()

    def begin(self) -> None:
        """Other rows: nothing is known of the model's error."""
        self.strict = False  # after a direction along which the value did not fall
        self.gap, self.residual, self.whole = 0.0, np.zeros(0), False

    def took(self, t: float) -> None:
        """The last step was taken, t times."""
        self.strict, self.whole = False, t == 1.0

    def solve(self, passes: Passes, point: Point) -> Step | None:
        """A step that nearly solves the Newton system at a point; None if the factorization fails."""
        H = hessian_at(passes, point)
        right = -(point.gradient - point.slopes * H.mean)
        dw = self.direction(H, right, self.goal(right, point.value))
        if H.total > 0.0:
            db = -point.slopes / H.total - float(H.mean @ dw)
        else:  # no row has curvature: far enough for the search to find some
            db = -math.copysign(1.0 + passes.farthest(point), point.slopes) if point.slopes else 0.0
        decrement = -(float(point.gradient @ dw) + point.slopes * db)
        return Step(dw, db, decrement) if 0.0 < decrement < math.inf else None

    def goal(self, right: np.ndarray, value: float) -> float:
        """R*(residual), which is the gap to expect after the step, at which to end the system."""
        conjugate = self.problem.regularizer.conjugate
        gap = conjugate(right)
        goal = aim(gap, value)
        if self.whole and self.gap > 0.0:  # Eisenstat and Walker: no better than the last model was
            wrong = min(conjugate(right - self.residual) / self.gap, LOOSEST * LOOSEST)
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
        while steps < MOST_STEPS and regularizer.conjugate(r) > goal:
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
        if self.factor is None and cheap(costs):
            return True
        return self.spent >= PATIENCE * costs.factor or (self.strict and fresh)

    def hand_on(self, passes: Passes, point: Point, costs: Costs) -> None:
        """At the end of a sample, if the factor no longer fits: none, where one of all rows is cheap (`costs` are theirs), so
        that it is made at once; else a new one, if rows have lost their curvature and it costs less than it saves."""
        if self.factor is None or self.steps < WORN:
            return
        if costs.factor <= SAVED * costs.product:
            self.factor = None
        elif passes.costs.factor <= SAVED * costs.product and not point.h.all():
            self.renew(hessian_at(passes, point))

    def renew(self, H: Hessian) -> bool:
        """A factor of this Hessian, if numbers allow."""
        self.factor = None  # the new one may take the place of the old one in memory
        self.factor, self.spent = cholesky(H), 0.0
        return self.factor is not None


def cheap(costs: Costs) -> bool:
    """Whether a factor costs so little that it is made before any product."""
    return costs.factor <= CHEAP * costs.product


def aim(gap: float, value: float) -> float:
    """A smaller gap: no smaller than Newton's model allows, and just below one of those that are asked for most."""
    relative = gap / max(abs(value), 1e-300)
    if not 0.0 < relative < math.inf:
        return 0.0
    asked = AIM * 1e-3 ** math.ceil(math.log(relative / AIM) / math.log(1e-3))
    return gap * max(min(LOOSE * LOOSE, relative), min(asked / relative, LOOSE * LOOSE))


def cholesky(H: Hessian) -> Apply | None:
    """v -> H^-1 v, or None if the factorization fails."""
    from scipy.linalg.lapack import dpotrf, dpotrs

    d, regularizer = H.mean.size, H.passes.problem.regularizer
    matrix = H.passes.gram(H.point)
    if H.total > 0.0:
        matrix -= H.total * np.outer(H.mean, H.mean)
    if isinstance(regularizer, L2):  # without a d x d matrix of its own
        matrix.flat[:: d + 1] += regularizer.alpha
    else:
        matrix += regularizer.hessian(d)
    if not np.isfinite(matrix).all():
        return None
    symmetric(matrix)  # the factor takes the place of the upper triangle, and the lower one stays to try again
    diagonal = np.diag(matrix).copy()
    for ridge in LINE_SEARCH.relative_ridges:
        matrix.flat[:: d + 1] = diagonal * (1.0 + ridge)
        root, wrong = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)  # its upper triangle, in LAPACK's order
        if wrong == 0:
            return lambda v: dpotrs(root, v, lower=1)[0]
        symmetric(matrix.T)
    return None
