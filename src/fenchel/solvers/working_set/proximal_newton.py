"""Newton steps for F(x, b) + lam |x|_1 + ridge/2 <x, x> on some columns of X.

Each minimises the second-order model of F plus the regularizer: through the Gram matrix of few columns
(`sparse_quadratic.py`), or on the columns themselves if they are many (`column_newton.py`). A line search on stored scores
follows. Far from the solution a sample of the rows estimates the Hessian. After a step that was too long, the curvature of a
row is its secant, if its slope changed by more than the curvature predicted.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.solvers.newton_cg.passes import FACTOR, costs_of
from fenchel.solvers.working_set.column_newton import ColumnModel, minimise_columns
from fenchel.solvers.working_set.column_set import ColumnSet
from fenchel.solvers.working_set.settings import SETTINGS
from fenchel.solvers.working_set.sparse_quadratic import minimise, violation

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


class Point(NamedTuple):
    """Scores z with the risk, and the slopes u and curvatures h of every row there."""

    z: np.ndarray
    risk: float
    u: np.ndarray
    h: np.ndarray


def evaluate(oracle: Oracle, z: np.ndarray) -> Point:
    """The losses, slopes and curvatures at scores z."""
    return Point(z, *oracle.curved(z))


class Found(NamedTuple):
    """A point of the line search, at t times the step."""

    xb: np.ndarray
    point: Point
    t: float
    value: float


def bordered(H: np.ndarray, border: np.ndarray, corner: float) -> np.ndarray:
    """H with one more row and column."""
    m = border.size
    out = np.empty((m + 1, m + 1))
    out[:m, :m], out[:m, m], out[m, :m], out[m, m] = H, border, border, corner
    return out


class ProximalNewton:
    """Newton steps on sets of columns, with the information that one step passes on to the next."""

    def __init__(self, oracle: Oracle, lam: float, ridge: float):
        self.oracle, self.problem, self.lam, self.ridge = oracle, oracle.problem, lam, ridge
        self.free = int(self.problem.fit_intercept)
        self.damping = 0.0  # It is added to the curvature of every row.
        self.secant: np.ndarray | None = None  # The secant curvatures of the last step, if it was too long.
        self.progress = np.inf  # The decrease by the last step, relative to the objective.
        self.stuck = False  # Whether no step could be made on the last set.
        # The fraction of the violation that the last model was allowed to leave because factorizations are expensive.
        self.model_tolerance = 0.0
        self.unsolved = 0  # The number of sets that were not solved by the allowed steps.
        # The columns and curvatures of `matrix`, and whether rows were sampled.
        self.matrix_of: Any = (None, None, False)
        self.matrix = np.zeros((0, 0))

    @cached_property
    def product_cost(self) -> float:
        """The estimated time of a Hessian-vector product, in nanoseconds."""
        return costs_of(self.problem).product

    @cached_property
    def draws(self) -> np.ndarray:
        """A random number for every row."""
        return np.random.default_rng(0).random(self.problem.n)

    def solve(
        self, columns: ColumnSet, point: Point, x: np.ndarray, b: float, g: np.ndarray, worst: float
    ) -> tuple[Point, np.ndarray, float, np.ndarray]:
        """Steps from (x, b) until the violation in the set is small beside `worst`: (point, x, b, gradient of F in x)."""
        lam = np.append(np.full(x.size, self.lam), np.zeros(self.free))
        xb = np.append(x, np.full(self.free, b))
        q = self.gradient(point, xb, g)
        before, now, self.stuck = 0.0, violation(xb, q, lam), True
        for _ in range(SETTINGS.max_steps_per_set):
            if now == 0.0:
                break
            new = self.model_step(columns, point, xb, q, lam, now, before)
            found = self.search(columns, point, xb, new - xb, q, lam)
            if found is None:
                grown = SETTINGS.failed_search_damping_growth * self.damping
                self.damping = max(grown, float(self.problem.weights @ point.h), SETTINGS.max_zero_curvature)
                break
            xb, point, self.stuck = found.xb, found.point, False
            g = columns.combine(point.u)
            q = self.gradient(point, xb, g)
            before, now = now, violation(xb, q, lam)
            if now <= max(SETTINGS.target_violation_ratio, self.model_tolerance) * worst or columns.chosen is None:
                break
        else:
            self.unsolved += 1
        return point, xb[: x.size], float(xb[-1]) if self.free else 0.0, g

    def gradient(self, point: Point, xb: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Of F and the quadratic part, in (x, b)."""
        q = g + self.ridge * xb[: g.size]
        return np.append(q, float(self.problem.weights @ point.u)) if self.free else q

    def model_step(
        self,
        columns: ColumnSet,
        point: Point,
        xb: np.ndarray,
        q: np.ndarray,
        lam: np.ndarray,
        now: float,
        before: float,
    ) -> np.ndarray:
        """The minimiser of the second-order model."""
        curvatures, self.model_tolerance = self.curvatures(point), 0.0
        inexact = self.unsolved < SETTINGS.max_unsolved_sets
        large_gram = columns.size**2 > SETTINGS.max_gram_entries_per_value * columns.stored
        if columns.size <= SETTINGS.max_gram_columns and not (not columns.dense and large_gram and inexact):
            eta = self.gram_tolerance(columns, now)
            reuse = now <= SETTINGS.hessian_reuse_violation_ratio * before
            return minimise(self.hessian(columns, curvatures, reuse), q, xb, lam, eta)
        scale = np.sqrt(self.problem.weights * curvatures)
        ridge = np.append(np.full(columns.size, self.ridge), np.zeros(self.free))
        model = ColumnModel(columns.columns(scale, bool(self.free)), scale.size, ridge, q, xb, lam)
        tight = SETTINGS.min_model_violation_ratio
        eta = min(SETTINGS.max_model_violation_ratio, max(now / self.lam, tight) if self.lam else tight)
        return minimise_columns(model, eta, self.progress > SETTINGS.long_step_decrease_ratio and inexact)

    def gram_tolerance(self, columns: ColumnSet, now: float) -> float:
        """The fraction of the violation `now` that a model may leave: more if factorizations are expensive."""
        exact, loose = SETTINGS.exact_violation_ratio, SETTINGS.max_model_violation_ratio
        if FACTOR * columns.size**3 / 3.0 > SETTINGS.max_factorization_cost_ratio * self.product_cost:
            self.model_tolerance = min(loose, max(loose * now / self.lam, exact)) if self.lam else exact
            return self.model_tolerance
        return exact

    def curvatures(self, point: Point) -> np.ndarray:
        """Of every row, for the model at this point."""
        if float(self.problem.weights @ point.h) <= SETTINGS.max_zero_curvature and self.damping == 0.0:
            self.damping = 1.0
        if self.secant is None and self.damping == 0.0:
            return point.h
        return (point.h if self.secant is None else np.maximum(point.h, self.secant)) + self.damping

    def hessian(self, columns: ColumnSet, curvatures: np.ndarray, reuse: bool) -> np.ndarray:
        """In (x, b); the last one again if it is of these columns and accurate enough."""
        far = self.progress > SETTINGS.long_step_decrease_ratio
        of, rows, sampled = self.matrix_of
        if of is columns and (reuse or (np.array_equal(rows, curvatures) and (far or not sampled))):
            return self.matrix
        weights = self.problem.weights * curvatures
        sample = self.sampled(weights, columns.size) if far else weights
        H = columns.gram(sample)
        if sample is not weights:  # The sample may miss columns that are nonzero in few rows.
            np.einsum("ii->i", H)[:] = np.maximum(np.diag(H), columns.squares(weights))
        if self.free:
            border = columns.combine(curvatures) if np.ptp(curvatures) else curvatures[0] * columns.means
            H = bordered(H, border, float(weights.sum()))
        diagonal = np.einsum("ii->i", H)
        diagonal[: columns.size] += self.ridge
        diagonal += SETTINGS.hessian_ridge_ratio * diagonal.max(initial=1e-300)
        self.matrix, self.matrix_of = H, (columns, curvatures, sample is not weights)
        return H

    def sampled(self, weights: np.ndarray, count: int) -> np.ndarray:
        """Weights of a random sample of rows, unbiased: a row is included with a probability that grows with its weight."""
        rows = SETTINGS.sampled_rows_per_column * count
        most = SETTINGS.max_sampled_row_ratio * np.count_nonzero(weights)
        if count < SETTINGS.min_sampled_columns or rows > most:
            return weights
        level = weights.sum() / rows
        for _ in range(SETTINGS.probability_rounds):
            level *= np.minimum(weights / level, 1.0).sum() / rows
        return np.where(self.draws * level < weights, np.maximum(weights, level), 0.0)

    def search(
        self, columns: ColumnSet, point: Point, xb: np.ndarray, d: np.ndarray, q: np.ndarray, lam: np.ndarray
    ) -> Found | None:
        """The point x + t d, t <= 1, where the derivative along d is small enough; None if the objective does not decrease."""
        s = SETTINGS
        slope = float(q @ d) + float(lam @ (np.abs(xb + d) - np.abs(xb)))
        here = self.value(point, xb, lam)
        if not slope < 0.0 or not np.isfinite(d).all():
            return None
        dz = columns.scores(d[: columns.size])
        if self.free:
            dz += d[-1]
        best: Found | None = None
        beyond = point
        low, low_slope, high, high_slope, t = 0.0, slope, 1.0, np.inf, 1.0
        for trial in range(s.max_search_trials):
            new = evaluate(self.oracle, point.z + (dz if t == 1.0 else t * dz))
            there = self.value(new, xb + t * d, lam)
            at_t = self.slope(new, xb + t * d, d, dz, lam)
            most = here + s.armijo_ratio * t * slope + s.objective_rounding_ratio * abs(here)
            if there <= most and (best is None or there < best.value):
                best = Found(xb + t * d, new, t, there)
            flat = at_t <= -s.max_slope_ratio * slope and (t == 1.0 or at_t >= s.max_slope_ratio * slope)
            if best is not None and (flat or trial >= s.max_trials_after_decrease):
                break
            if at_t < 0.0:
                low, low_slope = t, at_t
            else:  # This includes NaN, where the loss overflows.
                high, high_slope, beyond = t, at_t, new
            ratio = low_slope / (low_slope - high_slope) if np.isfinite(high_slope) else 0.0
            t = low + min(max(ratio, s.min_bracket_ratio), s.max_bracket_ratio) * (high - low)
        if best is not None:
            self.adapt_curvature(point, beyond, dz, high, best.t)
            self.progress = (here - best.value) / max(abs(here), 1e-300)
        return best

    def value(self, point: Point, xb: np.ndarray, lam: np.ndarray) -> float:
        """F and the regularizer."""
        x = xb[: xb.size - self.free]
        return point.risk + float(lam @ np.abs(xb)) + 0.5 * self.ridge * float(x @ x)

    def slope(self, point: Point, xb: np.ndarray, d: np.ndarray, dz: np.ndarray, lam: np.ndarray) -> float:
        """The derivative of the value along d, dz the change of the scores."""
        x = xb[: xb.size - self.free]
        along = float((self.problem.weights * point.u) @ dz) + self.ridge * float(x @ d[: x.size])
        return along + float(lam @ np.where(xb != 0.0, np.sign(xb) * d, np.abs(d)))

    def adapt_curvature(self, point: Point, beyond: Point, dz: np.ndarray, high: float, t: float) -> None:
        """More curvature after a step that had to be shortened, less after a full one; `beyond` is `high` times dz away."""
        s, mean = SETTINGS, float(self.problem.weights @ point.h)
        self.secant = None
        if t < 1.0:
            seen = (beyond.u - point.u) / (high * dz)
            self.secant = np.where(np.isfinite(seen), seen, 0.0)
        if t < s.short_step_ratio:
            grown = s.short_step_damping_growth * self.damping
            self.damping = max(grown, s.short_step_damping_per_curvature * mean, s.max_zero_curvature)
        elif t == 1.0:
            kept = self.damping > s.max_dropped_damping_per_curvature * mean
            self.damping = s.full_step_damping_ratio * self.damping if kept else 0.0
