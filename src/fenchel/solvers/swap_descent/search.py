"""Newton steps on a penalised risk whose penalty is not convex: models solved by coordinate descent and swaps of columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fenchel.kernels.swap_descent import local_search
from fenchel.regularizers.nonconvex import Nonconvex
from fenchel.solvers.swap_descent.settings import SETTINGS
from fenchel.solvers.working_set.column_set import ColumnSet


class Point(NamedTuple):
    """A point with the objective, the scores, and the slopes and curvatures of the losses there."""

    w: np.ndarray
    b: float
    value: float
    z: np.ndarray
    u: np.ndarray
    h: np.ndarray


class Search:
    """Local minima of the objective of an oracle, whose loss is differentiable, with its regularizer or another `penalty`."""

    def __init__(self, oracle: Any, penalty: Nonconvex | None = None):
        self.oracle, self.penalty = oracle, oracle.problem.regularizer if penalty is None else penalty
        self.pieces = self.penalty.pieces()
        d = oracle.problem.d
        self.scales = np.ones(d) if self.penalty.scales is None else self.penalty.scales
        self.kept: Any = None  # columns, curvatures, and what `_curvature` found for them
        smoothness = oracle.problem.smoothness
        self.steepest = smoothness if smoothness is not None and np.isfinite(smoothness) else 0.0

    def neighbours(self, w: np.ndarray, b: float) -> Iterator[np.ndarray]:
        """Local minima at other strengths: where those at this strength are poor, these often lead to a better one."""
        for factor in SETTINGS.neighbouring_strengths:
            other = Search(self.oracle, self.penalty.scaled(factor * self.penalty.alpha))
            yield other.descend(other.at(w, b), np.flatnonzero(w)).w

    def at(self, w: np.ndarray, b: float) -> Point:
        """The point with these coefficients and the best intercept."""
        z = self.oracle.scores(w)
        b = self.oracle.best_intercept(z, b)
        z = z + b
        risk, u, h = self.oracle.curved(z)
        return Point(w, b, risk + self.penalty.value(w), z, u, h)

    def descend(self, point: Point, must: np.ndarray) -> Point:
        """A local minimum that no swap of two columns is known to improve; columns that `must` holds are considered."""
        used: ColumnSet | None = None
        for _ in range(SETTINGS.max_column_sets):
            chosen = self._columns(point, must)
            if used is not None and (chosen is None or np.array_equal(chosen, used.place)):
                break
            used, before = ColumnSet(self.oracle, chosen), point.value
            point = self._with_swaps(self._newton(point, used), used)
            if chosen is None or before - point.value <= SETTINGS.min_decrease_ratio * abs(before):
                break
        return point

    def _columns(self, point: Point, must: np.ndarray) -> np.ndarray | None:
        """Those in use, and those with the largest gradients; None if these are all."""
        if point.w.size <= SETTINGS.max_columns:
            return None
        size = np.abs(self.oracle.combine(point.u)) / self.scales
        size[must] = np.maximum(size[must], np.max(size))
        size[point.w != 0.0] = np.inf
        count = max(SETTINGS.max_columns, int(np.count_nonzero(point.w)))
        return np.sort(np.argpartition(-size, count - 1)[:count])

    def _with_swaps(self, point: Point, columns: ColumnSet) -> Point:
        """Swaps on the model, each round confirmed by the objective after Newton steps without swaps."""
        for _ in range(SETTINGS.max_swap_rounds):
            trial = self._model_minimum(point, columns, 0.0, SETTINGS.max_swaps)
            if np.array_equal(trial != 0.0, point.w != 0.0):
                break
            found = self._newton(self.at(trial, point.b), columns)
            if not found.value < point.value - SETTINGS.min_decrease_ratio * abs(point.value):
                break
            point = found
        return point

    def _newton(self, point: Point, columns: ColumnSet) -> Point:
        """Newton steps with coordinate descent on each model, as long as they decrease the objective."""
        damping = 0.0
        for _ in range(SETTINGS.max_steps):
            found = self.at(self._model_minimum(point, columns, damping, 0), point.b)
            if found.value < point.value - SETTINGS.min_decrease_ratio * abs(point.value):
                point, damping = found, 0.0 if damping <= SETTINGS.first_damping else damping / SETTINGS.damping_growth
            elif np.array_equal(found.w, point.w) or damping >= SETTINGS.max_damping:
                break
            else:
                damping = max(SETTINGS.first_damping, SETTINGS.damping_growth * damping)
        return point

    def _model_minimum(self, point: Point, columns: ColumnSet, damping: float, swaps: int) -> np.ndarray:
        """The coefficients after a local search on the quadratic model of the losses, with the intercept minimised out."""
        problem = self.oracle.problem
        top = self.steepest if self.steepest > 0.0 else float(np.max(point.h, initial=0.0))
        h = np.maximum(point.h, damping * top)
        H, mean, total = self._curvature(columns, h)
        g = columns.combine(point.u)
        if total > 0.0:
            g -= mean * (float(problem.weights @ point.u) / total)
        s = self.scales[columns.place]
        x, q = s * point.w[columns.place], g / s
        small = SETTINGS.sweep_accuracy * float(np.max(np.abs(q), initial=0.0))
        local_search(H / np.outer(s, s), *self.pieces, x, q, SETTINGS.max_sweeps, swaps, small)
        w = point.w.copy()
        w[columns.place] = x / s
        return w

    def _curvature(self, columns: ColumnSet, h: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """(the Hessian with the intercept minimised out, sum p h x, sum p h), 0 without an intercept; the last one is kept
        as long as the curvatures are about the same."""
        p = self.oracle.problem.weights
        if self.kept is not None and self.kept[0] is columns:
            _, before, found = self.kept
            if float(p @ np.abs(h - before)) <= SETTINGS.same_curvature_ratio * float(p @ before):
                return found
        H, mean, total = columns.gram(p * h), np.zeros(0), 0.0
        if self.oracle.problem.fit_intercept and (total := float(p @ h)) > 0.0:
            mean = columns.combine(h)
            H -= np.outer(mean, mean) / total
        self.kept = (columns, h, (H, mean, total))
        return H, mean, total
