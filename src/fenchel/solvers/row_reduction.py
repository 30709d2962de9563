"""Work with the rows near a kink only: the others enter as a fixed linear function, and are checked again and again.

A row is left out if its loss is linear around its score, with slope u, within a radius that the scores will hardly move.
Whether they did is seen at a `check` with all rows; if a row has crossed a kink, all rows come back and the radius
grows. The rows that stay are copied together: at most KEEP of X is held a second time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.kernels.envelope import bent_within
from fenchel.solvers.smoothed_problem import Linear, RowState, SmoothedProblem

KEEP, EARLY_KEEP = 0.6, 0.3  # share of the rows that may stay, after an inner solve and within one
LEAST_ROWS = 400  # below, nothing is gained
MOVES, SMOOTHINGS = 6.0, 3.0  # radius in units of the mean change of the scores in the last step, and of gamma
WIDER = 3.0  # what a failed check does to the radius
VERIFIED = 0.1  # share of the gap at the last check at which the next one is due
PATIENCE = 10  # steps without a check, at most
HONEST = 4.0  # times the gap of the rows that stayed: what a check may find


class Reduction:
    """All rows of a smoothed problem, while it works with some of them."""

    def __init__(self, work: SmoothedProblem):
        self.work, self.oracle, self.rows = work, work.oracle, work.rows
        self.index: np.ndarray | None = None  # of the rows that stay; None: all
        self.moves, self.waited = MOVES, 0
        self.gap = self.gamma = self.moved = np.inf  # at the last check, and where rows were first left out

    @property
    def whole(self) -> bool:
        return self.index is None

    def reduce(self, gap: float, most: float) -> bool:
        """Leave rows out if at most a share `most` of the present ones must stay."""
        work = self.work
        problem, rows = work.oracle.problem, work.rows
        if rows.u.size <= LEAST_ROWS or not np.isfinite(work.moved):
            return False
        bent = np.empty(rows.u.size, dtype=np.bool_)
        reach = max(self.moves * work.moved, SMOOTHINGS * work.gamma)
        bent_within(problem.compiled_loss, problem.y, problem.weights, rows.z, rows.u, reach, bent)
        stay = np.flatnonzero(bent)
        if not 0 < stay.size < most * rows.u.size:
            return False
        if self.whole:
            self.gap, self.gamma, self.moved, self.waited = gap, work.gamma, work.moved, 0
        self.hand_back()
        whole = self.index is None
        self.index = stay if self.index is None else self.index[stay]
        self.leave_out(work.oracle.take(stay), stay)
        if whole:
            self.rows.u0[~bent] = self.rows.u[~bent]
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

    def hand_back(self) -> None:
        """What is known of the rows that stayed, to all rows."""
        if self.index is not None:
            self.rows.u0[self.index], self.rows.u[self.index] = self.work.rows.u0, self.work.rows.u

    def due(self, gap: float) -> bool:
        """Whether all rows should be looked at again."""
        self.waited += 1
        return gap <= VERIFIED * self.gap or self.waited >= PATIENCE

    def check(self, gap: float) -> None:
        """Look at all rows; if one that was left out has another u now, work with all of them from here."""
        work, few = self.work, (self.work.oracle, self.work.rows, self.work.fixed, self.work.sums, self.work.border)
        self.hand_back()
        left = np.ones(self.rows.u.size, dtype=np.bool_)
        left[self.index] = False
        before, g = self.rows.u[left], work.g.copy()
        work.oracle, work.rows, work.border = self.oracle, self.rows, work.border.copy()
        work.fixed = Linear(0.0, np.zeros(work.d), 0.0)
        work.look()
        self.few = None if np.any(self.rows.u[left] != before) else (few, g)
        if self.few is None:
            self.index = None
            work.moved = self.moved

    def resume(self, gap: float, reduced: float) -> None:
        """After a check with all rows: on with few, or with all and, if they tell another story, a safe smoothing."""
        work = self.work
        self.gap, self.waited = gap, 0
        if self.few is not None:
            (work.oracle, work.rows, work.fixed, work.sums, work.border), work.g = self.few
        elif gap > HONEST * reduced:
            self.moves *= WIDER
            work.gamma = max(work.gamma, self.gamma)
            work.look(fresh=False)
