"""The loop over the iterates of a solve: record them, check the limits, recompute certificates.

The values that a solver claims decide only *when* the certificate is recomputed. The status follows from the recomputed one.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel import deadline
from fenchel.certificates.scalar import certifier_of
from fenchel.compile.clock import CLOCK
from fenchel.errors import InputError, SolveError
from fenchel.regularizers.base import is_convex
from fenchel.result import Certificate, Iterate, Result, Status, TracePoint
from fenchel.selection.progress import Pace
from fenchel.solving.attainment import SeparationCheck
from fenchel.solving.state import materialize, recall, state_of
from fenchel.solving.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fenchel.problems.scalar import Problem
    from fenchel.selection.rules import Choice, Choices
    from fenchel.solvers.base import Solver, Start
    from fenchel.solving.checkpoint import CheckpointWriter

log = logging.getLogger("fenchel")


class State(NamedTuple):
    """The argument of callbacks, which are called after every iteration."""

    iteration: int
    passes: float
    seconds: float
    primal: float
    dual: float
    coef: np.ndarray
    intercept: float
    solver: str

    @property
    def gap(self) -> float:
        return self.primal - self.dual


NEAR_FLOOR = 100.0  # a gap that no longer decreases has reached the rounding floor if it is at most this multiple of it
GRACE = 0.2  # seconds by which an iteration may exceed max_time
CERTIFICATE_PASSES = 3.0  # over the data that a certificate takes, about
INWARDS = 1e-9  # relative, by which a dual point is moved off the border of its domain
RESERVE = 2.0  # time reserved for the next certificate, relative to the last one: it may take longer


class Run:
    """One solve: the best iterates, the trace, the limits."""

    def __init__(
        self, problem: Problem, tol: float, max_iter: int | None, max_time: float | None,
        callback: Callable[[State], Any] | None, oracle: Any, writer: CheckpointWriter | None = None,
        until: Any = None,
    ):  # fmt: skip
        self.problem, self.tol, self.oracle, self.callback = problem, tol, oracle, callback
        self.writer = writer  # of checkpoints, if requested
        self.until, self.asked_gap = until, np.inf  # what else may end the solve, and the gap when it was last asked
        self.max_iter = np.inf if max_iter is None else max_iter
        self.max_time = np.inf if max_time is None else max_time
        self.compiled = CLOCK.read()  # before this solve
        self.began = CLOCK.other_time()
        self.earlier = 0.0  # seconds of the solve that this one resumes
        self.limit = None if max_time is None else deadline.Limit(self.left)
        self.trace: list[TracePoint] = []
        self.iteration = 0
        self.number = 0  # of the current solver
        self.best: Iterate | None = None  # the iterate with the lowest claimed primal value
        self.primal = np.inf
        self.latest: Iterate | None = None  # the last iterate that was evaluated, and its number
        self.latest_at, self.is_sound = 0, False
        self.lower: Iterate | None = None  # the iterate with the highest claimed dual value
        self.certified: tuple[Certificate, Iterate, Any] | None = None
        self.certified_best: Iterate | None = None  # the best iterate when it was certified
        self.certify_seconds = 0.0
        self.expected_certificate = (
            0.0  # seconds, before there was one: at half of max_time it is computed to be measured
        )
        self.certified_at = 0.0
        self.rested: Any = None  # the last phase without progress in which the floor was checked
        self.overtaken = False  # whether the current solver made room for the next one, though it was not stalled
        self.turns = Turns(allowed=writer is None)
        self.names: list[str] = []
        self.reasons: list[str] = []
        self.settings: dict[str, Any] = {"max_iter": max_iter, "max_time": max_time, "solvers": ()}
        if hasattr(oracle, "engine"):
            self.settings["threads"] = getattr(oracle.engine, "threads", None)

    @property
    def seconds(self) -> float:
        """Seconds of the whole solve, excluding compilation; max_time applies to this call alone."""
        return self.earlier + CLOCK.other_time() - self.began

    def run_choices(self, choices: Choices, begin: Start, resume: bool = False) -> Result:
        """Run one solver after the other until one succeeds; when resuming, begin with the one that was running."""
        self.oracle.require_minimum()
        self.separation = SeparationCheck(self.problem)
        self.choices, kept = choices, self.writer.read() if self.writer is not None and resume else None
        if kept is not None:
            begin, self.number, self.earlier = recall(self, kept), kept["number"], kept["seconds"]
        while (choice := choices.get(self.number)) is not None:
            status = self.with_solver(choice, begin, kept)
            if status is Status.STALLED or status is Status.NONFINITE:
                self.separation.after_failure(self.left())
            if (status is not Status.STALLED and status is not Status.NONFINITE) or self.cannot_promise():
                break
            if self.overtaken:
                self.turns.pause(choice.solver, self.latest, self.gap())
            begin, kept = self.restart(begin), None
            self.number += 1
            if (following := choices.get(self.number)) is not None:
                begin = self.turns.start(following.solver, begin, self.gap())
        try:
            result = self.result(status)
        except KeyboardInterrupt:  # during the last certificate, which the result needs
            result = self.result(Status.INTERRUPTED)
        self.keep_last(status)
        return result

    def with_solver(self, choice: Choice, begin: Start, kept: dict | None = None) -> Status:
        """Run a solver until it stops or is stopped; `kept` is the state to resume from, if there is one."""
        name = type(choice.solver).__name__
        self.settings["solvers"] += (choice.solver,)
        self.pace = Pace(choice.solver, self.iteration, self.oracle.passes, choice.passes)
        self.rebuilds, self.solver_began = choice.solver.rebuilds, self.seconds
        self.certified_gap, self.overtaken = np.inf, False
        if kept is not None:
            self.pace.recall(kept["pace"])
            if (status := self.reached(kept["iteration"])) is not None:
                return status
        else:
            self.names.append(name)
            self.reasons.append(f"{name}: {choice.reason}")
            if self.writer is not None:
                self.writer.begin(self.iteration)
        try:
            with deadline.held(self.limit):
                return self.run_segments(choice.solver, begin)
        except deadline.OutOfTime:
            return Status.MAX_TIME
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        except (InputError, SolveError, MemoryError):
            raise
        except Exception as error:
            raise SolveError(f"{name} failed: {type(error).__name__}: {error}", self.partial()) from error

    def run_segments(self, solver: Solver, begin: Start) -> Status:
        """One run of the solver's generator, or, with checkpoints, one segment after the other."""
        while (status := self.run_segment(solver, begin)) is None:
            assert self.writer is not None and self.latest is not None
            kept = self.writer.restart(state_of(self, self.latest, self.latest_at), solver.segment_growth)
            begin = recall(self, kept)
            self.pace.recall(kept["pace"])
        return status

    def run_segment(self, solver: Solver, begin: Start) -> Status | None:
        """One run of the generator; None if it was stopped to be restarted from there."""
        point = begin.dual_point
        if hasattr(point, "toarray") and not solver.sparse_duals:
            point = point.toarray()
        iterates = solver.iterates(self.oracle, begin._replace(tol=self.tol, dual_point=point))
        if not hasattr(iterates, "close"):
            raise InputError(
                f"iterates of {type(solver).__name__} must be a generator: `yield` every Iterate, do not return one"
            )
        try:
            if begin.memory is not None:
                next(iterates, None)  # the iterate of the checkpoint, which is recorded already
            return self.pull(iterates, type(solver).__name__)
        finally:
            iterates.close()

    def pull(self, iterates: Iterable[Iterate], name: str) -> Status | None:
        before, last, previous = self.seconds, 0.0, 0.0
        for iterate in iterates:
            if not isinstance(iterate, Iterate):
                raise InputError(f"{name} must yield fenchel.result.Iterate objects, got {type(iterate).__name__}")
            self.record(iterate)
            if iterate.primal is not None and not self.usable(iterate):
                return Status.NONFINITE
            if self.due(iterate) or self.should_time_certificate():
                if self.certify_best():
                    return Status.CERTIFIED
                if self.cannot_promise():
                    return Status.STALLED
            if self.until is not None and self.is_decided(iterate):
                return Status.DECIDED
            if self.limit is not None:
                self.limit.changed()  # it depends on the cost of the certificate
            if self.callback is not None and self.stop_asked(iterate, name):
                return Status.STOPPED_BY_CALLBACK
            if self.iteration >= self.max_iter:
                return Status.MAX_ITER
            if iterate.primal is not None:
                self.separation.at_iterate(self.iteration, iterate.coef, float(iterate.intercept), self.left())
            now = self.seconds
            before, last, previous = now, now - before, last
            if now - self.earlier + self.last_certificate() + min(last, previous) >= self.max_time:
                return Status.MAX_TIME  # the next iteration would end too late
            if self.pace.stalled(self.iteration) or self.is_at_floor() or self.is_overtaken():
                return Status.STALLED
            if self.writer is not None and self.restart_here(iterate, self.writer):
                return None
            self.iteration += 1
        return Status.STALLED

    def is_decided(self, iterate: Iterate) -> bool:
        """Whether `until` is satisfied; asked when the claimed gap has halved, or if a certificate takes little of the time."""
        gap = self.gap()
        claimed = math.isfinite(gap) and not math.isnan(iterate.dual)
        due = gap <= 0.5 * self.asked_gap if claimed else self.since_certified() > 9.0 * self.certify_seconds
        if self.best is None or not due:
            return False
        self.asked_gap = gap
        self.certify_best()
        assert self.certified is not None
        return bool(self.until.settled(self.made(Status.DECIDED)))

    def is_at_floor(self) -> bool:
        """Whether rounding errors make tol impossible to certify, and the gap is near the rounding floor and has not decreased
        over a few evaluations: the further evaluations that `stalled` waits for would be in vain."""
        if self.rebuilds or self.best is None or not self.pace.rests():
            return False
        if self.rested != (self.number, self.pace.progress):  # once in every phase without progress
            self.rested = (self.number, self.pace.progress)
            self.certify_best()
            assert self.certified is not None
            found = self.certified[0]
            return found.floor > self.tol * abs(found.primal) and found.gap <= NEAR_FLOOR * found.floor
        return False

    def cannot_promise(self) -> bool:
        """Whether no solver could certify more: both the gap and tol are below the floor."""
        if self.certified is None:
            return False
        found = self.certified[0]  # without a finite dual value its floor says nothing about other dual points
        return math.isfinite(found.dual) and found.gap <= found.floor and found.floor > self.tol * abs(found.primal)

    def is_overtaken(self) -> bool:
        """Whether there is another solver that would finish sooner."""
        if not self.pace.too_slow(self.iteration, self.tol * abs(self.primal)):
            return False
        if self.choices.get(self.number + 1) is None:
            self.pace.alone()
            return False
        self.overtaken = True
        return True

    def restart_here(self, iterate: Iterate, writer: CheckpointWriter) -> bool:
        """Write a checkpoint if one is due; True if the solver must be restarted after this iterate."""
        if iterate.memory is not None:
            if writer.due():
                writer.keep(lambda: state_of(self, iterate, self.iteration))
            return False
        writer.flush()
        return iterate.primal is not None and writer.restart_due(self.iteration)

    def reached(self, iteration: int) -> Status | None:
        """The status, if the restored state is already final."""
        before, self.iteration = self.iteration, iteration
        if self.best is not None and self.gap() <= self.tol * abs(self.primal) and self.certify_best():
            return Status.CERTIFIED
        if iteration >= self.max_iter:
            return Status.MAX_ITER
        self.iteration = before
        return None

    def keep_last(self, status: Status) -> None:
        """Write the final checkpoint of a solve that ended regularly, so that it can be resumed, also with another tol."""
        if self.writer is not None and self.latest is not None and status not in (Status.STALLED, Status.NONFINITE):
            latest, at = self.latest, self.latest_at
            if status is Status.MAX_ITER and latest.memory is None:
                at = self.iteration  # iterations that were not evaluated count, too
            self.writer.keep(lambda: state_of(self, latest, at))

    def should_time_certificate(self) -> bool:
        """Whether to compute a certificate at half of max_time, to measure its cost: an early one may have been cheaper."""
        half = self.earlier + 0.5 * self.max_time
        return half < np.inf and self.best is not None and self.certified_at < half < self.seconds

    def last_certificate(self) -> float:
        """Seconds to reserve for the last certificate and the last checkpoint."""
        kept = self.writer.cost if self.writer is not None else 0.0
        seconds = self.certify_seconds if self.certified is not None else self.expected_certificate
        return RESERVE * seconds + (1.7 * (self.seconds - self.solver_began) if self.rebuilds else 0.0) + kept

    def left(self) -> float:
        """Seconds after which the current iteration is aborted; it may be a little late, since a finished one is worth more."""
        return self.max_time + GRACE - (self.seconds - self.earlier) - self.last_certificate()

    def record(self, iterate: Iterate) -> None:
        """Add an iterate to the trace, and update the best ones."""
        if iterate.primal is None:
            return
        self.latest, self.latest_at = iterate, self.iteration
        if self.certified is None and self.oracle.passes:
            pass_seconds = (self.seconds - self.earlier) / self.oracle.passes
            self.expected_certificate = min(CERTIFICATE_PASSES * pass_seconds, 0.25 * self.max_time)
        self.trace.append(TracePoint(self.iteration, self.oracle.passes, self.seconds, iterate.primal, iterate.dual))
        self.pace.record(self.iteration, self.oracle.passes, iterate.primal, iterate.dual)
        self.is_sound = self.sound(iterate)
        if math.isfinite(iterate.primal) and iterate.primal < self.primal and self.is_sound:
            self.best, self.primal = iterate, iterate.primal
        if self.lower is not None and self.lower.dual > self.primal + 1e-9 * abs(self.primal):
            self.lower = None  # a lower bound cannot exceed an attained value: that claim was false
        if math.isfinite(iterate.dual) and (self.lower is None or iterate.dual > self.lower.dual):
            self.lower = iterate

    def usable(self, iterate: Iterate) -> bool:
        """Whether the iterate that was recorded last is sound, and one before it or itself has a finite value."""
        return self.best is not None and self.is_sound and iterate.primal == iterate.primal

    def sound(self, iterate: Iterate) -> bool:
        """Whether coefficients and intercept have the right shape and are finite."""
        coef = iterate.coef
        return coef.shape == (self.problem.d,) and bool(np.isfinite(coef).all()) and math.isfinite(iterate.intercept)

    def gap(self) -> float:
        if self.best is None or self.lower is None:
            return np.inf
        return self.primal - self.lower.dual

    def due(self, iterate: Iterate) -> bool:
        """Whether to recompute the certificate: if the claimed gap is small enough, or, for solvers that claim none, if it
        takes a small fraction of the time."""
        if self.best is None:
            return False
        gap, goal = self.gap(), self.tol * abs(self.primal)
        if math.isfinite(gap) and not math.isnan(iterate.dual):
            if gap > goal:
                return False
            # After a claim has failed, the next one is checked only if it is much better, or after some time.
            return gap <= 0.5 * self.certified_gap or self.since_certified() > 5.0 * self.certify_seconds
        if iterate.primal is None:
            return False
        # A solver that claims no dual value yet, -inf, will: a certificate before would be in vain.
        unknown = self.certified is None and not math.isnan(iterate.dual)
        return self.since_certified() > 9.0 * (self.expected_certificate if unknown else self.certify_seconds)

    def since_certified(self) -> float:
        return self.seconds - self.certified_at

    def certify_best(self) -> bool:
        """Recompute the certificate of the best iterate; True if it holds at tol."""
        began = CLOCK.other_time()
        best = self.best
        assert best is not None
        with deadline.held(None):  # a certificate that is broken off would have to be computed again
            found, shown, point = self.off_border(*self.certificate_of(best))
        if self.lower is not None and found.dual < self.lower.dual:  # the claim was too high: use the recomputed value
            self.lower = self.lower._replace(dual=found.dual, dual_point=point)
            self.pace.dual = min(self.pace.dual, found.dual)
        self.certified_gap = self.gap()
        old = self.certified
        # The bound of every certified dual point remains valid; its own rounding error decides which is better.
        if old is not None and old[0].dual - old[0].floor > found.dual - found.floor:
            found = Certificate(found.primal, old[0].dual, found.basis, max(found.floor, old[0].floor))
            point = old[2]
        self.certified, self.certified_best = (found, shown, point), best
        self.certify_seconds = max(0.7 * self.certify_seconds, CLOCK.other_time() - began)
        self.certified_at = self.seconds
        return found.holds(self.tol)

    def certificate_of(self, best: Iterate) -> tuple[Certificate, Iterate, Any]:
        """(certificate, its iterate, dual point), with the middle one of equally good intercepts, unless the certificate shows
        that it is worse. The solver itself continues with its own intercept."""
        certifier = certifier_of(self.problem)
        coef, b = self.middle_intercept(best)
        if b == best.intercept and coef is best.coef:
            if self.source() is best and best.dual_point is None:
                found, point = certifier.at_slopes(self.problem, coef, b)
            else:
                found, point = certifier.certificate(self.problem, coef, b, self.dual_point())
            return found, best, point
        u = self.dual_point()
        middle, point = certifier.certificate(self.problem, coef, b, u)
        if middle.primal <= self.primal + middle.floor:
            return middle, best._replace(coef=coef, intercept=b), point
        found, _ = certifier.certificate(self.problem, best.coef, best.intercept, u)
        if middle.primal <= found.primal + found.floor:
            return middle, best._replace(coef=coef, intercept=b), point
        return found, best, point

    def middle_intercept(self, best: Iterate) -> tuple[np.ndarray, float]:
        """(coefficients, the middle one of equally good intercepts); those of the solver if max_time is over before."""
        end = max(self.began + self.max_time, CLOCK.other_time()) + GRACE
        try:
            with deadline.until(lambda: end - CLOCK.other_time()):
                return self.oracle.middle_intercept(best.coef, best.intercept)
        except deadline.OutOfTime:
            return best.coef, best.intercept

    def off_border(self, found: Certificate, shown: Iterate, point: Any) -> tuple[Certificate, Iterate, Any]:
        """The same, with the dual point moved inwards where only its rounding error prevents a certificate at tol.

        At the border of the domain of R* that error decides whether R* is finite."""
        goal = self.tol * abs(found.primal)
        if not self.problem.is_scalar or point is None or not (found.gap <= goal < found.floor):
            return found, shown, point
        certifier = certifier_of(self.problem)
        inner, at = certifier.certificate(
            self.problem, shown.coef, shown.intercept, (1.0 - INWARDS) * np.asarray(point)
        )
        if inner.dual - inner.floor > found.dual - found.floor:
            return inner, shown, at
        return found, shown, point

    def source(self) -> Iterate:
        """The iterate that the dual point comes from: the one with the highest claimed value, else the best one."""
        source = self.lower if self.lower is not None else self.best
        assert source is not None
        return source

    def dual_point(self) -> np.ndarray:
        """The best dual point known: that of `source`, else the slopes of the losses there."""
        if self.lower is not None and callable(self.lower.dual_point):
            self.lower = self.lower._replace(dual_point=self.lower.dual_point())
        source = self.source()
        if source.dual_point is not None:
            return materialize(source.dual_point)
        return certifier_of(self.problem).slopes_at(self.problem, source.coef, source.intercept)

    def stop_asked(self, iterate: Iterate, name: str) -> bool:
        state = State(
            self.iteration, self.oracle.passes, self.seconds,
            self.primal, self.lower.dual if self.lower else -np.inf,
            iterate.coef, iterate.intercept, name,
        )  # fmt: skip
        try:
            return self.callback is not None and bool(self.callback(state))
        except KeyboardInterrupt:
            raise
        except Exception as error:
            raise SolveError(f"the callback raised {type(error).__name__}: {error}", self.partial()) from error

    def restart(self, begin: Start) -> Start:
        if self.best is None:
            return begin
        u = self.dual_point() if self.lower is not None else None
        return begin._replace(coef=self.best.coef, intercept=self.best.intercept, dual_point=u, memory=None)

    def partial(self) -> Result | None:
        return self.result(Status.STALLED) if self.best is not None else None

    def result(self, status: Status) -> Result:
        """The result, with a certificate of the best iterate; the recomputed certificate decides about the status."""
        if self.best is None:
            coef = self.problem.regularizer.start(self.problem.d)
            self.best = Iterate(coef, 0.0, np.inf, -np.inf)
        if self.certified is None or self.certified_best is not self.best or self.gap() < 0.5 * self.certified_gap:
            self.certify_best()
        assert self.certified is not None
        found = self.certified[0]
        if found.holds(self.tol):
            status = Status.CERTIFIED
        elif status is Status.STALLED and np.isfinite(found.dual) and not is_convex(self.problem):
            status = Status.BOUNDED
        result = self.made(status)
        log.info("%s", result)
        return result

    def made(self, status: Status) -> Result:
        """A Result of what was certified last."""
        assert self.certified is not None
        found, iterate, point = self.certified
        coef, intercept = self.problem.present(iterate.coef, iterate.intercept)
        return Result(
            coef=coef, intercept=intercept,
            dual_point=point if math.isfinite(found.dual) else None,
            certificate=found, status=status, tol=float(self.tol),
            n_iter=self.iteration, passes=self.oracle.passes, seconds=self.seconds, trace=tuple(self.trace),
            solver=" then ".join(self.names), reason="; then ".join(self.reasons), problem=self.problem,
            settings=dict(self.settings), compile_seconds=self.compile_seconds(),
        )  # fmt: skip

    def compile_seconds(self) -> float:
        """Seconds spent compiling kernels during the solve, which its `seconds` exclude."""
        now = CLOCK.read()
        seconds, kernels = now.seconds - self.compiled.seconds, now.kernels - self.compiled.kernels
        if kernels:
            log.info("compiled %d kernels in %.3g s", kernels, seconds)
        return seconds
