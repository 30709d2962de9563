"""`fenchel.solve`: validate the arguments, choose solvers, and run them in `solving/loop.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.data.blas import one_blas_thread
from fenchel.data.row_blocks import limit_threads
from fenchel.errors import InputError
from fenchel.oracles import oracle_of
from fenchel.result import Result
from fenchel.solving.loop import Run, State

if TYPE_CHECKING:
    import os

    from fenchel.problems.scalar import Problem
    from fenchel.solving.checkpoint import Checkpoint

if TYPE_CHECKING:  # solvers and oracles are imported by the first solve that needs them
    from fenchel.selection.rules import Choices
    from fenchel.solvers.base import Solver, Start


def solve(
    problem: Problem,
    solver: str | Solver = "auto",
    tol: float = 1e-6,
    max_iter: int | None = None,
    max_time: float | None = None,
    callback: Callable[[State], Any] | None = None,
    start: object | None = None,
    engine: Any = None,
    checkpoint: Any = None,
    resume: bool = False,
    until: Any = None,
) -> Result:
    """Solve a problem to a certified relative gap.

    Parameters
    ----------
    problem : Problem, or a `fenchel.kernel_methods.KernelProblem`.
    solver : "auto", a name, or a solver object with its parameters.
    tol : the relative gap (P - D) / |P| that the certificate must show.
    max_iter, max_time : limits (seconds include the certificate, but not the compilation of kernels, which only the first
        solve of its kind needs: `Result.compile_seconds`); None means no limit. A solve always ends: when the gap no longer
        decreases, the status is STALLED.
    callback : called with a `State` after every iteration; a true return value stops the solve.
    start : a Result, or (coef, intercept), or (coef, intercept, dual_point), to start from.
    engine : where the rows are and how sums over them are computed; default `fenchel.engines.Local()`, all cores of this
        machine.
    checkpoint : a path, or `fenchel.Checkpoint(path, seconds=60)`: the file to which the state of the solve is written every
        so many seconds (and for at most a few percent of the time), and at its end. A killed solve loses no more than that, or,
        with a solver that is restarted (`fenchel.solving.checkpoint`), a third of its iterations (slow solvers: half).
    resume : whether to continue from the checkpoint, if there is one, with results bit-identical to those of an uninterrupted
        solve with `checkpoint`. A damaged file is ignored with a warning in the log; one of another problem, solver or version
        raises a CheckpointError. `max_iter` includes the earlier iterations, `max_time` excludes the earlier seconds; `start`
        is ignored.
    until : `fenchel.Decisions(X)`: stop before tol, with the status DECIDED, as soon as no decision on the rows of X can
        change. Checked whenever the gap has halved.

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
    if until is not None:
        _require_until(problem, until)
    engine = getattr(problem, "home", None) if engine is None else engine
    with (
        limit_threads(getattr(engine, "threads", None)),
        one_blas_thread(),  # from the beginning, because idle BLAS threads occupy a core for some 20 ms
        np.errstate(all="ignore"),  # overflow is detected by its result, here and in the certificate
    ):
        by_tol = tol if checkpoint is None else 0.0  # resuming with another tol must choose the same solvers
        choices = _choices(problem, solver, getattr(engine, "remote", False), by_tol)
        writer = _checkpoint_writer(checkpoint, problem, solver, choices)
        run = Run(problem, tol, max_iter, max_time, callback, oracle_of(problem, engine), writer, until)
        try:
            return run.run_choices(choices, _start(problem, start), resume)
        finally:
            run.oracle.close()


def _checkpoint_writer(
    checkpoint: Checkpoint | str | os.PathLike[str] | None, problem: Problem, solver: str | Solver, choices: Choices
) -> Any:
    if checkpoint is None:
        return None
    from fenchel.solving.checkpoint import CheckpointWriter

    return CheckpointWriter(checkpoint, problem, "auto" if solver == "auto" else choices.found[0].solver)


def _choices(problem: Problem, solver: str | Solver, remote: bool, tol: float) -> Choices:
    """The solvers to try; kernel problems bring their own."""
    choose = getattr(problem, "choices", None)
    return choices_of(problem, solver, remote, tol) if choose is None else choose(solver, remote, tol)


def choices_of(problem: Problem, solver: str | Solver, remote: bool, tol: float) -> Choices:
    """The solvers for problems with rows of features: what was asked for, or what the rules of "auto" offer."""
    from fenchel import solvers
    from fenchel.selection import requirements, rules

    if solver == "auto":
        source = rules.offers(problem, remote, tol)
    else:
        chosen = solvers.make(solver)
        requirements.require_fit(chosen, problem, remote)
        source = iter([rules.Choice(chosen, "requested")])
    choices = rules.Choices(source)
    choices.get(0)  # raises now if no solver fits the problem
    return choices


def _validate(tol: float, max_iter: int | None, max_time: float | None, callback: object) -> None:
    if not (isinstance(tol, (int, float, np.number)) and 0.0 < tol < np.inf):
        raise InputError(f"tol must be a number greater than 0 (the relative gap), got {tol!r}")
    if max_iter is not None and not (isinstance(max_iter, (int, np.integer)) and max_iter >= 0):
        raise InputError(f"max_iter must be None or an integer of at least 0, got {max_iter!r}")
    if max_time is not None and not (isinstance(max_time, (int, float, np.number)) and max_time > 0):
        raise InputError(f"max_time must be None or a number of seconds greater than 0, got {max_time!r}")
    if callback is not None and not callable(callback):
        raise InputError(f"callback must be callable, got {callback!r}")


def _require_until(problem: Problem, until: Any) -> None:
    if not hasattr(until, "settled"):
        raise InputError(f"until must be fenchel.Decisions(X), got {until!r}")
    if getattr(problem, "remote", False):
        raise InputError("until needs the rows in this process: decisions are not proven for data on a cluster")
    until.require(problem)


def _start(problem: Problem, start: object) -> Start:
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
