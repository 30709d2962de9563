"""Coordinate descent with swaps of columns, and a lower bound of the global optimum, for penalties that are not convex.

Problem      min over w, b of F(w, b) + sum_j r(s_j |w_j|), any loss of one score, r quadratic in pieces (L0, MCP, SCAD)
Update       First the convex problem with the envelope R** in place of R, by `ProximalPointNewton`: its dual points are those
             of R. Then local minima, from its solution, from 0, from minima at other strengths and from the starting point:
             Newton steps whose models are minimised by exact coordinate steps, and swaps of a column in use for another one,
             each confirmed by the objective. A loss that is not differentiable is replaced by Moreau envelopes, and the
             coefficients in use are then fitted to itself.
Certificate  the dual variables of the convex problem; R has the same conjugate. The gap need not close
Reference    Hazimeh and Mazumder (2020) for coordinate descent with swaps; Breheny and Huang (2011) for MCP and SCAD
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from fenchel.losses import Moreau
from fenchel.problems.scalar import Problem
from fenchel.regularizers import NoPenalty, Quadratic
from fenchel.regularizers.envelope import envelope_of
from fenchel.regularizers.nonconvex import MOST_FREE, Nonconvex
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.proximal_point_newton.solver import ProximalPointNewton
from fenchel.solvers.swap_descent.search import Search
from fenchel.solvers.swap_descent.settings import SETTINGS

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


@dataclass(frozen=True)
class SwapDescent(Solver):
    """Local minima by coordinate descent and swaps, and the bound of the convex envelope, for L0, MCP and SCAD.

    >>> import fenchel
    >>> penalty = fenchel.regularizers.L0(0.2, ridge=0.1)
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="logistic", regularizer=penalty)
    >>> result = fenchel.solve(problem, solver=SwapDescent())
    >>> result.status.name, 0 < result.certificate.relative_gap < 0.2
    ('BOUNDED', True)
    """

    local_reason = "the method needs the rows in this process: it copies the columns that it works on"
    cost = "a Gram matrix of up to 600 columns, then steps on that"
    convergence = "to a local minimum that swaps do not improve; its distance from the global one is bounded"
    nonconvex = True
    waits = 1000
    needs = Needs(loss=("prox",), regularizer=("nonconvex",))

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        problem, best = oracle.problem, (np.inf, start.coef)
        relaxed, u, dual = np.zeros(problem.d), None, -np.inf
        for iterate in relaxation(oracle, start) if has_bound(problem) else trivial(oracle, start):
            value = value_of(oracle, iterate.coef, iterate.intercept)
            if iterate.dual > dual or u is None:
                u, dual = iterate.dual_point, iterate.dual
            relaxed, best = iterate.coef + 0.0, min(best, (value, iterate.coef), key=lambda pair: pair[0])
            yield iterate._replace(primal=value, memory=None)
            if (iterate.primal or 0.0) - dual <= max(
                start.tol * abs(value), SETTINGS.relaxation_gap_ratio * (best[0] - dual)
            ):
                break
        origins = [relaxed, np.zeros(problem.d)]
        if start.coef.any():
            origins.insert(0, start.coef)
        for search in searches(oracle, relaxed):
            for origin in (*origins, *search.neighbours(relaxed, start.intercept)):
                point = search.descend(search.at(origin, start.intercept), np.flatnonzero(relaxed))
                w, b = (point.w, point.b) if search.oracle is oracle else refitted(oracle, point.w, point.b)
                yield Iterate(w, b, value_of(oracle, w, b), dual, u)


def penalty_of(problem: Problem) -> Nonconvex:
    """Its regularizer, which is not convex."""
    assert isinstance(problem.regularizer, Nonconvex)
    return problem.regularizer


def has_bound(problem: Problem) -> bool:
    """Whether the convex problem bounds more than each loss by itself: without a ridge it has no penalty."""
    return penalty_of(problem).ridge > 0.0 or problem.d < min(problem.n, MOST_FREE)


def trivial(oracle: Oracle, start: Start) -> Iterator[Iterate]:
    """The starting point with the dual point 0 or, with a free intercept, the feasible one next to it."""
    u = oracle.feasible(None)
    yield Iterate(start.coef, start.intercept, value_of(oracle, start.coef, start.intercept), -oracle.conjugates(u), u)


def value_of(oracle: Oracle, w: np.ndarray, b: float) -> float:
    """The objective."""
    return oracle.losses_at(oracle.scores(w), b)[0] + oracle.problem.regularizer.value(w)


def relaxation(oracle: Oracle, start: Start) -> Iterator[Iterate]:
    """Evaluated iterates of the convex problem, their passes counted; `primal` is its own value."""
    inner = type(oracle)(oracle.problem.with_regularizer(envelope_of(oracle.problem.regularizer)), oracle.engine)
    iterates, counted = ProximalPointNewton().iterates(inner, start._replace(memory=None)), 0.0
    for iterate in islice(iterates, SETTINGS.max_relaxation_iterations):
        oracle.count(inner.passes - counted)
        counted = inner.passes
        if iterate.primal is not None:
            yield iterate


def searches(oracle: Oracle, w: np.ndarray) -> Iterator[Search]:
    """One on the problem itself or, if its loss is not differentiable, one on each of its smoothed problems."""
    problem = oracle.problem
    if problem.smooth_loss:
        yield Search(oracle)
        return
    spread = float(np.median(np.abs(oracle.scores(w) - problem.y))) or 1.0
    for gamma in SETTINGS.smoothings:
        smoothed = type(oracle)(problem.with_loss(Moreau(problem.loss, gamma * spread)), oracle.engine)  # type: ignore[call-arg]
        yield Search(smoothed)
        oracle.count(smoothed.passes)


def refitted(oracle: Oracle, w: np.ndarray, b: float) -> tuple[np.ndarray, float]:
    """The same, or the coefficients in use fitted to the loss with the ridge alone, if the objective is then smaller."""
    problem, used = oracle.problem, np.flatnonzero(w)
    b = oracle.best_intercept(oracle.scores(w), b)
    if used.size == 0:
        return w, b
    ridge, scales = penalty_of(problem).ridge, penalty_of(problem).scales
    penalty = (
        NoPenalty() if ridge == 0.0 else Quadratic(ridge, np.ones(used.size) if scales is None else scales[used] ** 2)
    )
    part = Problem(
        problem.X[:, used], problem.y, problem.loss, penalty, fit_intercept=problem.fit_intercept,
        sample_weight=problem.weights, offset=problem.offset,
    )  # fmt: skip
    inner, best, found = type(oracle)(part, oracle.engine), value_of(oracle, w, b), (w, b)
    for k, iterate in enumerate(ProximalPointNewton().iterates(inner, Start(w[used], b))):
        if iterate.primal is None:
            continue
        new = np.zeros(w.size)
        new[used] = iterate.coef
        if (value := value_of(oracle, new, iterate.intercept)) < best:
            best, found = value, (new, iterate.intercept)
        if k >= SETTINGS.max_refit_iterations or iterate.primal - iterate.dual <= SETTINGS.refit_gap * abs(best):
            break
    oracle.count(inner.passes * used.size / problem.d)
    return found
