"""Errors of held-out rows as functions of their scores, with bounds over regions of scores.

An error is 1 - score for the scores accuracy and R^2, and minus the score for neg_mean_squared_error,
neg_mean_absolute_error and neg_log_loss. But for accuracy they are convex, so that over a region about a centre with gradient g

    error(c) - |g|_* r <= error <= error(c) + |g|_* r + curvature / 2 (second moment of the reach).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from fenchel.errors import InputError
from fenchel.proofs.held_out import HeldOutScores, Region

EPS = float(np.finfo(np.float64).eps)


class Bounds(NamedTuple):
    """Lower and upper bound of an error."""

    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Misclassified:
    """The weighted fraction of rows whose class is not predicted. `truth` holds indices of classes, -1 for an unknown class."""

    truth: np.ndarray
    weights: np.ndarray

    def bounds(self, held: Sequence[HeldOutScores], regions: Sequence[Region]) -> Bounds:
        """Rows that are wrong, or that may be wrong, at every point of the regions, one of a class or one for two classes."""
        low, high = np.array([r.low for r in regions]), np.array([r.high for r in regions])
        if len(regions) == 1:  # positive scores are the second class
            wrong = np.where(self.truth == 1, high[0] <= 0.0, np.where(self.truth == 0, low[0] > 0.0, True))
            right = np.where(self.truth == 1, low[0] > 0.0, np.where(self.truth == 0, high[0] <= 0.0, False))
        else:
            place, rows = np.maximum(self.truth, 0), np.arange(self.truth.size)
            others = np.arange(len(regions))[:, None] != place
            wrong = (low.max(axis=0, where=others, initial=-np.inf) > high[place, rows]) | (self.truth < 0)
            right = (high.max(axis=0, where=others, initial=-np.inf) < low[place, rows]) & (self.truth >= 0)
        total = self.weights.sum()
        return Bounds(float(self.weights[wrong].sum() / total), float(self.weights[~right].sum() / total))


@dataclass(frozen=True, eq=False)
class Convex:
    """sum_i a_i error(z_i, y_i) for a convex error; `curvature` is the Lipschitz constant of its slope, or inf."""

    y: np.ndarray
    weights: np.ndarray
    value: Callable[[np.ndarray, np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray, np.ndarray], np.ndarray]
    curvature: float

    def bounds(self, held: Sequence[HeldOutScores], regions: Sequence[Region]) -> Bounds:
        """From the value and the gradient at the centre, or from the ends of the scores, whichever is better."""
        (scores,), (region,) = held, regions
        a, y, z = self.weights, self.y, region.center
        with np.errstate(over="ignore", invalid="ignore"):
            ends = [self.value(region.low, y), self.value(region.high, y)]
            high = float(a @ np.maximum(*ends))
            terms, slopes = a * self.value(z, y), a * self.slope(z, y)
            value = float(terms.sum())
            first = scores.norm(slopes) * region.radius + abs(float(slopes.sum())) * region.shift
            wide = region.reach + region.shift
            second = 0.5 * self.curvature * float(a @ np.square(wide)) if np.isfinite(self.curvature) else np.inf
            rounding = np.maximum(region.reach - scores.q * region.radius, 0.0) + 16.0 * EPS * (
                np.abs(z) + region.reach
            )
            small = (z.size + 16) * EPS * float(np.abs(terms).sum()) + float(np.abs(slopes) @ rounding)
            low = value - first - small
        high = min(high + small, value + first + second + small)
        return Bounds(low if np.isfinite(low) else -np.inf, high if np.isfinite(high) else np.inf)


def _log_loss(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.logaddexp(0.0, -y * z)


ERRORS: dict[str, tuple[Any, Any, float]] = {  # of a score: value, slope, and the Lipschitz constant of the slope
    "neg_mean_squared_error": (lambda z, y: (z - y) ** 2, lambda z, y: 2.0 * (z - y), 2.0),
    "neg_mean_absolute_error": (lambda z, y: np.abs(z - y), lambda z, y: np.sign(z - y), np.inf),
    "neg_log_loss": (_log_loss, lambda z, y: -y * expit(-y * z), 0.25),
}
OF_CLASSES, OF_NUMBERS = ("accuracy", "neg_log_loss"), ("r2", "neg_mean_squared_error", "neg_mean_absolute_error")


def error_of(scoring: str, y: np.ndarray, weights: np.ndarray | None, classes: np.ndarray | None) -> Any:
    """The error of held-out rows for a score, of the classes or of numbers."""
    p = np.ones(len(y)) if weights is None else weights
    if scoring == "accuracy":
        assert classes is not None
        place = {label: k for k, label in enumerate(classes.tolist())}
        return Misclassified(np.array([place.get(label, -1) for label in np.asarray(y).tolist()]), p)
    p = p / p.sum()
    if scoring == "neg_log_loss":
        assert classes is not None
        return Convex(np.where(y == classes[-1], 1.0, -1.0), p, *ERRORS[scoring])
    if scoring == "r2":
        variance = float(p @ (y - p @ y) ** 2)
        if not variance > 0.0:
            raise InputError(
                "R^2 is not defined for a fold whose targets are all equal: use other folds or another score"
            )
        return Convex(y, p / variance, *ERRORS["neg_mean_squared_error"])
    return Convex(y, p, *ERRORS[scoring])
