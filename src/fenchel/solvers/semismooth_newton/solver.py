"""Newton's method with a Cholesky factor; for nonsmooth losses on the proximal point problems of the dual.

Problem      min over w, b of F(w, b) + R(w), R quadratic, few features (the factor is d x d)
Update       A differentiable loss: Newton steps with a line search on stored scores.
             A nonsmooth loss: maximise D(u) - gamma/2 sum p (u - u0)^2 instead, whose primal has the smoothed losses phi
             (`kernels/envelope.py`), by (semismooth) Newton steps, then u0 <- u and gamma <- gamma / 3, and so on. Only rows
             near a nonsmooth point have curvature, so the Gram matrix is that of few rows.
             The first steps are made on sub-samples (`subsampling.py`), the last ones on the rows near a nonsmooth point
             (`row_reduction.py`), checked with all rows. Both are working copies: at most 0.6 of X at a time.
Certificate  u, which the smoothing gives for free
Reference    Rockafellar (1976) for the proximal point method; Li, Sun and Toh (2018) for semismooth Newton on it
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fenchel.data.accept import size
from fenchel.kernels.envelope import curved_weight
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.semismooth_newton.row_reduction import EARLY_KEEP, KEEP, Reduction
from fenchel.solvers.semismooth_newton.smoothed_problem import Claim, SmoothedProblem
from fenchel.solvers.subsampling.samples import drawn, sizes, smallest_gamma, strided
from fenchel.solvers.subsampling.settings import SETTINGS as SAMPLING

SHRINK, SLOW_SHRINK = 0.3, 0.5  # of gamma after an inner solve; slower if it took long
LONG = 6  # Newton steps
REFRESH = 20  # Newton steps after which sums are made afresh instead of changed
INNER, FIRST_INNER = 3.0, 1.0  # inner error, relative to the error that smoothing makes, at which gamma shrinks
WARM = 0.1  # of the first gamma, if dual variables are known
PROBED = 2000  # rows that the first gamma is found with
LEAST = 1e-9  # gamma, relative to the first one
EXACT = 1e-15  # relative inner error below which rounding rules


@dataclass(frozen=True)
class SemismoothNewton(Solver):
    """(Semismooth) Newton for every loss with L2 or Quadratic and few features.

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="hinge", alpha=0.1, fit_intercept=True)
    >>> fenchel.solve(problem, solver=SemismoothNewton()).status.name
    'CERTIFIED'
    """

    at_home: ClassVar[str] = (
        "the method is written for rows that are here: it picks those near a nonsmooth point and factors them"
    )
    cost: ClassVar[str] = "a pass over the data, and a Cholesky factor of a d x d matrix"
    convergence: ClassVar[str] = "superlinear near the optimum"
    needs: ClassVar[Needs] = Needs(regularizer=("hessian", "few_features"))

    def iterates(self, oracle: Any, start: Start) -> Iterator[Iterate]:
        problem = oracle.problem
        w, b, gamma = start.coef.copy(), start.intercept, 0.0
        warm = start.dual_point is not None
        u0 = start.dual_point.copy() if warm else np.zeros(problem.n)
        if not warm and not w.any():
            w, b, gamma = yield from sampled(oracle, w, b)
        if gamma == 0.0 and not problem.smooth_loss:
            gamma = (WARM if warm else 1.0) * first_gamma(oracle, w, b)
        yield from follow(SmoothedProblem(oracle, w, b, gamma, u0))


def sampled(oracle: Any, w: np.ndarray, b: float) -> Generator[Iterate, None, tuple[np.ndarray, float, float]]:
    """(w, b, gamma) to go on with, found on sub-samples; gamma = 0 if there are none, or the loss needs none."""
    problem, gamma = oracle.problem, 0.0
    levels = sizes(problem.n, problem.d, size(problem.rows))
    scale = first_gamma(oracle, w, b) if levels and not problem.smooth_loss else 0.0
    for m in levels:
        sample = drawn(problem.rows, problem.n, m)
        part = oracle.take(sample, 1.0 / max(float(problem.weights[sample].sum()), 1e-300))
        least = scale * smallest_gamma(problem.d, m)
        work = SmoothedProblem(part, w, b, max(gamma or scale, least), np.zeros(m))
        yield from roughly(work, least)
        oracle.passes += part.passes * m / problem.n
        w, b, gamma = work.w, work.b, SHRINK * work.gamma
    return w, b, gamma


def roughly(work: SmoothedProblem, least: float) -> Iterator[Iterate]:
    """Proximal point steps with gamma down to `least`, as long as enough rows have curvature."""
    for _ in range(SAMPLING.max_newton_steps):
        claim = work.claim()
        if work.gamma == 0.0:
            if claim.gap <= SAMPLING.max_relative_gap * claim.primal:
                return
        elif claim.inner <= FIRST_INNER * claim.residual:
            if work.gamma <= least or np.count_nonzero(work.rows.t) < SAMPLING.min_curved_rows_per_feature * work.d:
                return
            work.recentre(max(SHRINK * work.gamma, least))
        if not work.step():
            return
        work.widen()
        yield Iterate(work.w, work.b, None, np.nan)


def follow(work: SmoothedProblem) -> Iterator[Iterate]:
    """Proximal point steps, for ever."""
    reduction, steps, least, total = Reduction(work), 0, LEAST * work.gamma, 0
    while True:
        claim = work.claim()
        if not reduction.whole and reduction.due(claim.gap):
            few = claim
            reduction.check()
            claim = work.claim()
            yield Iterate(work.w.copy(), work.b, claim.primal, claim.dual, dual_point(work, claim))
            reduction.resume(claim, few)
            claim = work.claim()
        elif reduction.whole:
            yield Iterate(work.w.copy(), work.b, claim.primal, claim.dual, dual_point(work, claim))
        else:
            yield Iterate(work.w, work.b, None, np.nan)
        if work.gamma > 0.0 and claim.inner <= max(INNER * claim.residual, EXACT * abs(claim.primal)):
            gamma, steps = max(work.gamma * (SLOW_SHRINK if steps > LONG else SHRINK), least), 0
            work.recentre(gamma)
            reduction.reduce(claim, KEEP)
        elif reduction.whole and not work.searched:
            reduction.reduce(claim, EARLY_KEEP)
        steps += 1
        total += 1
        moved = work.step()
        if moved is None or (not moved and work.gamma == 0.0):
            return
        if not moved:
            reduction.end()
            work.refresh()
            work.recentre(max(work.gamma * SLOW_SHRINK, least))
        else:
            work.widen()
        if total % REFRESH == 0:
            work.refresh()


def dual_point(work: SmoothedProblem, claim: Claim) -> np.ndarray | Callable[[], np.ndarray]:
    """u, balanced if the intercept is free."""
    u = work.rows.u.copy()
    if claim.share == 0.0:
        return u
    total_curvature, p = work.rows.t.copy(), work.oracle.problem.weights
    return lambda: np.where(total_curvature > 0.0, u - claim.share * total_curvature / np.maximum(p, 1e-300), u)


def first_gamma(oracle: Any, w: np.ndarray, b: float) -> float:
    """Twice the least, about, at which half of the rows have curvature: with none the first step would be a plain gradient
    step."""
    n = oracle.problem.n
    few = oracle.take(strided(n, PROBED)) if n > PROBED else oracle
    problem = few.problem
    z, half = few.scores(w) + b, 0.5 * float(problem.weights.sum())
    if half == 0.0:
        return 1.0

    def is_curved(gamma: float) -> bool:
        return curved_weight(problem.compiled_loss, problem.y, problem.weights, z, gamma) >= half

    gamma = 1.0
    while is_curved(gamma) and gamma > 1e-18:
        gamma *= 0.5
    while not is_curved(gamma) and gamma < 1e60:
        gamma *= 2.0
    return 2.0 * gamma
