"""Dual coordinate ascent for L2, Quadratic and ElasticNet, in phases.

1. A few epochs over all rows, where they lie. Between epochs, here and later, the rows that gained most in the last one
   have some of their own (`kernels/dual_phase.py`). With a differentiable loss the gain of an epoch tells the gap, which is
   looked at when it may be small enough; where it is nearly so, the rows that gained most have one more epoch first.
2. Rows whose u would stay put even if their scores moved by some margin are left out. The others are copied, one behind
   the other in random order, the columns of wide sparse data renumbered by falling frequency. Epochs on the copy; from time
   to time all rows are looked at, and the copy is made anew when it has become too large, or too small.
3. Near the end (with L2 and Quadratic), Newton steps on the copy's free rows between the epochs (`free_newton.py`).

Every phase is one call of compiled code, so that small problems do not wait for Python. A row that was left out has no share
in the gap until its score has moved by the margin: the copy's own gap tells when looking at all rows is worth it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fenchel.data.accept import block, read_only
from fenchel.kernels.dual_phase import ALL_WORTH, WORTH, moving_rows, phase, row_scores, violations, young_sums
from fenchel.mirror_maps.coordinatewise import Identity, apply_to
from fenchel.result import Iterate
from fenchel.solvers.base import Start
from fenchel.solvers.dual_ascent.active_rows import Columns, Part, Room, Unchanged, columns_of, halves
from fenchel.solvers.dual_ascent.free_newton import Newton

# Epochs over all rows before the first look at them, by whether the loss is differentiable; looks before a copy is made
FIRST, LOOKS = {True: 4, False: 3}, 3
EPOCHS = 10  # before a look, at most
# Epochs after a Newton step, by whether the intercept is free: then more of them upset its balance
BETWEEN = {False: 4, True: 2}
SLOW = 0.5  # fall of log gap per epoch below which Newton steps can pay
NEAR = 1e-3  # relative gap from which Newton steps pay
COARSE = {True: 1e-3, False: 1e-2}  # the largest gap to aim at, by the same: for nonsmooth losses the way there is long
SURELY = 0.9  # of a gap that is aimed at
JUMP, NEAR_JUMP = 30.0, 1e3  # times tol: a gap from which it is aimed at, whatever lies between; one below NEAR
OFF = 0.8  # P - D, about, in units of the gain of an epoch: from 0.5 to 4 where the loss is differentiable
FARTHEST_OFF = 20.0  # that is believed
HALVES = 2.0  # an epoch of the rows that gained most divides the gap by this, about
SHORT, SLOWING = 4, 0.8  # epochs that are made without a copy if they end the solve; what is left of their rate, about
SELDOM = 4  # rounds after which all rows are looked at in any case
MISSED = 2.0  # times the copy's gap: if that of all rows is more, some that were left out have begun to move
SMALLER = 0.7  # share of the rows that is worth a copy
MOST_WORK = 1e8  # stored values to walk before a solver gives an iterate
BIAS = 0.1  # weight of the intercept beside the features of a row
LIVELY = 10.0  # times the conjugate's curvature: how far the intercept goes at a time
FAR, TYPICAL = 0.5, 15.0  # the margin, relative to the largest and to the mean violation of a row

Sums = tuple[float, float, float]


class Phases:
    """u, v and b, and the rows to walk: `whole`, and `part` of them, which may be the whole. v has the part's columns."""

    def __init__(self, oracle: Any, start: Start, form: Any, seed: int, inverse_bias: float):
        problem = oracle.problem
        self.oracle, self.loss, self.form = oracle, problem.compiled_loss, form
        self.transfer, self.strength, self.inverse_bias = form.transfer, form.strength, inverse_bias
        self.rng = np.random.default_rng(seed)
        self.random = self.rng.integers(1, 2**63, 1, dtype=np.uint64)
        self.work, self.gains = np.empty((2, problem.n), dtype=np.uint64), np.zeros(problem.n)
        q = read_only(problem.weights * (form.bounds / self.strength + inverse_bias))
        u = self.oracle.feasible(start.dual_point)
        rows = np.arange(problem.n, dtype=np.uint32)
        self.whole = Part(form.change.rows, problem.y, problem.weights, problem.offset, q, u, rows)
        self.part, self.share = self.whole, 1.0  # of the stored values
        self.columns: Columns | Unchanged = Unchanged()
        self.renumbered: Columns | Unchanged | None = None
        self.room = Room()
        self.inside = np.ones(problem.n, dtype=bool)  # the rows of the part
        self.z = self.part_z = np.zeros(problem.n)
        self.b = self.centre = start.intercept
        self.v = np.zeros(problem.d)
        if u.any():
            self.v = form.change.combine(oracle, u) / -self.strength
        self.smooth = problem.smooth_loss
        self.worth = ALL_WORTH if problem.fit_intercept and not self.smooth else WORTH[self.smooth]
        self.gap, self.pace, self.off = np.inf, Pace(COARSE[self.smooth], start.tol), OFF

    def first(self) -> Iterate:
        """The iterate to start from, without a pass over X if it is 0."""
        if self.v.any() or self.whole.u.any():
            return self.check(self.look())
        self.z[:] = self.whole.offset
        best = self.oracle.best_intercept(self.z, self.b)
        return self.check(self._sums(self.whole, self.whole.p, self.z, best))._replace(intercept=best)

    def affordable(self, count: int) -> int:
        """So many epochs, or as many as may be made before an iterate is given."""
        return max(min(count, int(MOST_WORK / self.part.stored)), 1)

    def epochs(self, count: int) -> None:
        """Steps for all rows of the part, so many times; 0: for those that gained most in the last one, once."""
        part, count = self.part, min(self.affordable(count), count)
        self.b, self.centre, steps = phase(
            self.loss, self.transfer, part.rows, part.y, part.p, part.offset, part.q,
            1.0 / self.strength, self.inverse_bias, self.b, self.centre, part.u, self.v, self.gains,
            self.worth, count, self.work, self.random,
        )  # fmt: skip
        self.oracle.passes += steps / max(part.n, 1) * self.share

    def begin(self, most: int, tol: float) -> int:
        """So many epochs over all rows at most, fewer if what one gained says that the gap may be tol; returns how many."""
        most = self.affordable(most)
        step = 1 if self.smooth else most  # at nonsmooth points a small gain says little
        for done in range(step, most + 1, step):
            self.epochs(step)
            left = self.left(tol) if self.smooth else np.inf
            if 1.0 < left <= HALVES:
                self.epochs(0)
            if left <= HALVES:
                return done
        return most

    def left(self, tol: float) -> float:
        """The gap in units of tol P, to go by the gain of the last epoch; infinite where it is far more."""
        gap = self.off * float(self.gains.sum())
        if gap > HALVES * tol * self.scale:  # P where it began, which is larger
            return np.inf
        w = apply_to(self.transfer, self.v)
        scale = abs(self.oracle.conjugates(self.whole.u) + 0.5 * self.strength * float(w @ w))
        return gap / (tol * scale) if scale > 0.0 else np.inf

    def learn(self, gap: float) -> None:
        """How large the gap is beside the gain of the last epoch: that hardly changes from one to the next."""
        gain = float(self.gains.sum())
        if self.smooth and gain > 0.0:
            self.off = min(max(gap / gain, OFF), FARTHEST_OFF)

    def look(self) -> Sums:
        """Sums over the part's rows: losses, conjugates, residuals (shares in the gap)."""
        if self.part is self.whole:
            return self._look_at_all(self.whole.p, apply_to(self.transfer, self.columns.original(self.v)))
        part = self.part

        def work(span: slice) -> None:
            rows = block(part.rows, span.start, span.stop)
            row_scores(self.transfer, rows, part.p[span], part.offset[span], self.b, self.v, self.part_z[span])

        self.oracle.engine.map(work, halves(part.n, part.stored))
        self.oracle.passes += 0.5 * self.share
        return self._sums(part, part.p, self.part_z)

    def _look_at_all(self, p: np.ndarray, w: np.ndarray) -> Sums:
        """The same over all rows with p > 0."""
        self.oracle.scores_of(self.whole.rows, p, w, self.b, self.z)
        self.oracle.passes += 0.5
        return self._sums(self.whole, p, self.z)

    def _sums(self, part: Part, p: np.ndarray, z: np.ndarray, b: float = 0.0) -> Sums:
        """The same at the scores z + b."""
        return young_sums(self.loss, part.y, p, part.offset, part.u, z, b)

    def check(self, sums: Sums) -> Iterate:
        """P and D, the rows that are not in the part looked at too."""
        v = self.columns.original(self.v)
        w = apply_to(self.transfer, v)
        if self.part is not self.whole:
            self.whole.u[self.part.number] = self.part.u
            rest = self._look_at_all(self.outside, w)
            self.z[self.part.number] = self.part_z
            sums = (sums[0] + rest[0], sums[1] + rest[1], sums[2] + rest[2])
        losses, conjugates, residual = sums
        regular = 0.5 * self.strength * float(w @ w)  # R*(v), and R(w) is what is left of <v, w>
        primal, dual = losses + self.strength * float(v @ w) - regular, -conjugates - regular
        free = self.oracle.problem.fit_intercept
        if free:  # balancing u costs what the intercept pays for it, up to a square
            total = float(self.whole.p @ self.whole.u)
            dual = primal - residual - self.inverse_bias * total * total
        self.scale = abs(primal) or 1.0
        self.gap = (primal - dual) / self.scale
        u = self.whole.u + 0.0  # a copy, in which no 0 has a sign: a checkpoint would lose it
        self.latest = Iterate(self.form.change.coef(w), self.b if free else 0.0, primal, dual, u)
        return self.latest

    def movable(self) -> tuple[np.ndarray, int]:
        """(which rows still move, how many), from the scores of all rows."""
        whole, active = self.whole, np.empty(self.whole.n, dtype=bool)
        largest, typical = violations(self.loss, whole.y, whole.p, whole.q, whole.u, self.z)
        margin = min(FAR * largest, TYPICAL * typical)
        count = moving_rows(self.loss, whole.y, whole.p, whole.q, whole.u, self.z, margin, active)
        return active, count

    def narrow(self, active: np.ndarray) -> None:
        """Make the active rows the part."""
        if self.part is not self.whole and not (active & ~self.inside).any():
            inner = np.flatnonzero(active[self.part.number])
            self.part = self.part.take(inner, Unchanged(), self.oracle.engine, self.room)
        else:
            if self.renumbered is None:
                self.renumbered = columns_of(self.whole.rows, self.v.size, self.oracle.engine)
            if active.all() and isinstance(self.renumbered, Unchanged):
                self.part = self.whole
            else:
                order = self.rng.permutation(np.flatnonzero(active))
                self.part = self.whole  # so that the last copy can be let go of before there is a larger one
                self.part = self.whole.take(order, self.renumbered, self.oracle.engine, self.room)
            self.v = self.renumbered.renamed(self.columns.original(self.v))
            self.columns = self.renumbered
        self.share = self.part.stored / self.whole.stored
        if self.part is not self.whole:
            self.oracle.passes += 0.5 * self.share
        self.inside, self.outside = active, read_only(np.where(active, 0.0, self.whole.p))
        self.part_z = self.z if self.part is self.whole else np.zeros(self.part.n)
        self.gains = np.zeros(self.part.n)


class Pace:
    """How many epochs to make before the next look, from what the last ones achieved.

    Tolerances are mostly powers of ten: the next one below is aimed at, or tol itself if it is near.
    """

    def __init__(self, coarse: float, tol: float):
        self.coarse, self.tol = coarse, tol  # the largest gap to aim at, and the one that is asked for
        self.rate = 0.0  # of log gap, per epoch

    def learn(self, before: float, after: float, epochs: int) -> None:
        self.rate = float(np.log(before / after)) / epochs if before > after > 0.0 else 0.0

    def epochs(self, gap: float) -> int:
        way = np.log(gap / (SURELY * self.aim(gap))) if gap > 0.0 else 1.0
        return int(np.clip(np.ceil(way / max(self.rate, 1e-9)), 1, EPOCHS))

    def until(self, gap: float, tol: float) -> float:
        """Epochs until the gap is below tol, if they go on to gain nearly as much."""
        if not (self.rate > 0.0 and gap > tol > 0.0):
            return np.inf
        return float(np.ceil(np.log(gap / (SURELY * tol)) / (SLOWING * self.rate)))

    def aim(self, gap: float) -> float:
        """The gap below this one at which to look at all rows."""
        if self.tol < gap <= max(JUMP * self.tol, min(NEAR_JUMP * self.tol, NEAR)):
            return SURELY * self.tol
        return float(min(10.0 ** (np.ceil(np.log10(gap)) - 1.0), self.coarse)) if gap > 0.0 else 0.0

    @property
    def slow(self) -> bool:
        return self.rate < SLOW


def inverse_bias_of(problem: Any, form: Any) -> float:
    """1 / strength of the proximal term in a free intercept (0: there is none).

    It counts less than the features of a row, so that it does not oscillate; where these hardly count as much as they do, and
    several times the curvature that the loss's conjugate has at least, so that it does not converge slowly.
    """
    if not problem.fit_intercept:
        return 0.0
    features = (form.typical or 1.0) / form.strength
    return max(BIAS * features, min(features, 1.0)) + LIVELY / (problem.smoothness or np.inf)


def iterates(oracle: Any, start: Start, form: Any, seed: int) -> Iterator[Iterate]:
    """The iterates of all phases."""
    phases = Phases(oracle, start, form, seed, inverse_bias_of(oracle.problem, form))
    yield phases.first()
    phases.gap = 1.0
    for look in range(LOOKS):
        before, left = phases.gap, phases.pace.until(phases.gap, start.tol)
        most = int(left) if left <= SHORT else min(phases.pace.epochs(before), FIRST[phases.smooth] + look)
        epochs = phases.begin(most, start.tol)
        sums = phases.look()
        phases.learn(sums[2])
        yield phases.check(sums)
        phases.pace.learn(before, phases.gap, epochs)
        if phases.pace.until(phases.gap, start.tol) <= SHORT:
            continue  # a copy would not pay any more
        active, count = phases.movable()
        if count < SMALLER * phases.whole.n or phases.gap < NEAR:
            break
    else:
        active, _ = phases.movable()
    newton = Newton(phases) if isinstance(form.transfer, Identity) else None
    while True:
        phases.narrow(active)
        active = yield from rounds(phases, newton)


def rounds(phases: Phases, newton: Newton | None) -> Any:
    """Work on the part until it is too small or too large; returns the rows that should be the next one."""
    last, looked = phases.gap, 0
    while True:
        before = phases.gap
        stepping = newton if looked > 0 and before < NEAR and phases.pace.slow else None
        if stepping:
            yield from stepping.step()
        epochs = BETWEEN[phases.oracle.problem.fit_intercept] if stepping else phases.pace.epochs(before)
        phases.epochs(epochs)
        sums = phases.look()
        looked += 1
        phases.gap = max(sums[2], 0.0) / phases.scale
        if stepping:
            stepping.adapt(phases.gap / before if before > 0.0 else 1.0)
        else:
            phases.pace.learn(before, phases.gap, epochs)
        if phases.gap > phases.pace.aim(last) and looked % SELDOM > 0:
            yield phases.latest._replace(primal=None, dual=np.nan)
            continue
        own = phases.gap
        yield phases.check(sums)
        last = phases.gap
        active, count = phases.movable()
        if last > MISSED * own or count < SMALLER * phases.part.n:
            return active
