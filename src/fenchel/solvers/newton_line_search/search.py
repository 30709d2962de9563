"""Newton directions by Cholesky factorization, and a line search along them on stored scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fenchel.solvers.linear_systems import factors
from fenchel.solvers.newton_line_search.settings import SETTINGS
from fenchel.solvers.semismooth_newton.smoothed_rows import smoothed_line


def newton_step(
    H: np.ndarray, gradient: np.ndarray, again: Callable[[], np.ndarray] | None = None
) -> np.ndarray | None:
    """-H^-1 gradient by Cholesky, with a ridge where rounding left H indefinite; None if it overflows. H is overwritten;
    `again` may compute it once more."""
    diagonal = H.diagonal().copy()
    for solve in factors(H, ((1.0 + ridge) * diagonal for ridge in SETTINGS.relative_ridges), again):
        step = solve(-gradient)
        if np.isfinite(step).all():
            return step
    step = -gradient / np.maximum(diagonal, 1e-300)
    return step if np.isfinite(step).all() else None


class Line:
    """phi on (w, b) + t (dw, db), from stored scores: no pass over X. `decrement` is minus its derivative at t = 0."""

    def __init__(self, work: Any, dw: np.ndarray, db: float, decrement: float):
        self.work, self.dw, self.db, self.decrement = work, dw, db, decrement
        self.w, self.b, self.z = work.w, work.b, work.rows.z
        self.begin, self.dz = work.value(), self.z
        self.rest: Any = None  # What `at` needs of R and of the rows left out.

    def at(self, t: float) -> tuple[float, float, float]:
        """phi and its derivatives in t."""
        value, slope, curvature = smoothed_line(
            self.work.oracle, self.z, self.dz, t, self.work.rows.u0, self.work.gamma
        )
        if self.rest is None:
            fixed = self.work.fixed
            base = fixed.constant + float(fixed.gradient @ self.w) + fixed.slope * self.b
            rise = float(fixed.gradient @ self.dw) + fixed.slope * self.db
            self.rest = self.work.part.along(self.w, self.dw), base, rise
        along, base, rise = self.rest
        of_r = along(t)
        value += base + t * rise
        return value + of_r.value, slope + of_r.slope + rise, curvature + of_r.curvature

    def acceptable(self, value: float, slope: float, max_slope_ratio: float) -> bool:
        """Whether the derivative is small enough there, and phi not higher than at t = 0."""
        highest = self.begin + SETTINGS.value_rounding * abs(self.begin)
        return abs(slope) <= max_slope_ratio * self.decrement and value <= highest

    def search(self) -> float:
        """A step t at which the derivative of phi is small, by safeguarded Newton steps."""
        low, high, t, margin = 0.0, np.inf, 1.0, SETTINGS.min_bracket_fraction
        for _ in range(SETTINGS.max_trials):
            value, slope, curvature = self.at(t)
            if self.acceptable(value, slope, SETTINGS.max_slope_ratio):
                return t
            if slope < 0.0 and math.isfinite(value):
                low = t
            else:  # The value also counts as too high where the loss overflows.
                high = t
            t = t - slope / curvature if curvature > 0.0 else np.nan
            if high == np.inf:
                longest = self.longest()
                if low >= longest:
                    return low
                t = min(_extrapolate(t, low), longest)
            elif high - low <= SETTINGS.min_relative_bracket * high or high <= SETTINGS.min_step:
                return low
            elif not low + margin * (high - low) <= t <= high - margin * (high - low):
                t = 0.5 * (low + high) if low > 0.0 else SETTINGS.first_cut * high
        return low

    def longest(self) -> float:
        """A bound on the step: the change of the scores along a tiny one is mostly rounding, which a longer one multiplies."""
        tiny = np.abs(self.dz).max() <= SETTINGS.tiny_relative_change * np.abs(self.z).max()
        return SETTINGS.max_tiny_step if tiny else np.inf


def _extrapolate(t: float, low: float) -> float:
    """The next trial while no step is known to be too long; `t` is Newton's, nan where there is no curvature."""
    if math.isnan(t):
        return SETTINGS.plain_extrapolation * low
    return min(max(t, SETTINGS.min_extrapolation * low), SETTINGS.max_extrapolation * low)
