"""Proximal point steps in coefficients, intercept and scores, each solved by semismooth Newton on its dual.

Problem      min over w, b of F(w, b) + R(w), any loss of one score, or of several scores with a `dual_prox`; R with a prox.
             Neither need be differentiable or strongly convex
Update       (w, b, z), u <- the saddle point of F(z) + R(w) + sum p u (Xw + b + offset - z) plus a squared distance to the last
             (w, b, z), minus one to the last u. Its dual is smooth and strongly concave; semismooth Newton solves it in as many
             unknowns as there are active columns, or rows if these are fewer (`newton_system.py`; with several scores, active
             pairs of a column and a score, `score_system.py`). Step sizes grow as long as
             Newton steps are few. Without the distance to u, Newton steps are very long where more rows are at nonsmooth
             points than there are unknowns: six times as many were needed.
Certificate  the dual variables of the step, clipped into the domain of loss*, balanced, and scaled into that of R*
Reference    Rockafellar (1976) for the proximal method of multipliers; Li, Sun and Toh (2018) and Tang,
             Wang, Sun and Toh (2020) for semismooth Newton on the duals of its steps
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fenchel.regularizers.feature_weights import penalised_part
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.proximal_point_newton.first_step import first_step
from fenchel.solvers.proximal_point_newton.newton_system import Metric
from fenchel.solvers.proximal_point_newton.prox_operator import ProxOperator
from fenchel.solvers.proximal_point_newton.proximal_step import Centre, ProximalStep
from fenchel.solvers.proximal_point_newton.rows_of_one_score import RowsOfOneScore
from fenchel.solvers.proximal_point_newton.rows_of_several_scores import RowsOfSeveralScores
from fenchel.solvers.proximal_point_newton.settings import SETTINGS


@dataclass(frozen=True)
class ProximalPointNewton(Solver):
    """Proximal points and semismooth Newton for losses of one score or several, and every regularizer that has a prox.

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="hinge", regularizer="l1", alpha=0.1)
    >>> fenchel.solve(problem, solver=ProximalPointNewton()).status.name
    'CERTIFIED'
    """

    local_reason = "the method needs the rows in this process: it copies the columns that it works on"
    cost = "two passes over the data, and a Cholesky factor with a row for each active column"
    convergence = "superlinear near the optimum"
    kinds = ("scalar", "vector", "free vector")
    needs = Needs(loss=("prox",), regularizer=("prox", "prox_jacobian"))

    def iterates(self, oracle: Any, start: Start) -> Iterator[Iterate]:
        rows = (RowsOfSeveralScores if oracle.problem.is_vector else RowsOfOneScore)(oracle)
        if start.memory is not None:
            w, b, z, u, gamma, first, k = start.memory["state"]
        else:
            (w, b), u, k = rows.split(start.coef, start.intercept), start.dual_point, 0
            z = rows.scores(w, b)
            if u is not None and not is_near(rows, w, b, z, u):
                w, b = rows.split(np.array(oracle.problem.regularizer.start(oracle.problem.d), dtype=np.float64), 0.0)
                z, u = rows.scores(w, b), None
            if u is None:
                moved = rows.risk(z, b, best=True)[1]
                z, b = z + (moved - b), moved
            first = gamma = first_step(rows, z)
            gamma *= 1.0 if u is None else SETTINGS.warm_start_growth
            u = np.zeros(rows.shape) if u is None else np.array(u, dtype=np.float64)
        yield from proximal_points(rows, Centre(w, b, z), u, gamma, first, k)


def is_near(rows: Any, w: np.ndarray, b: Any, z: np.ndarray, u: np.ndarray) -> bool:
    """Whether a starting point is better than none: its u may be far from the optimum."""
    primal, dual = rows.risk(z, b, best=False)[0] + rows.regularizer.value(w), dual_value(rows.oracle, u)[0]
    return bool(primal - dual <= SETTINGS.max_warm_start_gap * abs(primal))


def proximal_points(rows: Any, centre: Centre, u: np.ndarray, gamma: float, first: float, k: int) -> Iterator[Iterate]:
    """Proximal steps, without end."""
    operator = ProxOperator(rows.regularizer, rows.d)
    scale = operator.metric(rows.variances())
    step = ProximalStep(rows, operator, u)
    scores = rows.scores(centre.w, centre.b)
    while True:
        state = (centre.w, centre.b, centre.z, step.u, gamma, first, k)
        yield claim(rows, centre, scores, step.u)._replace(memory=partial(dict, state=state))
        k += 1
        sigma = max(SETTINGS.dual_distance_ratio * first * (first / gamma), SETTINGS.min_dual_distance_ratio * gamma)
        of_w = gamma * rows.step_ratio
        step.begin(centre, Metric(gamma, of_w * scale, of_w if rows.free else 0.0, sigma))
        systems, moved = 0, True
        while systems < SETTINGS.max_systems and not is_solved(step, k):
            moved = step.newton()
            if not moved:
                break
            systems += 1
            if systems % SETTINGS.systems_per_refresh == 0:
                step.refresh()
            coef, intercept = rows.join(step.w, step.b)
            yield Iterate(coef, intercept, None, np.nan)
        centre, scores = Centre(step.w, step.b, step.z), step.scores
        step.refresh()
        gamma = min(gamma * growth(systems, moved), SETTINGS.max_step_ratio * first)


def is_solved(step: ProximalStep, k: int) -> bool:
    """Whether Newton steps have little left to gain in the k-th proximal step."""
    allowed = SETTINGS.inner_error_ratio / k**SETTINGS.inner_error_power * step.change()
    return step.error() <= max(allowed, SETTINGS.inner_rounding * step.size())


def growth(systems: int, moved: bool) -> float:
    """By how much the step size changes after an inner solve."""
    if not moved:
        return SETTINGS.slow_growth
    if systems <= SETTINGS.max_quick_systems:
        return SETTINGS.quick_growth
    if systems <= SETTINGS.max_fair_systems:
        return SETTINGS.fair_growth
    return 1.0 if systems < SETTINGS.max_systems else SETTINGS.slow_growth


def claim(rows: Any, centre: Centre, scores: np.ndarray, u: np.ndarray) -> Iterate:
    """The iterate with the values at w, with the best intercept for it, and at the feasible point nearest to u."""
    risk, b = rows.risk(scores, centre.b, best=True)
    dual, u = dual_value(rows.oracle, u)
    coef, intercept = rows.join(centre.w, b)
    return Iterate(coef, intercept, risk + rows.regularizer.value(centre.w), dual, u)


def dual_value(oracle: Any, u: np.ndarray) -> tuple[float, np.ndarray]:
    """(the dual value at the feasible point nearest to u, scaled into the domain of R*; that point)."""
    regularizer, u = oracle.problem.regularizer, oracle.feasible(u)
    v = penalised_part(regularizer, -oracle.combine(u))
    share = regularizer.dual_scale(v)
    return -oracle.conjugates(share * u) - regularizer.conjugate(share * v), u
