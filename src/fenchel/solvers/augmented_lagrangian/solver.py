"""Dual augmented Lagrangian for the free intercept.

Problem      max over u of D(u) subject to sum p u = 0; R has a quadratic part: L2, ElasticNet, Quadratic
Update       exact coordinate steps on D(u) - s sum p u - (k/2) (sum p u)^2, k = n / mu: the intercept that a row sees is
             b = s - k sum p u. Then the multiplier follows,
             "each_step" (Algorithm 3): after every epoch, s <- s - eta k sum p u
             "exact" (Algorithm 2): when the augmented problem is solved, s <- s - k sum p u if |sum p u| has halved
             since the last time, else mu <- mu / 4
Certificate  the gap at fixed b = s, which the paper plots, certifies nothing (it can be 1e-16 far from the optimum): u is
             projected onto sum p u = 0, w recomputed from it, and b minimised out exactly
Reference    Zhang (2002), section 5.2, (27) to (31), appendix D, Algorithms 2 and 3; section 6.3 has the experiment
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fenchel.errors import InputError
from fenchel.result import Iterate
from fenchel.solvers.augmented_lagrangian.settings import SETTINGS
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.dual_ascent.solver import State
from fenchel.solvers.evaluation_schedule import checks

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


@dataclass(frozen=True)
class AugmentedLagrangian(Solver):
    """Coordinate steps on the augmented dual; `mu` weakens the penalty, `eta` damps the multiplier's steps.

    mu = None takes n strength / mean |x|^2, which weighs the intercept like the features. Exact inner solves are stable
    for eta < 2 (and more if mu is large); Algorithm 3 needs eta of at most about 1. Without a free intercept there is
    no constraint, and the steps are those of `DualAscent`.

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="hinge", alpha=0.1, fit_intercept=True)
    >>> fenchel.solve(problem, solver=AugmentedLagrangian(mu=1.0, eta=0.5)).status.name
    'CERTIFIED'
    """

    mu: float | None = None
    eta: float = 1.0
    inner: str = "each_step"
    seed: int = 0
    local_reason = "the method needs the rows in this process: it keeps a multiplier for each"
    cost = "an epoch of dual steps, one pass over the data"
    convergence = "no rate is known with inexact inner solves"
    needs = Needs(regularizer=("quadratic_part",))

    def __post_init__(self) -> None:
        if self.mu is not None and not 0.0 < self.mu < np.inf:
            raise InputError(f"mu must be None or a number greater than 0, got {self.mu!r}")
        if not 0.0 < self.eta < np.inf:
            raise InputError(f"eta must be a number greater than 0, got {self.eta!r}")
        if self.inner not in ("exact", "each_step"):
            raise InputError(f"inner must be 'exact' (Algorithm 2) or 'each_step' (Algorithm 3), got {self.inner!r}")

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        state = Augmented(oracle, start)
        if self.mu is not None and oracle.problem.fit_intercept:
            state.set_penalty(oracle.problem.n / self.mu)
        rng = np.random.default_rng(self.seed)
        yield state.check()
        exact = self.inner == "exact" and oracle.problem.fit_intercept
        yield from self._exact(state, rng) if exact else self._each_step(state, rng)

    def _each_step(self, state: Augmented, rng: np.random.Generator) -> Iterator[Iterate]:
        for due in checks():
            state.sweep(rng, full=due)
            state.follow(self.eta)
            yield state.check() if due else Iterate(state.coef, state.b, None, np.nan)

    def _exact(self, state: Augmented, rng: np.random.Generator) -> Iterator[Iterate]:
        first_test, visit_all = SETTINGS.min_epochs_per_test, SETTINGS.epochs_per_full_epoch
        last, inner, test = np.inf, 0, first_test
        for due in checks():
            state.sweep(rng, full=due or inner % visit_all == visit_all - 1)
            yield state.check() if due else Iterate(state.coef, state.b, None, np.nan)
            inner += 1
            if inner < test:
                continue
            solved = state.solved()
            if not solved and inner < SETTINGS.max_inner_epochs:
                test += max(first_test, inner // SETTINGS.epochs_per_test_divisor)
                continue
            violation = abs(state.imbalance())
            if solved and violation > SETTINGS.max_violation_ratio * last:
                state.set_penalty(SETTINGS.penalty_growth * state.inverse_bias)
            else:
                state.follow(self.eta)
            last, inner, test = violation, 0, first_test


class Augmented(State):
    """The state of dual ascent, with the multiplier step separate from the epoch. `centre` is s."""

    def imbalance(self) -> float:
        """sum p u."""
        return float(self.oracle.problem.weights @ self.u)

    def set_penalty(self, inverse_bias: float) -> None:
        self.inverse_bias = inverse_bias
        self.recompute()

    def sweep(self, rng: np.random.Generator, full: bool) -> None:
        """An epoch at fixed s."""
        s = self.centre
        self.epoch(rng, full)
        self.centre = s
        self.b = s - self.imbalance() * self.inverse_bias

    def follow(self, eta: float) -> None:
        """s <- s - eta k sum p u."""
        if self.inverse_bias > 0.0:
            excess = self.imbalance() * self.inverse_bias
            self.centre -= eta * excess
            self.b = self.centre - excess

    def solved(self) -> bool:
        """Whether the gap of the augmented problem is small beside the penalty term (b - s)^2 / (2 k) of its primal."""
        problem = self.oracle.problem
        w = self.coef
        penalty = 0.5 * (self.b - self.centre) * (self.b - self.centre) / self.inverse_bias
        primal = self.oracle.losses_at(self.oracle.scores(w), self.b)[0] + problem.regularizer.value(w) + penalty
        regular = problem.regularizer.conjugate(self.change.dual(self.v * self.strength))
        dual = -self.oracle.conjugates(self.u) - regular + self.centre * self.imbalance() - penalty
        solved = max(SETTINGS.inner_gap_per_penalty * penalty, SETTINGS.rounding_gap_ratio * abs(primal))
        return primal - dual <= solved
