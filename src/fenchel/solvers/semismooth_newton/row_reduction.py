"""Screening of rows: steps use the rows near a nonsmooth point only, and all rows are checked from time to time.

A row is left out if its loss is linear, with slope u, within a radius of its score that the scores will hardly leave; it then
enters as a fixed linear function. A `check` evaluates all rows: if one of them has crossed a nonsmooth point, all rows are
restored, and the radius may grow. The kept rows are copied: at most `max_kept_row_fraction` of X is in memory a second time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.kernels.envelope import curved_within
from fenchel.solvers.semismooth_newton.settings import SETTINGS
from fenchel.solvers.semismooth_newton.smoothed_problem import Claim, Linear, SmoothedProblem
from fenchel.solvers.semismooth_newton.smoothed_rows import RowState

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


class Reduction:
    """The state of all rows of a smoothed problem while its steps use only some of them."""

    def __init__(self, work: SmoothedProblem):
        self.work, self.oracle, self.rows = work, work.oracle, work.rows
        self.index: np.ndarray | None = None  # The numbers of the kept rows; None if all are.
        self.radius_per_score_change, self.ended = SETTINGS.radius_per_score_change, False
        self.steps_since_check, self.max_total_score_change = 0, np.inf
        self.last_verified: Any = None  # (w, b, z, gamma, score_change) where all rows were evaluated last.
        self.gap = np.inf  # The gap at that point.
        self.screened: Any = None  # The reduced problem, to continue with after a check in which no row changed.

    @property
    def has_all_rows(self) -> bool:
        return self.index is None

    def reduce(self, claim: Claim, max_fraction: float) -> bool:
        """Leave rows out if less than `max_fraction` of the current ones must be kept."""
        work = self.work
        problem, rows = work.oracle.problem, work.rows
        radius = max(self.radius_per_score_change * work.score_change, SETTINGS.radius_per_gamma * work.gamma)
        if self.ended or rows.u.size <= SETTINGS.min_rows_to_reduce or not np.isfinite(radius):
            return False
        curvature = np.empty(rows.u.size, dtype=np.bool_)
        curved_within(problem.compiled_loss, problem.y, problem.weights, rows.z, rows.u, radius, curvature)
        stay = np.flatnonzero(curvature)
        if not 0 < stay.size < max_fraction * rows.u.size:
            self.ended = work.gamma == 0.0  # Rows that have curvature without smoothing will keep it.
            return False
        if self.has_all_rows:
            self.remember(claim)
            np.copyto(self.rows.u0, self.rows.u, where=~curvature)
        self.scatter_back()
        self.count_passes()
        self.index = stay if self.index is None else self.index[stay]
        self.leave_out(work.oracle.take(stay), stay)
        self.max_total_score_change = work.total_score_change + SETTINGS.max_score_change_per_radius * radius
        return True

    def leave_out(self, oracle: Oracle, stay: np.ndarray) -> None:
        """Continue with the rows of `oracle`."""
        work, old, risk = self.work, self.work.rows, self.work.sums.risk + self.work.left_out()
        work.oracle, work.rows = oracle, RowState(old.u0[stay], old.u[stay])
        work.rows.z = old.z[stay]
        gradient = work.g - oracle.combine(work.rows.u)
        slope = work.slopes() - float(oracle.problem.weights @ work.rows.u)
        work.fixed = Linear(0.0, gradient, slope)
        kept = oracle.losses_at(work.rows.z, 0.0)[0]
        work.fixed = Linear(risk - kept - work.left_out(), gradient, slope)
        work.evaluate(fresh=False)

    def count_passes(self) -> None:
        """Count the work on the kept rows, in passes over all rows."""
        if self.index is not None:
            self.oracle.count_sample(self.work.oracle, self.index.size)

    def scatter_back(self) -> None:
        """Write the state of the kept rows into that of all rows."""
        if self.index is not None:
            self.rows.u0[self.index], self.rows.u[self.index] = self.work.rows.u0, self.work.rows.u

    def remember(self, claim: Claim) -> None:
        """Note that all rows were evaluated at the current point."""
        work = self.work
        self.last_verified = (work.w, work.b, self.rows.z, work.gamma, work.score_change)
        self.gap, self.steps_since_check = claim.gap, 0

    def due(self, gap: float) -> bool:
        """Whether all rows should be evaluated now."""
        self.steps_since_check += 1
        if self.steps_since_check >= SETTINGS.max_steps_per_check:
            return True
        return gap <= SETTINGS.check_gap_ratio * self.gap or self.work.total_score_change > self.max_total_score_change

    def check(self) -> None:
        """Evaluate all rows; if a row that was left out has a different u now, continue with all of them."""
        work = self.work
        screened = (work.oracle, work.rows, work.fixed, work.sums, work.border, work.g.copy())
        self.scatter_back()
        before = self.rows.u.copy()
        self.restore_all_rows()
        changed = self.rows.u != before
        changed[self.index] = False
        self.screened = None if changed.any() else screened

    def restore_all_rows(self) -> None:
        """Evaluate all rows, and continue with them."""
        self.count_passes()
        work = self.work
        self.rows.z = np.empty(self.rows.u.size)
        work.oracle, work.rows, work.border = self.oracle, self.rows, work.border.copy()
        work.fixed = work.nothing
        work.evaluate()

    def end(self) -> None:
        """Use all rows from now on: rounding errors of the linear part begin to matter."""
        if self.index is not None:
            self.scatter_back()
            self.restore_all_rows()
            self.index = None
        self.ended = True

    def resume(self, claim: Claim, reduced: Claim) -> None:
        """After a check: continue with the kept rows, or with all, and a larger radius if the reduced one was misleading."""
        work = self.work
        if self.screened is not None:
            self.remember(claim)
            work.oracle, work.rows, work.fixed, work.sums, work.border, work.g = self.screened
            return
        self.index, (w, b, z, gamma, work.score_change) = None, self.last_verified
        if claim.gap > SETTINGS.max_gap_ratio * reduced.gap:
            self.radius_per_score_change *= SETTINGS.radius_growth
            work.gamma = max(work.gamma, gamma)
            work.evaluate(fresh=False)
            work.line_search_from(w, b, z)
