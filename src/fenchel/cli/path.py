"""fenchel path DATA --model OUT [--alphas A,A,...]"""

from __future__ import annotations

import math
from argparse import Namespace
from typing import TYPE_CHECKING, Any, NamedTuple

from fenchel.cli.fitting import add_limits, add_solving, model_of, problems, unstopped
from fenchel.cli.options import numbers
from fenchel.cli.problem_options import (
    add_constraints,
    add_intercept,
    add_loss,
    add_loss_parameters,
    asked_constant,
    asked_loss,
    asked_penalty,
    asked_weights,
    with_weights,
)
from fenchel.cli.progress import Progress
from fenchel.cli.reading import add_drop, add_reading, add_svmlight, read
from fenchel.cli.reporting import add_report, check_report, evaluated, fit, path_choice, write_report
from fenchel.cli.tasks import arrange, places_of, queries_for
from fenchel.cli.terminal import CleanParser, as_json, complain, table
from fenchel.errors import InputError

if TYPE_CHECKING:
    from fenchel.cli.tasks import Task
    from fenchel.models.base import BaseModel
    from fenchel.problems.kinds_of_loss import AnyLoss
    from fenchel.regularizers import Regularizer

TOL, GAP_LEFT = 1e-6, 3
EPILOG = """\
Every strength is solved on all rows and, for each fold, without the rows of the fold, each from the
solution before it and each with its own certificate. cv is the mean over folds of the metric on the rows
left out, se its standard error. `best` is the strength with the best mean, `one-se` the largest one whose
mean is within one standard error of it. The model of the chosen strength is written with its certificate.
Folds are shuffled and keep the shares of labels, or queries together.
JSON: metric, folds, seed, rule, best, one_se, chosen (strengths), model, points: [{alpha, status, primal,
dual, relative_gap, nonzero, cv, se, cv_worst_relative_gap}].

exit status: 0 all certified, 3 a gap is above tol (the model is written), 1 error, 2 wrong usage

example: fenchel path a9a --loss logistic --penalty l1 --rule one-se --model a9a.fenchel
"""


class Point(NamedTuple):
    """One strength: its model and results on all rows, and how it did on the rows left out."""

    alpha: float
    results: list[Any]
    cv: float
    se: float
    worst: float


def configure(parser: CleanParser) -> None:
    """Declare the options."""
    parser.epilog, parser.usage = EPILOG, "%(prog)s DATA --model OUT [options]"
    parser.add_argument("data", metavar="DATA", help="svmlight text, table, folder of fenchel convert; - is stdin")
    parser.add_argument("--model", metavar="OUT", required=True, help="where the model is written")
    parser.add_argument("--alphas", metavar="A,A,...", help="strengths (default: 1, 0.316, 0.1, ..., 1e-5)")
    parser.add_argument("--folds", type=int, metavar="K", default=5, help="default: 5")
    parser.add_argument("--rule", choices=["best", "one-se"], default="best", help="which one to write (default: best)")
    parser.add_argument("--metric", metavar="NAME", help="as fenchel evaluate names them (default: the first it has)")
    add_report(parser)
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    problem = parser.add_argument_group("problem")
    add_loss(problem, types=False)
    problem.add_argument("--penalty", metavar="NAME", help="default: l2")
    add_solving(problem)
    add_reading(problem, training=True)
    add_drop(problem)
    add_intercept(parser.add_rare_group("intercept and weights"))
    add_loss_parameters(parser.add_rare_group("parameters of the loss and the penalty"))
    add_constraints(parser.add_rare_group("bounds, groups and weights of coefficients"))
    rare = parser.add_rare_group("solving, files and output")
    rare.add_argument("--solver", default="auto", metavar="NAME", help="default: auto; see fenchel solvers")
    add_limits(rare)
    add_svmlight(rare)
    rare.add_argument("--seed", type=int, metavar="N", default=0, help="of the folds (default: 0)")
    rare.add_argument("--no-dual", action="store_true", help="leave the dual point out of the model")
    rare.add_argument("-q", "--quiet", action="store_true", help="no progress line and no notes")


def run(arguments: Namespace) -> int:
    """Solve the path on all rows and on those of every fold, choose, write, print."""
    from fenchel.files.atomic_write import check_writable
    from fenchel.models.file import save

    arguments.tol = TOL if arguments.tol is None else arguments.tol
    loss, penalty, constant = asked_loss(arguments), asked_penalty(arguments), asked_constant(arguments)
    alphas = strengths(arguments.alphas)
    check_writable(arguments.model)
    check_report(arguments.report)
    data = read(arguments, queries_for(loss))
    penalty = with_weights(penalty, arguments, data)
    task = arrange(data, loss, arguments.data)
    if task.targets[0] is None:
        raise InputError("a path needs targets to compare with, and the novelty loss has none")
    _require_metric(arguments, data, task, loss, penalty, alphas[0])
    with Progress(arguments.tol, arguments.quiet) as progress:
        points, metric = _points(arguments, data, task, loss, penalty, alphas, progress)
    best, one_se = choose(points, metric.more_is_better)
    chosen = best if arguments.rule == "best" else one_se
    model = model_of(points[chosen].results, data, task, constant, not arguments.no_dual)
    save(arguments.model, model)
    if arguments.report is not None:
        _report(arguments, points, metric.name, chosen, model, data)
    if not arguments.quiet and chosen in (0, len(points) - 1) and len(points) > 1:
        end = "largest" if chosen == 0 else "smallest"
        complain(f"the chosen strength is the {end} that was tried: try some beyond with --alphas")
    _print(arguments, points, metric.name, best, one_se, chosen)
    certified = all(r.converged for point in points for r in point.results)
    return 0 if certified and all(point.worst <= arguments.tol for point in points) else GAP_LEFT


def _report(arguments: Namespace, points: list[Point], metric: str, chosen: int, model: BaseModel, data: Any) -> None:
    """The page shows the path where there is one problem; with one score per label there would be one for each."""
    choice = None
    if len(points[0].results) == 1:
        choice = path_choice(
            [point.alpha for point in points], [point.results[0] for point in points], chosen=points[chosen].alpha,
            scores=[point.cv for point in points], errors=[point.se for point in points], score_name=f"cv {metric}",
        )  # fmt: skip
    subject = fit(model, points[chosen].results)
    own = evaluated(model, data, arguments.data)
    write_report(arguments.report, [subject], f"Fenchel: {arguments.data}", arguments, choice=choice, data=own)


def strengths(text: str | None) -> list[float]:
    """The strengths asked for, the largest first.

    >>> strengths("0.1,1"), len(strengths(None))
    ([1.0, 0.1], 11)
    """
    from fenchel.estimators.path import accept_alphas

    found = numbers(text, "--alphas") if text is not None else [10.0 ** (-k / 2) for k in range(11)]
    return sorted(accept_alphas(found).tolist(), reverse=True)


def choose(points: list[Any], more_is_better: bool) -> tuple[int, int]:
    """(the best mean, the largest strength within a standard error of it), among points from large strengths to small.

    >>> points = [Point(1.0, [], 0.5, 0.1, 0), Point(0.1, [], 0.75, 0.1, 0), Point(0.01, [], 0.8, 0.1, 0)]
    >>> choose(points, True), choose(points, False)
    ((2, 1), (0, 0))
    """
    known = [k for k, point in enumerate(points) if not math.isnan(point.cv)]
    if not known:
        raise InputError("the metric is not defined on any fold: use fewer folds, or another --metric")
    sign = -1.0 if more_is_better else 1.0
    best = min(known, key=lambda k: sign * points[k].cv)
    limit = sign * points[best].cv + points[best].se
    return best, next(k for k in known if sign * points[k].cv <= limit)


def _points(
    arguments: Namespace,
    data: Any,
    task: Task,
    loss: AnyLoss,
    penalty: Regularizer,
    alphas: list[float],
    progress: Progress,
) -> tuple[list[Point], Any]:
    import numpy as np

    from fenchel.cli.folds import fold_problems, held_out

    weights, X = asked_weights(arguments, task), data.matrix
    n = X.shape[0]
    truth = data.y if task.labels is None else places_of(data, task.labels, arguments.data)
    values, worst, metric = [], [0.0] * len(alphas), None
    for k, rows in enumerate(held_out(task, data.y, n, arguments.folds, arguments.seed)):
        progress.begin(f"fold {k + 1} of {arguments.folds}  ")
        rest = np.setdiff1d(np.arange(n), rows)
        found = _solved(
            arguments, fold_problems(arguments, X, task, weights, loss, penalty, rest), alphas, progress
        )  # fmt: skip
        metrics = [_metric(arguments, results, data, task, X[rows], truth[rows], rows) for results in found]
        values.append([m.value(np.ones(count)) for m, count in metrics])
        metric = metrics[0][0]
        worst = [max(w, *(r.certificate.relative_gap for r in rs)) for w, rs in zip(worst, found, strict=True)]
    progress.begin("all rows  ")
    whole = _solved(arguments, problems(arguments, data.X, task, loss, penalty, weights), alphas, progress)
    mean = np.mean(values, axis=0)
    se = np.std(values, axis=0, ddof=1) / math.sqrt(len(values))
    return [Point(*part) for part in zip(alphas, whole, mean.tolist(), se.tolist(), worst, strict=True)], metric


def _solved(arguments: Namespace, wanted: list[Any], alphas: list[float], progress: Progress) -> list[list[Any]]:
    """For every strength its results, one per problem."""
    from fenchel.engines import Local
    from fenchel.estimators.path import path

    seconds = None if arguments.max_time is None else arguments.max_time / (arguments.folds + 1) / len(wanted)
    limits = arguments.max_iter, seconds, progress, Local(arguments.threads)
    paths = [unstopped(path(problem, alphas, arguments.solver, arguments.tol, *limits)) for problem in wanted]
    return [list(results) for results in zip(*paths, strict=True)]


def _metric(
    arguments: Namespace, results: list[Any], data: Any, task: Any, X: Any, y: Any, rows: Any
) -> tuple[Any, int]:
    """(the metric of a model on rows that it has not seen, how many units there are)."""
    from fenchel.cli.quality import named_metric, quality_of

    model = model_of(results, data, task, asked_constant(arguments), keep_dual=False)
    quality = quality_of(model, X, y, None if task.groups is None else task.groups[rows])
    return named_metric(quality, arguments.metric), quality.size


def _require_metric(
    arguments: Namespace, data: Any, task: Task, loss: AnyLoss, penalty: Regularizer, alpha: float
) -> None:
    """Complain of an unknown --metric before the work rather than after it: the metrics of any model are those of all."""
    if arguments.metric is None:
        return
    import numpy as np

    from fenchel.solving.solve import solve

    wanted = problems(arguments, data.X, task, loss, penalty.scaled(alpha), asked_weights(arguments, task))
    truth = data.y if task.labels is None else places_of(data, task.labels, arguments.data)
    start = [solve(problem, max_iter=0) for problem in wanted]
    _metric(arguments, start, data, task, data.matrix, truth, np.arange(truth.size))


def _print(arguments: Namespace, points: list[Point], metric: str, best: int, one_se: int, chosen: int) -> None:
    rows = []
    for k, point in enumerate(points):
        worst = max((r.certificate for r in point.results), key=lambda certificate: certificate.relative_gap)
        bad = next((r for r in point.results if not r.converged), point.results[0])
        nonzero = sum(int((r.coef != 0.0).sum()) for r in point.results)
        rows.append(
            {"alpha": point.alpha, "status": bad.status.name, "primal": worst.primal, "dual": worst.dual,
             "relative_gap": worst.relative_gap, "nonzero": nonzero, "cv": point.cv, "se": point.se,
             "cv_worst_relative_gap": point.worst}
        )  # fmt: skip
        marks = [word for word, place in (("best", best), ("one-se", one_se), ("written", chosen)) if place == k]
        rows[-1]["marks"] = ", ".join(marks)
    if arguments.json:
        points_only = [{key: value for key, value in row.items() if key != "marks"} for row in rows]
        about = {"metric": metric, "folds": arguments.folds, "seed": arguments.seed, "rule": arguments.rule}
        named = {"best": points[best].alpha, "one_se": points[one_se].alpha, "chosen": points[chosen].alpha}
        print(as_json({**about, **named, "model": arguments.model, "points": points_only}))
        return
    shown = ("alpha", "status", "relative_gap", "nonzero", "cv", "se", "marks")
    header = ["alpha", "status", "relative gap", "weights", f"cv {metric.replace('_', ' ')}", "se", ""]
    print(table(header, [[row[key] for key in shown] for row in rows]))
