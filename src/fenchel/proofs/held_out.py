"""Scores of rows at the exact optimum, for every strength alpha in an interval, from the solution at one of its ends.

A pair (w, u) found at alpha_0 has, at every alpha, the gap t^-1 g(t) with t = 1 / alpha and

    g(t) = t (risk(w) + L*(u)) + R_1(w) + R_1*(t v),    R = alpha R_1,

and |w*(alpha) - w|^2 <= 2 g(t) in a norm in which R_1 is strongly convex. g is convex, so its values at both ends of an
interval bound it in between. If R_1 is quadratic, grad R_1*(t v) = s w_u with s = alpha_0 / alpha, and w*(alpha) is in the
smaller ball

    |w* - (w + s w_u) / 2|^2 <= g(t) - |w - s w_u|^2 / 4.

Written out, that is linear in t for a given w*; so between two strengths w* is in the ball of one end or in that of the other.

The best intercept solves sum p slope(z_i + b) = 0. Rows are centred first, so that it hardly depends on w. Where the curvature
h of the loss is M-Lipschitz, sum p slope(z_i + d_i + b) differs from its value at d = 0 by at most
|sum p h_i x_i|_* r + M/2 sum p q_i^2 r^2 for |d_i| <= q_i r; for other losses each slope is taken at the end of its interval.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.certificates.passes import slopes_pass
from fenchel.errors import InputError
from fenchel.losses import Logistic, Squared
from fenchel.proofs.spaces import space_of
from fenchel.proofs.strengths import Pair, require_strength
from fenchel.regularizers.metric import DiagonalMetric

EPS = float(np.finfo(np.float64).eps)
WIDENING = 1.0 + 1e-8  # of distances, for the rounding of norms
TRIALS, HALVINGS = 60, 6  # of the search for the ends of the intercept
NEWTON_STEPS = 3  # to the best intercept at the centre of a region
CURVATURES: dict[type, tuple[Callable[[np.ndarray], np.ndarray], float]] = {
    Squared: (np.ones_like, 0.0),
    Logistic: (lambda u: np.abs(u) * (1.0 - np.abs(u)), 1.0 / (6.0 * np.sqrt(3.0))),
}  # of a loss: its curvature from its slope, and the Lipschitz constant of the curvature in the score


class Region(NamedTuple):
    """Scores of rows at w*(alpha), for every alpha in an interval: `center`, plus <x - mean, d> with |d| <= `radius`, which is
    at most `reach`, plus the same shift for all rows, which is at most `shift`."""

    center: np.ndarray
    reach: np.ndarray
    shift: float
    radius: float

    @property
    def low(self) -> np.ndarray:
        """The smallest score of each row."""
        return self.center - self.reach - self.shift

    @property
    def high(self) -> np.ndarray:
        """The largest score of each row."""
        return self.center + self.reach + self.shift


class Point(NamedTuple):
    """A solution at one strength: what regions next to it follow from."""

    alpha: float
    coef: np.ndarray
    intercept: float
    gap: Callable[[float], float]  # at another strength, rounding included
    size: float  # |w|, from below
    apart: float  # |w - w_u|, from above


class HeldOutScores:
    """Regions for the scores of rows that are held out from the problems of a path. `make` gives the problem of an alpha."""

    def __init__(self, make: Callable[[float], Any], X: Any, offset: Any = None):
        problem = make(1.0)
        require_strength(problem)
        if problem.is_kernel:
            raise InputError("scores of held-out rows are bounded for linear models: use no kernel")
        if not problem.is_scalar:
            raise InputError(
                "scores are bounded for losses of one score per row; use one with one class against the rest"
            )
        self.problem, self.X = problem, X if sp.issparse(X) else np.asarray(X)
        self.offset = 0.0 if offset is None else np.asarray(offset, dtype=np.float64)
        self.metric = problem.regularizer.metric(problem.d)
        if self.metric is None or not np.isfinite(self.metric.half_widths()).all():
            raise InputError(
                f"regularizer {type(problem.regularizer).__name__} is not strongly convex in a norm that is known, so a gap "
                "does not bound scores: use L2, elastic_net or another one that is"
            )
        self.quadratic = problem.regularizer.degree == 2.0 and problem.regularizer.strongly_convex
        centred = problem.fit_intercept and (isinstance(self.metric, DiagonalMetric) or not sp.issparse(X))
        self.mean = np.asarray(problem.X.T @ problem.weights).ravel() if centred else np.zeros(problem.d)
        self.q, self.q_train = self._lengths(self.X), self._lengths(problem.X) if problem.fit_intercept else np.zeros(0)
        self.rounding, self.rounding_train = self._rounding(self.X), self._rounding(problem.X)
        p = problem.weights if problem.fit_intercept else np.zeros(0)
        self.spread, self.mean_reach = float(p @ np.square(self.q_train)), float(p @ self.q_train)

    def point(self, result: Any) -> Point:
        """What is needed of a solution: a tuple with problem, coef, intercept, certificate and dual_point."""
        pair, space = Pair(result), space_of(result.problem)
        root = float(np.sqrt(pair.alpha))
        dual = space.dual(pair.u) if self.quadratic else None
        apart = np.inf if dual is None else (space.norm(result.coef - dual.coef) * WIDENING + dual.error) / root
        pair.u, pair.result = None, result._replace(dual_point=None)  # there may be many points
        gap = lambda alpha: max(pair.primal(alpha) - pair.dual(alpha), 0.0)  # noqa: E731
        return Point(pair.alpha, result.coef, result.intercept, gap, space.norm(result.coef) / root, apart)

    def region(self, point: Point, end: float) -> Region:
        """That of all strengths between the point's and `end`."""
        scale, radius = self._ball(point, end)
        size = float(np.linalg.norm(point.coef))
        center = scale * (self.X @ point.coef - self.mean @ point.coef)
        b, shift = self._intercept(scale, radius, point)
        small = self.rounding * size + 8.0 * EPS * (np.abs(center) + abs(b))
        return Region(center + b + self.offset, self.q * radius + small, shift, radius)

    def norm(self, rows: np.ndarray) -> float:
        """|sum_i a_i (x_i - mean)|_* for weights a of the rows."""
        total = np.asarray(self.X.T @ rows).ravel() - rows.sum() * self.mean
        return float(self.metric.dual_norms(total[None])[0]) + 8.0 * EPS * float(np.abs(rows) @ self.q) * len(total)

    def _ball(self, point: Point, end: float) -> tuple[float, float]:
        """(scale, radius): w*(alpha) is within `radius` of scale w for all strengths between the point's and `end`."""
        here, there = point.gap(point.alpha) / point.alpha, point.gap(end) / end
        if not np.isfinite(here + there):
            return 1.0, np.inf
        around = float(np.sqrt(2.0 * max(here, there))) * WIDENING
        if not self.quadratic or not np.isfinite(point.apart):
            return 1.0, around
        s = point.alpha / end
        apart = max(abs(1.0 - s) * point.size - s * point.apart, 0.0)
        at_end = np.sqrt(max(there - 0.25 * apart * apart, 0.0) + EPS * there) + 0.5 * s * point.apart
        at_point = 0.5 * abs(1.0 - s) * point.size * WIDENING + np.sqrt(here) + 0.5 * point.apart
        radius = float(max(at_end, at_point)) * WIDENING
        return (0.5 * (1.0 + s), radius) if radius < around else (1.0, around)

    def _intercept(self, scale: float, radius: float, point: Point) -> tuple[float, float]:
        """(centre, half width) of an interval that holds the best intercept of centred rows for every w in the ball."""
        problem = self.problem
        if not problem.fit_intercept:
            return 0.0, 0.0
        if not np.isfinite(radius):
            return 0.0, np.inf
        mean = float(self.mean @ point.coef)
        z = scale * (problem.X @ point.coef - mean) + problem.offset
        start = point.intercept + mean
        small = self.rounding_train * float(np.linalg.norm(point.coef)) + 8.0 * EPS * (np.abs(z) + abs(start))
        if type(problem.loss) in CURVATURES:
            return self._expanded(*CURVATURES[type(problem.loss)], z, small, start, radius)
        wide = self.q_train * radius + small
        high = start + self._beyond(1.0, z - wide + start)
        low = start - self._beyond(-1.0, z + wide + start)
        return 0.5 * (low + high), 0.5 * (high - low) * WIDENING + 8.0 * EPS * abs(start)

    def _slopes(self, z: np.ndarray) -> np.ndarray:
        u = np.empty(z.size)
        slopes_pass(self.problem.compiled_loss, self.problem.y, z, u)
        return u

    def _expanded(
        self, curvature: Any, M: float, z: np.ndarray, small: np.ndarray, b: float, r: float
    ) -> tuple[float, float]:
        """From the slopes and curvatures at the centre; `small` is the rounding error of z."""
        problem, p = self.problem, self.problem.weights
        second = 0.5 * M * self.spread * r * r
        for k in range(NEWTON_STEPS):
            u = self._slopes(z + b)
            curvatures = curvature(u)
            total, h = float(p @ u), float(p @ curvatures)
            if not h > 0.0:
                return b, np.inf
            if k == NEWTON_STEPS - 1 or abs(total) <= 0.01 * second:
                break
            b -= total / h
        q = p * curvatures
        first = np.asarray(problem.X.T @ q).ravel() - h * self.mean
        change = (float(self.metric.dual_norms(first[None])[0]) * r + second) * WIDENING + abs(total)
        change += (problem.n + 16) * EPS * (float(p @ np.abs(u)) + float(q @ self.q_train) * r) + 2.0 * float(q @ small)
        # At b + x the sum is at least h x - M/2 x^2 - M x r sum p q - change, the third term for the curvatures in `first`.
        slope = h - M * r * self.mean_reach
        square = slope * slope - 2.0 * M * change
        if slope <= 0.0 or square <= 0.0:
            return b, np.inf
        return b, 2.0 * change / (slope + float(np.sqrt(square))) * (1.0 + 1e-6) + 4.0 * EPS * abs(b)

    def _beyond(self, sign: float, z: np.ndarray) -> float:
        """A small step with sign * sum p slope(z + sign step) > 0; inf if there is none."""
        p = self.problem.weights

        def positive(step: float) -> bool:
            terms = p * self._slopes(z + sign * step)
            return bool(sign * float(terms.sum()) > (len(p) + 8) * EPS * float(np.abs(terms).sum()))

        high = 1e-9 * max(1.0, float(np.abs(z).mean()))
        low = 0.0
        for _ in range(TRIALS):
            if positive(high):
                break
            low, high = high, 2.0 * high
        else:
            return np.inf
        for _ in range(HALVINGS if low else 0):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if positive(middle) else (middle, high)
        return high

    def _lengths(self, X: Any) -> np.ndarray:
        """|x - mean|_* of every row, from above."""
        if not sp.issparse(X):
            return self.metric.dual_norms(np.asarray(X, dtype=np.float64) - self.mean)
        X = X.astype(np.float64)  # the squares of single-precision numbers would be rounded too coarsely
        if not self.mean.any():
            return self.metric.dual_norms(X)
        inverse = np.square(self.metric.half_widths())
        squares = np.asarray(X.multiply(X) @ inverse).ravel() + float(inverse @ np.square(self.mean))
        cross = np.asarray(X @ (inverse * self.mean)).ravel()
        return np.sqrt(np.maximum(squares - 2.0 * cross, 0.0) + 64.0 * EPS * squares) * WIDENING

    def _rounding(self, X: Any) -> np.ndarray:
        """The rounding error of <x - mean, w> per unit of |w|."""
        squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
        lengths = np.sqrt(np.asarray(squares, dtype=np.float64).ravel()) + float(np.linalg.norm(self.mean))
        return (X.shape[1] + 8) * EPS * lengths
