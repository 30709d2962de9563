"""The only loop: pull iterates, record, stop on gap, time, iterations or callback, recompute the certificate, report.

A solver's numbers decide only *when* the certificate is recomputed. The status comes from the recomputed one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from fenchel.certify import judge_of
from fenchel.data.walk import at_most
from fenchel.errors import InputError, SolveError
from fenchel.pace import Pace
from fenchel.result import Certificate, Iterate, Result, Status, TracePoint

if TYPE_CHECKING:  # solvers and oracles are imported by the first solve that needs them
    from fenchel.choose import Choice
    from fenchel.solvers.base import Solver, Start

log = logging.getLogger("fenchel")

ORACLES = {
    "scalar": "oracle.Oracle",
    "vector": "vector_oracle.VectorOracle",
    "set": "set_oracle.SetOracle",
    "structured": "structured_oracle.StructuredOracle",
}


class State(NamedTuple):
    """What a callback sees after every iteration."""

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


def solve(
    problem: Any,
    solver: str | Solver = "auto",
    tol: float = 1e-6,
    max_iter: int | None = None,
    max_time: float | None = None,
    callback: Callable[[State], Any] | None = None,
    start: Any = None,
    engine: Any = None,
) -> Result:
    """Solve a problem to a certified relative gap.

    Parameters
    ----------
    problem : Problem
    solver : "auto", a name, or a solver object with its parameters.
    tol : the relative gap (P - D) / |P| that the certificate must show.
    max_iter, max_time : limits (seconds include the certificate); None means none. A solve always ends: when the gap no
        longer shrinks the status is STALLED.
    callback : called with a `State` after every iteration; a true return value stops the solve.
    start : a Result, or (coef, intercept), or (coef, intercept, dual_point), to start from.
    engine : where the rows live; default `fenchel.engines.Local()`, all cores of this machine.

    Returns
    -------
    Result, with the certificate recomputed from the definitions; Ctrl-C returns the best iterate so far, certified.

    Examples
    --------
    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 3.0], loss="absolute", alpha=0.1)
    >>> result = fenchel.solve(problem)
    >>> result.status.name, result.certificate.relative_gap <= 1e-6
    ('CERTIFIED', True)
    """
    _validate(tol, max_iter, max_time, callback)
    with (
        at_most(getattr(engine, "threads", None)),
        one_blas_thread(),  # also for what comes before: idle BLAS threads keep a core busy for some 20 ms
        np.errstate(all="ignore"),  # what overflows is found by its value, here and in the certificate
    ):
        choices = _choices(problem, solver)
        run = Run(problem, tol, max_iter, max_time, callback, _oracle(problem, engine))
        begin = _start(problem, start)
        for choice in choices:
            status = run.with_solver(choice, begin, last=choice is choices[-1])
            if status is not Status.STALLED and status is not Status.NONFINITE:
                break
            begin = run.restart(begin)
        try:
            return run.result(status)
        except KeyboardInterrupt:  # during the last certificate: what is known so far needs one
            return run.result(Status.INTERRUPTED)


def _oracle(problem: Any, engine: Any) -> Any:
    module, name = ORACLES[problem.family].split(".")
    return getattr(import_module(f"fenchel.{module}"), name)(problem, engine)


def _choices(problem: Any, solver: str | Solver) -> list[Choice]:
    from fenchel import choose, compat, solvers

    if solver == "auto":
        return choose.candidates(problem)
    chosen = solvers.make(solver)
    compat.require_fit(chosen, problem)
    return [choose.Choice(chosen, "asked for")]


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  its BLAS is one of its own, and must be there to be found

    return ThreadpoolController()


def one_blas_thread() -> Any:
    """Small matrices gain nothing from BLAS threads and lose much when cores are busy; our threads walk row blocks."""
    return _controller().limit(limits=1, user_api="blas")


def _validate(tol: Any, max_iter: Any, max_time: Any, callback: Any) -> None:
    if not (isinstance(tol, (int, float, np.number)) and 0.0 < tol < np.inf):
        raise InputError(f"tol must be a number greater than 0 (the relative gap), got {tol!r}")
    if max_iter is not None and not (isinstance(max_iter, (int, np.integer)) and max_iter >= 0):
        raise InputError(f"max_iter must be None or an integer of at least 0, got {max_iter!r}")
    if max_time is not None and not (isinstance(max_time, (int, float, np.number)) and max_time > 0):
        raise InputError(f"max_time must be None or a number of seconds greater than 0, got {max_time!r}")
    if callback is not None and not callable(callback):
        raise InputError(f"callback must be callable, got {callback!r}")


def _start(problem: Any, start: Any) -> Start:
    from fenchel.solvers.base import Start

    if start is None:
        return Start(problem.regularizer.start(problem.d))
    if isinstance(start, Result):
        start = (start.coef, start.intercept, start.dual_point)
    if not isinstance(start, tuple) or not 1 <= len(start) <= 3:
        raise InputError("start must be a Result, (coef, intercept) or (coef, intercept, dual_point)")
    coef, b = problem.variables(start[0], start[1] if len(start) > 1 and problem.has_intercept else 0.0)
    u = start[2] if len(start) > 2 else None
    if u is not None:
        u = problem.dual_like(u)
    if not np.isfinite(problem.regularizer.value(coef)):
        coef = problem.regularizer.start(problem.d)
    return Start(coef, b, u)


class Run:
    """One solve: the best iterates, the trace, the limits."""

    def __init__(self, problem, tol, max_iter, max_time, callback, oracle):
        self.problem, self.tol, self.oracle, self.callback = problem, tol, oracle, callback
        self.max_iter = np.inf if max_iter is None else max_iter
        self.max_time = np.inf if max_time is None else max_time
        self.began = time.perf_counter()
        self.trace: list[TracePoint] = []
        self.iteration = 0
        self.best: Iterate | None = None  # lowest primal value claimed
        self.primal = np.inf
        self.lower: Iterate | None = None  # highest dual value claimed
        self.certified: tuple[Certificate, Iterate, np.ndarray] | None = None
        self.certify_seconds = 0.0
        self.certified_at = 0.0
        self.names: list[str] = []
        self.reasons: list[str] = []
        self.settings: dict[str, Any] = {"max_iter": max_iter, "max_time": max_time, "solvers": ()}
        if hasattr(oracle, "engine"):
            self.settings["threads"] = getattr(oracle.engine, "threads", None)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    def with_solver(self, choice: Choice, begin: Start, last: bool) -> Status:
        """Run one solver until something says stop."""
        name = type(choice.solver).__name__
        self.names.append(name)
        self.reasons.append(f"{name}: {choice.reason}")
        self.settings["solvers"] += (choice.solver,)
        self.pace = Pace(choice.solver, self.iteration, self.oracle.passes, choice.passes, last)
        self.rebuilds, self.solver_began = choice.solver.rebuilds, self.seconds
        self.certified_gap = np.inf
        iterates = choice.solver.iterates(self.oracle, begin)
        try:
            return self.pull(iterates, name)
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        except (InputError, SolveError, MemoryError):
            raise
        except Exception as error:
            raise SolveError(f"{name} failed: {type(error).__name__}: {error}", self.partial()) from error
        finally:
            iterates.close()  # type: ignore[attr-defined]

    def pull(self, iterates: Any, name: str) -> Status:
        for iterate in iterates:
            self.record(iterate)
            if iterate.primal is not None and not self.usable(iterate):
                return Status.NONFINITE
            if (self.due(iterate) or self.rehearse()) and self.certify_best():
                return Status.CERTIFIED
            if self.callback is not None and self.stop_asked(iterate, name):
                return Status.STOPPED_BY_CALLBACK
            if self.iteration >= self.max_iter:
                return Status.MAX_ITER
            if self.seconds + self.last_certificate() >= self.max_time:
                return Status.MAX_TIME
            if self.pace.stalled(self.iteration) or self.pace.too_slow(self.iteration, self.tol * abs(self.primal)):
                return Status.STALLED
            self.iteration += 1
        return Status.STALLED

    def rehearse(self) -> bool:
        """At half of the time allowed, if there was no certificate yet: to learn what it costs."""
        return self.certify_seconds == 0.0 and self.best is not None and self.seconds > 0.5 * self.max_time

    def last_certificate(self) -> float:
        """Seconds to be kept for it."""
        return 1.5 * self.certify_seconds + (1.7 * (self.seconds - self.solver_began) if self.rebuilds else 0.0)

    def record(self, iterate: Iterate) -> None:
        """Into the trace, and among the best."""
        if iterate.primal is None:
            return
        self.trace.append(TracePoint(self.iteration, self.oracle.passes, self.seconds, iterate.primal, iterate.dual))
        self.pace.record(self.iteration, self.oracle.passes, iterate.primal, iterate.dual)
        if np.isfinite(iterate.primal) and iterate.primal < self.primal and self.sound(iterate):
            self.best, self.primal = iterate, iterate.primal
        if self.lower is not None and self.lower.dual > self.primal + 1e-9 * abs(self.primal):
            self.lower = None  # no bound lies above a value that is attained: that claim was false
        if np.isfinite(iterate.dual) and (self.lower is None or iterate.dual > self.lower.dual):
            self.lower = iterate

    def usable(self, iterate: Iterate) -> bool:
        return self.best is not None and self.sound(iterate) and iterate.primal == iterate.primal

    def sound(self, iterate: Iterate) -> bool:
        """Coefficients that compiled code may walk and that mean something."""
        coef = iterate.coef
        return coef.shape == (self.problem.d,) and bool(np.isfinite(coef).all() and np.isfinite(iterate.intercept))

    def gap(self) -> float:
        if self.best is None or self.lower is None:
            return np.inf
        return self.primal - self.lower.dual

    def due(self, iterate: Iterate) -> bool:
        """Recompute when the claimed gap is small enough, or, for solvers that claim none, when it has become cheap."""
        if self.best is None:
            return False
        gap, goal = self.gap(), self.tol * abs(self.primal)
        if np.isfinite(gap) and not np.isnan(iterate.dual):
            if gap > goal:
                return False
            # A claim that failed is believed again only when it has become much better, or after some time.
            return gap <= 0.5 * self.certified_gap or self.since_certified() > 5.0 * self.certify_seconds
        return iterate.primal is not None and self.since_certified() > 9.0 * self.certify_seconds

    def since_certified(self) -> float:
        return self.seconds - self.certified_at

    def certify_best(self) -> bool:
        """Recompute the certificate of the best iterate; True if it holds at tol."""
        began = time.perf_counter()
        best = self.best
        assert best is not None
        u = self.dual_point()
        found, point = judge_of(self.problem).certificate(self.problem, best.coef, best.intercept, u)
        if self.lower is not None and found.dual < self.lower.dual:  # a claim too good: the truth counts from now on
            self.lower = self.lower._replace(dual=found.dual, dual_point=point)
            self.pace.dual = min(self.pace.dual, found.dual)
        self.certified_gap = self.gap()
        old = self.certified
        if old is not None and old[0].dual > found.dual:  # every dual point ever certified remains a bound
            found = Certificate(found.primal, old[0].dual, found.basis, max(found.floor, old[0].floor))
            point = old[2]
        self.certified = (found, best, point)
        self.certify_seconds = max(0.7 * self.certify_seconds, time.perf_counter() - began)
        self.certified_at = self.seconds
        return found.holds(self.tol)

    def dual_point(self) -> np.ndarray:
        """The best dual point known: the one with the highest claimed value, else the slopes at the best iterate."""
        source = self.lower if self.lower is not None else self.best
        assert source is not None
        if source.dual_point is not None:
            return source.dual_point() if callable(source.dual_point) else source.dual_point
        return judge_of(self.problem).slopes_at(self.problem, source.coef, source.intercept)

    def stop_asked(self, iterate: Iterate, name: str) -> bool:
        state = State(
            self.iteration, self.oracle.passes, self.seconds,
            self.primal, self.lower.dual if self.lower else -np.inf,
            iterate.coef, iterate.intercept, name,
        )  # fmt: skip
        try:
            return bool(self.callback(state))
        except KeyboardInterrupt:
            raise
        except Exception as error:
            raise SolveError(f"the callback raised {type(error).__name__}: {error}", self.partial()) from error

    def restart(self, begin: Start) -> Start:
        if self.best is None:
            return begin
        u = self.dual_point() if self.lower is not None else None
        return begin._replace(coef=self.best.coef, intercept=self.best.intercept, dual_point=u)

    def partial(self) -> Result | None:
        return self.result(Status.STALLED) if self.best is not None else None

    def result(self, status: Status) -> Result:
        """Certify what there is; the recomputed certificate has the last word on the status."""
        if self.best is None:
            coef = self.problem.regularizer.start(self.problem.d)
            self.best = Iterate(coef, 0.0, np.inf, -np.inf)
        if self.certified is None or self.certified[1] is not self.best or self.gap() < 0.5 * self.certified_gap:
            self.certify_best()
        assert self.certified is not None
        found, iterate, point = self.certified
        if found.holds(self.tol):
            status = Status.CERTIFIED
        coef, intercept = self.problem.present(iterate.coef, iterate.intercept)
        result = Result(
            coef=coef, intercept=intercept,
            dual_point=point if np.isfinite(found.dual) else None,
            certificate=found, status=status, tol=float(self.tol),
            n_iter=self.iteration, passes=self.oracle.passes, seconds=self.seconds, trace=tuple(self.trace),
            solver=" then ".join(self.names), reason="; then ".join(self.reasons), problem=self.problem,
            settings=dict(self.settings),
        )  # fmt: skip
        log.info("%s", result)
        return result
