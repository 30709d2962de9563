"""Newton directions by Cholesky, and how far to go along them, from stored scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fenchel.solvers.semismooth_newton.smoothed_rows import smoothed_line

SEARCHED = 0.1  # of the first derivative along a step: where a line search is content
RIDGES = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6)  # added to the diagonal, relatively, until there is a factor


def newton_step(hessian: Callable[[], np.ndarray], gradient: np.ndarray) -> np.ndarray | None:
    """-gradient / H by Cholesky, H mended where rounding left it indefinite; None if numbers overflow."""
    from scipy.linalg.lapack import dpotrf, dpotrs

    for ridge in RIDGES:
        H = hessian()
        diagonal = H.flat[:: gradient.size + 1]
        H.flat[:: gradient.size + 1] = (1.0 + ridge) * diagonal
        factor, failed = dpotrf(H.T, lower=1, clean=0, overwrite_a=1)
        if not failed:
            step, failed = dpotrs(factor, -gradient, lower=1)
            if not failed and np.isfinite(step).all():
                return step
    step = -gradient / np.maximum(diagonal, 1e-300)
    return step if np.isfinite(step).all() else None


class Line:
    """phi on (w, b) + t (dw, db), from stored scores: no pass over X. `decrement` is how fast it falls at t = 0."""

    def __init__(self, work: Any, dw: np.ndarray, db: float, decrement: float):
        self.work, self.dw, self.db, self.decrement = work, dw, db, decrement
        self.w, self.b, self.z = work.w, work.b, work.rows.z
        self.begin, self.dz = work.value(), self.z
        self.rest: tuple[float, float, float] | None = None

    def quadratic(self) -> tuple[float, float, float]:
        """(value, slope, second derivative) at t = 0 of R and of the rows left out, which are quadratic in t."""
        if self.rest is None:
            regularizer, fixed = self.work.regularizer, self.work.fixed
            value = fixed.constant + float(fixed.gradient @ self.w) + fixed.slope * self.b + regularizer.value(self.w)
            slope = float((regularizer.gradient(self.w) + fixed.gradient) @ self.dw) + fixed.slope * self.db
            self.rest = (value, slope, float(regularizer.gradient(self.dw) @ self.dw))
        return self.rest

    def at(self, t: float) -> tuple[float, float, float]:
        """phi and its derivatives in t."""
        value, slope, curvature = smoothed_line(
            self.work.oracle, self.z, self.dz, t, self.work.rows.u0, self.work.gamma
        )
        a, b, c = self.quadratic()
        return value + a + t * (b + 0.5 * t * c), slope + b + t * c, curvature + c

    def good(self, value: float, slope: float, flat: float) -> bool:
        """Whether phi is flat enough there, and not higher than at t = 0."""
        return abs(slope) <= flat * self.decrement and value <= self.begin + 1e-13 * abs(self.begin)

    def search(self) -> float:
        """A point where phi is flat, by safeguarded Newton steps."""
        low, high, t = 0.0, np.inf, 1.0
        for _ in range(60):
            value, slope, curvature = self.at(t)
            if self.good(value, slope, SEARCHED):
                return t
            if slope < 0.0 and np.isfinite(value):
                low = t
            else:  # also where the loss overflows
                high = t
            t = t - slope / curvature if curvature > 0.0 else np.nan
            if np.isinf(high):
                t = min(max(t, 1.5 * low), 4.0 * low) if t == t else 2.0 * low
            elif not low + 1e-3 * (high - low) <= t <= high - 1e-3 * (high - low):
                t = 0.5 * (low + high) if low > 0.0 else 0.1 * high
        return low
