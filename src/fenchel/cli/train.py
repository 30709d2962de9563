"""fenchel train DATA --model OUT [--loss NAME] [--penalty NAME] [--alpha A]"""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from fenchel.cli.fitting import add_checkpoint, add_limits, add_solving, model_of, places_of, problems, solve_all
from fenchel.cli.prepared import add_as_is, add_roles, settle
from fenchel.cli.problem_options import (
    add_constraints,
    add_intercept,
    add_loss,
    add_loss_parameters,
    add_strength,
    alpha_of,
    asked_constant,
    asked_loss,
    asked_penalty,
    asked_weights,
    of_strength,
    on_columns,
)
from fenchel.cli.reading import add_drop, add_reading, add_svmlight, read
from fenchel.cli.reporting import add_report, check_report, evaluated, fit, write_report
from fenchel.cli.show import columns_of, columns_table
from fenchel.cli.tasks import arrange, ask_whether_regression, queries_for, with_positive
from fenchel.cli.terminal import CleanParser, as_json, clean
from fenchel.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fenchel.cli.reading import Rows
    from fenchel.models.scored import Certified
    from fenchel.models.structured import StructuredModel

CERTIFIED, GAP_LEFT, INTERRUPTED = 0, 3, 130
TOL = 1e-6
RESAMPLES, LEVEL = 1000, 0.95  # of the intervals on held-out rows, as in fenchel evaluate
LONG = """\
The objective is (1/n) sum_i loss(<x_i, w> + b, y_i) + R(w), and alpha is a parameter of R. `fenchel losses` lists
losses and penalties, `fenchel solvers` the solvers. Two labels are mapped to -1 and +1 in ascending order; with more
labels one score per label is fitted (one-vs-rest). Regression losses use the labels as targets, and the novelty
loss ignores them. Losses of several scores (max_hinge, softmax, top_k, ...) define one problem for all labels;
rows and columns of a cost matrix are in ascending order of the labels, and the labels of a tree are its leaves 0, 1,
2, ... Measures are losses of all rows together, for two labels or for ordered labels (ordinal), or, if DATA has
queries (qid: or --group), of each query, with the labels as relevances (for binary measures, above 0 is relevant);
ndcg, mrr, eru, winner_takes_all, ndcg_pairs, map_pairs and mrr_pairs need queries. Labels are predicted by
thresholds on the score, which are chosen to optimise the measure on DATA.

liblinear's options: -c C is its C: alpha = 1 / (C n), or 1 / (2 C n) for losses that have a factor 1/2 here but not
in liblinear (squared_hinge, squared, epsilon_insensitive with --p 2); with -wi, n is the sum of the weights. -e is
the relative duality gap, a bound on the objective, while liblinear's is a norm of the gradient. -B B appends a
feature that is B in every row and whose weight is penalised, as in liblinear; --intercept is not penalised.
-wi X: rows with label i count X times; with one-vs-rest, only in the problem of that label.
-v K prints the cross-validated accuracy (regression: mean squared error and squared correlation) and writes no
model. -s: 0, 7 logistic; 1, 2 squared_hinge; 3 hinge; 4 max_hinge; 5 squared_hinge with l1; 6 logistic with l1;
11, 12 epsilon_insensitive with --p 2; 13 with --p 1 (-p is --epsilon, with liblinear's default 0.1).

Tables (.csv, .tsv, .parquet, also .csv.gz) have a header, and are taken as they are: numbers are standardised,
categories get an indicator per level (rare levels share one), dates become days, month, weekday and hour, missing
values the mean and an indicator; identifiers and constant columns are left out. What was done with each column is
printed, kept in the model and repeated by predict, evaluate and verify on tables like DATA. Without --loss the target
decides: logistic for two labels, softmax for more, squared for numbers; the intercept is free (--no-intercept: none).
With --as-is, features must be numbers and are used as they are, and loss and intercept are those of other data.
- is standard input, whose format --format sets. --report also evaluates the model, on the rows of --test-size or on
those of DATA, unless DATA is a folder on disk; fenchel report --data evaluates it on other rows.

With --columns, DATA has a token per line, with columns separated by spaces or tabs, and an empty line between
sentences; n is the number of sentences. The loss of a sentence is that of a chain: hinge (max-margin; --beta 1
rescales the slack instead of the margin) or log (a conditional random field). The default template consists of the
word, its neighbours and pairs of them, the same with triples for each further column, and, with a single column, the
spelling; it needs the label in the last column.

JSON: status, tol, n, d, labels, model, fits: one per problem with status, solver, primal, dual, gap, relative_gap,
iterations, passes, seconds, compile_seconds (spent compiling in the first run of a kind, not included in seconds).
Tables: columns: [{name, kind, done, features}]; with --test-size test: {rows, metrics, confusion, by_label}, as
fenchel evaluate prints them.
With -v: folds, rows, worst_relative_gap, and accuracy or mean_squared_error and squared_correlation."""
EPILOG = """\
exit status: 0 certified, 3 gap above tol, 130 Ctrl-C (in both the model is written), 1 error, 2 wrong usage

examples: fenchel train a9a --loss hinge --alpha 1e-4 --intercept --model a9a.fenchel
          fenchel train people.csv --target income --test-size 0.2 --model income.fenchel
"""


def configure(parser: CleanParser) -> None:
    """Add the options."""
    parser.usage, parser.epilog, parser.long_epilog = "%(prog)s DATA --model OUT [options]", EPILOG, LONG
    parser.add_argument("data", metavar="DATA", help="svmlight text, table or folder of fenchel convert; -: stdin")
    parser.add_argument("--model", metavar="OUT", help="the model file to write (not with -v)")
    problem = parser.add_argument_group("problem")
    add_loss(problem)
    problem.add_argument("--penalty", metavar="NAME", help="default: l2")
    add_strength(problem)
    add_intercept(problem)
    add_solving(problem, "1e-6; with --columns 1e-3")
    files = parser.add_argument_group("files and output")
    add_reading(files, training=True)
    add_drop(files)
    files.add_argument(
        "--test-size", type=float, metavar="F", help="tables: hold out this share of the rows to evaluate"
    )
    add_as_is(parser, files)
    files.add_argument("-v", dest="folds", type=int, metavar="K", help="K-fold cross-validation, no model (liblinear)")
    add_report(files)
    files.add_argument("--json", action="store_true", help="print the results as JSON")
    files.add_argument("-q", "--quiet", action="store_true", help="no progress line")
    add_loss_parameters(parser.add_rare_group("parameters of the loss and the penalty"))
    add_constraints(parser.add_rare_group("bounds, groups and penalty weights of coefficients"))
    solving = parser.add_rare_group("solving")
    solving.add_argument("--solver", default="auto", metavar="NAME", help="default: auto; see fenchel solvers")
    add_limits(solving)
    add_checkpoint(solving)
    add_roles(tables := parser.add_rare_group("columns of tables"))
    tables.add_argument("--seed", type=int, metavar="N", default=0, help="seed of --test-size (default: 0)")
    add_svmlight(rare := parser.add_rare_group("svmlight text and model"))
    rare.add_argument("--no-dual", action="store_true", help="do not store the dual point in the model")
    _configure_columns(parser)


def _configure_columns(parser: CleanParser) -> None:
    columns = parser.add_rare_group("column files: a chain that labels the tokens of sentences (with --columns)")
    columns.add_argument(
        "--columns", action="store_true", help="DATA is a CoNLL column file: fit a chain to its tokens"
    )
    columns.add_argument(
        "--template", metavar="FILE", help="feature templates as CRF++ has them (default: a window of two tokens)"
    )
    columns.add_argument(
        "--label-column", type=int, metavar="K", help="the label column: from 0, or from the end (default: -1)"
    )
    columns.add_argument(
        "--min-count", type=int, metavar="N", help="ignore attributes that occur less often (default: 1)"
    )
    columns.add_argument(
        "--observed-only", action="store_true", help="weights only for pairs that occur in DATA, as in CRFsuite"
    )
    columns.add_argument("--no-bias", action="store_true", help="no bias for each label")
    columns.add_argument("--no-ends", action="store_true", help="no weights for labels at the ends of a sentence")


def check(parser: CleanParser, arguments: Namespace) -> None:
    """Check what argparse cannot check."""
    if arguments.model is None and arguments.folds is None:
        parser.error("--model OUT, the model file to write, is required (or -v K for cross-validation)")
    for name in ("model", "report"):
        if getattr(arguments, name) is not None and arguments.folds is not None:
            parser.error(f"-v K is cross-validation and writes no {name}: remove --{name}")


def run(arguments: Namespace) -> int:
    """Fit a model, write it and print its certificate."""
    from fenchel.cli import columns
    from fenchel.files.atomic_write import check_writable

    if arguments.tol is None:
        arguments.tol = columns.TOL if arguments.columns else TOL
    check_report(arguments.report)
    if arguments.columns:
        return columns.train(arguments)
    columns.refuse_own(arguments)
    loss, penalty, constant = asked_loss(arguments), asked_penalty(arguments), asked_constant(arguments)
    if arguments.test_size is not None and arguments.folds is not None:
        raise InputError("--test-size holds rows out of a fit, and -v K fits no model: remove one of them")
    if arguments.model is not None:
        check_writable(arguments.model)
    places_of(arguments, 1)  # errors in them should be reported before the data are read
    data = read(arguments, queries_for(loss))
    settle(arguments, data)
    loss = asked_loss(arguments)
    penalty = on_columns(penalty, arguments, data)
    task = with_positive(arrange(data, loss, arguments.data), arguments.positive, arguments.data)
    if data.preparation is None:
        ask_whether_regression(task, arguments.data)
    weights = asked_weights(arguments, task, data.weight)
    if arguments.folds is not None:
        from fenchel.cli.folds import validate

        return validate(arguments, data, task, weights, loss, penalty)
    penalty = of_strength(penalty, alpha_of(arguments, data.X.shape[0], loss, weights))
    results = solve_all(arguments, problems(arguments, data.X, task, loss, penalty, weights))
    model = model_of(results, data, task, constant, not arguments.no_dual)
    always = (
        " + free intercept" if model.fit_intercept else "" if constant is None else f" + constant feature {constant:g}"
    )
    size = f"{model.n} rows, {model.d} features"
    return finish(model, results, arguments, f"{size}: {model.loss!r} + {model.regularizer!r}{always}", data)


def finish(
    model: Certified | StructuredModel, results: list[Any], arguments: Namespace, problem: str, data: Rows | None = None
) -> int:
    """Write the model and the report, with an evaluation on the training rows if these are given; return the exit status."""
    from fenchel.models.file import save

    save(arguments.model, model)
    if arguments.report is not None:
        shown = data if data is None or data.test is None else data.test
        own = None if shown is None else evaluated(model, shown, arguments.data)
        write_report(arguments.report, [fit(model, results)], f"Fenchel: {arguments.data}", arguments, data=own)
    found = outcome(model, results, arguments)
    text = _as_text(model, results, arguments, problem)
    if data is not None and data.preparation is not None:
        plain: Any = model
        more, shown = prepared_outcome(plain, data, arguments)
        found, text = found | more, f"{columns_table(plain)}\n\n{text}{shown}"
    print(as_json(found) if arguments.json else text)
    if model.status.name == "CERTIFIED":
        return CERTIFIED
    return INTERRUPTED if model.status.name == "INTERRUPTED" else GAP_LEFT


def prepared_outcome(model: Any, data: Rows, arguments: Namespace) -> tuple[dict[str, Any], str]:
    """What was done with the columns, and the quality on the rows that were held out: (data for --json, text)."""
    found: dict[str, Any] = {"columns": columns_of(model)}
    if data.test is None:
        return found, ""
    from fenchel.cli.evaluate import assessed, metrics_table
    from fenchel.cli.intervals import intervals

    quality, labels = assessed(model, data.test, arguments)
    estimates = intervals(quality, RESAMPLES, arguments.seed, LEVEL)
    found["test"] = {"rows": quality.size, "metrics": {name: e._asdict() for name, e in estimates.items()}}
    text = f"\n\non {quality.size} rows that were held out:\n{metrics_table(estimates, LEVEL)}"
    if labels is None:
        return found, text
    found["test"] |= labels.plain()
    return found, f"{text}\n\n{labels.text()}"


def _as_text(model: Any, results: list[Any], arguments: Namespace, problem: str) -> str:
    worst = model.certificate
    lines = {
        "problem": problem,
        "status": f"{model.status.name}: {_advice(model, results)}",
        "solver": " / ".join(sorted({result.reason for result in results})),
        "work": f"{sum(result.n_iter for result in results)} iterations, "
        f"{sum(result.passes for result in results):.4g} passes, {sum(result.seconds for result in results):.3g} s",
        "compiled": f"{sum(result.compile_seconds for result in results):.3g} s, not counted above",
        "primal": f"{worst.primal:.12g}",
        "dual": f"{worst.dual:.12g}",
        "gap": f"{worst.gap:.3g}, relative {worst.relative_gap:.3g}, tol {model.tol:g}",
    }
    if model.is_vector:
        lines["scores"] = f"{model.k} scores per row, {len(model.labels)} labels, one problem"
    elif not model.is_structured and model.k > 1:
        lines["scores"] = (
            f"{model.k} labels, one-vs-rest; primal, dual and gap are those of the label with the largest gap"
        )
    if model.labels is not None:
        lines["labels"] = _some(model.labels)
    lines["model"] = arguments.model
    if arguments.report is not None:
        lines["report"] = arguments.report
    return "\n".join(f"{name:<8} {clean(text)}" for name, text in lines.items())


def _advice(model: Certified | StructuredModel, results: list[Any]) -> str:
    """The advice of the first result with the model's status, which may be more specific than that of the status."""
    return next((result.advice for result in results if result.status is model.status), model.status.advice)


def _some(labels: Sequence[str | float]) -> str:
    more = f", ... ({len(labels)})" if len(labels) > 10 else ""
    return ", ".join(str(label) for label in labels[:10]) + more


def outcome(model: Certified | StructuredModel, results: list[Any], arguments: Namespace) -> dict[str, Any]:
    """The data for --json."""
    fits = [
        {
            "status": result.status.name,
            "solver": result.solver,
            "primal": result.certificate.primal,
            "dual": result.certificate.dual,
            "gap": result.certificate.gap,
            "relative_gap": result.certificate.relative_gap,
            "iterations": result.n_iter,
            "passes": result.passes,
            "seconds": result.seconds,
            "compile_seconds": result.compile_seconds,
        }
        for result in results
    ]
    about = {"status": model.status.name, "tol": model.tol, "n": model.n, "d": model.d, "labels": model.labels}
    return {**about, "model": arguments.model, "fits": fits}
