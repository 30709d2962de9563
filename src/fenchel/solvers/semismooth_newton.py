"""Newton's method with a Cholesky factor; for losses with kinks on the proximal point problems of the dual.

Problem      min over w, b of F(w, b) + R(w), R quadratic, few features (the factor is d x d)
Update       A differentiable loss: Newton steps with a line search on stored scores.
             A loss with kinks: maximise D(u) - gamma/2 sum p (u - u0)^2 instead, whose primal has the smoothed losses phi
             (`kernels/envelope.py`), by (semismooth) Newton steps, then u0 <- u and gamma <- gamma / 3, and so on. Only rows
             near a kink have curvature, so the Gram matrix is that of few rows.
Certificate  u, which the smoothing gives for free
Reference    Rockafellar (1976) for the proximal point method; Li, Sun and Toh (2018) for semismooth Newton on it
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fenchel.kernels.envelope import curved_pass, envelope_line, envelope_pass
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.claims import dual_estimate

SHRINK, SLOW_SHRINK = 0.3, 0.5  # of gamma after an inner solve; slower if it took long
LONG = 6  # Newton steps
REFRESH = 20  # Newton steps after which sums are made afresh instead of changed
FLAT = 0.3  # of the first derivative along a step: where the line search is content
INNER = 0.3  # inner error, relative to the error that smoothing makes, at which gamma shrinks


class Model(NamedTuple):
    """Everything known at one point of the smoothed problem."""

    z: np.ndarray
    u: np.ndarray
    h: np.ndarray
    smoothed: float
    risk: float
    residual: float


@dataclass(frozen=True)
class SemismoothNewton(Solver):
    """(Semismooth) Newton for every loss with L2 or Quadratic and few features.

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="hinge", alpha=0.1, fit_intercept=True)
    >>> fenchel.solve(problem, solver=SemismoothNewton()).status.name
    'CERTIFIED'
    """

    needs: ClassVar[Needs] = Needs(regularizer=("hessian", "few_features"))

    def iterates(self, oracle: Any, start: Start) -> Iterator[Iterate]:
        problem = oracle.problem
        w, b = start.coef.copy(), start.intercept
        u0 = np.zeros(problem.n) if start.dual_point is None else start.dual_point.copy()
        z = oracle.scores(w) + b
        gamma = 0.0 if problem.smooth_loss else first_gamma(problem, z, u0)
        model = look(problem, z, u0, gamma)
        g = oracle.combine(model.u)
        steps = 0
        while True:
            slopes = float(problem.weights @ model.u)
            primal = model.risk + problem.regularizer.value(w)
            # loss*(u) = u x - loss(x), so the loss part of D is the risk, less <u, z>, less the residual.
            dual = dual_estimate(oracle, w, b, model.risk - model.residual, g, slopes)
            yield Iterate(w.copy(), b, primal, dual, model.u)
            inner = primal - dual - model.residual  # the rest of the gap is what smoothing makes
            if gamma > 0.0 and inner <= INNER * model.residual:
                u0, gamma, steps = model.u, gamma * (SLOW_SHRINK if steps > LONG else SHRINK), 0
                z = oracle.scores(w) + b  # without the rounding of many steps
                model, g = follow(oracle, model, g, z, u0, gamma, afresh=True)
                continue
            steps += 1
            direction = newton_direction(oracle, w, g, slopes, model.h)
            if direction is None:
                return
            dw, db, decrement = direction
            dz = oracle.scores(dw) - problem.offset + db
            t = line_search(problem, w, dw, z, dz, u0, gamma, model.smoothed, decrement)
            if t > 0.0:
                w, b, z = w + t * dw, b + t * db, z + t * dz
            elif gamma > 0.0:
                u0, gamma, steps = model.u, gamma * SLOW_SHRINK, 0
            else:
                return
            model, g = follow(oracle, model, g, z, u0, gamma, afresh=steps % REFRESH == 0)


def follow(oracle: Any, old: Model, g: np.ndarray, z: np.ndarray, u0: np.ndarray, gamma: float, afresh: bool) -> tuple:
    """(model, sum p u x) at new scores; the sum is changed by the rows whose u changed, or made afresh."""
    model = look(oracle.problem, z, u0, gamma)
    return model, oracle.combine(model.u) if afresh else g + oracle.combine(model.u - old.u)


def look(problem: Any, z: np.ndarray, u0: np.ndarray, gamma: float) -> Model:
    """Values, dual variables and curvatures at scores z."""
    u, h = np.zeros(problem.n), np.zeros(problem.n)
    if gamma > 0.0:
        sums = envelope_pass(problem.compiled_loss, problem.y, problem.weights, z, u0, gamma, u, h)
        return Model(z, u, h, *sums)
    total = curved_pass(problem.compiled_loss, problem.y, problem.weights, z, u, h)
    return Model(z, u, h, total, total, 0.0)


def first_gamma(problem: Any, z: np.ndarray, u0: np.ndarray) -> float:
    """As small as leaves curvature in half of the rows: with none the first step would be a plain gradient step."""
    gamma = 1.0
    for _ in range(200):
        share = float(problem.weights @ (look(problem, z, u0, gamma).h > 0.0))
        smaller = float(problem.weights @ (look(problem, z, u0, gamma / 4.0).h > 0.0))
        if share < 0.5:
            gamma *= 4.0
        elif smaller >= 0.5:
            gamma /= 4.0
        else:
            break
    return gamma


def newton_direction(
    oracle: Any, w: np.ndarray, g: np.ndarray, slopes: float, h: np.ndarray
) -> tuple[np.ndarray, float, float] | None:
    """(dw, db, squared Newton decrement) from the gradient and the curvatures of the rows; None if numbers overflow."""
    from scipy.linalg import cho_factor, cho_solve

    problem, d = oracle.problem, oracle.problem.d
    weights = problem.weights * h
    H = np.zeros((d + 1, d + 1))
    H[:d, :d] = oracle.gram(weights) + problem.regularizer.hessian(d)
    gradient = np.append(g + problem.regularizer.gradient(w), slopes)
    if problem.fit_intercept:
        total = float(weights.sum())
        H[d, :d] = H[:d, d] = oracle.combine(h)
        H[d, d] = total if total > 0.0 else 1.0
    else:
        H[d, d], gradient[d] = 1.0, 0.0
    if not (np.isfinite(H).all() and np.isfinite(gradient).all()):
        return None
    diagonal = np.diag(H).copy()
    for ridge in (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6):
        try:
            step = -cho_solve(cho_factor(H + np.diag(ridge * diagonal)), gradient)
        except np.linalg.LinAlgError:
            continue
        if np.isfinite(step).all():
            return step[:d], float(step[d]), float(-(gradient @ step))
    step = -gradient / np.maximum(diagonal, 1e-300)
    return step[:d], float(step[d]), float(-(gradient @ step))


def line_search(problem, w, dw, z, dz, u0, gamma, value, decrement) -> float:
    """A step t along (dw, db) where the derivative is small, by safeguarded secants on stored scores: no pass over X."""
    regularizer = problem.regularizer
    arguments = (problem.compiled_loss, problem.y, problem.weights, z, dz)
    here = value + regularizer.value(w)
    low, low_slope, high, high_slope, t = 0.0, -decrement, np.inf, np.inf, 1.0
    for trial in range(60):
        total, slope = envelope_line(*arguments, t, u0, gamma)
        total += regularizer.value(w + t * dw)
        slope += float(regularizer.gradient(w + t * dw) @ dw)
        if abs(slope) <= FLAT * decrement and total <= here + 1e-13 * abs(here):
            return t
        if slope < 0.0 and np.isfinite(total):
            low, low_slope = t, slope
        else:  # also where the loss overflows
            high, high_slope = t, slope
        if np.isinf(high):
            t *= 2.0
        elif trial % 3 == 2 or not np.isfinite(high_slope):
            t = 0.5 * (low + high)
        else:
            share = low_slope / (low_slope - high_slope)
            t = low + min(max(share, 0.05), 0.95) * (high - low)
    return low
