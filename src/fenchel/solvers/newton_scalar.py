"""Newton steps for losses of one score: the linear system by conjugate gradients, with a Cholesky factor where one pays.

The factor of a Hessian found earlier, also of a sample of the rows, preconditions until the products with the Hessian
have cost as much as a new one would; with a new one no product is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fenchel.data.dense import Dense
from fenchel.data.transfer import Identity
from fenchel.kernels.dual_rules import Ascent, Majorised
from fenchel.regularizers import L2
from fenchel.result import Iterate
from fenchel.solvers.base import Start
from fenchel.solvers.claims import dual_estimate
from fenchel.solvers.newton_passes import Passes, Point, samples
from fenchel.solvers.row_order import blocks

DECREASE, FLAT = 1e-4, 0.3  # of the derivative at the start of a step: what it must gain, and how steep it may end
LOOSE = 0.1  # residual of the linear system relative to the gradient, far from the solution
AIM = 0.3  # next to the power of ten two below the gap: tolerances are powers of ten
ROUGH = 1e-2  # relative decrement that is enough for a sample
CHEAP = 10.0  # products with the Hessian: a factor that costs less is made at once
MOST_FACTORED = 5000  # features
MOST_STEPS = 250
MOST_SAMPLE_STEPS = 15
EPOCHS = 8
ROUNDING = 1e-13


def iterates(oracle: Any, start: Start, seed: int = 0) -> Iterator[Iterate]:
    """Iterates of NewtonCG for losses of one score."""
    problem, rng = oracle.problem, np.random.default_rng(seed)
    w, b = start.coef.copy(), start.intercept
    systems = Systems(problem)
    passes = Passes(oracle, problem.weights, keep=True)
    if start.dual_point is None and not w.any() and b == 0.0:
        chosen = samples(problem, rng)
        for p in chosen:
            for point, decrement in descend(Passes(oracle, p, keep=False), w, b, systems):
                w, b = point.w, point.b
                yield Iterate(w.copy(), b, None, np.nan)
                if decrement <= ROUGH * abs(point.value):
                    break
        if not chosen and dual_start_pays(problem, passes):
            w, b = dual_start(oracle, rng)
    for point, _ in descend(passes, w, b, systems):
        yield Iterate(point.w.copy(), point.b, point.value, claim(oracle, point), point.u)


def claim(oracle: Any, point: Point) -> float:
    """The dual value to expect at the slopes of a point."""
    return dual_estimate(oracle, point.w, point.b, point.risk, point.g, point.slopes)


def descend(passes: Passes, w: np.ndarray, b: float, systems: Systems) -> Iterator[tuple[Point, float]]:
    """Points of Newton's method, each with the squared decrement of the step that led to it."""
    decrement = np.inf
    point = passes.look(w, b)
    while True:
        yield point, decrement
        step = systems.solve(passes, point)
        if step is None:
            return
        decrement = step.decrement
        new = take(passes, point, step)
        if new is None and systems.exact:
            return
        if new is None:
            systems.renew()
        else:
            point = new


class Step(NamedTuple):
    """A direction and minus the derivative along it."""

    dw: np.ndarray
    db: float
    decrement: float


class Systems:
    """Newton systems one after the other."""

    def __init__(self, problem: Any):
        self.problem = problem
        self.factor: Any = None
        self.spent = 0.0
        self.exact = False  # whether the last step came from a factor of its own Hessian

    def renew(self) -> None:
        """The last direction was no good: the next one comes from a new factor, or from more exact steps."""
        self.spent = np.inf

    def solve(self, passes: Passes, point: Point) -> Step | None:
        """A step that nearly solves the Newton system at a point; None if numbers fail."""
        mean, total = self.centre(passes, point)
        right = -(point.gradient - point.slopes * mean)
        costs = passes.costs()
        if self.problem.d <= MOST_FACTORED and self.due(costs):
            self.factor, self.spent = factor(passes, point.h, mean, total), 0.0
            self.exact = self.factor is not None
        else:
            self.exact = False
        if self.exact:
            dw = self.factor(right)
        else:
            dw, steps = self.truncated(passes, point, mean, right, costs)
            self.spent += steps * costs.product
        db = -(point.slopes + total * float(mean @ dw)) / total if total > 0.0 else 0.0
        decrement = -(float(point.gradient @ dw) + point.slopes * db)
        if not (decrement > 0.0 and np.isfinite(decrement)):
            return None
        return Step(dw, db, decrement)

    def due(self, costs: Any) -> bool:
        if self.factor is None:
            return costs.factor <= CHEAP * costs.product or self.spent >= costs.factor
        return self.spent >= costs.factor

    def centre(self, passes: Passes, point: Point) -> tuple[np.ndarray, float]:
        """(mean row by curvature, sum of curvatures): what the free intercept takes out of the Hessian."""
        total = float(point.h.sum()) if self.problem.fit_intercept else 0.0
        if not total > 0.0:
            return np.zeros(self.problem.d), 0.0
        return passes.combine(point.h) / total, total

    def truncated(self, passes, point, mean, right, costs) -> tuple[np.ndarray, int]:
        """(x, steps) by preconditioned conjugate gradients until R*(residual), the gap to expect, is near its aim."""
        regularizer = self.problem.regularizer
        precondition = self.factor or regularizer.primal_from_dual
        gap = regularizer.conjugate(right)
        goal = aim(gap, point.value)
        x, r, steps = np.zeros(right.size), right.copy(), 0
        q = precondition(r)
        direction, rq = q.copy(), float(r @ q)
        while steps < MOST_STEPS and rq > 0.0:
            product = passes.product(point.h, direction, -float(mean @ direction)) + regularizer.gradient(direction)
            steps += 1
            curved = float(direction @ product)
            if not curved > 0.0:
                break
            x += (rq / curved) * direction
            r -= (rq / curved) * product
            if regularizer.conjugate(r) <= goal:
                break
            if self.factor is not None and self.spent + steps * costs.product >= costs.factor:
                break
            q = precondition(r)
            new = float(r @ q)
            direction *= new / rq
            direction += q
            rq = new
        return x, steps


def aim(gap: float, value: float) -> float:
    """The gap at which to end the linear system: no smaller than Newton's model allows, near a power of ten."""
    relative = gap / max(abs(value), 1e-300)
    if not 0.0 < relative < np.inf:
        return 0.0
    decade = AIM * 10.0 ** (np.floor(np.log10(relative)) - 1.0)
    return gap * max(min(LOOSE * LOOSE, relative), min(decade / relative, LOOSE * LOOSE))


def factor(passes: Passes, h: np.ndarray, mean: np.ndarray, total: float) -> Any:
    """v -> H^-1 v, or None if numbers fail."""
    from scipy.linalg.lapack import dpotrf, dpotrs

    d = mean.size
    H = passes.gram(h)
    if total > 0.0:
        H -= total * np.outer(mean, mean)
    H += passes.problem.regularizer.hessian(d)
    if not np.isfinite(H).all():
        return None
    diagonal = np.diag(H).copy()
    for ridge in (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6):
        H.flat[:: d + 1] = diagonal * (1.0 + ridge)
        root, wrong = dpotrf(H.T, lower=1, clean=0, overwrite_a=0)  # H is symmetric or has its upper triangle
        if wrong == 0:
            return lambda v: dpotrs(root, v, lower=1)[0]
    return None


def take(passes: Passes, point: Point, step: Step) -> Point | None:
    """The point after a step of length 1, or of a length found on stored scores; None if the value does not fall."""
    new = passes.look(point.w + step.dw, point.b + step.db)
    slope = float(new.gradient @ step.dw) + new.slopes * step.db
    if good(point, new.value, slope, step.decrement, 1.0):
        return new
    t = search(passes, point, new, step)
    if t == 0.0:
        return None
    return passes.look(point.w + t * step.dw, point.b + t * step.db)


def good(point: Point, value: float, slope: float, decrement: float, t: float) -> bool:
    """Lower by its share, or as low as rounding can tell and flatter; and not still falling steeply."""
    if not (np.isfinite(value) and slope >= -FLAT * decrement):
        return False
    if value <= point.value - DECREASE * t * decrement:
        return True
    return value <= point.value + ROUNDING * abs(point.value) and abs(slope) <= FLAT * decrement


def search(passes: Passes, point: Point, new: Point, step: Step) -> float:
    """A good step length, by safeguarded secants on stored scores: no pass over X; 0 if there is none."""
    regularizer = passes.problem.regularizer
    dz = new.z - point.z
    low, low_slope, high, high_slope, t = 0.0, -step.decrement, np.inf, np.inf, 1.0
    for trial in range(60):
        value, slope = passes.along(point.z, dz, t)
        value += regularizer.value(point.w + t * step.dw)
        slope += float(regularizer.gradient(point.w + t * step.dw) @ step.dw)
        if good(point, value, slope, step.decrement, t):
            return t
        if slope < 0.0 and np.isfinite(value):
            low, low_slope = t, slope
        else:  # also where the loss overflows
            high, high_slope = t, slope
        if np.isinf(high):
            t *= 2.0
        elif trial % 3 == 2 or not np.isfinite(high_slope):
            t = 0.5 * (low + high)
        else:
            share = low_slope / (low_slope - high_slope)
            t = low + min(max(share, 0.05), 0.95) * (high - low)
    return low


def dual_start_pays(problem: Any, passes: Passes) -> bool:
    """Sparse rows of many features, and a loss with an exact dual step of its own."""
    costs = passes.costs()
    return (
        isinstance(problem.regularizer, L2)
        and hasattr(problem.loss, "dual_step")
        and not isinstance(problem.rows, Dense)
        and costs.factor > CHEAP * costs.product
    )


def dual_start(oracle: Any, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """(w, b) after some epochs of dual coordinate steps."""
    problem = oracle.problem
    strength = problem.regularizer.alpha
    norms = oracle.norms()
    u, v, b = np.zeros(problem.n), np.zeros(problem.d), 0.0
    low_start(problem, u)
    v = -oracle.combine(u) / strength
    inverse_bias = float(problem.weights @ norms) / strength if problem.fit_intercept else 0.0
    rows = np.flatnonzero(problem.weights > 0.0).astype(np.uint64)
    idle = np.zeros(problem.n, dtype=np.int64)
    ascent, centre = Ascent(Identity(), Majorised()), 0.0
    for _ in range(EPOCHS):
        b = oracle.dual_epoch(
            ascent, blocks(rng, rows), norms, 1.0 / strength, inverse_bias, b, u, v, idle
        )
        centre, b = b, b - (centre - b)
    return v, centre if problem.fit_intercept else 0.0


def low_start(problem: Any, u: np.ndarray) -> None:
    """A feasible u near 0."""
    from fenchel.certify import feasible

    u[:] = feasible(problem, u)
