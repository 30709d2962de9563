"""Newton steps for F(x, b) + lam |x|_1 + ridge/2 <x, x> on some columns of X.

Each minimises the second-order model of F plus the regularizer: through the Gram matrix of few columns
(`sparse_quadratic.py`), or on the columns themselves if they are many (`column_newton.py`); then a search on stored scores.
Far from the solution a sample of the rows tells the curvature well enough. After a step that proved too long, rows whose
slopes changed more than their curvature said count with the change that was seen.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fenchel.solvers.newton_cg.passes import FACTOR, costs_of
from fenchel.solvers.working_set.column_newton import ColumnModel, minimise_columns
from fenchel.solvers.working_set.column_set import ColumnSet
from fenchel.solvers.working_set.sparse_quadratic import EXACT, minimise, violation

STEPS = 8  # on a set, at most
INSIDE = 0.1  # violation in the set, relative to that of all columns before, at which the set is left
LAG = 0.02  # fall of the violation in one step that lets the next one use the same curvature
DIRECT = 1500  # columns up to which a set is solved through its Gram matrix
THIN = 2.0  # columns squared, relative to their stored values, up to which the Gram matrix is worth its size
LOOSE, TIGHT = 0.3, 1e-2  # of the violation: what is left of it by the solution of a model, TIGHT: of a larger one
EXPENSIVE = (
    0.25  # of a product with the Hessian: where factors cost more, models far from the solution are solved roughly
)
HARD = 2  # sets not solved by the steps allowed, after which all models are solved exactly
SAMPLE = 20  # rows per column that give the curvature while steps are long
SIZABLE = 50  # columns whose Gram matrix costs more than other passes
FAR = 1e-3  # relative decrease of a step that counts as long
FLAT = 1e-8  # mean curvature that counts as none
STEEP = 0.3  # of the first derivative along a step: where the search is content
TRIALS, MOST_TRIALS = 5, 60  # of the search: to be content, to find any decrease
SHORT = 0.2  # part of a step that is left by the search when more curvature is called for
ARMIJO = 1e-4


class Point(NamedTuple):
    """Scores, and what is known row by row there."""

    z: np.ndarray
    risk: float
    u: np.ndarray
    h: np.ndarray


def look(oracle: Any, z: np.ndarray) -> Point:
    """The losses, slopes and curvatures at scores z."""
    return Point(z, *oracle.curved(z))


class Found(NamedTuple):
    """A point of the search along a step, and the part t of the step that leads there."""

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
    """Newton steps on sets of columns; keeps what one step has learned about the next."""

    def __init__(self, oracle: Any, lam: float, ridge: float):
        self.oracle, self.problem, self.lam, self.ridge = oracle, oracle.problem, lam, ridge
        self.free = int(self.problem.fit_intercept)
        self.damping = 0.0  # added to every row's curvature
        self.secant: np.ndarray | None = None  # curvatures that the last step showed, if it was too long
        self.progress = np.inf  # of the last step, relative to the value
        self.stuck = False  # no step could be made
        self.rough = (
            0.0  # part of the violation that the last model was allowed to leave, as factorizations are expensive
        )
        self.hard = 0  # sets that were not solved by the steps allowed
        self.made_for: Any = (None, None, False)  # columns, curvatures, whether sampled, of the matrix at hand
        self.matrix = np.zeros((0, 0))

    @cached_property
    def product_cost(self) -> float:
        """Nanoseconds of a product with the Hessian, about."""
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
        for _ in range(STEPS):
            if now == 0.0:
                break
            new = self.model_step(columns, point, xb, q, lam, now, before)
            found = self.search(columns, point, xb, new - xb, q, lam)
            if found is None:
                self.damping = max(10.0 * self.damping, float(self.problem.weights @ point.h), FLAT)
                break
            xb, point, self.stuck = found.xb, found.point, False
            g = columns.combine(point.u)
            q = self.gradient(point, xb, g)
            before, now = now, violation(xb, q, lam)
            if now <= max(INSIDE, self.rough) * worst or columns.chosen is None:
                break
        else:
            self.hard += 1
        return point, xb[: x.size], float(xb[-1]) if self.free else 0.0, g

    def gradient(self, point: Point, xb: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Of F and the quadratic part, in (x, b)."""
        q = g + self.ridge * xb[: g.size]
        return np.append(q, float(self.problem.weights @ point.u)) if self.free else q

    def model_step(self, columns, point, xb, q, lam, now, before):
        """The minimiser of the second-order model."""
        curvatures, self.rough = self.curvatures(point), 0.0
        thin = not columns.dense and columns.size**2 > THIN * columns.stored and self.hard < HARD
        if columns.size <= DIRECT and not thin:
            expensive = FACTOR * columns.size**3 / 3.0 > EXPENSIVE * self.product_cost
            eta = min(LOOSE, max(LOOSE * now / self.lam, EXACT)) if expensive and self.lam else EXACT
            if expensive:
                self.rough = eta
            return minimise(self.hessian(columns, curvatures, now <= LAG * before), q, xb, lam, eta)
        scale = np.sqrt(self.problem.weights * curvatures)
        ridge = np.append(np.full(columns.size, self.ridge), np.zeros(self.free))
        model = ColumnModel(columns.columns(scale, bool(self.free)), scale.size, ridge, q, xb, lam)
        eta = min(LOOSE, max(now / self.lam, TIGHT) if self.lam else TIGHT)
        return minimise_columns(model, eta, self.progress > FAR and self.hard < HARD)

    def curvatures(self, point: Point) -> np.ndarray:
        """Of every row, for the model at this point."""
        if float(self.problem.weights @ point.h) <= FLAT and self.damping == 0.0:
            self.damping = 1.0
        if self.secant is None and self.damping == 0.0:
            return point.h
        return (point.h if self.secant is None else np.maximum(point.h, self.secant)) + self.damping

    def hessian(self, columns: ColumnSet, curvatures: np.ndarray, lag: bool) -> np.ndarray:
        """In (x, b); the last one again if it is of these columns and still good."""
        far = self.progress > FAR
        of, rows, sampled = self.made_for
        if of is columns and (lag or (np.array_equal(rows, curvatures) and (far or not sampled))):
            return self.matrix
        weights = self.problem.weights * curvatures
        sample = self.sampled(weights, columns.size) if far else weights
        H = columns.gram(sample)
        if sample is not weights:  # columns that few rows have may be missing in the sample
            np.einsum("ii->i", H)[:] = np.maximum(np.diag(H), columns.squares(weights))
        if self.free:
            border = columns.combine(curvatures) if np.ptp(curvatures) else curvatures[0] * columns.means
            H = bordered(H, border, float(weights.sum()))
        diagonal = np.einsum("ii->i", H)
        diagonal[: columns.size] += self.ridge
        diagonal += 1e-12 * diagonal.max(initial=1e-300)
        self.matrix, self.made_for = H, (columns, curvatures, sample is not weights)
        return H

    def sampled(self, weights: np.ndarray, count: int) -> np.ndarray:
        """Weights of some rows in place of all, right on average: likely rows are those of large weight."""
        rows = SAMPLE * count
        if count < SIZABLE or rows > 0.5 * np.count_nonzero(weights):
            return weights
        level = weights.sum() / rows
        for _ in range(3):  # so that the likelihoods, at most 1, add up to that many rows
            level *= np.minimum(weights / level, 1.0).sum() / rows
        return np.where(self.draws * level < weights, np.maximum(weights, level), 0.0)

    def search(self, columns, point, xb, d, q, lam) -> Found | None:
        """The point x + t d, t <= 1, where the derivative along d is small enough; None if there is no way down."""
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
        for trial in range(MOST_TRIALS):
            new = look(self.oracle, point.z + (dz if t == 1.0 else t * dz))
            there = self.value(new, xb + t * d, lam)
            at_t = self.slope(new, xb + t * d, d, dz, lam)
            if there <= here + ARMIJO * t * slope + 1e-15 * abs(here) and (best is None or there < best.value):
                best = Found(xb + t * d, new, t, there)
            content = at_t <= -STEEP * slope and (t == 1.0 or at_t >= STEEP * slope)
            if best is not None and (content or trial >= TRIALS):
                break
            if at_t < 0.0:
                low, low_slope = t, at_t
            else:  # also where the loss overflows
                high, high_slope, beyond = t, at_t, new
            share = low_slope / (low_slope - high_slope) if np.isfinite(high_slope) else 0.0
            t = low + min(max(share, 0.1), 0.9) * (high - low)
        if best is not None:
            self.learn(point, beyond, dz, high, best.t)
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

    def learn(self, point: Point, beyond: Point, dz: np.ndarray, high: float, t: float) -> None:
        """More curvature after a step that had to be shortened, less after a whole one; `beyond` is `high` times dz away."""
        mean = float(self.problem.weights @ point.h)
        self.secant = None
        if t < 1.0:
            seen = (beyond.u - point.u) / (high * dz)
            self.secant = np.where(np.isfinite(seen), seen, 0.0)
        if t < SHORT:
            self.damping = max(4.0 * self.damping, 1e-3 * mean, FLAT)
        elif t == 1.0:
            self.damping = 0.2 * self.damping if self.damping > 1e-5 * mean else 0.0
