"""Dual ascent by pairs of rows: the free intercept's constraint holds at every step.

Problem      max over u of D(u) subject to sum p u = 0; R has a quadratic part: L2, ElasticNet, Quadratic
Update       for two rows with violations of opposite sign, p_i du_i = -p_j du_j = t with the exact best t (for ElasticNet, of a
             quadratic minorant), for every loss: the root in b of p_i du_i(b) + p_j du_j(b) = 0. Rows are visited in
             shuffled order; one that violates optimality waits in a small pool for a partner, so no step needs all scores
Certificate  u itself, feasible at all times up to rounding; w and b as in `DualAscent`
Reference    Platt (1999); Keerthi et al. (2001); Zhang (2002), section 6.3, for what it is compared with
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fenchel.data.accept import size
from fenchel.errors import InputError
from fenchel.kernels.pair_epoch import pair_epoch
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.dual_ascent.settings import SETTINGS
from fenchel.solvers.dual_ascent.solver import State
from fenchel.solvers.evaluation_schedule import checks

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


@dataclass(frozen=True)
class PairwiseAscent(Solver):
    """Steps on pairs of rows (SMO) for every loss, with L2, Quadratic or ElasticNet.

    Up to `waiting` rows of each direction wait for a partner. Without a free intercept there is no constraint, and the steps
    are those of `DualAscent`, on single rows.

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="hinge", alpha=0.1, fit_intercept=True)
    >>> fenchel.solve(problem, solver=PairwiseAscent()).status.name
    'CERTIFIED'
    """

    seed: int = 0
    waiting: int = 8
    cost = "an epoch of steps on pairs of rows, about one pass over the data"
    convergence = "asymptotically geometric if the dual is not degenerate; no global rate is known"
    needs = Needs(regularizer=("quadratic_part",))

    def __post_init__(self) -> None:
        if not self.waiting >= 1:
            raise InputError(f"waiting must be an integer of at least 1, got {self.waiting!r}")

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        free = oracle.problem.fit_intercept
        state = Pairs(oracle, start, self.waiting) if free else State(oracle, start)
        rng = np.random.default_rng(self.seed)
        yield state.check()
        for due in checks():
            state.epoch(rng, full=due)
            yield state.check() if due else Iterate(state.coef, state.b, None, np.nan)


class Pairs(State):
    """The state of dual ascent without a penalty on the intercept, and the rows that wait for a partner."""

    def __init__(self, oracle: Oracle, start: Start, waiting: int):
        super().__init__(oracle, start)
        self.inverse_bias = 0.0
        self.b = start.intercept
        self.work = np.zeros(self.v.size)
        self.typical = float(oracle.problem.weights @ self.bounds) or 1.0
        self.pool = np.zeros((2, waiting), dtype=np.uint64)
        self.count, self.violation = np.zeros(2, dtype=np.int64), np.zeros((2, waiting))

    def recompute(self) -> None:
        """v from u, which does not determine the intercept."""
        b = getattr(self, "b", 0.0)
        super().recompute()
        self.b = b

    def epoch(self, rng: np.random.Generator, full: bool) -> None:
        """One visit to the active rows, or to all rows if `full`."""
        if full or self.active.size == 0:
            self.active = self.rows
        problem, order = self.oracle.problem, self.shuffle(rng, self.active)
        for part in self.oracle.visits(order, size(self.change.rows) / problem.n):
            self.b = pair_epoch(
                problem.compiled_loss, self.change.rows, problem.y, problem.weights, problem.offset, self.transfer, part,
                self.bounds, self.typical, 1.0 / self.strength, self.b, self.u, self.v, self.idle, self.work, self.pool,
                self.count, self.violation,
            )  # fmt: skip
        self.active = self.active[self.idle[self.active] < SETTINGS.max_idle_epochs]

    def check(self) -> Iterate:
        """The values as in dual ascent; the next epoch starts from the best intercept for w."""
        found = super().check()
        self.b = found.intercept
        return found
