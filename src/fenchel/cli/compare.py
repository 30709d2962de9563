"""fenchel compare DATA --loss A,B --penalty A,B --solver A,B"""

from __future__ import annotations

import itertools
import math
from argparse import Namespace
from typing import TYPE_CHECKING, Any, NamedTuple

from fenchel.cli.fitting import add_limits, add_solving, model_of, problems, unstopped
from fenchel.cli.options import ALIASES, loss_of, measure_of, pairs, penalty_of
from fenchel.cli.prepared import add_as_is, add_roles, intercept_for, is_prepared, likely_loss
from fenchel.cli.problem_options import add_intercept, add_strength, alpha_of, asked_constant, asked_weights
from fenchel.cli.progress import Progress
from fenchel.cli.reading import add_drop, add_reading, add_svmlight, read, table_kind
from fenchel.cli.reporting import add_report, check_report, write_report
from fenchel.cli.tasks import arrange, queries_for, with_positive
from fenchel.cli.terminal import CleanParser, as_json, table
from fenchel.errors import IncompatibleError

if TYPE_CHECKING:
    from fenchel.cli.reading import Rows
    from fenchel.cli.tasks import Task
    from fenchel.problems.kinds_of_loss import AnyLoss
    from fenchel.regularizers import Regularizer
    from fenchel.result import Result

TOL, GAP_LEFT = 1e-6, 3
EPILOG = """\
Every combination is solved to tol; gaps are certified. `s to 1e-2` is the time in seconds until the objective
was within a relative distance of 1e-2 of the best certified lower bound for that loss and penalty. With
more than two labels and a loss of one score, times are sums and gaps are maxima over the labels. Parameters
follow a colon, as in huber:delta=0.5 or elastic_net:l1_ratio=0.2. Incompatible combinations are
listed with the reason. Each is solved --repeat times and the fastest run is shown, because the first run of a
kind also loads or compiles its code.
Quality is the first metric of fenchel evaluate, on the rows that --test-size holds out or else on those of
the fit, where it flatters.
JSON: tol, runs: [{loss, penalty, solver, quality: {metric, value}, status, primal, dual, relative_gap,
seconds, iterations, passes, within: {1e-02: seconds, ...}, trace: [[seconds, primal, dual], ...]}],
misfits: [{loss, penalty, solver, why}].

exit status: 0 all compatible combinations are certified, 3 a gap is above tol, 1 error, 2 wrong usage

example: fenchel compare a9a --loss hinge,logistic --solver auto,bundle,lbfgs -c 1
"""
LEVELS = (1e-1, 1e-2, 1e-4)


class Run(NamedTuple):
    """One combination, solved."""

    loss: str
    penalty: str
    solver: str
    results: list[Any]
    quality: tuple[str, float]  # the default metric of fenchel evaluate, and its value

    @property
    def worst(self) -> Any:
        return max((r.certificate for r in self.results), key=lambda certificate: certificate.relative_gap)

    @property
    def seconds(self) -> float:
        return sum(result.seconds for result in self.results)

    @property
    def status(self) -> str:
        return next((r.status.name for r in self.results if not r.converged), "CERTIFIED")


def configure(parser: CleanParser) -> None:
    """Add the options."""
    parser.epilog, parser.usage = EPILOG, "%(prog)s DATA [--loss A,B] [--penalty A,B] [--solver A,B] [options]"
    parser.add_argument("data", metavar="DATA", help="svmlight text, table or folder of fenchel convert; -: stdin")
    parser.add_argument("--loss", metavar="NAMES", help="losses or measures (default: hinge; tables: by the target)")
    parser.add_argument("--penalty", metavar="NAMES", default="l2", help="default: l2")
    parser.add_argument("--solver", metavar="NAMES", default="auto", help="default: auto")
    add_strength(parser)
    add_solving(parser)
    add_reading(parser, training=True)
    add_drop(parser)
    parser.add_argument(
        "--test-size", type=float, metavar="F", help="tables: measure quality on this share of the rows"
    )
    add_report(parser)
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    add_intercept(parser.add_rare_group("intercept and weights"))
    add_as_is(parser, tables := parser.add_rare_group("columns of tables"))
    add_roles(tables)
    tables.add_argument("--seed", type=int, metavar="N", default=0, help="seed of --test-size (default: 0)")
    rare = parser.add_rare_group("solving and files")
    add_limits(rare)
    rare.add_argument(
        "--repeat", type=int, metavar="N", default=2, help="solve N times, show the fastest run (default: 2)"
    )
    add_svmlight(rare)
    rare.add_argument("-q", "--quiet", action="store_true", help="no progress line")


def check(parser: CleanParser, arguments: Namespace) -> None:
    """Check what argparse cannot check."""
    if arguments.repeat < 1:
        parser.error(f"--repeat must be at least 1, got {arguments.repeat}")


def run(arguments: Namespace) -> int:
    """Solve every combination, print the table."""
    arguments.tol = TOL if arguments.tol is None else arguments.tol
    check_report(arguments.report)
    likely = arguments.loss is None and is_prepared(arguments, table_kind(arguments))
    data = _read(arguments, [] if likely else [_loss(name) for name in (arguments.loss or "hinge").split(",")])
    arguments.loss = arguments.loss or (likely_loss(data) if likely else "hinge")
    names = arguments.loss.split(","), arguments.penalty.split(","), arguments.solver.split(",")
    losses, penalties = {name: _loss(name) for name in names[0]}, {name: _penalty(name) for name in names[1]}
    runs, misfits, asked = [], [], arguments.intercept
    for loss, penalty, solver in itertools.product(*names):
        arguments.intercept = intercept_for(arguments, asked, data, losses[loss])
        task = with_positive(arrange(data, losses[loss], arguments.data), arguments.positive, arguments.data)
        wanted = _problems(arguments, data, task, losses[loss], penalties[penalty])
        try:
            results = _fastest(arguments, wanted, solver, f"{loss} {penalty} {solver}  ")
        except IncompatibleError as error:
            misfits.append({"loss": loss, "penalty": penalty, "solver": solver, "why": str(error)})
            continue
        runs.append(Run(loss, penalty, solver, results, _quality(arguments, data, task, results)))
    if arguments.report is not None and runs:
        _report(arguments, runs)
    _print(arguments, runs, misfits)
    return 0 if all(each.status == "CERTIFIED" for each in runs) else GAP_LEFT


def _report(arguments: Namespace, runs: list[Run]) -> None:
    results = [result for each in runs for result in each.results]
    names = [
        f"{each.loss}, {each.penalty}, {each.solver}" + (f", label {j + 1}" if len(each.results) > 1 else "")
        for each in runs
        for j in range(len(each.results))
    ]
    write_report(arguments.report, results, f"Fenchel: {arguments.data}", arguments, names=names)


def _named(text: str) -> tuple[str, dict[str, Any]]:
    name, *words = text.split(":")
    return name, pairs(words, name + ":")


def _loss(text: str) -> Any:
    from fenchel.measures import MEASURES

    name, parameters = _named(text)
    of_all_rows = name in MEASURES or name in ALIASES
    return measure_of(name, parameters, None) if of_all_rows else loss_of(name, parameters, None)


def _penalty(text: str) -> Any:
    name, parameters = _named(text)
    return penalty_of(name, parameters, 1.0)


def _read(arguments: Namespace, losses: list[Any]) -> Rows:
    queries = {queries_for(loss) for loss in losses}
    return read(arguments, True if True in queries else "auto" if "auto" in queries else False)


def _quality(arguments: Namespace, data: Rows, task: Task, results: list[Any]) -> tuple[str, float]:
    """The default metric of fenchel evaluate on the rows that were held out, or on those of the fit."""
    import numpy as np

    from fenchel.cli.evaluate import assessed

    shown = data if data.test is None else data.test
    if hasattr(data.X, "folder") or shown.y is None:
        return "", math.nan
    model = model_of(results, data, task, asked_constant(arguments), keep_dual=False)
    quality, _ = assessed(model, shown, arguments)
    metric = quality.metrics[0]
    return metric.name, metric.value(np.ones(quality.size))


def _problems(arguments: Namespace, data: Rows, task: Task, loss: AnyLoss, penalty: Regularizer) -> list[Any]:
    weights = asked_weights(arguments, task, data.weight)
    strength = alpha_of(arguments, data.X.shape[0], loss, weights)
    return problems(arguments, data.X, task, loss, penalty.scaled(strength), weights)


def _fastest(arguments: Namespace, wanted: list[Any], solver: str, title: str) -> list[Any]:
    from fenchel.engines import Local
    from fenchel.solving.solve import solve

    engine, best = Local(arguments.threads), None
    with Progress(arguments.tol, arguments.quiet) as progress:
        for _ in range(arguments.repeat):
            progress.begin(title)
            limits = arguments.tol, arguments.max_iter, arguments.max_time, progress
            results = unstopped([solve(problem, solver, *limits, engine=engine) for problem in wanted])
            if best is None or sum(r.seconds for r in results) < sum(r.seconds for r in best):
                best = results
    return best or []


def reached(result: Result, bound: float, level: float) -> float:
    """The seconds until the best objective so far was within a relative distance `level` of the bound; NaN if never."""
    best = math.inf
    for point in result.trace:
        best = min(best, point.primal) if not math.isnan(point.primal) else best
        if best - bound <= level * abs(best):
            return float(point.seconds)
    final = result.certificate
    return float(result.seconds) if final.primal - bound <= level * abs(final.primal) else math.nan


def _within(each: Run, bounds: list[float]) -> dict[str, float]:
    return {
        f"{level:.0e}": sum(reached(result, bound, level) for result, bound in zip(each.results, bounds, strict=True))
        for level in LEVELS
    }


def _bounds(runs: list[Run], loss: str, penalty: str) -> list[float]:
    """The best certified lower bound for each problem of a loss and a penalty."""
    same = [each.results for each in runs if (each.loss, each.penalty) == (loss, penalty)]
    return [max(result.certificate.dual for result in problem) for problem in zip(*same, strict=True)]


def _print(arguments: Namespace, runs: list[Run], misfits: list[dict[str, str]]) -> None:
    found = [_facts(each, _within(each, _bounds(runs, each.loss, each.penalty))) for each in runs]
    if arguments.json:
        print(as_json({"tol": arguments.tol, "runs": found, "misfits": misfits}))
        return
    where = "held-out rows" if arguments.test_size else "training rows"
    header = ["loss", "penalty", "solver", "status", "gap", "seconds", f"quality on {where}"]
    header += [*(f"s to {k:.0e}" for k in LEVELS), "iterations"]
    rows = [
        [row["loss"], row["penalty"], row["solver"], row["status"], row["relative_gap"], row["seconds"], _shown(*each.quality),
         *("never" if math.isnan(s) else f"{s:.3g}" for s in row["within"].values()), row["iterations"]]
        for row, each in zip(found, runs, strict=True)
    ]  # fmt: skip
    print(table(header, rows))
    if misfits:
        print("\nincompatible:")
        print(table(["loss", "penalty", "solver", "why"], [list(misfit.values()) for misfit in misfits]))


def _shown(metric: str, value: float) -> str:
    return f"{metric.replace('_', ' ')} {value:.4g}" if metric and not math.isnan(value) else "-"


def _facts(each: Run, within: dict[str, float]) -> dict[str, Any]:
    trace = [[p.seconds, p.primal, p.dual] for p in each.results[0].trace] if len(each.results) == 1 else []
    return {
        "loss": each.loss,
        "penalty": each.penalty,
        "solver": each.solver,
        "quality": {"metric": each.quality[0] or None, "value": each.quality[1]},
        "status": each.status,
        "primal": each.worst.primal,
        "dual": each.worst.dual,
        "relative_gap": each.worst.relative_gap,
        "seconds": each.seconds,
        "iterations": sum(result.n_iter for result in each.results),
        "passes": sum(result.passes for result in each.results),
        "within": within,
        "trace": trace,
    }
