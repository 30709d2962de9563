"""fenchel path DATA --model OUT [--alphas A,A,...]"""

from __future__ import annotations

import math
from argparse import Namespace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from fenchel.cli.fitting import add_limits, add_solving, model_of, problems, unstopped
from fenchel.cli.options import numbers
from fenchel.cli.prepared import add_as_is, add_roles, settle
from fenchel.cli.problem_options import (
    add_constraints,
    add_intercept,
    add_loss,
    add_loss_parameters,
    asked_constant,
    asked_loss,
    asked_penalty,
    asked_weights,
    on_columns,
)
from fenchel.cli.progress import Progress
from fenchel.cli.reading import add_drop, add_reading, add_svmlight, read
from fenchel.cli.reporting import add_report, check_report, evaluated, fit, path_choice, write_report
from fenchel.cli.tasks import arrange, places_of, queries_for, with_positive
from fenchel.cli.terminal import CleanParser, as_json, complain, table
from fenchel.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy import ndarray

    from fenchel.cli.reading import Rows
    from fenchel.cli.tasks import Task
    from fenchel.estimators.strength_range import CertifiedPath
    from fenchel.models.base import BaseModel
    from fenchel.problems.kinds_of_loss import AnyLoss
    from fenchel.regularizers import Regularizer

TOL, EPS, GAP_LEFT = 1e-6, 1e-2, 3
STRENGTHS, SMALLEST = 11, 1e-5  # default strengths: how many, and the smallest relative to the largest
EPILOG = """\
For each alpha, the problem is solved on all rows and, for each fold, without the rows of the fold, each time
from the previous solution and with a certificate. cv is the mean over folds of the metric on the held-out
rows, se its standard error. `best` is the alpha with the best mean, `one-se` the largest one whose mean
is within one standard error of it. The model for the chosen alpha is written with its certificate.
With --range, as many strengths are solved as prove that at every alpha in it one of the solutions on all
rows is within --eps of the optimum.
Folds are shuffled and stratified by label; the rows of a query stay together.
JSON: metric, folds, seed, rule, best, one_se, chosen (strengths), model, range, points: [{alpha, status,
primal, dual, relative_gap, nonzero, cv, se, cv_worst_relative_gap}].

exit status: 0 all certified, 3 a gap is above tol (the model is written), 1 error, 2 wrong usage

example: fenchel path a9a --loss logistic --penalty l1 --rule one-se --model a9a.fenchel
"""


class Point(NamedTuple):
    """One strength: its model and results on all rows, and its score on the held-out rows."""

    alpha: float
    results: list[Any]
    cv: float
    se: float
    worst: float


def configure(parser: CleanParser) -> None:
    """Add the options."""
    parser.epilog, parser.usage = EPILOG, "%(prog)s DATA --model OUT [options]"
    parser.add_argument("data", metavar="DATA", help="svmlight text, table or folder of fenchel convert; -: stdin")
    parser.add_argument("--model", metavar="OUT", required=True, help="the model file to write")
    parser.add_argument("--alphas", metavar="A,A,...", help="strengths (default: 11 from the data, or 1, ..., 1e-5)")
    parser.add_argument("--range", metavar="LO,HI", help="certify every alpha in this range to within --eps")
    parser.add_argument("--folds", type=int, metavar="K", default=5, help="default: 5")
    parser.add_argument(
        "--rule", choices=["best", "one-se"], default="best", help="which alpha to choose (default: best)"
    )
    parser.add_argument("--metric", metavar="NAME", help="a metric of fenchel evaluate (default: its first one)")
    add_report(parser)
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    problem = parser.add_argument_group("problem")
    add_loss(problem, types=False)
    problem.add_argument("--penalty", metavar="NAME", help="default: l2")
    add_solving(problem)
    add_reading(problem, training=True)
    add_drop(problem)
    add_intercept(parser.add_rare_group("intercept and weights"))
    add_loss_parameters(parser.add_rare_group("parameters of the loss and the penalty"))
    add_constraints(parser.add_rare_group("bounds, groups and penalty weights of coefficients"))
    rare = parser.add_rare_group("solving, files and output")
    rare.add_argument("--solver", default="auto", metavar="NAME", help="default: auto; see fenchel solvers")
    add_limits(rare)
    add_as_is(parser, tables := parser.add_rare_group("columns of tables"))
    add_roles(tables)
    add_svmlight(rare)
    rare.add_argument("--eps", type=float, metavar="E", help="relative gap for --range (default: 0.01)")
    rare.add_argument("--seed", type=int, metavar="N", default=0, help="seed of the folds (default: 0)")
    rare.add_argument("--no-dual", action="store_true", help="do not store the dual point in the model")
    rare.add_argument("-q", "--quiet", action="store_true", help="no progress line and no notes")


def run(arguments: Namespace) -> int:
    """Solve the path on all rows and for every fold, choose a strength, write its model and print the path."""
    from fenchel.files.atomic_write import check_writable
    from fenchel.models.file import save

    arguments.tol = TOL if arguments.tol is None else arguments.tol
    loss, penalty, constant = asked_loss(arguments), asked_penalty(arguments), asked_constant(arguments)
    low_high = _asked_range(arguments)
    given = None if arguments.alphas is None else strengths(arguments.alphas)
    check_writable(arguments.model)
    check_report(arguments.report)
    data = read(arguments, queries_for(loss))
    settle(arguments, data)
    loss = asked_loss(arguments)
    penalty = on_columns(penalty, arguments, data)
    task = with_positive(arrange(data, loss, arguments.data), arguments.positive, arguments.data)
    if task.targets[0] is None:
        raise InputError("cross-validation needs targets, and the novelty loss has none")
    _require_metric(arguments, data, task, loss, penalty, 1.0)
    wanted = problems(arguments, data.X, task, loss, penalty, asked_weights(arguments, task, data.weight))
    with Progress(arguments.tol, arguments.quiet) as progress:
        certified = None if low_high is None else _certified(arguments, wanted, low_high, progress)
        alphas = certified.alphas.tolist() if certified is not None else given or _from_data(wanted)
        points, metric = _points(arguments, data, task, loss, penalty, alphas, wanted, progress)
    best, one_se = choose(points, metric.more_is_better)
    chosen = best if arguments.rule == "best" else one_se
    model = model_of(points[chosen].results, data, task, constant, not arguments.no_dual)
    save(arguments.model, model)
    if arguments.report is not None:
        _report(arguments, points, metric.name, chosen, model, data, certified)
    if not arguments.quiet and chosen in (0, len(points) - 1) and len(points) > 1:
        end = "largest" if chosen == 0 else "smallest"
        complain(f"the chosen alpha is the {end} that was tried: extend the range with --alphas")
    _print(arguments, points, metric.name, best, one_se, chosen, certified)
    solved = all(r.converged for point in points for r in point.results)
    solved &= certified is None or certified.converged
    return 0 if solved and all(point.worst <= arguments.tol for point in points) else GAP_LEFT


def _asked_range(arguments: Namespace) -> tuple[float, float] | None:
    """--range with its --eps, checked."""
    from fenchel.estimators.path import accept_alphas, accept_range

    if arguments.range is None:
        if arguments.eps is not None:
            raise InputError("--eps is for --range LO,HI")
        return None
    if arguments.alphas is not None:
        raise InputError("give --alphas or --range, not both")
    arguments.eps = EPS if arguments.eps is None else arguments.eps
    return accept_range(accept_alphas(numbers(arguments.range, "--range")), arguments.eps)


def _certified(
    arguments: Namespace, wanted: list[Any], low_high: tuple[float, float], progress: Progress
) -> CertifiedPath:
    """The certified path on all rows."""
    from fenchel.engines import Local
    from fenchel.estimators.path import path

    if len(wanted) > 1:
        raise InputError("--range is for one problem: two labels, numbers, or a loss of several scores such as softmax")
    progress.begin("range  ")
    found = path(
        wanted[0], low_high, arguments.solver, max_iter=arguments.max_iter, max_time=arguments.max_time, callback=progress,
        engine=Local(arguments.threads), eps=arguments.eps,
    )  # fmt: skip
    unstopped(found)
    return cast("CertifiedPath", found)


def _from_data(wanted: list[Any]) -> list[float]:
    """The default strengths: from the data, where a certificate tells from which alpha on the penalty prevails."""
    from fenchel.estimators.path import rescaled
    from fenchel.estimators.strength_grid import data_grid

    if wanted[0].is_measure or getattr(wanted[0], "own", False):
        return strengths(None)
    try:
        return data_grid([rescaled(problem) for problem in wanted], STRENGTHS, SMALLEST).tolist()
    except InputError:  # a regularizer without a strength that could range is rejected where the path is solved
        return strengths(None)


def _report(
    arguments: Namespace,
    points: list[Point],
    metric: str,
    chosen: int,
    model: BaseModel,
    data: Rows,
    certified: CertifiedPath | None,
) -> None:
    """The path for the report, if there is a single problem; with one score per label there would be one path for each."""
    choice = None
    if len(points[0].results) == 1:
        choice = path_choice(
            [point.alpha for point in points], [point.results[0] for point in points], chosen=points[chosen].alpha,
            scores=[point.cv for point in points], errors=[point.se for point in points], score_name=f"cv {metric}",
            certified=certified,
        )  # fmt: skip
    subject = fit(model, points[chosen].results)
    own = evaluated(model, data, arguments.data)
    write_report(arguments.report, [subject], f"Fenchel: {arguments.data}", arguments, choice=choice, data=own)


def strengths(text: str | None) -> list[float]:
    """The requested strengths, the largest first.

    >>> strengths("0.1,1"), len(strengths(None))
    ([1.0, 0.1], 11)
    """
    from fenchel.estimators.path import accept_alphas

    found = numbers(text, "--alphas") if text is not None else [10.0 ** (-k / 2) for k in range(11)]
    return sorted(accept_alphas(found).tolist(), reverse=True)


def choose(points: list[Any], more_is_better: bool) -> tuple[int, int]:
    """(index of the best mean, index of the chosen strength: the best one, or the largest within a standard error of it).

    >>> points = [Point(1.0, [], 0.5, 0.1, 0), Point(0.1, [], 0.75, 0.1, 0), Point(0.01, [], 0.8, 0.1, 0)]
    >>> choose(points, True), choose(points, False)
    ((2, 1), (0, 0))
    """
    from fenchel.estimators.cross_validation import choose as best_and_one_se

    if all(math.isnan(point.cv) for point in points):
        raise InputError("the metric is not defined on any fold: use fewer folds or another --metric")
    sign = 1.0 if more_is_better else -1.0
    return best_and_one_se([p.alpha for p in points], [sign * p.cv for p in points], [p.se for p in points])


def _points(
    arguments: Namespace,
    data: Rows,
    task: Task,
    loss: AnyLoss,
    penalty: Regularizer,
    alphas: list[float],
    wanted: list[Any],
    progress: Progress,
) -> tuple[list[Point], Any]:
    import numpy as np

    from fenchel.cli.folds import fold_problems, held_out
    from fenchel.engines import Local
    from fenchel.estimators.cross_validation import Fold, fold_scores
    from fenchel.estimators.path import path

    weights, X = asked_weights(arguments, task, data.weight), data.matrix
    n = X.shape[0]
    truth = data.y if task.labels is None else places_of(data, task.labels, arguments.data)
    folds = held_out(task, data.y, n, arguments.folds, arguments.seed)
    metrics: list[Any] = []

    def parts() -> Iterator[Fold]:
        for k, rows in enumerate(folds):
            progress.begin(f"fold {k + 1} of {arguments.folds}  ")
            rest = np.setdiff1d(np.arange(n), rows)

            def score(results: list[Any], alpha: float, rows: Any = rows) -> float:
                metric, count = _metric(arguments, results, data, task, X[rows], truth[rows], rows)
                metrics.append(metric)
                return float(metric.value(np.ones(count)))

            yield Fold(fold_problems(arguments, X, task, weights, loss, penalty, rest), score)

    options = {
        "solver": arguments.solver, "tol": arguments.tol, "max_iter": arguments.max_iter, "callback": progress,
        "engine": Local(arguments.threads),
    }  # fmt: skip
    share = None if arguments.max_time is None else arguments.max_time / (arguments.folds + 1)
    seconds = None if share is None else share * arguments.folds
    found = fold_scores(parts(), len(folds), np.array(alphas), seconds, **options)
    progress.begin("all rows  ")
    limit = None if share is None else share / len(wanted)
    whole = zip(*(unstopped(path(problem, alphas, max_time=limit, **options)) for problem in wanted), strict=True)
    columns = (
        alphas,
        map(list, whole),
        found.mean.tolist(),
        found.standard_error.tolist(),
        found.gaps.max(axis=0).tolist(),
    )
    return [Point(*part) for part in zip(*columns, strict=True)], metrics[0]


def _metric(
    arguments: Namespace, results: list[Any], data: Rows, task: Task, X: Any, y: ndarray, rows: ndarray
) -> tuple[Any, int]:
    """(the metric of a model on held-out rows, the number of units)."""
    from fenchel.cli.quality import named_metric, quality_of

    model = model_of(results, data, task, asked_constant(arguments), keep_dual=False)
    quality = quality_of(model, X, y, None if task.groups is None else task.groups[rows])
    return named_metric(quality, arguments.metric), quality.size


def _require_metric(
    arguments: Namespace, data: Rows, task: Task, loss: AnyLoss, penalty: Regularizer, alpha: float
) -> None:
    """Reject an unknown --metric before the work starts: all models of the path have the same metrics."""
    if arguments.metric is None:
        return
    import numpy as np

    from fenchel.solving.solve import solve

    wanted = problems(arguments, data.X, task, loss, penalty.scaled(alpha), asked_weights(arguments, task, data.weight))
    truth = data.y if task.labels is None else places_of(data, task.labels, arguments.data)
    start = [solve(problem, max_iter=0) for problem in wanted]
    _metric(arguments, start, data, task, data.matrix, truth, np.arange(truth.size))


def _print(
    arguments: Namespace,
    points: list[Point],
    metric: str,
    best: int,
    one_se: int,
    chosen: int,
    certified: CertifiedPath | None,
) -> None:
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
        span = None
        if certified is not None:
            span = {
                "low": certified.low,
                "high": certified.high,
                "eps": certified.eps,
                "certified": certified.converged,
            }
            span["solves"] = len(certified)
        print(as_json({**about, **named, "model": arguments.model, "range": span, "points": points_only}))
        return
    shown = ("alpha", "status", "relative_gap", "nonzero", "cv", "se", "marks")
    header = ["alpha", "status", "relative gap", "weights", f"cv {metric.replace('_', ' ')}", "se", ""]
    print(table(header, [[row[key] for key in shown] for row in rows]))
    if certified is not None:
        state = "certified" if certified.converged else "not certified"
        print(f"every alpha from {certified.low:.6g} to {certified.high:.6g} within {certified.eps:g}: {state}")
