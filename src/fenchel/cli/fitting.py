"""Solve the problems of a task and make a model from the results."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fenchel.cli.problem_options import asked_constant, with_constant
from fenchel.cli.progress import Progress
from fenchel.cli.reading import Rows
from fenchel.cli.tasks import Task

if TYPE_CHECKING:
    from argparse import _ActionsContainer

    from fenchel.problems.kinds_of_loss import AnyLoss
    from fenchel.regularizers import Regularizer
    from fenchel.result import Result


def add_solving(group: _ActionsContainer, tol: str = "1e-6") -> None:
    """Add the option for the tolerance."""
    group.add_argument(
        "-e", "--tol", dest="tol", type=float, metavar="T", help=f"relative gap to be certified (default: {tol})"
    )


def add_limits(group: _ActionsContainer) -> None:
    """Add the options for limits and threads."""
    group.add_argument("--max-iter", type=int, metavar="N", help="iteration limit (per label)")
    group.add_argument("--max-time", type=float, metavar="SECONDS", help="time limit, without reading and compiling")
    group.add_argument("--threads", type=int, metavar="N", help="default: all cores; results do not depend on it")


def add_checkpoint(group: _ActionsContainer) -> None:
    """Add the options for checkpoints."""
    group.add_argument(
        "--checkpoint", metavar="FILE", help="write checkpoints to FILE; several labels: FILE.0, FILE.1, ..."
    )
    group.add_argument("--checkpoint-every", type=float, metavar="SECONDS", help="default: 60")
    group.add_argument(
        "--resume", action="store_true", help="continue from --checkpoint if it exists; bit-identical results"
    )


def places_of(arguments: Namespace, count: int) -> list[Any]:
    """The checkpoint of each solve; None without --checkpoint."""
    from fenchel.errors import InputError

    if getattr(arguments, "checkpoint", None) is None:
        if getattr(arguments, "resume", False) or getattr(arguments, "checkpoint_every", None) is not None:
            raise InputError("--resume and --checkpoint-every need --checkpoint FILE")
        return [None] * count
    from fenchel.solving.checkpoint import SECONDS, Checkpoint, checkpoints

    every = SECONDS if arguments.checkpoint_every is None else arguments.checkpoint_every
    return checkpoints(Checkpoint(arguments.checkpoint, every), count)


def problems(
    arguments: Namespace,
    X: Any,
    task: Task,
    loss: AnyLoss,
    penalty: Regularizer,
    weights: Sequence[Any],
) -> list[Any]:
    """One problem, or one per label."""
    from fenchel.models.roles import without_offset
    from fenchel.problems.scalar import Problem

    X, offset = without_offset(with_constant(X, asked_constant(arguments)))
    if getattr(arguments, "standardize", False):
        from fenchel.data.deviations import column_deviations

        # One penalty for all problems of a model; so if their weights differ, none of these is the one to standardize by.
        penalty = penalty.standardized(column_deviations(X, weights[0] if len(weights) == 1 else None))
    rest = {"loss": loss, "regularizer": penalty, "fit_intercept": arguments.intercept, "groups": task.groups}
    if offset is not None:
        rest["offset"] = offset
    return [Problem(X, y, sample_weight=s, **rest) for y, s in zip(task.targets, weights, strict=True)]


def solve_all(arguments: Namespace, wanted: list[Any]) -> list[Any]:
    """One Result per problem; after Ctrl-C the problems that were not solved yet get a certified starting point."""
    from fenchel.compile.clock import CLOCK
    from fenchel.engines import Local
    from fenchel.result import Status
    from fenchel.solving.solve import solve

    engine, began = Local(arguments.threads), CLOCK.other_time()
    places, resume = places_of(arguments, len(wanted)), getattr(arguments, "resume", False)

    def fit(j: int, limit: int | None) -> Any:
        seconds = arguments.max_time
        if seconds is not None and j > 0:  # the remaining time is shared by the remaining problems
            seconds = max((seconds - (CLOCK.other_time() - began)) / (len(wanted) - j), 1e-3 * seconds)
        keep = {"checkpoint": places[j], "resume": resume}
        return solve(wanted[j], arguments.solver, arguments.tol, limit, seconds, progress, engine=engine, **keep)

    results: list[Any] = []
    stopped = False
    with Progress(arguments.tol, arguments.quiet) as progress:
        for j in range(len(wanted)):
            progress.begin(f"label {j + 1} of {len(wanted)}  " if len(wanted) > 1 else "")
            try:
                result = fit(j, 0 if stopped else arguments.max_iter)
            except KeyboardInterrupt:
                if stopped or not results:  # interrupted twice, or there is no result yet
                    raise
                stopped = True
                result = fit(j, 0)
            if stopped and result.status is not Status.CERTIFIED:
                result = replace(result, status=Status.INTERRUPTED)
            stopped = stopped or result.status is Status.INTERRUPTED
            results.append(result)
    return results


def unstopped(results: Sequence[Result]) -> Any:
    """The results; KeyboardInterrupt after Ctrl-C, since an incomplete set of solves is of no use here."""
    from fenchel.result import Status

    if any(result.status is Status.INTERRUPTED for result in results):
        raise KeyboardInterrupt
    return results


def model_of(results: list[Any], data: Rows, task: Task, constant: float | None, keep_dual: bool = True) -> Any:
    """The model of one Result, or of one per label."""
    from fenchel.models.model import Model

    return Model.from_results(
        results, labels=task.labels, index_base=data.index_base, keep_dual=keep_dual, constant=constant,
        feature_names=data.features, thresholds=_thresholds(task, results[0]), target=data.target, dropped=data.dropped,
        preparation=data.preparation, roles=data.roles or None,
    )  # fmt: skip


def _thresholds(task: Task, result: Result) -> list[float] | None:
    """The thresholds between the labels of a measure."""
    import numpy as np

    from fenchel.estimators.cuts import best_threshold, best_thresholds, level_costs

    problem = result.problem
    if not problem.is_measure or task.labels is None:
        return None
    z, y = np.asarray(problem.X @ result.coef), np.asarray(problem.y)
    if problem.loss.task != "ordinal":
        return [best_threshold(problem.loss, z, y > 0.0)]
    return best_thresholds(z, y.astype(int), level_costs(problem.loss, len(task.labels))).tolist()
