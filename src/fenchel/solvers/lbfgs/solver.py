"""Limited-memory BFGS for differentiable losses and regularizers.

Problem      min over w, b of F(w, b) + R(w), both differentiable (the intercept is one more variable)
Update       x <- x + t d, d = -H grad with H from the last `memory` pairs (two-loop recursion), t by a weak Wolfe
             search that starts at 1 and interpolates: one fused pass over the data per trial, usually one trial
Certificate  the slopes at the iterate; an estimate of the gap costs O(d) (`dual_estimates.py`)
Reference    Nocedal and Wright, Numerical Optimization, algorithms 7.4 and 7.5; Lewis and Overton (2013) for the search
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.centred_variables import pack, packed_gradient, unpack
from fenchel.solvers.dual_estimates import dual_estimate
from fenchel.solvers.lbfgs.settings import SETTINGS

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


class Point(NamedTuple):
    """A point x (see `unpack`), the objective there, its gradient, and the solver's own estimate of the dual value."""

    x: np.ndarray
    value: float
    gradient: np.ndarray
    dual: float


@dataclass(frozen=True)
class LBFGS(Solver):
    """L-BFGS for a differentiable loss with L2, Quadratic or QNorm.

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="logistic", alpha=0.1)
    >>> fenchel.solve(problem, solver=LBFGS(memory=5)).status.name
    'CERTIFIED'
    """

    memory: int = 20
    cost = "about one pass over the data, and O(memory d)"
    convergence = "geometric for strongly convex objectives"
    kinds = ("scalar", "vector", "own vector", "free vector", "set", "structured log")
    needs = Needs(loss=("differentiable",), regularizer=("gradient",))
    remote = kinds

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=self.memory)
        if start.memory is None:
            here = evaluate(oracle, pack(oracle, start.coef, start.intercept))
        else:
            here = Point(*start.memory["point"])
            pairs.extend((s, y, curvature) for s, y, curvature in start.memory["pairs"])
        while True:
            w, b = unpack(oracle, here.x)
            yield Iterate(w.copy(), b, here.value, here.dual, memory=partial(remember, here, tuple(pairs)))
            direction = -two_loop(pairs, here.gradient)
            slope = float(direction @ here.gradient)
            if not slope < 0.0:
                if not pairs:
                    return
                pairs.clear()
                continue
            first = 1.0 if pairs else first_step(here)
            new = wolfe(oracle, here, direction, slope, first)
            if new is None:
                if not pairs:
                    return
                pairs.clear()
                continue
            s, y = new.x - here.x, new.gradient - here.gradient
            curvature = float(s @ y)
            sizes = float(np.linalg.norm(s)) * float(np.linalg.norm(y))
            # The square of y may underflow where its norm does not.
            if curvature > SETTINGS.min_pair_curvature_ratio * sizes and float(y @ y) > 0.0:
                pairs.append((s, y, curvature))
            here = new


def remember(here: Point, pairs: tuple) -> dict[str, Any]:
    """The state for a checkpoint: the point and the curvature pairs."""
    return {"point": here, "pairs": pairs}


def evaluate(oracle: Oracle, x: np.ndarray) -> Point:
    """Objective, gradient and dual estimate in one pass."""
    problem = oracle.problem
    w, b = unpack(oracle, x)
    risk, g, slopes = oracle.risk(w, b)
    value = risk + problem.regularizer.value(w)
    gradient = packed_gradient(oracle, g + problem.regularizer.gradient(w), slopes)
    return Point(x, value, gradient, dual_estimate(oracle, w, b, risk, g, slopes))


def first_step(here: Point) -> float:
    """The first step, with no curvature known: it would halve a quadratic of the magnitude of the objective."""
    size = float(here.gradient @ here.gradient)
    step = abs(here.value) / size if size > 0.0 else 1.0
    return step if 0.0 < step < np.inf else 1.0


def two_loop(pairs: deque, gradient: np.ndarray) -> np.ndarray:
    """H gradient from the stored pairs."""
    q = gradient.copy()
    steps = []
    for s, y, curvature in reversed(pairs):
        a = float(s @ q) / curvature
        steps.append(a)
        q -= a * y
    if pairs:
        s, y, curvature = pairs[-1]
        size = float(np.abs(y).max())  # The squares of very small numbers would underflow.
        unit = y / size
        q *= curvature / size / float(unit @ unit) / size
    for (s, y, curvature), a in zip(pairs, reversed(steps), strict=True):
        q += (a - float(y @ q) / curvature) * s
    return q


def wolfe(oracle: Oracle, here: Point, direction: np.ndarray, slope: float, step: float) -> Point | None:
    """A point that satisfies the weak Wolfe conditions; None if rounding hides them."""
    low, high = 0.0, np.inf
    low_value, low_slope = here.value, slope
    best = None
    for _ in range(SETTINGS.max_trials):
        x = here.x + step * direction
        if np.array_equal(x, here.x):
            break
        new = evaluate(oracle, x)
        new_slope = float(new.gradient @ direction)
        if not np.isfinite(new.value) or not np.isfinite(new_slope):
            high, step = step, 0.5 * (low + step) if low > 0.0 else SETTINGS.overflow_cut * step
            continue
        too_high = new.value > here.value + SETTINGS.min_decrease_ratio * step * slope
        if too_high and not _flat(new, here, new_slope, slope):
            high, step = step, _interpolate(low, low_value, low_slope, step, new.value)
        elif new_slope < SETTINGS.max_slope_ratio * slope:
            best = new
            low, low_value, low_slope = step, new.value, new_slope
            step = 2.0 * step if not np.isfinite(high) else 0.5 * (low + high)
        else:
            return new
    return best


def _flat(new: Point, here: Point, new_slope: float, slope: float) -> bool:
    """Whether values differ by rounding only, so that the slopes decide (Hager and Zhang's approximate condition)."""
    same = abs(new.value - here.value) <= SETTINGS.value_rounding * abs(here.value)
    return same and abs(new_slope) <= -SETTINGS.max_slope_ratio * slope


def _interpolate(low: float, value: float, slope: float, step: float, at_step: float) -> float:
    """The minimum of the parabola through both values and one slope, kept inside the bracket."""
    width = step - low
    excess = at_step - value - slope * width
    inner = -0.5 * slope * width * width / excess if excess > 0.0 else 0.5 * width
    return low + min(max(inner, SETTINGS.min_bracket_fraction * width), SETTINGS.max_bracket_fraction * width)
