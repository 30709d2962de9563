"""Pragam: primal-adjoint gap minimisation, Nesterov's excessive gap technique for regularized risk.

Problem      min over w of F(w) + R(w), F the risk with the intercept minimised out, for losses with bounded slopes
Update       F is smoothed: F_mu(w) = max over u of sum p (u z - loss*(u)) - mu d(u), d(u) = 1/2 sum p (u - centre)^2.
             The excessive gap condition  F_mu(w) + R(w) <= D(u)  is maintained while mu decreases:
               m  <- argmax of F_mu's u at w,  beta <- (1 - t) u + t m,  w <- (1 - t) w + t w(beta),
               u  <- argmax of D linearised at beta - L/2 |u - beta|^2,  mu <- (1 - t) mu.
             Both maps are proximal steps row by row (for the hinge: clipping), and with a free intercept the projection
             onto sum p u = 0. With L given: mu = 2 L, t = 2 / (k + 3), as in the paper. Otherwise L adapts: t solves
             t^2 = (1 - t)(mu + gamma) / L (gamma: strong convexity of loss*), and L doubles until the step s of u
             has |sum p s x|^2 <= alpha L sum p s^2, which is an exact test for a quadratic R; then it shrinks by 1.1.
             Losses of several scores: the maps are the dual prox of every row.
             Structured hinge losses, on models whose labels are made of parts (max-margin Markov networks): u are marginals of
             the parts, both maps projections onto their polytope, d(u) = 1/2 sum p |u - uniform|^2. Its largest value for
             chains is at most sum p (T - 1)(1 - 1 / m^2) / 2
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
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.errors import InputError
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.pragam.marginals import MarginalState
from fenchel.solvers.pragam.settings import SETTINGS
from fenchel.solvers.pragam.state import State
from fenchel.solvers.pragam.vectors import VectorState

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


@dataclass(frozen=True)
class Pragam(Solver):
    """Gap minimisation in O(sqrt(1 / (alpha gap))) iterations for losses with bounded slopes: of one or several scores, or
    structured.

    Parameters
    ----------
    L : sigma_max(X)^2 / alpha (X with rows scaled by the square roots of sample weights of mean 1) for the paper's
        fixed steps; None adapts it. A smaller one loses the rate, never the certificate. For structured losses X has a row of
        features for every part.

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="hinge", alpha=0.1)
    >>> fenchel.solve(problem, solver=Pragam()).status.name
    'CERTIFIED'
    """

    L: float | None = None
    local_reason = (
        "the method needs the rows in this process: "
        "it keeps a dual variable for each and changes all of them in every step"
    )
    cost = "two passes over the data"
    convergence = "gap O(1/(alpha iterations^2)); geometric for differentiable losses"
    waits = 2000
    segment_growth = 2.0
    kinds = ("scalar", "vector", "structured")
    needs = Needs(loss=("bounded_slopes", "prox"), regularizer=("quadratic_part",), problem=("marginals",))

    def __post_init__(self) -> None:
        if self.L is not None and not 0.0 < self.L < np.inf:
            raise InputError(f"L must be None or a finite number greater than 0, got {self.L!r}")

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        state = state_of(oracle, start)
        if start.dual_point is not None or start.coef.any():  # Otherwise the trace begins with the method's own k = 0.
            yield state.check()
        yield from adaptive(state) if self.L is None else fixed(state, self.L / oracle.problem.n)


def state_of(oracle: Any, start: Start) -> State:
    """The state for the family of the problem."""
    if oracle.problem.is_structured:
        return MarginalState(oracle, start)
    return State(oracle, start) if oracle.problem.is_scalar else VectorState(oracle, start)


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
    """Steps with an L that is just large enough for the excessive gap; P and D are evaluated at growing intervals."""
    L = state.first_guess()
    while not state.begin(L):
        L *= SETTINGS.lipschitz_growth
        if not np.isfinite(L):  # Both sides of the test are NaN.
            return
    state.mu = L
    due = 0
    for k in count():
        if k == due:
            due += max(1, k // SETTINGS.evaluation_interval_divisor)
            yield state.better()
        else:
            yield Iterate(state.w, state.smooth.b, None, np.nan)
        state.aim()
        t = step_ratio(state.mu + state.gamma, L)
        while not state.attempt(t, L):
            L *= SETTINGS.lipschitz_growth
            if not np.isfinite(L):
                return
            t = step_ratio(state.mu + state.gamma, L)
        state.accept(t)
        L = max(L / SETTINGS.lipschitz_decay, SETTINGS.min_smoothing)


def step_ratio(mu: float, L: float) -> float:
    """The root t of t^2 = (1 - t) mu / L in (0, 1)."""
    r = mu / L
    return 2.0 * r / (r + math.sqrt(r * r + 4.0 * r))
