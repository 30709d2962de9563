"""Work with the rows near a nonsmooth point only: the others enter as a fixed linear function, and are checked again and again.

A row is left out if its loss is linear around its score, with slope u, within a radius that the scores will hardly move.
Whether they did is seen at a `check` with all rows; if a row has crossed a nonsmooth point, all rows come back and the radius
grows. The rows that stay are copied together: at most KEEP of X is held a second time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.kernels.envelope import curved_within
from fenchel.solvers.semismooth_newton.smoothed_problem import Claim, Linear, SmoothedProblem
from fenchel.solvers.semismooth_newton.smoothed_rows import RowState

KEEP, EARLY_KEEP = 0.6, 0.3  # share of the rows that may stay, after an inner solve and within one
LEAST_ROWS = 400  # below, nothing is gained
MOVES, SMOOTHINGS = 6.0, 3.0  # radius in units of the mean change of the scores in the last step, and of gamma
WIDER = 3.0  # what a failed check does to the radius
VERIFIED = 0.1  # share of the gap at the last check at which the next one is due
PATIENCE = 10  # steps without a check, at most
DRIFT = 1.0  # share of the radius that the scores may change, in the mean, before a check is due
HONEST = 4.0  # times the gap of the rows that stayed: what a check may find


class Reduction:
    """All rows of a smoothed problem, while it works with some of them."""

    def __init__(self, work: SmoothedProblem):
        self.work, self.oracle, self.rows = work, work.oracle, work.rows
        self.index: np.ndarray | None = None  # of the rows that stay; None: all
        self.moves, self.waited, self.limit, self.ended = MOVES, 0, np.inf, False
        self.good: Any = None  # (w, b, z, gamma, moved) where all rows were seen last
        self.gap = np.inf  # there
        self.few: Any = None  # what to go on with after a check, if no row has changed

    @property
    def whole(self) -> bool:
        return self.index is None

    def reduce(self, claim: Claim, most: float) -> bool:
        """Leave rows out if at most a share `most` of the present ones must stay."""
        work = self.work
        problem, rows = work.oracle.problem, work.rows
        reach = max(self.moves * work.moved, SMOOTHINGS * work.gamma)
        if self.ended or rows.u.size <= LEAST_ROWS or not np.isfinite(reach):
            return False
        curvature = np.empty(rows.u.size, dtype=np.bool_)
        curved_within(problem.compiled_loss, problem.y, problem.weights, rows.z, rows.u, reach, curvature)
        stay = np.flatnonzero(curvature)
        if not 0 < stay.size < most * rows.u.size:
            self.ended = work.gamma == 0.0  # rows that have curvature by themselves will go on doing so
            return False
        if self.whole:
            self.remember(claim)
            np.copyto(self.rows.u0, self.rows.u, where=~curvature)
        self.hand_back()
        self.count_passes()
        self.index = stay if self.index is None else self.index[stay]
        self.leave_out(work.oracle.take(stay), stay)
        self.limit = work.travelled + DRIFT * reach
        return True

    def leave_out(self, oracle: Any, stay: np.ndarray) -> None:
        """Go on with the rows of `oracle`."""
        work, old, risk = self.work, self.work.rows, self.work.sums.risk + self.work.left_out()
        work.oracle, work.rows = oracle, RowState(old.u0[stay], old.u[stay])
        work.rows.z = old.z[stay]
        gradient = work.g - oracle.combine(work.rows.u)
        slope = work.slopes() - float(oracle.problem.weights @ work.rows.u)
        work.fixed = Linear(0.0, gradient, slope)
        kept = oracle.losses_at(work.rows.z, 0.0)[0]
        work.fixed = Linear(risk - kept - work.left_out(), gradient, slope)
        work.look(fresh=False)

    def count_passes(self) -> None:
        """What was done with few rows, in passes over all."""
        if self.index is not None:
            self.oracle.passes += self.work.oracle.passes * self.index.size / self.rows.u.size
            self.work.oracle.passes = 0.0

    def hand_back(self) -> None:
        """What is known of the rows that stayed, to all rows."""
        if self.index is not None:
            self.rows.u0[self.index], self.rows.u[self.index] = self.work.rows.u0, self.work.rows.u

    def remember(self, claim: Claim) -> None:
        """All rows were seen here."""
        work = self.work
        self.good, self.gap, self.waited = (work.w, work.b, self.rows.z, work.gamma, work.moved), claim.gap, 0

    def due(self, gap: float) -> bool:
        """Whether all rows should be looked at again."""
        self.waited += 1
        return gap <= VERIFIED * self.gap or self.waited >= PATIENCE or self.work.travelled > self.limit

    def check(self) -> None:
        """Look at all rows; if one that was left out has another u now, work with all of them from here."""
        work = self.work
        few = (work.oracle, work.rows, work.fixed, work.sums, work.border, work.g.copy())
        self.hand_back()
        before = self.rows.u.copy()
        self.with_all()
        changed = self.rows.u != before
        changed[self.index] = False
        self.few = None if changed.any() else few

    def with_all(self) -> None:
        """Look at all rows."""
        self.count_passes()
        work = self.work
        self.rows.z = np.empty(self.rows.u.size)
        work.oracle, work.rows, work.border = self.oracle, self.rows, work.border.copy()
        work.fixed = Linear(0.0, np.zeros(work.d), 0.0)
        work.look()

    def end(self) -> None:
        """All rows from now on: rounding of what was left out begins to matter."""
        if self.index is not None:
            self.hand_back()
            self.with_all()
            self.index = None
        self.ended = True

    def resume(self, claim: Claim, reduced: Claim) -> None:
        """After a check with all rows: on with few, or with all and, if they tell another story, more carefully."""
        work = self.work
        if self.few is not None:
            self.remember(claim)
            work.oracle, work.rows, work.fixed, work.sums, work.border, work.g = self.few
            return
        self.index, (w, b, z, gamma, work.moved) = None, self.good
        if claim.gap > HONEST * reduced.gap:
            self.moves *= WIDER
            work.gamma = max(work.gamma, gamma)
            work.look(fresh=False)
            work.back_towards(w, b, z)
