"""Paper 000, figures 1-4 and appendix D: primal error and test accuracy against iterations and time.

Pragam, Pragam-b (with a free intercept: only its test accuracy is compared, its problem is another one), ls-bmrm, qp-bmrm,
Pegasos-n, Pegasos-1, dual ascent (the method of liblinear) and semismooth Newton, on the hinge loss with the paper's lambdas.
The error is min over t' <= t of P(w_t') - P*, P* from a run certified at 1e-9; the accuracy is that of the w_t' with the
least P. Clocks stand still while the test part is looked at.

Data: adult9 is a9a, web8 is w8a (a tenth held out: its test part is not among our data), covertype is covtype with columns
scaled to [0, 1] (the paper did not scale; unscaled, no first-order method gets anywhere in reasonable time), news20 is
20news-bydate, even against odd classes, and for the two sets of RCV1, which we do not have, Reuters-21578 "acq" with
lambda 2^-19. Iterations: an epoch for dual ascent and Pegasos-1. Each solver may take --seconds (default 10) per data set.

    python -m experiments.pragam_comparison [--small] [--data a9a w8a ...] [--seconds 10]

About 8 minutes: the seconds of every solver on five data sets, and the reference runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import fenchel
from experiments import common, data
from fenchel.solvers import Bundle, DualAscent, Pegasos, Pragam, SemismoothNewton, Solver


class Setting(NamedTuple):
    """A data set with the paper's lambda."""

    load: Callable[[], data.Binary]
    alpha: float


SETTINGS = {
    "a9a": Setting(data.a9a, 2.0**-18),
    "w8a": Setting(data.w8a, 2.0**-17),
    "covtype": Setting(data.covtype, 2.0**-17),
    "20news": Setting(data.news20, 2.0**-14),
    "reuters": Setting(data.reuters_topic, 2.0**-19),
}
SMALL = {"generated": Setting(data.small_binary, 2.0**-6)}
SOLVERS: dict[str, tuple[Solver, bool]] = {  # with a free intercept?
    "Pragam": (Pragam(), False),
    "Pragam-b": (Pragam(), True),
    "ls-bmrm": (Bundle(line_search=True), False),
    "qp-bmrm": (Bundle(level=False), False),
    "Pegasos-n": (Pegasos(), False),
    "Pegasos-1": (Pegasos(batch=1), False),
    "dual ascent": (DualAscent(), False),
    "semismooth Newton": (SemismoothNewton(), False),
}
FEW = 1000  # features with which semismooth Newton is tried
ERRORS = (1e-2, 1e-3, 1e-5)


class Curve(NamedTuple):
    """What a run leaves behind: the trace, and test accuracies."""

    iterations: np.ndarray
    seconds: np.ndarray
    best: np.ndarray  # min P so far
    seen: np.ndarray  # iterations at which the test part was looked at
    seen_seconds: np.ndarray
    accuracy: np.ndarray
    status: str


class Watch:
    """Test accuracy (%) of the iterate with the least P so far; the clock stands still meanwhile."""

    def __init__(self, X: Any, y: np.ndarray):
        self.X, self.y, self.best, self.last = X, y, np.inf, np.nan
        self.history = common.History(self.measure, rarely=True)
        self.state: Any = None

    def __call__(self, state: Any) -> bool:
        self.state = state
        return self.history(state)

    def measure(self, w: np.ndarray, b: float) -> float:
        if self.state.primal < self.best:  # it fell since the last look: this iterate is the one, or near it
            self.best = self.state.primal
            self.last = 100.0 * float(np.mean((self.X @ w + b > 0.0) == (self.y > 0.0)))
        return self.last


def follow(solver: Solver, problem: fenchel.Problem, sets: data.Binary, seconds: float) -> Curve:
    fenchel.solve(problem, solver=solver, max_iter=3)  # compile first
    watch = Watch(sets.X_test, sets.y_test)
    result = fenchel.solve(problem, solver=solver, tol=1e-9, max_time=seconds, callback=watch)
    trace, history = result.trace, watch.history
    pause = np.interp([p.seconds for p in trace], history.seconds_with_pauses, history.pauses)
    return Curve(
        np.array([p.iteration for p in trace]), np.array([p.seconds for p in trace]) - pause,
        common.running_best([p.primal for p in trace]),
        np.array(history.iterations), np.array(history.seconds), np.array(history.values), result.status.name,
    )  # fmt: skip


def compare(name: str, setting: Setting, seconds: float) -> tuple[list[list[Any]], list[common.Panel]]:
    """Rows of the table and the four panels of one data set."""
    sets = setting.load()
    problems = {
        free: fenchel.Problem(sets.X, sets.y, loss="hinge", alpha=setting.alpha, fit_intercept=free)
        for free in (False, True)
    }
    reference = fenchel.solve(problems[False], tol=1e-9, max_time=60.0)
    curves = {
        label: follow(solver, problems[free], sets, seconds)
        for label, (solver, free) in SOLVERS.items()
        if not (isinstance(solver, SemismoothNewton) and sets.X.shape[1] > FEW)
    }
    least = min([reference.certificate.primal, *(c.best[-1] for k, c in curves.items() if not SOLVERS[k][1])])
    known = (least - reference.certificate.dual) / least
    print(f"{name}: P* = {least:.10g}, known to a relative {known:.1e} ({reference.solver}, {reference.seconds:.1f} s)")
    return [row(name, label, c, least) for label, c in curves.items()], panels(name, curves, least)


def row(name: str, label: str, found: Curve, least: float) -> list[Any]:
    error = found.best - least
    times: list[Any] = [None] * len(ERRORS)
    if not SOLVERS[label][1]:
        for k, goal in enumerate(ERRORS):
            reached = np.flatnonzero(error <= goal * least)
            times[k] = f"{found.iterations[reached[0]]} / {found.seconds[reached[0]]:.2g}" if reached.size else None
    last = None if SOLVERS[label][1] else max(float(error[-1] / least), 0.0)
    return [name, label, *times, last, int(found.iterations[-1]), f"{found.accuracy[-1]:.2f}", found.status]


def panels(name: str, curves: dict[str, Curve], least: float) -> list[common.Panel]:
    """Error and accuracy, against iterations and against seconds."""

    def pick(value: Callable[[Curve], tuple[Any, Any]], free: bool) -> list[common.Curve]:
        # an empty line keeps the colours in step
        return [
            common.Curve(k, *(value(c) if free or not SOLVERS[k][1] else ([], []))) for k, c in curves.items()
        ]  # fmt: skip

    return [
        common.Panel(name, pick(lambda c: (c.iterations + 1, c.best - least), False), "iterations", "P - P*", "xy"),
        common.Panel(name, pick(lambda c: (c.seconds, c.best - least), False), "seconds", "P - P*", "xy"),
        common.Panel(name, pick(lambda c: (c.seen + 1, c.accuracy), True), "iterations", "test accuracy (%)", "x"),
        common.Panel(name, pick(lambda c: (c.seen_seconds, c.accuracy), True), "seconds", "test accuracy (%)", "x"),
    ]


def main(argv: Sequence[str] | None = None) -> None:
    parser = common.arguments(
        __doc__,
        data={"nargs": "+", "default": list(SETTINGS), "choices": list(SETTINGS)},
        seconds={"type": float, "default": 10.0, "help": "for each solver on each data set"},
    )
    args = parser.parse_args(argv)
    settings = SMALL if args.small else {name: SETTINGS[name] for name in args.data}
    rows, drawn = [], []
    for name, setting in settings.items():
        new_rows, new_panels = compare(name, setting, 0.5 if args.small else args.seconds)
        rows += new_rows
        drawn += new_panels
    reach = [f"iterations / s to {goal:g}" for goal in ERRORS]
    header = ["data", "solver", *reach, "last error", "iterations", "test accuracy", "end"]
    note = "Errors are relative to P*. An iteration of dual ascent and of Pegasos-1 is an epoch."
    text = f"# Primal error and test accuracy\n\n{note}\n\n" + common.markdown(header, rows)
    common.write(args.out, "pragam_comparison", text)
    common.plot(args.out, "pragam_comparison", drawn, columns=4)


if __name__ == "__main__":
    main()
