"""Newton's method with a Cholesky factor; for nonsmooth losses on the proximal point problems of the dual.

Problem      min over w, b of F(w, b) + R(w), few features (the factor is d x d). R is quadratic; or it is separable (L1,
             L1 + L2), and the loss is nonsmooth
Update       A differentiable loss: Newton steps with a line search on stored scores.
             A nonsmooth loss: maximise D(u) - gamma/2 sum p (u - u0)^2 instead, whose primal has the smoothed losses phi
             (`kernels/envelope.py`), by (semismooth) Newton steps, then u0 <- u and gamma <- gamma / 3, and so on. An R that
             is not quadratic is smoothed in the same way (`smoothed_regularizer.py`). Only rows
             near a nonsmooth point have curvature, so the Gram matrix is that of few rows.
             The first steps are made on samples of the rows (`subsampling/`), the last ones on the rows near a nonsmooth point
             (`row_reduction.py`), checked with all rows. Both are copies: of at most 0.6 of X at a time.
Certificate  u, which the smoothing gives for free
Reference    Rockafellar (1976) for the proximal point method; Li, Sun and Toh (2018) for semismooth Newton on it
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.data.accept import size
from fenchel.kernels.envelope import curved_weight
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.centred_variables import column_variances
from fenchel.solvers.semismooth_newton.row_reduction import Reduction
from fenchel.solvers.semismooth_newton.settings import SETTINGS
from fenchel.solvers.semismooth_newton.smoothed_problem import Claim, SmoothedProblem
from fenchel.solvers.semismooth_newton.smoothed_regularizer import QuadraticPart, SmoothedPart
from fenchel.solvers.subsampling.samples import drawn, sizes, smallest_gamma, strided
from fenchel.solvers.subsampling.settings import SETTINGS as SAMPLING

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


@dataclass(frozen=True)
class SemismoothNewton(Solver):
    """(Semismooth) Newton for few features: every loss with L2 or Quadratic, and nonsmooth losses with L1 or ElasticNet.

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="hinge", alpha=0.1, fit_intercept=True)
    >>> fenchel.solve(problem, solver=SemismoothNewton()).status.name
    'CERTIFIED'
    """

    local_reason = (
        "the method needs the rows in this process: "
        "it keeps a dual variable for each and copies those near a nonsmooth point"
    )
    cost = "a pass over the data, and a Cholesky factor of a d x d matrix"
    convergence = "superlinear near the optimum"
    needs = Needs(regularizer=("penalised", "few_features"), problem=("smoothed_by_parts",))

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        problem = oracle.problem
        w, b, gamma = start.coef.copy(), start.intercept, 0.0
        warm = start.dual_point is not None
        u0 = start.dual_point.copy() if warm else np.zeros(problem.n)
        if not warm and not w.any():
            w, b, gamma = yield from sampled(oracle, w, b)
        if gamma == 0.0 and not problem.smooth_loss:
            gamma = (SETTINGS.warm_start_gamma_ratio if warm else 1.0) * first_gamma(oracle, w, b)
        yield from proximal_points(SmoothedProblem(oracle, w, b, gamma, u0, part_of(oracle, gamma, u0)))


def part_of(oracle: Oracle, gamma: float, u0: np.ndarray) -> Any:
    """What the Newton steps see of R; the dual variables of its proximal step are those that belong to u0."""
    problem = oracle.problem
    if hasattr(problem.regularizer, "hessian"):
        return QuadraticPart(problem.regularizer, problem.d)
    mean = oracle.means[0] if problem.fit_intercept else np.zeros(problem.d)
    return SmoothedPart(problem.regularizer, np.sqrt(column_variances(oracle, mean)), -oracle.combine(u0), gamma)


def sampled(oracle: Oracle, w: np.ndarray, b: float) -> Generator[Iterate, None, tuple[np.ndarray, float, float]]:
    """(w, b, gamma) to continue with, found on samples; gamma = 0 if there are none, or the loss needs no smoothing."""
    problem, gamma = oracle.problem, 0.0
    levels = sizes(problem.n, problem.d, size(problem.rows))
    scale = first_gamma(oracle, w, b) if levels and not problem.smooth_loss else 0.0
    for m in levels:
        sample = drawn(problem.rows, problem.n, m)
        sampled_oracle = oracle.take(sample, 1.0 / max(float(problem.weights[sample].sum()), SETTINGS.min_weight))
        least = scale * smallest_gamma(problem.d, m)
        u0, first = np.zeros(m), max(gamma or scale, least)
        work = SmoothedProblem(sampled_oracle, w, b, first, u0, part_of(sampled_oracle, first, u0))
        yield from solve_sample(work, least)
        oracle.count_sample(sampled_oracle, m)
        w, b, gamma = work.w, work.b, SETTINGS.gamma_shrink * work.gamma
    return w, b, gamma


def solve_sample(work: SmoothedProblem, least: float) -> Iterator[Iterate]:
    """Proximal point steps on a sample with gamma down to `least`, as long as enough rows have curvature."""
    for _ in range(SAMPLING.max_newton_steps):
        claim = work.claim()
        if work.gamma == 0.0:
            if claim.gap <= SAMPLING.max_relative_gap * claim.primal:
                return
        elif claim.inner <= SETTINGS.sample_inner_error_ratio * claim.residual:
            if work.gamma <= least or np.count_nonzero(work.rows.t) < SAMPLING.min_curved_rows_per_feature * work.d:
                return
            work.recentre(max(SETTINGS.gamma_shrink * work.gamma, least))
        if not work.step():
            return
        work.widen()
        yield Iterate(work.w, work.b, None, np.nan)


def proximal_points(work: SmoothedProblem) -> Iterator[Iterate]:
    """Proximal point steps on all rows, without end."""
    reduction, steps, least, total = Reduction(work), 0, SETTINGS.min_gamma_ratio * work.gamma, 0
    while True:
        claim = work.claim()
        if not reduction.has_all_rows and reduction.due(claim.gap):
            reduced = claim
            reduction.check()
            claim = work.claim()
            yield iterate(work, claim)
            reduction.resume(claim, reduced)
            claim = work.claim()
        elif reduction.has_all_rows:
            yield iterate(work, claim)
        else:
            yield Iterate(work.w, work.b, None, np.nan)
        if work.gamma > 0.0 and inner_problem_solved(claim):
            shrink = SETTINGS.slow_gamma_shrink if steps > SETTINGS.max_quick_newton_steps else SETTINGS.gamma_shrink
            steps = 0
            work.recentre(max(work.gamma * shrink, least))
            reduction.reduce(claim, SETTINGS.max_kept_row_fraction)
        elif reduction.has_all_rows and not work.searched:
            reduction.reduce(claim, SETTINGS.early_max_kept_row_fraction)
        steps += 1
        total += 1
        moved = work.step()
        if moved is None or (not moved and work.gamma == 0.0):
            return
        if not moved:
            reduction.end()
            work.refresh()
            work.recentre(max(work.gamma * SETTINGS.slow_gamma_shrink, least))
        else:
            work.widen()
        if total % SETTINGS.newton_steps_per_refresh == 0:
            work.refresh()


def iterate(work: SmoothedProblem, claim: Claim) -> Iterate:
    """The iterate to report when all rows were evaluated; no lower bound where balancing u would cost more than the gap."""
    w, b, primal = work.part.point(work.w), work.b, claim.primal
    cost = work.imbalance_cost(claim)
    highest = max(
        claim.gap, SETTINGS.max_imbalance * abs(claim.primal)
    )  # rounding may leave a gap of 0, and a cost above it
    dual = claim.dual - cost if cost <= highest else -np.inf
    if w is not work.w and not np.array_equal(w, work.w):
        z = work.oracle.scores(w)
        b = work.oracle.best_intercept(z, b)
        primal = work.oracle.losses_at(z, b)[0] + work.regularizer.value(w)
    return Iterate(w.copy(), b, primal, dual, dual_point(work, claim))


def inner_problem_solved(claim: Claim) -> bool:
    """Whether Newton steps at this gamma have little left to gain."""
    return claim.inner <= max(SETTINGS.inner_error_ratio * claim.residual, SETTINGS.inner_rounding * abs(claim.primal))


def dual_point(work: SmoothedProblem, claim: Claim) -> np.ndarray | Callable[[], np.ndarray]:
    """u, balanced if the intercept is free."""
    u = work.rows.u.copy()
    if claim.share == 0.0:
        return u
    total_curvature, p = work.rows.t.copy(), work.oracle.problem.weights
    return lambda: np.where(
        total_curvature > 0.0, u - claim.share * total_curvature / np.maximum(p, SETTINGS.min_weight), u
    )


def first_gamma(oracle: Oracle, w: np.ndarray, b: float) -> float:
    """About twice the smallest gamma at which half of the rows have curvature, of those that have any at a very large one: with
    none the first step would be a gradient step. Rows with a score exactly at a nonsmooth point may have none at any gamma."""
    n = oracle.problem.n
    sample = oracle.take(strided(n, SETTINGS.first_gamma_rows)) if n > SETTINGS.first_gamma_rows else oracle
    problem = sample.problem
    z = sample.scores(w) + b
    size = max(float(np.abs(z).mean()), float(np.abs(problem.y).mean())) or 1.0

    def curved(gamma: float) -> float:
        return curved_weight(problem.compiled_loss, problem.y, problem.weights, z, gamma)

    half = 0.5 * curved(SETTINGS.large_gamma_ratio * size)
    if half == 0.0:
        return size

    def is_curved(gamma: float) -> bool:
        return curved(gamma) >= half

    gamma = 1.0
    while is_curved(gamma) and gamma > SETTINGS.min_first_gamma:
        gamma *= 0.5
    while not is_curved(gamma) and gamma < SETTINGS.max_first_gamma:
        gamma *= 2.0
    return 2.0 * gamma
