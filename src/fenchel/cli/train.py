"""fenchel train DATA --model OUT [--loss NAME] [--penalty NAME] [--alpha A]"""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from fenchel.cli.fitting import add_checkpoint, add_limits, add_solving, model_of, places_of, problems, solve_all
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
    with_weights,
)
from fenchel.cli.reading import add_drop, add_reading, add_svmlight, read
from fenchel.cli.reporting import add_report, check_report, evaluated, fit, write_report
from fenchel.cli.tasks import arrange, ask_whether_regression, queries_for
from fenchel.cli.terminal import CleanParser, as_json, clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fenchel.models.scored import Certified
    from fenchel.models.structured import StructuredModel

CERTIFIED, GAP_LEFT, INTERRUPTED = 0, 3, 130
TOL = 1e-6
LONG = """\
The objective is (1/n) sum_i loss(<x_i, w> + b, y_i) + R(w), with alpha inside R. `fenchel losses` lists losses and
penalties, `fenchel solvers` the solvers. Two labels are mapped to -1 and +1 in ascending order; with more labels one
score per label is fitted, that label against the rest. Regression losses take the labels as targets, and the novelty
loss does not look at them. Losses of several scores (max_hinge, softmax, top_k, ...) are one problem for all labels;
rows and columns of a cost matrix are in ascending order of the labels, and the labels of a tree are its leaves 0, 1,
2, ... Measures are losses of all rows together: of two labels, of ordered labels (ordinal), or, if DATA has queries
(qid: or --group), of each query, with the labels as relevances (above 0 is relevant, where a measure knows only two
kinds); ndcg, mrr, eru, winner_takes_all, ndcg_pairs, map_pairs and mrr_pairs need queries. Labels are told apart by
thresholds that are the best ones for the measure on DATA.

liblinear's options: -c C is its C, alpha = 1 / (C n), and 1 / (2 C n) for the losses that are half a square here and
a whole one there (squared_hinge, squared, epsilon_insensitive with --p 2); with -wi, n is the sum of the weights.
-e is the relative duality gap, a promise about the objective, where liblinear's is a norm of the gradient. -B B
appends a feature that is B in every row, with a penalised weight, as liblinear does; --intercept is not penalised.
-wi X: rows with label i count X times; where a label is fitted against the rest, only in the problem of that label.
-v K prints the share of rows that models fitted without them get right (regression: mean squared error and squared
correlation), and writes no model. -s: 0, 7 logistic; 1, 2 squared_hinge; 3 hinge; 4 max_hinge; 5 squared_hinge with
l1; 6 logistic with l1; 11, 12 epsilon_insensitive with --p 2; 13 with --p 1 (-p 0.1 as there:
it is --epsilon).

Tables (.csv, .tsv, .parquet, also .csv.gz) have a header; features are numbers, the target may be words, and --drop
leaves other columns out (names, dates). - is standard input, --format says what comes from there. --report also shows
how the model does on the rows of DATA, unless they are a folder on disk; fenchel report --data evaluates on other rows.

With --columns, DATA has a token per line, its columns divided by blanks or tabs and an empty line between sentences; n
is the number of sentences. The loss of a sentence is that of a chain: hinge (max-margin; --beta 1 rescales slack
instead of margin) or log (a conditional random field). The default template is the word, those around it and pairs of
them, the same and triples for each further column, and with a single column spelling too; it needs the label in the
last column.

JSON: status, tol, n, d, labels, model, fits: one per problem with status, solver, primal, dual, gap, relative_gap,
iterations, passes, seconds, compile_seconds (what compiling took at the first run of its kind, not among the seconds).
With -v: folds, rows, worst_relative_gap, and accuracy or mean_squared_error and squared_correlation."""
EPILOG = """\
exit status: 0 certified at tol, 3 the gap is above tol (the model is written), 130 Ctrl-C (the best iterate
so far is certified and written), 1 error, 2 wrong usage

examples: fenchel train a9a --loss hinge --alpha 1e-4 --intercept --model a9a.fenchel
          fenchel train iris.csv --target species --loss softmax --model iris.fenchel
          fenchel train chunks.txt --columns --loss log -c 1 --model chunks.fenchel
"""


def configure(parser: CleanParser) -> None:
    """Declare the options."""
    parser.usage, parser.epilog, parser.long_epilog = "%(prog)s DATA --model OUT [options]", EPILOG, LONG
    parser.add_argument("data", metavar="DATA", help="svmlight text, table, folder of fenchel convert; - is stdin")
    parser.add_argument("--model", metavar="OUT", help="where the model is written (not with -v)")
    problem = parser.add_argument_group("problem")
    add_loss(problem)
    problem.add_argument("--penalty", metavar="NAME", help="default: l2")
    add_strength(problem)
    add_intercept(problem)
    add_solving(problem, "1e-6; with --columns 1e-3")
    files = parser.add_argument_group("files and output")
    add_reading(files, training=True)
    add_drop(files)
    files.add_argument("--columns", action="store_true", help="DATA is a CoNLL column file: label its tokens")
    files.add_argument("-v", dest="folds", type=int, metavar="K", help="K-fold cross-validation, no model (liblinear)")
    add_report(files)
    files.add_argument("--json", action="store_true", help="print the outcome as JSON")
    files.add_argument("-q", "--quiet", action="store_true", help="no progress line")
    add_loss_parameters(parser.add_rare_group("parameters of the loss and the penalty"))
    add_constraints(parser.add_rare_group("bounds, groups and weights of coefficients"))
    solving = parser.add_rare_group("solving")
    solving.add_argument("--solver", default="auto", metavar="NAME", help="default: auto; see fenchel solvers")
    add_limits(solving)
    add_checkpoint(solving)
    add_svmlight(rare := parser.add_rare_group("svmlight text and model"))
    rare.add_argument("--no-dual", action="store_true", help="leave the dual point out of the model")
    _configure_columns(parser)


def _configure_columns(parser: CleanParser) -> None:
    columns = parser.add_rare_group("column files: a chain that labels the tokens of sentences (with --columns)")
    columns.add_argument(
        "--template", metavar="FILE", help="feature templates as CRF++ has them (default: a window of two tokens)"
    )
    columns.add_argument("--label-column", type=int, metavar="K", help="from 0, or from the end: -1 (default: -1)")
    columns.add_argument("--min-count", type=int, metavar="N", help="leave out attributes seen less often (default: 1)")
    columns.add_argument(
        "--observed-only", action="store_true", help="weights only for pairs that occur in DATA, as CRFsuite does"
    )
    columns.add_argument("--no-bias", action="store_true", help="labels have no weights of their own")
    columns.add_argument("--no-ends", action="store_true", help="no weights for labels at the ends of a sentence")


def check(parser: CleanParser, arguments: Namespace) -> None:
    """What argparse cannot see."""
    if arguments.model is None and arguments.folds is None:
        parser.error("--model OUT, where the model is written, is needed (or -v K for cross-validation)")
    for name in ("model", "report"):
        if getattr(arguments, name) is not None and arguments.folds is not None:
            parser.error(f"-v K is cross-validation and writes no {name}: leave --{name} out")


def run(arguments: Namespace) -> int:
    """Train, write the model, print its certificate."""
    from fenchel.cli import columns
    from fenchel.files.atomic_write import check_writable

    if arguments.tol is None:
        arguments.tol = columns.TOL if arguments.columns else TOL
    check_report(arguments.report)
    if arguments.columns:
        return columns.train(arguments)
    columns.refuse_own(arguments)
    loss, penalty, constant = asked_loss(arguments), asked_penalty(arguments), asked_constant(arguments)
    if arguments.model is not None:
        check_writable(arguments.model)
    places_of(arguments, 1)  # what is wrong with them is better said before reading
    data = read(arguments, queries_for(loss))
    penalty = with_weights(penalty, arguments, data)
    task = arrange(data, loss, arguments.data)
    ask_whether_regression(task, arguments.data)
    weights = asked_weights(arguments, task)
    if arguments.folds is not None:
        from fenchel.cli.folds import validate

        return validate(arguments, data, task, weights, loss, penalty)
    penalty = penalty.scaled(alpha_of(arguments, data.X.shape[0], loss, weights))
    results = solve_all(arguments, problems(arguments, data.X, task, loss, penalty, weights))
    model = model_of(results, data, task, constant, not arguments.no_dual)
    always = (
        " + free intercept" if model.fit_intercept else "" if constant is None else f" + constant feature {constant:g}"
    )
    size = f"{model.n} rows, {model.d} features"
    return finish(model, results, arguments, f"{size}: {model.loss!r} + {model.regularizer!r}{always}", data)


def finish(
    model: Certified | StructuredModel, results: list[Any], arguments: Namespace, problem: str, data: Any = None
) -> int:
    """Write the model and the report, with how it does on its own rows if these are given; the exit status."""
    from fenchel.models.file import save

    save(arguments.model, model)
    if arguments.report is not None:
        own = None if data is None else evaluated(model, data, arguments.data)
        write_report(arguments.report, [fit(model, results)], f"Fenchel: {arguments.data}", arguments, data=own)
    print(
        as_json(outcome(model, results, arguments)) if arguments.json else _as_text(model, results, arguments, problem)
    )
    if model.status.name == "CERTIFIED":
        return CERTIFIED
    return INTERRUPTED if model.status.name == "INTERRUPTED" else GAP_LEFT


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
        "gap": f"{worst.gap:.3g}, relative {worst.relative_gap:.3g}, asked {model.tol:g}",
    }
    if model.is_vector:
        lines["scores"] = f"{model.k} scores per row, {len(model.labels)} labels, one problem"
    elif not model.is_structured and model.k > 1:
        lines["scores"] = f"{model.k} labels, one against the rest; primal, dual and gap are those of the widest gap"
    if model.labels is not None:
        lines["labels"] = _some(model.labels)
    lines["model"] = arguments.model
    if arguments.report is not None:
        lines["report"] = arguments.report
    return "\n".join(f"{name:<8} {clean(text)}" for name, text in lines.items())


def _advice(model: Certified | StructuredModel, results: list[Any]) -> str:
    """That of the first result with the model's status: it may know more than the status."""
    return next((result.advice for result in results if result.status is model.status), model.status.advice)


def _some(labels: Sequence[str | float]) -> str:
    more = f", ... ({len(labels)})" if len(labels) > 10 else ""
    return ", ".join(str(label) for label in labels[:10]) + more


def outcome(model: Certified | StructuredModel, results: list[Any], arguments: Namespace) -> dict[str, Any]:
    """What --json prints."""
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
