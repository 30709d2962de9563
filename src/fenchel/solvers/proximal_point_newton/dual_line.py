"""The line search of a Newton step on the dual of a proximal step.

The derivative along a line is continuous, increasing and, for most losses, piecewise linear. Its zero is found from values and
first derivatives alone, by chords of the derivative and bisection: second derivatives would take another prox of every row and
a Jacobian of the prox of R. Near the optimum a step gains less than the rounding errors of the value; derivatives are better.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.solvers.newton_line_search.settings import SETTINGS as LINE_SEARCH
from fenchel.solvers.proximal_point_newton.settings import SETTINGS


class DualLine:
    """Minus the dual value on u + t du, from stored sums: no pass over X. `decrement` is minus its derivative at t = 0."""

    def __init__(self, step: Any, du: np.ndarray, dg: np.ndarray, ds: Any, decrement: float):
        self.step, self.du, self.dg, self.ds, self.decrement = step, du, dg, ds, decrement
        value = step.value_at(du, dg, ds)
        self.highest = value + LINE_SEARCH.value_rounding * abs(value)

    def search(self) -> tuple[float, float | None]:
        """(a step t at which the derivative is small and the value not higher than at t = 0, the value there if known)."""
        goal = SETTINGS.max_full_step_slope_ratio * self.decrement
        bracket, t = Bracket(self.decrement), 1.0
        for _ in range(LINE_SEARCH.max_trials):
            value, slope = self.step.along(self.du, self.dg, self.ds, t)
            if abs(slope) <= goal and (slope <= SETTINGS.sure_slope_ratio * self.decrement or value <= self.highest):
                return t, value
            goal = LINE_SEARCH.max_slope_ratio * self.decrement
            bracket.add(
                t, slope if np.isfinite(value) else np.inf
            )  # The value also counts as too high where it overflows.
            if bracket.is_narrow():
                break
            t = bracket.trial()
        return bracket.low, None


class Bracket:
    """Steps that are too short and too long, with the derivatives there."""

    def __init__(self, decrement: float):
        self.low, self.slope_low, self.high, self.slope_high = 0.0, -decrement, np.inf, np.inf
        self.before = (0.0, -decrement)  # what was too short before
        self.repeated, self.too_short = False, False

    def add(self, t: float, slope: float) -> None:
        """Take a trial into account."""
        too_short = slope < 0.0
        self.repeated = too_short is self.too_short and self.low > 0.0 and self.high < np.inf
        self.too_short = too_short
        if too_short:
            self.before = (self.low, self.slope_low)
            self.low, self.slope_low = t, slope
        else:
            self.high, self.slope_high = t, slope

    def is_narrow(self) -> bool:
        """Whether rounding hides the minimum."""
        high = self.high
        if np.isinf(high):
            return False
        return high - self.low <= LINE_SEARCH.min_relative_bracket * high or high <= LINE_SEARCH.min_step

    def trial(self) -> float:
        """Where a chord of the derivative is 0; bisection after a chord that moved the same end as the trial before."""
        low, high = self.low, self.high
        if np.isinf(high):
            t = zero_of_chord(*self.before, low, self.slope_low)
            return float(np.clip(t, LINE_SEARCH.min_extrapolation * low, LINE_SEARCH.max_extrapolation * low))
        if self.repeated:
            self.repeated, self.too_short = False, not self.too_short
            return float(np.sqrt(low * high)) if high > 2.0 * low else 0.5 * (low + high)
        t = zero_of_chord(low, self.slope_low, high, self.slope_high)
        if low < t < high:
            return t
        return 0.5 * (low + high) if low > 0.0 else LINE_SEARCH.first_cut * high


def zero_of_chord(a: float, slope_a: float, b: float, slope_b: float) -> float:
    """Where the line through two derivatives is 0; inf if it is not increasing."""
    rise = slope_b - slope_a
    return b - slope_b * ((b - a) / rise) if 0.0 < rise < np.inf else np.inf
