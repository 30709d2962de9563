"""Proximal Newton on a working set of columns, for L1 and ElasticNet.

Problem      min over w, b of F(w, b) + lam |w|_1 + ridge/2 <w, w>, F differentiable
Update       The gradient in all columns; the set = the support and the columns where |gradient| is largest. Within the set
             Newton steps: minimise the second-order model of F plus the regularizer (`sparse_quadratic.py` on the
             Gram matrix of a small set, `column_newton.py` on the columns of a large one), t by a search on stored scores.
Certificate  the slopes, scaled until |v_j| <= lam: with the set solved exactly, the gap shows what is outside
Reference    Johnson and Guestrin (2015), Massias, Gramfort and Salmon (2018) for working sets judged by the gap;
             Yuan, Ho and Lin (2012) for the proximal Newton steps

Holds a copy of the columns of the set; of all X only where most columns matter and X is wide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.column_newton import ColumnModel, minimise_columns
from fenchel.solvers.column_set import ColumnSet
from fenchel.solvers.sparse_quadratic import minimise, spread, violation

SMALL = 200  # columns of X up to which all are the set
FIRST = 100  # columns in the first set
GROW = 2.0  # the set in supports
NEAR = 0.8  # of lam: a gradient from which a column may enter before it must
STEPS = 8  # Newton steps on a set, at most
INSIDE = 0.1  # violation in the set, relative to that of all columns before, at which the set is left
LAG = 0.02  # fall of the violation in one step that lets the next one use the same curvature
DIRECT = 1500  # columns up to which a set is solved through its Gram matrix
LOOSE, TIGHT = 0.1, 1e-3  # of the violation: what is left of it by the solution of a model on a larger set
SAMPLE = 20  # rows per column that give the curvature while steps are long
FAR = 1e-3  # relative decrease of a step that counts as long
FLAT = 1e-8  # mean curvature that counts as none
ARMIJO = 1e-4


class Point(NamedTuple):
    """Scores, and what is known row by row there."""

    z: np.ndarray
    risk: float
    u: np.ndarray
    h: np.ndarray


@dataclass(frozen=True)
class WorkingSet(Solver):
    """Working sets and proximal Newton steps for L1 and ElasticNet with differentiable losses.

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="logistic", regularizer="l1", alpha=0.1)
    >>> fenchel.solve(problem, solver=WorkingSet()).status.name
    'CERTIFIED'
    """

    needs: ClassVar[Needs] = Needs(loss=("differentiable",), regularizer=("soft_threshold",))
    waits: ClassVar[int] = 30

    def iterates(self, oracle: Any, start: Start) -> Iterator[Iterate]:
        problem = oracle.problem
        lam, ridge = strengths(problem.regularizer)
        w, b = start.coef, start.intercept
        point = look(oracle, (oracle.scores(w) if w.any() else problem.offset) + b)
        newton = Newton(oracle, lam, ridge)
        if problem.fit_intercept and not w.any():
            nothing = ColumnSet(oracle, np.zeros(0, dtype=np.int64))
            point, _, b, _ = newton.solve(nothing, point, np.zeros(0), b, np.zeros(0), 0.0)
        columns: ColumnSet | None = None
        g, idle = oracle.combine(point.u), 0
        while True:
            size = np.abs(g)
            dual = dual_claim(oracle, w, b, point, g, float(size.max()))
            yield Iterate(w, b, point.risk + problem.regularizer.value(w), dual, point.u)
            last, columns = columns, next_set(oracle, columns, w, size, lam)
            x = w[columns.slice]
            if columns is not last:
                point = look(oracle, columns.scores(x) + problem.offset + b)  # without the rounding of many steps
            worst = max(float(size.max()) - lam, violation(x, g[columns.slice] + ridge * x, np.full(x.size, lam)))
            point, x, b, g = newton.solve(columns, point, x, b, g[columns.slice], worst)
            idle = idle + 1 if newton.stuck else 0
            if idle > 3:
                return
            if columns.chosen is None:
                w = x
            else:
                w = spread(x, columns.chosen, problem.d)
                g = oracle.combine(point.u)


def strengths(regularizer: Any) -> tuple[float, float]:
    """(lam, ridge) with R(w) = lam |w|_1 + ridge/2 <w, w>."""
    ratio = getattr(regularizer, "l1_ratio", 1.0)
    return regularizer.alpha * ratio, regularizer.alpha * (1.0 - ratio)


def look(oracle: Any, z: np.ndarray) -> Point:
    """The losses, slopes and curvatures at scores z."""
    return Point(z, *oracle.curved(z))


def dual_claim(oracle: Any, w: np.ndarray, b: float, point: Point, g: np.ndarray, top: float) -> float:
    """The dual value to expect at the slopes after they were balanced and scaled.

    Scaled by c, the loss part of D is concave in c, at least 0 at c = 0, and its value and derivative at 1 are known:
    the parabola through these is closer to it than the chord, near 1 by an order.
    """
    problem = oracle.problem
    along = -float(w @ g)
    if problem.fit_intercept:
        mean, offset = oracle.means
        slopes = float(problem.weights @ point.u)
        along += slopes * (float(mean @ w) + offset - slopes)
        g = g - slopes * mean
        top = float(np.abs(g).max())
    losses = point.risk + along
    if problem.regularizer.strongly_convex:
        return losses - problem.regularizer.conjugate(-g)
    short = max(1.0 - problem.regularizer.alpha / max(top, 1e-300), 0.0)
    return max((1.0 - short) * losses, losses - short * along - 2.0 * short * short * abs(losses - along))


def next_set(oracle: Any, columns: ColumnSet | None, w: np.ndarray, size: np.ndarray, lam: float) -> ColumnSet:
    """The support and the columns with the largest gradients, whose sizes are given."""
    if columns is not None and columns.chosen is None:
        return columns
    support = np.flatnonzero(w)
    score = size.copy()
    score[support] = np.inf
    room = max(FIRST, int(GROW * support.size))
    chosen = np.flatnonzero(score >= (lam if columns is None else NEAR * lam))
    if chosen.size > room:
        chosen = np.sort(chosen[np.argpartition(score[chosen], chosen.size - room)[chosen.size - room :]])
    if w.size <= SMALL or chosen.size > 0.8 * w.size:
        return ColumnSet(oracle, None)
    if columns is not None and columns.chosen is not None and np.array_equal(chosen, columns.chosen):
        return columns
    return ColumnSet(oracle, chosen)


class Newton:
    """Newton steps on sets of columns; keeps what one step has learned about the next."""

    def __init__(self, oracle: Any, lam: float, ridge: float):
        self.oracle, self.problem, self.lam, self.ridge = oracle, oracle.problem, lam, ridge
        self.free = int(self.problem.fit_intercept)
        self.damping = 0.0  # added to every row's curvature
        self.stuck = False
        self.progress = np.inf  # of the last step, relative to the value
        self.draws = np.random.default_rng(0).random(self.problem.n)
        self.made_for: Any = None  # the set, curvatures and damping of the matrix at hand
        self.matrix = np.zeros((0, 0))

    def solve(self, columns, point, x, b, g, worst):
        """Steps from (x, b) until the violation in the set is small beside `worst`: (point, x, b, gradient of F)."""
        lam = np.append(np.full(x.size, self.lam), np.zeros(self.free))
        xb = np.append(x, np.full(self.free, b))
        q = self.gradient(point, xb, g)
        before, now, self.stuck = 0.0, violation(xb, q, lam), True
        for _ in range(STEPS):
            if now <= 1e-15 * self.lam:
                break
            new = self.model_step(columns, point, xb, q, lam, now, now <= LAG * before)
            found = self.search(columns, point, xb, new - xb, q, lam)
            if found is None:
                break
            xb, point = found
            g = columns.combine(point.u)
            q = self.gradient(point, xb, g)
            before, now = now, violation(xb, q, lam)
            self.stuck = False
            if now <= INSIDE * worst or columns.chosen is None:
                break
        x = xb[: x.size]
        return point, x, float(xb[-1]) if self.free else 0.0, g

    def model_step(self, columns, point, xb, q, lam, now, lag):
        """The minimiser of the second-order model."""
        if columns.size <= DIRECT:
            return minimise(self.hessian(columns, point, lag), q, xb, lam)
        self.damp(point)
        scale = np.sqrt(self.problem.weights * (point.h + self.damping))
        ridge = np.append(np.full(columns.size, self.ridge), np.zeros(self.free))
        model = ColumnModel(columns.columns(scale, bool(self.free)), scale.size, ridge, q, xb, lam)
        return minimise_columns(model, min(LOOSE, max(now / self.lam, TIGHT) if self.lam else LOOSE))

    def damp(self, point: Point) -> None:
        """Some curvature where there is none."""
        if float(self.problem.weights @ point.h) <= FLAT and self.damping == 0.0:
            self.damping = 1.0

    def gradient(self, point: Point, xb: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Of F and the quadratic part, in (x, b)."""
        q = g + self.ridge * xb[: g.size]
        return np.append(q, float(self.problem.weights @ point.u)) if self.free else q

    def hessian(self, columns: ColumnSet, point: Point, lag: bool) -> np.ndarray:
        """In (x, b); the last one again if it is of these columns and still good."""
        p = self.problem.weights
        self.damp(point)
        made = self.made_for
        far = self.progress > FAR
        same = made is not None and made[0] is columns and made[2] == self.damping
        if same and (lag or (np.array_equal(point.h, made[1]) and made[3] <= far)):
            return self.matrix
        weights = p * (point.h + self.damping)
        sample = self.sampled(weights, columns.size) if far else weights
        H = columns.gram(sample)
        if sample is not weights:  # columns that few rows have may be missing in the sample
            np.einsum("ii->i", H)[:] = np.maximum(np.diag(H), columns.squares(weights))
        if self.free:
            border = columns.combine(point.h + self.damping)
            H = np.block([[H, border[:, None]], [border[None, :], np.full((1, 1), weights.sum())]])
        diagonal = np.einsum("ii->i", H)
        diagonal[: columns.size] += self.ridge
        diagonal += 1e-12 * diagonal.max(initial=1e-300)
        self.matrix, self.made_for = H, (columns, point.h, self.damping, far)
        return H

    def sampled(self, weights: np.ndarray, count: int) -> np.ndarray:
        """Weights of some rows in place of all, right on average: likely rows are those of large weight."""
        rows = SAMPLE * count
        if rows > 0.5 * np.count_nonzero(weights):
            return weights
        level = weights.sum() / rows
        for _ in range(3):  # so that the likelihoods, at most 1, add up to that many rows
            level *= np.minimum(weights / level, 1.0).sum() / rows
        return np.where(self.draws * level < weights, np.maximum(weights, level), 0.0)

    def search(self, columns, point, xb, d, q, lam):
        """(x + t d, what is known there) with enough decrease; None if there is none to be had."""
        step, shift = d[: columns.size], float(d[-1]) if self.free else 0.0
        decrease = float(q @ d) + float(lam @ (np.abs(xb + d) - np.abs(xb)))
        here = self.value(point, xb, lam)
        if not decrease < 0.0 or not np.isfinite(d).all():
            return None
        dz = columns.scores(step) + shift
        t = 1.0
        for _ in range(60):
            new = look(self.oracle, point.z + t * dz)
            there = self.value(new, xb + t * d, lam)
            if there <= here + ARMIJO * t * decrease + 1e-15 * abs(here):
                self.adapt(point, t)
                self.progress = -t * decrease / max(abs(here), 1e-300)
                return xb + t * d, new
            t *= 0.5 if t > 0.1 else 0.1
        return None

    def value(self, point: Point, xb: np.ndarray, lam: np.ndarray) -> float:
        x = xb[: xb.size - self.free]
        return point.risk + float(lam @ np.abs(xb)) + 0.5 * self.ridge * float(x @ x)

    def adapt(self, point: Point, t: float) -> None:
        """More curvature after a step that had to be cut, less after a whole one."""
        mean = float(self.problem.weights @ point.h)
        if t < 0.2:
            self.damping = max(4.0 * self.damping, 0.1 * mean, FLAT)
        elif t == 1.0:
            self.damping = 0.2 * self.damping if self.damping > 1e-5 * mean else 0.0
