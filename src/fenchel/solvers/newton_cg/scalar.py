"""Newton's method for losses of one score: its starting point, its steps and their line search.

Without a start it begins at the solution of a sample of the rows (`passes.py`), each sample starting the next, or,
where rows are too few for that, with some epochs of dual coordinate ascent on a copy of them. The steps come from
`scalar_systems.py`. If a step is far too long, rows without curvature would have had some along it, so the next system uses
the curvatures averaged over that step, (u' - u) / (z' - z).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.result import Iterate
from fenchel.solvers.base import Start
from fenchel.solvers.dual_ascent.initial_epochs import DualEpochs, copied, dual_start_pays
from fenchel.solvers.dual_estimates import dual_estimate
from fenchel.solvers.newton_cg.passes import Passes, Point, sample_sizes, samples
from fenchel.solvers.newton_cg.scalar_systems import Step, Systems, factor_is_inexpensive
from fenchel.solvers.newton_cg.settings import SETTINGS

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


def newton_iterates(oracle: Oracle, start: Start) -> Iterator[Iterate]:
    """Iterates of `NewtonCG` for losses of one score."""
    systems, passes = Systems(oracle.problem), Passes(oracle)
    fresh = start.dual_point is None and not start.coef.any() and start.intercept == 0.0
    if fresh and not sample_sizes(oracle) and begins_with_dual_epochs(oracle, passes):
        yield from copy_iterates(oracle, systems, start.tol)
        return
    begin = StartingPoint(start.coef, start.intercept, np.inf)
    for begin in starting_points(oracle, systems, passes) if fresh else ():
        yield Iterate(begin.w.copy(), begin.b, None, np.nan)
    first = passes.evaluate(begin.w, begin.b)
    if not first.value <= begin.at_zero:  # Rows outside the sample can make its solution worse than 0.
        first = passes.evaluate(start.coef, start.intercept)
    for point, _ in descend(passes, first, systems):
        yield Iterate(point.w.copy(), point.b, point.value, claim(oracle, point), passes.slopes(point))


def begins_with_dual_epochs(oracle: Oracle, passes: Passes) -> bool:
    """Whether dual epochs on a copy of the rows, which must be in this process, gain more than Newton steps at first."""
    return not oracle.remote and not factor_is_inexpensive(passes.costs) and dual_start_pays(oracle.problem)


def copy_iterates(oracle: Oracle, systems: Systems, tol: float) -> Iterator[Iterate]:
    """Iterates on a copy of the rows, after dual epochs on it, which may reach the tolerance alone."""
    rng, problem = np.random.default_rng(0), oracle.problem
    copy = copied(oracle, rng)
    epochs = DualEpochs(oracle, copy.sample, rng)
    inner, passes = epochs.inner, Passes(epochs.inner)
    for good in epochs.evaluations(tol):
        w, b = copy.columns.original(epochs.v), epochs.centre
        primal = passes.evaluate(epochs.v.copy(), b).value if good else None
        dual = epochs.dual() if good else np.nan
        oracle.count_sample(inner, problem.n)
        yield Iterate(w, b, primal, dual, copy.rows_back(epochs.u) if good else None)
    first = passes.evaluate(epochs.v, epochs.centre)
    if not first.value <= oracle.losses_at(problem.offset, 0.0)[0]:
        first = passes.evaluate(np.zeros(problem.d), 0.0)
    for point, _ in descend(passes, first, systems):
        oracle.count_sample(inner, problem.n)
        u = copy.rows_back(passes.slopes(point))  # type: ignore[arg-type]
        point = point._replace(w=copy.columns.original(point.w), g=copy.columns.original(point.g))
        yield Iterate(point.w, point.b, point.value, claim(oracle, point), u)


def claim(oracle: Oracle, point: Point) -> float:
    """The dual value to expect at the slopes of a point."""
    return dual_estimate(oracle, point.w, point.b, point.risk, point.g, point.slopes)


class StartingPoint(NamedTuple):
    """A starting point, with an estimate of P at 0."""

    w: np.ndarray
    b: float
    at_zero: float


def starting_points(oracle: Oracle, systems: Systems, all_rows: Any) -> Iterator[StartingPoint]:
    """Improving starting points, from growing samples of the rows; `all_rows` are the passes over all of them."""
    w, b, at_zero = np.zeros(oracle.problem.d), 0.0, None
    for sample in samples(oracle):
        passes = Passes(sample)
        here = passes.evaluate(w, b)
        at_zero = here.value if at_zero is None else at_zero
        for point, decrement in descend(passes, here, systems):
            w, b = point.w, point.b
            oracle.count_sample(sample, sample.problem.n)
            yield StartingPoint(w, b, at_zero)
            ratio = SETTINGS.sample_decrement_ratio
            if not passes.all_curved(point):
                ratio = SETTINGS.flat_sample_decrement_ratio
            if decrement <= ratio * w.size / sample.problem.n * abs(point.value):
                break
        systems.hand_on(passes, point, all_rows.costs)
        oracle.count_sample(sample, sample.problem.n)


def descend(passes: Any, point: Point, systems: Systems) -> Iterator[tuple[Point, float]]:
    """Points of Newton's method, each with the squared decrement of the step that led to it."""
    smoothness = systems.problem.smoothness
    bounded = smoothness is not None and np.isfinite(smoothness)
    decrement, secant_steps = np.inf, SETTINGS.max_secant_steps if bounded else 0
    systems.begin()
    while True:
        yield point, decrement
        step = systems.solve(passes, point)
        if step is None:
            return
        new, t = take(passes, point, step, may_refine=secant_steps > 0)
        secant_steps -= t < SETTINGS.max_secant_step
        if new is not None:
            point, decrement = new, step.decrement
            systems.took(t)
        elif systems.strict:
            return
        else:
            systems.strict = True


def take(passes: Any, point: Point, step: Step, may_refine: bool) -> tuple[Point | None, float]:
    """(the point after a step, the step's length): 1, or found on stored scores; None if the value does not fall."""
    new = passes.evaluate(point.w + step.dw, point.b + step.db)
    slope = float(new.gradient @ step.dw) + new.slopes * step.db
    if acceptable(point.value, new.value, slope, step.decrement, 1.0):
        return new, 1.0
    line = passes.line(point, new)
    t = search(passes, point, line, step)
    if t == 0.0:
        return None, t
    short = passes.evaluate(point.w + t * step.dw, point.b + t * step.db)
    refine = t < SETTINGS.max_secant_step and may_refine
    return passes.secant_curvature(short, line) if refine else short, t


def acceptable(before: float, value: float, slope: float, decrement: float, t: float) -> bool:
    """Whether to accept a step: the value falls enough, or rises by rounding only with a small slope; and the slope at the end
    is not steep."""
    if not (np.isfinite(value) and slope >= -SETTINGS.max_slope_ratio * decrement):
        return False
    if value <= before - SETTINGS.min_decrease_ratio * t * decrement:
        return True
    return value <= before + SETTINGS.value_rounding * abs(before) and slope <= SETTINGS.max_slope_ratio * decrement


def search(passes: Any, point: Point, line: Any, step: Step) -> float:
    """An acceptable step length, by safeguarded secants on stored scores: no pass over X; 0 if there is none."""
    regularizer = passes.problem.regularizer
    low, low_slope, high, high_slope, t = 0.0, -step.decrement, np.inf, np.inf, 1.0
    for trial in range(SETTINGS.max_line_search_trials):
        value, slope = passes.along(line, t)
        value += regularizer.value(point.w + t * step.dw)
        slope += float(regularizer.gradient(point.w + t * step.dw) @ step.dw)
        if acceptable(point.value, value, slope, step.decrement, t):
            return t
        if slope < 0.0 and np.isfinite(value):
            low, low_slope = t, slope
        else:  # The value also counts as too high where the loss overflows.
            high, high_slope = t, slope
        if np.isinf(high):
            t *= 2.0
        elif trial % 3 == 2 or not np.isfinite(high_slope):
            t = 0.5 * (low + high) if low > 0.0 else SETTINGS.too_long_cut * high
        else:
            share = low_slope / (low_slope - high_slope)
            t = low + min(max(share, SETTINGS.min_bracket_fraction), SETTINGS.max_bracket_fraction) * (high - low)
    return low
