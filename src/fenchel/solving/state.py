"""Convert the state of a run to a checkpoint and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.result import Iterate, TracePoint

if TYPE_CHECKING:
    from fenchel.solvers.base import Start
    from fenchel.solving.loop import Run


def state_of(run: Run, iterate: Iterate, iteration: int) -> dict[str, Any]:
    """The state from which to continue after this iterate: the solver's memory if it has one, else the point."""
    start = {"coef": iterate.coef, "intercept": iterate.intercept}
    if iterate.memory is not None:
        start["memory"] = iterate.memory()
    else:
        start["dual_point"] = materialize(iterate.dual_point)
    if run.lower is not None:
        run.dual_point()  # computed once
    return {
        "number": run.number, "iteration": iteration, "start": start, "pace": run.pace.kept(),
        "best": _plain(run.best), "lower": _plain(run.lower), "trace": np.array(run.trace).reshape(-1, 5),
        "names": run.names, "reasons": run.reasons, "passes": run.oracle.passes, "seconds": run.seconds,
    }  # fmt: skip


def recall(run: Any, kept: dict[str, Any]) -> Start:
    """Restore a run from a checkpoint and return where its solver starts. Certificates are never stored."""
    from fenchel.solvers.base import Start

    run.iteration = kept["iteration"] + 1
    run.best, run.lower = (Iterate(*kept[name]) if kept[name] else None for name in ("best", "lower"))
    run.primal = np.inf if run.best is None else run.best.primal
    run.trace = [TracePoint(int(row[0]), *row[1:]) for row in kept["trace"].tolist()]
    run.names, run.reasons = kept["names"], kept["reasons"]
    run.oracle.passes = kept["passes"]
    run.certified, run.certified_gap = None, np.inf
    return Start(**kept["start"])


def materialize(point: object) -> Any:
    """The dual point itself; `point` may be a function that computes it.

    >>> materialize(lambda: 1.0), materialize(2.0)
    (1.0, 2.0)
    """
    return point() if callable(point) else point


def _plain(iterate: Iterate | None) -> list[Any] | None:
    return None if iterate is None else [*iterate[:4], materialize(iterate.dual_point)]
