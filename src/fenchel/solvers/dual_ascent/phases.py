"""Dual coordinate ascent for L2, Quadratic and ElasticNet, in phases.

1. A few epochs over all rows, in place. Between epochs, here and later, the high-gain rows, which gained most in the last
   one, have some of their own (`kernels/dual_phase.py`). With a differentiable loss the gain of an epoch predicts the gap,
   which is evaluated when it may be small enough; where it is nearly so, the high-gain rows have one more epoch first.
2. The active rows are those whose u would move if their scores changed by some margin. They are copied in random order, the
   columns of wide sparse data renumbered by decreasing frequency, and epochs visit the copy. From time to time all rows are
   evaluated, and the copy is replaced when rows outside it have begun to move, or when fewer are active.
3. Near the end (with L2 and Quadratic), Newton steps on the copy's free rows between the epochs (`free_newton.py`).

Every phase is one call of compiled code, so that small problems do not wait for Python. A row outside the copy contributes
nothing to the gap until its score has changed by the margin: the copy's own gap tells when it pays to evaluate all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.data.accept import block, read_only
from fenchel.kernels.dual_phase import (
    ALWAYS_REPEAT,
    REPEAT_RULE,
    moving_rows,
    phase,
    row_scores,
    violations,
    young_sums,
)
from fenchel.mirror_maps.coordinatewise import Identity, apply_to
from fenchel.result import Iterate
from fenchel.solvers.base import Start
from fenchel.solvers.dual_ascent.active_rows import Columns, RowSubset, Unchanged, Workspace, columns_of, halves
from fenchel.solvers.dual_ascent.free_newton import Newton
from fenchel.solvers.dual_ascent.settings import SETTINGS

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle
    from fenchel.problems.scalar import Problem
    from fenchel.solvers.dual_ascent.mirror_form import Form

Sums = tuple[float, float, float]


class Phases:
    """u, v and b, and the rows to visit: `subset` is a copy of the active rows, or `all_rows`; v uses its column order."""

    def __init__(self, oracle: Oracle, start: Start, form: Form, seed: int, inverse_bias: float):
        problem = oracle.problem
        self.oracle, self.loss, self.form = oracle, problem.compiled_loss, form
        self.transfer, self.strength, self.inverse_bias = form.transfer, form.strength, inverse_bias
        self.rng = np.random.default_rng(seed)
        self.random = self.rng.integers(1, 2**63, 1, dtype=np.uint64)
        self.work, self.gains = np.empty((2, problem.n), dtype=np.uint64), np.zeros(problem.n)
        q = read_only(problem.weights * (form.bounds / self.strength + inverse_bias))
        u = self.oracle.feasible(start.dual_point)
        rows = np.arange(problem.n, dtype=np.uint32)
        self.all_rows = RowSubset(form.change.rows, problem.y, problem.weights, problem.offset, q, u, rows)
        self.subset, self.stored_fraction = self.all_rows, 1.0
        self.columns: Columns | Unchanged = Unchanged()
        self.renumbered: Columns | Unchanged | None = None
        self.workspace = Workspace()
        self.in_subset = np.ones(problem.n, dtype=bool)
        self.z = self.subset_z = np.zeros(problem.n)
        self.b = self.centre = start.intercept
        self.v = np.zeros(problem.d)
        if u.any():
            self.v = form.change.combine(oracle, u) / -self.strength
        self.smooth = problem.smooth_loss
        self.repeat_rule = ALWAYS_REPEAT if problem.fit_intercept and not self.smooth else REPEAT_RULE[self.smooth]
        coarse = SETTINGS.max_target_gap_smooth if self.smooth else SETTINGS.max_target_gap_nonsmooth
        self.gap, self.schedule, self.gap_per_gain = np.inf, EpochSchedule(coarse, start.tol), SETTINGS.gap_per_gain

    def first(self) -> Iterate:
        """The iterate to start from, without a pass over X if it is 0."""
        if self.v.any() or self.all_rows.u.any():
            return self.check(self.evaluate())
        self.z[:] = self.all_rows.offset
        best = self.oracle.best_intercept(self.z, self.b)
        return self.check(self._sums(self.all_rows, self.all_rows.p, self.z, best))._replace(intercept=best)

    def affordable(self, count: int) -> int:
        """So many epochs, or as many as may be run between two iterates."""
        return max(min(count, int(SETTINGS.max_values_per_iterate / self.subset.stored)), 1)

    def epochs(self, count: int) -> None:
        """So many epochs over the subset; 0 is one over its high-gain rows alone."""
        subset, count = self.subset, min(self.affordable(count), count)
        self.b, self.centre, steps = phase(
            self.loss, self.transfer, subset.rows, subset.y, subset.p, subset.offset, subset.q,
            1.0 / self.strength, self.inverse_bias, self.b, self.centre, subset.u, self.v, self.gains,
            self.repeat_rule, count, self.work, self.random,
        )  # fmt: skip
        self.oracle.count(steps / max(subset.n, 1) * self.stored_fraction)

    def begin(self, most: int, tol: float) -> int:
        """At most so many epochs over all rows, fewer if the gain of one says that the gap may be tol; returns how many."""
        most = self.affordable(most)
        step = 1 if self.smooth else most  # At nonsmooth points a small gain says little about the gap.
        for done in range(step, most + 1, step):
            self.epochs(step)
            left = self.left(tol) if self.smooth else np.inf
            if 1.0 < left <= SETTINGS.high_gain_epoch_gap_ratio:
                self.epochs(0)
            if left <= SETTINGS.high_gain_epoch_gap_ratio:
                return done
        return most

    def left(self, tol: float) -> float:
        """The gap in units of tol P, as predicted by the gain of the last epoch; infinite where it is far above."""
        gap = self.gap_per_gain * float(self.gains.sum())
        if gap > SETTINGS.high_gain_epoch_gap_ratio * tol * self.scale:  # The scale is P at the start, an upper bound.
            return np.inf
        w = apply_to(self.transfer, self.v)
        scale = abs(self.oracle.conjugates(self.all_rows.u) + 0.5 * self.strength * float(w @ w))
        return gap / (tol * scale) if scale > 0.0 else np.inf

    def learn(self, gap: float) -> None:
        """Measure the gap in units of the gain of the last epoch, a ratio that hardly changes from one epoch to the next."""
        gain = float(self.gains.sum())
        if self.smooth and gain > 0.0:
            self.gap_per_gain = min(max(gap / gain, SETTINGS.gap_per_gain), SETTINGS.max_gap_per_gain)

    def evaluate(self) -> Sums:
        """Sums over the subset: losses, conjugates, residuals (contributions to the gap)."""
        if self.subset is self.all_rows:
            return self._evaluate_all(self.all_rows.p, apply_to(self.transfer, self.columns.original(self.v)))
        subset = self.subset

        def work(span: slice) -> None:
            rows = block(subset.rows, span.start, span.stop)
            row_scores(self.transfer, rows, subset.p[span], subset.offset[span], self.b, self.v, self.subset_z[span])

        self.oracle.map_blocks(work, halves(subset.n, subset.stored), self.stored_fraction, directions=1)
        return self._sums(subset, subset.p, self.subset_z)

    def _evaluate_all(self, p: np.ndarray, w: np.ndarray) -> Sums:
        """The same over all rows with p > 0."""
        self.oracle.scores_of(self.all_rows.rows, p, w, self.b, self.z)
        self.oracle.count(directions=1)
        return self._sums(self.all_rows, p, self.z)

    def _sums(self, subset: RowSubset, p: np.ndarray, z: np.ndarray, b: float = 0.0) -> Sums:
        """The same at the scores z + b."""
        return young_sums(self.loss, subset.y, p, subset.offset, subset.u, z, b)

    def check(self, sums: Sums) -> Iterate:
        """P and D; rows outside the subset are evaluated too."""
        v = self.columns.original(self.v)
        w = apply_to(self.transfer, v)
        if self.subset is not self.all_rows:
            self.all_rows.u[self.subset.number] = self.subset.u
            rest = self._evaluate_all(self.outside, w)
            self.z[self.subset.number] = self.subset_z
            sums = (sums[0] + rest[0], sums[1] + rest[1], sums[2] + rest[2])
        losses, conjugates, residual = sums
        regular = 0.5 * self.strength * float(w @ w)  # This is R*(v), and R(w) the rest of <v, w>.
        primal, dual = losses + self.strength * float(v @ w) - regular, -conjugates - regular
        free = self.oracle.problem.fit_intercept
        if free:  # Balancing u lowers D by what the intercept contributes, up to a quadratic term.
            total = float(self.all_rows.p @ self.all_rows.u)
            dual = primal - residual - self.inverse_bias * total * total
        self.scale = abs(primal) or 1.0
        self.gap = (primal - dual) / self.scale
        u = self.all_rows.u + 0.0  # A copy without signed zeros, which a checkpoint would lose.
        self.latest = Iterate(self.form.change.coef(w), self.b if free else 0.0, primal, dual, u)
        return self.latest

    def movable(self) -> tuple[np.ndarray, int]:
        """(mask of the active rows, how many they are), from the scores of all rows."""
        rows, active = self.all_rows, np.empty(self.all_rows.n, dtype=bool)
        largest, typical = violations(self.loss, rows.y, rows.p, rows.q, rows.u, self.z)
        margin = min(SETTINGS.margin_per_max_violation * largest, SETTINGS.margin_per_mean_violation * typical)
        count = moving_rows(self.loss, rows.y, rows.p, rows.q, rows.u, self.z, margin, active)
        return active, count

    def narrow(self, active: np.ndarray) -> None:
        """Make the active rows the subset."""
        if self.subset is not self.all_rows and not (active & ~self.in_subset).any():
            inner = np.flatnonzero(active[self.subset.number])
            self.subset = self.subset.take(inner, Unchanged(), self.oracle.engine, self.workspace)
        else:
            if self.renumbered is None:
                self.renumbered = columns_of(self.all_rows.rows, self.v.size, self.oracle.engine)
            if active.all() and isinstance(self.renumbered, Unchanged):
                self.subset = self.all_rows
            else:
                order = self.rng.permutation(np.flatnonzero(active))
                self.subset = self.all_rows  # The last copy is released before a larger one is allocated.
                self.subset = self.all_rows.take(order, self.renumbered, self.oracle.engine, self.workspace)
            self.v = self.renumbered.renamed(self.columns.original(self.v))
            self.columns = self.renumbered
        self.stored_fraction = self.subset.stored / self.all_rows.stored
        if self.subset is not self.all_rows:
            self.oracle.count(self.stored_fraction, directions=1)
        self.in_subset, self.outside = active, read_only(np.where(active, 0.0, self.all_rows.p))
        self.subset_z = self.z if self.subset is self.all_rows else np.zeros(self.subset.n)
        self.gains = np.zeros(self.subset.n)


class EpochSchedule:
    """How many epochs to run before the next evaluation, from what the last ones achieved.

    Tolerances are mostly powers of ten: the target is the next one below, or tol itself if it is near.
    """

    def __init__(self, coarse: float, tol: float):
        self.coarse, self.tol = coarse, tol  # The largest target, and the user's tolerance.
        self.rate = 0.0  # The fall of log(gap) per epoch.

    def learn(self, before: float, after: float, epochs: int) -> None:
        self.rate = float(np.log(before / after)) / epochs if before > after > 0.0 else 0.0

    def epochs(self, gap: float) -> int:
        way = np.log(gap / (SETTINGS.target_margin_ratio * self.aim(gap))) if gap > 0.0 else 1.0
        rate = max(self.rate, SETTINGS.min_log_gap_fall_per_epoch)
        return int(np.clip(np.ceil(way / rate), 1, SETTINGS.max_epochs_per_evaluation))

    def until(self, gap: float, tol: float) -> float:
        """Epochs until the gap is below tol, at nearly the measured rate."""
        if not (self.rate > 0.0 and gap > tol > 0.0):
            return np.inf
        way = np.log(gap / (SETTINGS.target_margin_ratio * tol))
        return float(np.ceil(way / (SETTINGS.finishing_rate_ratio * self.rate)))

    def aim(self, gap: float) -> float:
        """The target below this gap, at which all rows are evaluated."""
        near = min(SETTINGS.jump_to_tol_ratio_near * self.tol, SETTINGS.newton_max_gap)
        if self.tol < gap <= max(SETTINGS.jump_to_tol_ratio * self.tol, near):
            return SETTINGS.target_margin_ratio * self.tol
        return float(min(10.0 ** (np.ceil(np.log10(gap)) - 1.0), self.coarse)) if gap > 0.0 else 0.0

    @property
    def slow(self) -> bool:
        return self.rate < SETTINGS.newton_max_log_gap_fall_per_epoch


def inverse_bias_of(problem: Problem, form: Form) -> float:
    """1 / strength of the proximal term in a free intercept (0: there is none).

    It weighs less than the features of a row, so that the intercept does not oscillate; as much as they do where they weigh
    little, and several times the least curvature of the loss's conjugate, so that it does not converge slowly.
    """
    if not problem.fit_intercept:
        return 0.0
    features = (form.typical or 1.0) / form.strength
    least = SETTINGS.intercept_per_conjugate_curvature / (problem.smoothness or np.inf)
    return max(SETTINGS.intercept_ratio * features, min(features, 1.0)) + least


def iterates(oracle: Oracle, start: Start, form: Any, seed: int) -> Iterator[Iterate]:
    """The iterates of all phases."""
    phases = Phases(oracle, start, form, seed, inverse_bias_of(oracle.problem, form))
    yield phases.first()
    phases.gap = 1.0
    first = SETTINGS.first_epochs_smooth if phases.smooth else SETTINGS.first_epochs_nonsmooth
    for done in range(SETTINGS.max_evaluations_before_copy):
        before, left = phases.gap, phases.schedule.until(phases.gap, start.tol)
        few = left <= SETTINGS.max_finishing_epochs
        most = int(left) if few else min(phases.schedule.epochs(before), first + done)
        epochs = phases.begin(most, start.tol)
        sums = phases.evaluate()
        phases.learn(sums[2])
        yield phases.check(sums)
        phases.schedule.learn(before, phases.gap, epochs)
        if phases.schedule.until(phases.gap, start.tol) <= SETTINGS.max_finishing_epochs:
            continue  # A copy would not pay any more.
        active, count = phases.movable()
        if count < SETTINGS.max_copied_rows_ratio * phases.all_rows.n or phases.gap < SETTINGS.newton_max_gap:
            break
    else:
        active, _ = phases.movable()
    newton = Newton(phases) if isinstance(form.transfer, Identity) else None
    while True:
        phases.narrow(active)
        active = yield from rounds(phases, newton)


def rounds(phases: Phases, newton: Newton | None) -> Any:
    """Work on the subset until it misses active rows or has too many others; returns the mask of the next one."""
    last, evaluated = phases.gap, 0
    epochs_per_step = SETTINGS.epochs_per_newton_step
    if phases.oracle.problem.fit_intercept:
        epochs_per_step = SETTINGS.epochs_per_newton_step_free_intercept
    while True:
        before = phases.gap
        stepping = newton if evaluated > 0 and before < SETTINGS.newton_max_gap and phases.schedule.slow else None
        if stepping:
            yield from stepping.step()
        epochs = epochs_per_step if stepping else phases.schedule.epochs(before)
        phases.epochs(epochs)
        sums = phases.evaluate()
        evaluated += 1
        phases.gap = max(sums[2], 0.0) / phases.scale
        if stepping:
            stepping.adapt(phases.gap / before if before > 0.0 else 1.0)
        else:
            phases.schedule.learn(before, phases.gap, epochs)
        if phases.gap > phases.schedule.aim(last) and evaluated % SETTINGS.max_rounds_per_full_evaluation > 0:
            yield phases.latest._replace(primal=None, dual=np.nan)
            continue
        own = phases.gap
        yield phases.check(sums)
        last = phases.gap
        active, count = phases.movable()
        if last > SETTINGS.max_full_gap_ratio * own or count < SETTINGS.max_copied_rows_ratio * phases.subset.n:
            return active
