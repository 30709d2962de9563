"""The state of Pragam for losses of rows: w with its scores, dual variables, the smoothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fenchel.certificates.scalar import feasible
from fenchel.kernels.prox_dual import balanced_prox_dual, prox_dual
from fenchel.oracles.scalar import MANY
from fenchel.regularizers import ElasticNet
from fenchel.result import Iterate
from fenchel.solvers.base import Start
from fenchel.solvers.pragam.settings import SETTINGS

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle
    from fenchel.problems.scalar import Problem


class ProximalMap:
    """argmax over u of sum p (u (z + b) - loss*(u) - q/2 (u - centre)^2); the search for a free b starts at the last one."""

    def __init__(self, problem: Problem, intercept: float):
        self.problem, self.b, self.stride = problem, intercept, 1.0
        self.scratch = np.empty(problem.n if problem.fit_intercept else 0)

    def __call__(self, centre: np.ndarray, z: np.ndarray, q: float) -> np.ndarray:
        problem, out = self.problem, np.empty(z.size)
        arguments = (problem.compiled_loss, problem.y, problem.weights, centre, z)
        if not problem.fit_intercept:
            prox_dual(*arguments, 0.0, q, out)
            return out
        search = balanced_prox_dual if z.size <= MANY else balanced_prox_dual.in_steps
        b = search(*arguments, self.b, self.stride, q, out, self.scratch)
        self.stride = max(abs(b - self.b), SETTINGS.min_intercept_stride_ratio * (1.0 + abs(b)))
        self.b = b
        return out


class State:
    """w with its scores z; u with g = sum p u x; the smoothing mu.

    Distances are sum p (.)^2, in which a row of weight 2 equals two rows. For n equal weights they are n times the
    paper's distances between vectors p u, and L is smaller by the factor n.
    """

    def __init__(self, oracle: Oracle, start: Start):
        self.oracle, self.problem = oracle, oracle.problem
        self.w, self.z = start.coef, oracle.scores(start.coef)
        u = np.zeros(self.problem.n) if start.dual_point is None else start.dual_point
        self.u = self.centre = feasible(self.problem, u)
        self.g = oracle.combine(self.u)
        self.smooth = ProximalMap(self.problem, start.intercept)
        self.ascend = ProximalMap(self.problem, start.intercept)
        smoothness = self.problem.smoothness
        self.gamma = 1.0 / smoothness if smoothness is not None and 0.0 < smoothness < np.inf else 0.0
        self.mu, self.accepted = 0.0, 0

    def scores(self, w: np.ndarray) -> np.ndarray:
        return self.oracle.scores(w)

    def combine(self, u: np.ndarray) -> np.ndarray:
        return self.oracle.combine(u)

    def check(self) -> Iterate:
        """P at w with its best intercept, D at u."""
        dual = -self.oracle.conjugates(self.u) - self.problem.regularizer.conjugate(-self.g)
        b, primal = self.primal(self.w, self.z)
        return Iterate(self.w, b, primal, dual, self.u)

    def better(self) -> Iterate:
        """`check`, or w(u) instead of w if P is lower there: w is an average, which lags behind once u has converged."""
        here = self.check()
        w = self.problem.regularizer.primal_from_dual(-self.g)
        b, primal = self.primal(w, self.scores(w))
        assert here.primal is not None
        return here._replace(coef=w, intercept=b, primal=primal) if primal < here.primal else here

    def primal(self, w: np.ndarray, z: np.ndarray) -> tuple[float, float]:
        """(the best intercept, P there)."""
        b = self.oracle.best_intercept(z, self.smooth.b)
        return b, self.oracle.losses_at(z, b)[0] + self.problem.regularizer.value(w)

    def first_guess(self) -> float:
        """The ratio of the two sides of the test for L, for the slopes at w."""
        slopes = self.oracle.slopes(self.w, self.smooth.b)
        length = self.squared_length(slopes)
        guess = self.curvature(self.oracle.combine(slopes)) / length if length > 0.0 else 0.0
        return max(guess, SETTINGS.min_smoothing)

    def begin(self, L: float) -> bool:
        """w = w(centre) and u one step from the centre; False if L was too small."""
        if not self.step(self.centre, self.combine(self.centre), L):
            return False
        self.w, self.z, self.u, self.g = self.w_beta, self.z_beta, self.u_next, self.g_next
        return True

    def aim(self) -> None:
        """The dual variables that attain the smoothed risk at w."""
        self.target = self.smooth(self.centre, self.z, max(self.mu, SETTINGS.min_smoothing))
        self.g_target = self.combine(self.target)

    def attempt(self, t: float, L: float) -> bool:
        """A step from the point at a fraction t of the way to the target; False if L was too small."""
        beta = (1.0 - t) * self.u + t * self.target
        return self.step(beta, (1.0 - t) * self.g + t * self.g_target, L)

    def step(self, beta: np.ndarray, g: np.ndarray, L: float) -> bool:
        self.w_beta = self.problem.regularizer.primal_from_dual(-g)
        self.z_beta = self.scores(self.w_beta)
        self.u_next = self.ascend(beta, self.z_beta, L)
        self.g_next = self.combine(self.u_next)
        rounding = self.curvature(SETTINGS.gradient_rounding_ratio * self.g_next)
        return self.curvature(self.g_next - g) <= L * self.squared_length(self.u_next - beta) + rounding

    def accept(self, t: float) -> None:
        """Take the step."""
        self.w = (1.0 - t) * self.w + t * self.w_beta
        self.z = (1.0 - t) * self.z + t * self.z_beta
        self.u, self.g = self.u_next, self.g_next
        self.mu *= 1.0 - t
        self.accepted += 1
        if self.accepted % SETTINGS.steps_per_score_refresh == 0:
            self.z = self.scores(self.w)

    def squared_length(self, u: np.ndarray) -> float:
        return float(self.problem.weights @ (u * u))

    def curvature(self, g: np.ndarray) -> float:
        """The second derivative of R* along g; with an L1 part a bound of it."""
        regularizer = self.problem.regularizer
        if isinstance(regularizer, ElasticNet):
            return float(g @ g) / (regularizer.alpha * (1.0 - regularizer.l1_ratio))
        return 2.0 * regularizer.conjugate(g)
