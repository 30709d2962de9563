"""Proximal point steps in coefficients, intercept and scores, each solved by semismooth Newton on its dual.

Problem      min over w, b of F(w, b) + R(w), any loss of one score, R with a prox: neither need be differentiable or strongly
             convex
Update       (w, b, z), u <- the saddle point of F(z) + R(w) + sum p u (Xw + b + offset - z) plus a squared distance to the last
             (w, b, z), minus one to the last u. Its dual is smooth and strongly concave; semismooth Newton solves it in as many
             unknowns as there are active columns, or rows if these are fewer (`newton_system.py`). Step sizes grow as long as
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
from typing import Any, ClassVar

import numpy as np

from fenchel.kernels.proximal_rows import linear_weight
from fenchel.regularizers.feature_weights import penalised_part
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.centred_variables import column_variances
from fenchel.solvers.proximal_point_newton.newton_system import Metric, NewtonSystem
from fenchel.solvers.proximal_point_newton.prox_operator import ProxOperator
from fenchel.solvers.proximal_point_newton.proximal_step import Centre, ProximalStep
from fenchel.solvers.proximal_point_newton.settings import SETTINGS
from fenchel.solvers.subsampling.samples import strided


@dataclass(frozen=True)
class ProximalPointNewton(Solver):
    """Proximal points and semismooth Newton for every loss of one score and every regularizer that has a prox.

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="hinge", regularizer="l1", alpha=0.1)
    >>> fenchel.solve(problem, solver=ProximalPointNewton()).status.name
    'CERTIFIED'
    """

    at_home: ClassVar[str] = "the method is written for rows that are here: it copies the columns that it works on"
    cost: ClassVar[str] = "two passes over the data, and a Cholesky factor with a row for each active column"
    convergence: ClassVar[str] = "superlinear near the optimum"
    needs: ClassVar[Needs] = Needs(regularizer=("prox", "prox_jacobian"))

    def iterates(self, oracle: Any, start: Start) -> Iterator[Iterate]:
        problem = oracle.problem
        if start.memory is not None:
            w, b, z, u, gamma, first, k = start.memory["state"]
        else:
            w, b, u = start.coef.copy(), start.intercept, start.dual_point
            z = oracle.scores(w)
            if u is not None and not is_near(oracle, w, b, z, u):
                w, u = np.array(problem.regularizer.start(problem.d), dtype=np.float64), None
                z = oracle.scores(w)
            if u is None:
                b = oracle.best_intercept(z, b)
            z, k = z + b, 0
            first = gamma = first_step(oracle, z)
            gamma *= 1.0 if u is None else SETTINGS.warm_start_growth
            u = np.zeros(problem.n) if u is None else u.copy()
        yield from proximal_points(oracle, w, b, z, u, gamma, first, k)


def is_near(oracle: Any, w: np.ndarray, b: float, z: np.ndarray, u: np.ndarray) -> bool:
    """Whether a point to start from is so good that it is better than none: u may be far from anything useful."""
    primal, dual = oracle.losses_at(z, b)[0] + oracle.problem.regularizer.value(w), dual_value(oracle, u)[0]
    return bool(primal - dual <= SETTINGS.max_warm_start_gap * abs(primal))


def proximal_points(
    oracle: Any, w: np.ndarray, b: float, z: np.ndarray, u: np.ndarray, gamma: float, first: float, k: int
) -> Iterator[Iterate]:
    """Proximal steps, without end; `b` is the intercept for rows as they are."""
    problem, free = oracle.problem, bool(oracle.problem.fit_intercept)
    mean = oracle.means[0] if free else np.zeros(problem.d)
    operator = ProxOperator(problem.regularizer, problem.d)
    scale = operator.metric(column_variances(oracle, mean))
    step = ProximalStep(oracle, operator, NewtonSystem(oracle, mean), mean, u, np.zeros(problem.d))
    step.refresh()
    centre = Centre(w, b + float(mean @ w) if free else 0.0, z)
    scores = oracle.scores(w) + b
    while True:
        state = (centre.w, centre.b - float(mean @ centre.w), centre.z, step.u, gamma, first, k)
        yield claim(oracle, centre.w, scores, state[1], step)._replace(memory=partial(dict, state=state))
        k += 1
        sigma = max(SETTINGS.dual_distance_ratio * first * (first / gamma), SETTINGS.min_dual_distance_ratio * gamma)
        step.begin(centre, Metric(gamma, gamma * problem.n * scale, gamma * problem.n if free else 0.0, sigma))
        systems, moved = 0, True
        while systems < SETTINGS.max_systems and not is_solved(step, k):
            moved = step.newton()
            if not moved:
                break
            systems += 1
            if systems % SETTINGS.systems_per_refresh == 0:
                step.refresh()
            yield Iterate(step.w, step.intercept(), None, np.nan)
        centre, scores = Centre(step.w, step.b, step.z.copy()), step.scores
        step.refresh()
        gamma = min(gamma * growth(systems, moved), SETTINGS.max_step_ratio * first)


def is_solved(step: ProximalStep, k: int) -> bool:
    """Whether Newton steps have little left to gain in the k-th proximal step."""
    error = step.error()
    size = float(np.sqrt(step.problem.weights @ (step.z * step.z)))
    allowed = SETTINGS.inner_error_ratio / k**SETTINGS.inner_error_power * step.change()
    return error <= max(allowed, SETTINGS.inner_rounding * size)


def growth(systems: int, moved: bool) -> float:
    """By how much the step size changes after an inner solve."""
    if not moved:
        return SETTINGS.slow_growth
    if systems <= SETTINGS.max_quick_systems:
        return SETTINGS.quick_growth
    if systems <= SETTINGS.max_fair_systems:
        return SETTINGS.fair_growth
    return 1.0 if systems < SETTINGS.max_systems else SETTINGS.slow_growth


def claim(oracle: Any, w: np.ndarray, scores: np.ndarray, b: float, step: ProximalStep) -> Iterate:
    """The iterate with the values at w, with the best intercept for it, and at the feasible point nearest to u."""
    problem, regularizer = oracle.problem, oracle.problem.regularizer
    z = scores - b
    if problem.fit_intercept:
        b = oracle.best_intercept(z, b)
    primal = oracle.losses_at(z, b)[0] + regularizer.value(w)
    dual, u = dual_value(oracle, step.u)
    return Iterate(w, b, primal, dual, u)


def dual_value(oracle: Any, u: np.ndarray) -> tuple[float, np.ndarray]:
    """(the dual value at the feasible point nearest to u, scaled into the domain of R*; that point)."""
    regularizer, u = oracle.problem.regularizer, oracle.feasible(u)
    v = penalised_part(regularizer, -oracle.combine(u))
    share = regularizer.dual_scale(v)
    return -oracle.conjugates(share * u) - regularizer.conjugate(share * v), u


def first_step(oracle: Any, z: np.ndarray) -> float:
    """A step size gamma that brings about half of the rows to a nonsmooth point, or is as curved as they are: half of those
    that any step can bring there, because with the best intercept for w = 0 many may begin at one."""
    problem = oracle.problem
    some = strided(problem.n, min(problem.n, SETTINGS.first_step_rows))
    y, p, z = problem.y[some], problem.weights[some], z[some]
    size = max(float(np.abs(z).mean()), float(np.abs(y).mean())) or 1.0  # scores may all be about 0

    def linear(gamma: float) -> float:
        return linear_weight(problem.compiled_loss, y, p, gamma, z)

    low, high = size / SETTINGS.first_step_range, size * SETTINGS.first_step_range
    at_low, at_high = linear(low), linear(high)
    if not at_low > at_high:
        return size
    goal = 0.5 * (at_low + at_high)
    while high > 2.0 * low:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if linear(middle) > goal else (low, middle)
    return high
