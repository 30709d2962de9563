"""Pragam: primal-adjoint gap minimisation, Nesterov's excessive gap technique for regularized risk.

Problem      min over w of F(w) + R(w), F the risk with the intercept minimised out, for losses with bounded slopes
Update       F is smoothed: F_mu(w) = max over u of sum p (u z - loss*(u)) - mu d(u), d(u) = 1/2 sum p (u - centre)^2.
             Kept throughout is the excessive gap  F_mu(w) + R(w) <= D(u), while mu shrinks:
               m  <- argmax of F_mu's u at w,  beta <- (1 - t) u + t m,  w <- (1 - t) w + t w(beta),
               u  <- argmax of D linearised at beta - L/2 |u - beta|^2,  mu <- (1 - t) mu.
             Both maps are proximal steps row by row (for the hinge: clipping), and with a free intercept the projection
             onto sum p u = 0. With L given: mu = 2 L, t = 2 / (k + 3), as in the paper. Otherwise L adapts: t solves
             t^2 = (1 - t)(mu + gamma) / L (gamma: strong convexity of loss*), and L doubles until the step s of u
             has |sum p s x|^2 <= alpha L sum p s^2, which decides exactly for a quadratic R; then it shrinks by 1.1.
Certificate  (w, u), or (w(u), u) if better: P - D <= mu max d, with L given at most 4 L D2 / ((k + 1)(k + 2));
             it shrinks geometrically if gamma > 0
Reference    Saha, Zhang and Vishwanathan, algorithm 1, started at the centre of d; Nesterov (2005), "Excessive gap
             technique in nonsmooth convex minimization"
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar

import numpy as np

from fenchel.certify import feasible
from fenchel.errors import InputError
from fenchel.kernels.prox_dual import balanced_prox_dual, prox_dual
from fenchel.regularizers import ElasticNet
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start

SHRINK = 1.1  # of L after every step: less and more were both slower
REFRESH = 50  # iterations after which the scores of w, kept by recursion, are computed afresh
PAUSE = 10  # P and D are evaluated when a tenth of the iterations so far has been added
ROUNDING = 1e-14  # what the sums behind g may be off by, relative to g
SMALLEST = 1e-150  # mu and L stay above: the maps divide by them


@dataclass(frozen=True)
class Pragam(Solver):
    """Gap minimisation in O(sqrt(1 / (alpha gap))) iterations for every loss with bounded slopes.

    Parameters
    ----------
    L : sigma_max(X)^2 / alpha (X with rows scaled by the square roots of sample weights of mean 1) for the paper's
        fixed steps; None adapts it. A smaller one loses the rate, never the certificate.

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="hinge", alpha=0.1)
    >>> fenchel.solve(problem, solver=Pragam()).status.name
    'CERTIFIED'
    """

    L: float | None = None
    waits: ClassVar[int] = 2000
    needs: ClassVar[Needs] = Needs(loss=("bounded_slopes",), regularizer=("quadratic_part",))

    def __post_init__(self) -> None:
        if self.L is not None and not 0.0 < self.L < np.inf:
            raise InputError(f"L must be None or a finite number greater than 0, got {self.L!r}")

    def iterates(self, oracle: Any, start: Start) -> Iterator[Iterate]:
        state = State(oracle, start)
        if start.dual_point is not None or start.coef.any():  # else the trace begins with the method's own k = 0
            yield state.check()
        yield from adaptive(state) if self.L is None else fixed(state, self.L / oracle.problem.n)


def fixed(state: State, L: float) -> Iterator[Iterate]:
    """The paper's steps: mu = 4 L / ((k + 1)(k + 2)) at iteration k."""
    state.begin(L)
    state.mu = 2.0 * L
    for k in count():
        yield state.check()
        t = 2.0 / (k + 3)
        state.aim()
        state.attempt(t, L)
        state.accept(t)


def adaptive(state: State) -> Iterator[Iterate]:
    """Steps with an L that is just large enough for the excessive gap, evaluated now and then."""
    L = state.first_guess()
    while not state.begin(L):
        L *= 2.0
    state.mu = L
    due = 0
    for k in count():
        if k == due:
            due += max(1, k // PAUSE)
            yield state.better()
        else:
            yield Iterate(state.w, state.smooth.b, None, np.nan)
        state.aim()
        t = share(state.mu + state.gamma, L)
        while not state.attempt(t, L):
            L *= 2.0
            t = share(state.mu + state.gamma, L)
        state.accept(t)
        L = max(L / SHRINK, SMALLEST)


def share(mu: float, L: float) -> float:
    """The root t of t^2 = (1 - t) mu / L in (0, 1)."""
    r = mu / L
    return 2.0 * r / (r + math.sqrt(r * r + 4.0 * r))


class ProximalMap:
    """argmax over u of sum p (u (z + b) - loss*(u) - q/2 (u - centre)^2); a free b is sought from where it was."""

    def __init__(self, problem: Any, intercept: float):
        self.problem, self.b, self.stride = problem, intercept, 1.0
        self.scratch = np.empty(problem.n if problem.fit_intercept else 0)

    def __call__(self, centre: np.ndarray, z: np.ndarray, q: float) -> np.ndarray:
        problem, out = self.problem, np.empty(z.size)
        arguments = (problem.compiled_loss, problem.y, problem.weights, centre, z)
        if not problem.fit_intercept:
            prox_dual(*arguments, 0.0, q, out)
            return out
        b = balanced_prox_dual(*arguments, self.b, self.stride, q, out, self.scratch)
        self.stride = max(abs(b - self.b), 1e-9 * (1.0 + abs(b)))
        self.b = b
        return out


class State:
    """w with its scores z; u with g = sum p u x; the smoothing mu.

    Distances are sum p (.)^2, in which a row of weight 2 equals two rows. For n equal weights they are n times the
    paper's distances between vectors p u, and L is smaller by the factor n.
    """

    def __init__(self, oracle: Any, start: Start):
        self.oracle, self.problem = oracle, oracle.problem
        self.w, self.z = start.coef, oracle.scores(start.coef)
        u = np.zeros(self.problem.n) if start.dual_point is None else start.dual_point
        self.u = self.centre = feasible(self.problem, u)
        self.g = oracle.combine(self.u)
        self.smooth = ProximalMap(self.problem, start.intercept)
        self.ascend = ProximalMap(self.problem, start.intercept)
        smoothness = self.problem.smoothness
        self.gamma = 1.0 / smoothness if smoothness is not None and 0.0 < smoothness < np.inf else 0.0
        self.mu = 0.0
        self.accepted = 0

    def check(self) -> Iterate:
        """P at w with its best intercept, D at u."""
        dual = -self.oracle.conjugates(self.u) - self.problem.regularizer.conjugate(-self.g)
        b, primal = self.primal(self.w, self.z)
        return Iterate(self.w, b, primal, dual, self.u)

    def better(self) -> Iterate:
        """`check`, or w(u) in the place of w where P is lower: w is an average, and lags behind once u has settled."""
        here = self.check()
        w = self.problem.regularizer.primal_from_dual(-self.g)
        b, primal = self.primal(w, self.oracle.scores(w))
        assert here.primal is not None
        return here._replace(coef=w, intercept=b, primal=primal) if primal < here.primal else here

    def primal(self, w: np.ndarray, z: np.ndarray) -> tuple[float, float]:
        """(the best intercept, P there)."""
        b = self.oracle.best_intercept(z, self.smooth.b)
        return b, self.oracle.losses_at(z, b)[0] + self.problem.regularizer.value(w)

    def first_guess(self) -> float:
        """The two sides of the test for L, divided, for the slopes at w."""
        slopes = self.oracle.slopes(self.w, self.smooth.b)
        length = self.squared_length(slopes)
        guess = self.curvature(self.oracle.combine(slopes)) / length if length > 0.0 else 0.0
        return max(guess, SMALLEST)

    def begin(self, L: float) -> bool:
        """w = w(centre) and u one step from the centre; False if L was too small."""
        if not self.step(self.centre, self.oracle.combine(self.centre), L):
            return False
        self.w, self.z, self.u, self.g = self.w_beta, self.z_beta, self.u_next, self.g_next
        return True

    def aim(self) -> None:
        """The dual variables that attain the smoothed risk at w."""
        self.target = self.smooth(self.centre, self.z, max(self.mu, SMALLEST))
        self.g_target = self.oracle.combine(self.target)

    def attempt(self, t: float, L: float) -> bool:
        """A step from the point a share t of the way to the target; False if L was too small."""
        beta = (1.0 - t) * self.u + t * self.target
        return self.step(beta, (1.0 - t) * self.g + t * self.g_target, L)

    def step(self, beta: np.ndarray, g: np.ndarray, L: float) -> bool:
        self.w_beta = self.problem.regularizer.primal_from_dual(-g)
        self.z_beta = self.oracle.scores(self.w_beta)
        self.u_next = self.ascend(beta, self.z_beta, L)
        self.g_next = self.oracle.combine(self.u_next)
        rounding = self.curvature(ROUNDING * self.g_next)
        return self.curvature(self.g_next - g) <= L * self.squared_length(self.u_next - beta) + rounding

    def accept(self, t: float) -> None:
        """Take the step."""
        self.w = (1.0 - t) * self.w + t * self.w_beta
        self.z = (1.0 - t) * self.z + t * self.z_beta
        self.u, self.g = self.u_next, self.g_next
        self.mu *= 1.0 - t
        self.accepted += 1
        if self.accepted % REFRESH == 0:
            self.z = self.oracle.scores(self.w)

    def squared_length(self, u: np.ndarray) -> float:
        return float(self.problem.weights @ (u * u))

    def curvature(self, g: np.ndarray) -> float:
        """The second derivative of R* along g; with an L1 part a bound of it."""
        regularizer = self.problem.regularizer
        if isinstance(regularizer, ElasticNet):
            return float(g @ g) / (regularizer.alpha * (1.0 - regularizer.l1_ratio))
        return 2.0 * regularizer.conjugate(g)
