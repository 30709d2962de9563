"""fenchel compare DATA --loss A,B --penalty A,B --solver A,B"""

from __future__ import annotations

import itertools
import math
from argparse import Namespace
from typing import TYPE_CHECKING, Any, NamedTuple

from fenchel.cli.fitting import add_limits, add_solving, problems, unstopped
from fenchel.cli.options import ALIASES, loss_of, measure_of, pairs, penalty_of
from fenchel.cli.problem_options import add_intercept, add_strength, alpha_of, asked_weights
from fenchel.cli.progress import Progress
from fenchel.cli.reading import add_drop, add_reading, add_svmlight, read
from fenchel.cli.reporting import add_report, check_report, write_report
from fenchel.cli.tasks import arrange, queries_for
from fenchel.cli.terminal import CleanParser, as_json, table
from fenchel.errors import IncompatibleError

if TYPE_CHECKING:
    from fenchel.problems.kinds_of_loss import AnyLoss
    from fenchel.regularizers import Regularizer
    from fenchel.result import Result

TOL, GAP_LEFT = 1e-6, 3
EPILOG = """\
Every combination is solved to tol; the gap is the certified one. `s to 1e-2` is the time after which the
objective was within 1e-2 of the best certified lower bound of that loss and penalty (relatively). With
more than two labels and a loss of one score, times are sums over labels, gaps the widest. Parameters go
behind a colon, as in huber:delta=0.5 or elastic_net:l1_ratio=0.2. Combinations that do not fit are
listed with the reason. Each is solved --repeat times and the fastest is shown: the first run of a kind
also loads or compiles its code.
JSON: tol, runs: [{loss, penalty, solver, status, primal, dual, relative_gap, seconds, iterations, passes,
within: {1e-02: seconds, ...}, trace: [[seconds, primal, dual], ...]}], misfits: [{loss, penalty, solver, why}].

exit status: 0 all that fit are certified, 3 a gap is above tol, 1 error, 2 wrong usage

example: fenchel compare a9a --loss hinge,logistic --solver auto,bundle,lbfgs -c 1
"""
LEVELS = (1e-1, 1e-2, 1e-4)


class Run(NamedTuple):
    """One combination, solved."""

    loss: str
    penalty: str
    solver: str
    results: list[Any]

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
    """Declare the options."""
    parser.epilog, parser.usage = EPILOG, "%(prog)s DATA [--loss A,B] [--penalty A,B] [--solver A,B] [options]"
    parser.add_argument("data", metavar="DATA", help="svmlight text, table, folder of fenchel convert; - is stdin")
    parser.add_argument("--loss", metavar="NAMES", default="hinge", help="losses or measures (default: hinge)")
    parser.add_argument("--penalty", metavar="NAMES", default="l2", help="default: l2")
    parser.add_argument("--solver", metavar="NAMES", default="auto", help="default: auto")
    add_strength(parser)
    add_solving(parser)
    add_reading(parser, training=True)
    add_drop(parser)
    add_report(parser)
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    add_intercept(parser.add_rare_group("intercept and weights"))
    rare = parser.add_rare_group("solving and files")
    add_limits(rare)
    rare.add_argument("--repeat", type=int, metavar="N", default=2, help="solve N times, show the fastest (default: 2)")
    add_svmlight(rare)
    rare.add_argument("-q", "--quiet", action="store_true", help="no progress line")


def check(parser: CleanParser, arguments: Namespace) -> None:
    """What argparse cannot see."""
    if arguments.repeat < 1:
        parser.error(f"--repeat must be at least 1, got {arguments.repeat}")


def run(arguments: Namespace) -> int:
    """Solve every combination, print the table."""
    arguments.tol = TOL if arguments.tol is None else arguments.tol
    check_report(arguments.report)
    names = arguments.loss.split(","), arguments.penalty.split(","), arguments.solver.split(",")
    losses = {name: _loss(name) for name in names[0]}
    penalties = {name: _penalty(name) for name in names[1]}
    queries = {queries_for(loss) for loss in losses.values()}
    data = read(arguments, True if True in queries else "auto" if "auto" in queries else False)
    runs, misfits = [], []
    for loss, penalty, solver in itertools.product(*names):
        wanted = _problems(arguments, data, losses[loss], penalties[penalty])
        try:
            runs.append(Run(loss, penalty, solver, _fastest(arguments, wanted, solver, f"{loss} {penalty} {solver}  ")))
        except IncompatibleError as error:
            misfits.append({"loss": loss, "penalty": penalty, "solver": solver, "why": str(error)})
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


def _problems(arguments: Namespace, data: Any, loss: AnyLoss, penalty: Regularizer) -> list[Any]:
    task = arrange(data, loss, arguments.data)
    weights = asked_weights(arguments, task)
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
    """The seconds after which the best objective so far was within level of the bound, relatively; NaN if never."""
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
    """The best certified lower bound of every problem of a loss and a penalty."""
    same = [each.results for each in runs if (each.loss, each.penalty) == (loss, penalty)]
    return [max(result.certificate.dual for result in problem) for problem in zip(*same, strict=True)]


def _print(arguments: Namespace, runs: list[Run], misfits: list[dict[str, str]]) -> None:
    found = [_facts(each, _within(each, _bounds(runs, each.loss, each.penalty))) for each in runs]
    if arguments.json:
        print(as_json({"tol": arguments.tol, "runs": found, "misfits": misfits}))
        return
    header = ["loss", "penalty", "solver", "status", "gap", "seconds", *(f"s to {k:.0e}" for k in LEVELS), "iterations"]
    rows = [
        [row["loss"], row["penalty"], row["solver"], row["status"], row["relative_gap"], row["seconds"],
         *("never" if math.isnan(s) else f"{s:.3g}" for s in row["within"].values()), row["iterations"]]
        for row in found
    ]  # fmt: skip
    print(table(header, rows))
    if misfits:
        print("\ndo not fit:")
        print(table(["loss", "penalty", "solver", "why"], [list(misfit.values()) for misfit in misfits]))


def _facts(each: Run, within: dict[str, float]) -> dict[str, Any]:
    trace = [[p.seconds, p.primal, p.dual] for p in each.results[0].trace] if len(each.results) == 1 else []
    return {
        "loss": each.loss,
        "penalty": each.penalty,
        "solver": each.solver,
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
