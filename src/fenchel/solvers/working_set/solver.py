"""Proximal Newton on a working set of columns, for L1 and ElasticNet.

Problem      min over w, b of F(w, b) + lam |w|_1 + ridge/2 <w, w>, F differentiable
Update       The gradient in all columns; the set = the support and the columns where |gradient| is largest. Within the set
             Newton steps (`proximal_newton.py`) until its violation is small beside that of all columns; then the next set.
Certificate  the slopes, scaled until |v_j| <= lam: with the set solved exactly, the gap is due to the other columns
Reference    Johnson and Guestrin (2015), Massias, Gramfort and Salmon (2018) for working sets chosen by the gap;
             Yuan, Ho and Lin (2012) for the proximal Newton steps

The solver holds a copy of the set's columns, stored by rows and, if they are many, by columns too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fenchel.data.dense import Dense
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.working_set.column_set import ColumnSet
from fenchel.solvers.working_set.proximal_newton import Point, ProximalNewton, evaluate
from fenchel.solvers.working_set.settings import SETTINGS
from fenchel.solvers.working_set.sparse_quadratic import spread, violation

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle
    from fenchel.problems.scalar import Problem
    from fenchel.regularizers.base import Regularizer


@dataclass(frozen=True)
class WorkingSet(Solver):
    """Working sets and proximal Newton steps for L1 and ElasticNet with differentiable losses.

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="logistic", regularizer="l1", alpha=0.1)
    >>> fenchel.solve(problem, solver=WorkingSet()).status.name
    'CERTIFIED'
    """

    local_reason = "the method needs the rows in this process: it copies the columns that it works on"
    cost = "a pass over all columns, then Newton steps on few of them"
    convergence = "superlinear near the optimum, once the set holds the support"
    halves = 60
    needs = Needs(loss=("differentiable",), regularizer=("soft_threshold",))
    waits = 30

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        problem = oracle.problem
        lam, ridge = strengths(problem.regularizer)
        newton = ProximalNewton(oracle, lam, ridge)
        w, b, exact = start.coef, start.intercept, True
        point = evaluate(oracle, (oracle.scores(w) if w.any() else problem.offset) + b)
        if w.any():
            newton.progress = 0.0  # A warm start is near enough for the Hessian of all rows.
        elif problem.fit_intercept and problem.d > SETTINGS.max_columns_without_selection:
            # The intercept alone comes first; with fewer columns it is found together with them.
            nothing = ColumnSet(oracle, np.zeros(0, dtype=np.int64))
            point, _, b, _ = newton.solve(nothing, point, np.zeros(0), b, np.zeros(0), lam)
            exact = False
        columns: ColumnSet | None = None
        g, idle = oracle.combine(point.u), 0
        while idle <= SETTINGS.max_idle_sets:
            size = np.abs(g)
            top = float(size.max())
            dual = dual_claim(oracle, w, b, point, g, top)
            yield Iterate(w, b, point.risk + problem.regularizer.value(w), dual, point.u)
            support = np.flatnonzero(w)
            in_support = violation(w[support], (g + ridge * w)[support], np.full(support.size, lam))
            worst = max(top - lam, in_support)
            last, columns = columns, next_set(oracle, columns, support, size, lam, worst)
            x = w[columns.place]
            if columns is not last and not exact:
                # This removes the rounding errors that many steps have accumulated.
                point = evaluate(oracle, columns.scores(x) + problem.offset + b)
            exact = False
            point, x, b, g = newton.solve(columns, point, x, b, g[columns.place], worst)
            idle = idle + 1 if newton.stuck else 0
            if columns.chosen is None:
                w = x
            else:
                w = spread(x, columns.chosen, problem.d)
                g = oracle.combine(point.u)


def strengths(regularizer: Regularizer) -> tuple[float, float]:
    """(lam, ridge) with R(w) = lam |w|_1 + ridge/2 <w, w>."""
    ratio = getattr(regularizer, "l1_ratio", 1.0)
    return regularizer.alpha * ratio, regularizer.alpha * (1.0 - ratio)


def dual_claim(oracle: Oracle, w: np.ndarray, b: float, point: Point, g: np.ndarray, top: float) -> float:
    """The dual value to expect at the slopes after they were balanced and scaled; `top` is the largest |g_j|.

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


def first_size(problem: Problem) -> int:
    """Columns in the first set."""
    if not isinstance(problem.rows, Dense):
        return SETTINGS.min_first_set_columns
    wanted = np.sqrt(SETTINGS.first_set_square_per_column * problem.d)
    return int(min(max(wanted, SETTINGS.min_first_set_columns), SETTINGS.max_first_set_columns))


def next_set(
    oracle: Oracle, columns: ColumnSet | None, support: np.ndarray, size: np.ndarray, lam: float, worst: float
) -> ColumnSet:
    """The support and the columns with the largest gradients; `size` holds the absolute values of the gradient."""
    d = size.size
    if columns is not None and columns.chosen is None:
        return columns
    if d <= SETTINGS.max_columns_without_selection or lam == 0.0:
        return ColumnSet(oracle, None)
    score = size.copy()
    score[support] = np.inf
    full = columns is not None and support.size > SETTINGS.full_set_support_ratio * columns.size
    growth = SETTINGS.full_set_columns_per_support if full else SETTINGS.set_columns_per_support
    capacity = max(first_size(oracle.problem), int(growth * support.size))
    margin = 0.0
    if columns is not None:
        margin = min(max(worst / lam, SETTINGS.min_entry_margin_ratio), SETTINGS.max_entry_margin_ratio)
    chosen = np.flatnonzero(score >= (1.0 - margin) * lam)
    if chosen.size > capacity:
        chosen = np.sort(chosen[np.argpartition(score[chosen], chosen.size - capacity)[chosen.size - capacity :]])
    if chosen.size > SETTINGS.max_copied_column_ratio * d:
        return ColumnSet(oracle, None)
    if columns is not None and np.array_equal(chosen, columns.place):
        return columns
    return ColumnSet(oracle, chosen)
