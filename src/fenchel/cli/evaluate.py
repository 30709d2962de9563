"""fenchel evaluate MODEL DATA"""

from __future__ import annotations

import math
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from fenchel.cli.problem_options import add_class_weight
from fenchel.cli.reading import add_reading, add_text, read_for
from fenchel.cli.sample_weights import add_sample_weights
from fenchel.cli.terminal import CleanParser, as_json, clean, table
from fenchel.errors import InputError

if TYPE_CHECKING:
    from fenchel.cli.by_label import ByLabel
    from fenchel.cli.intervals import Estimate
    from fenchel.cli.reading import Rows
    from fenchel.models.scored import Scored
    from fenchel.models.structured import StructuredModel

EPILOG = """\
classification: accuracy, balanced accuracy, F1 (of the greater of two labels, else the mean over labels),
    ROC area (two labels), top-k accuracy (more labels), log loss (losses with probabilities)
regression: RMSE, MAE, R2; quantile: pinball loss and the fraction of targets at or below the prediction;
    Poisson: mean deviance.  novelty: the fraction of rows that are predicted to be novel
rankings: NDCG, NDCG at 10 (or the measure's k), MRR, over queries with a relevant document
sequences: accuracy of tokens and of whole sequences; precision, recall and F1 of spans
Labels of DATA that the model does not know count as errors.
--loo: DATA are the training rows; the error that each row has at the optimum without it, by bounds from
the model's certificate and refits where these do not decide (of classifiers the fraction of wrong labels,
else the mean loss). Add -wi or --weights as for fenchel verify.
Confidence intervals are bootstrap percentiles: rows (queries, sequences) are drawn with replacement, the
model is not refitted. Equal seeds give equal intervals.
JSON: task, unit, count, status and relative_gap (of the model), resamples, seed, level,
metrics: {name: {value, low, high}}; with labels confusion: {labels, counts (a list per true label)} and
by_label: [{label, precision, recall, f1, rows}];
with --loo: count, error: {low, high}, decided, at_once, predicted, refits.

exit status: 0 done, 1 error, 2 wrong usage

example: fenchel evaluate iris.fenchel test.csv --target species
"""


def configure(parser: CleanParser) -> None:
    """Add the options."""
    parser.epilog, parser.usage = EPILOG, "%(prog)s MODEL DATA [options]"
    parser.add_argument("model", metavar="MODEL", help="a file written by fenchel train or path")
    parser.add_argument("data", metavar="DATA", help="rows with their targets; -: stdin")
    add_reading(parser)
    parser.add_argument("--loo", action="store_true", help="the leave-one-out error of the training rows")
    parser.add_argument(
        "--resamples", type=int, metavar="N", default=1000, help="bootstrap resamples (default: 1000; 0: no intervals)"
    )
    parser.add_argument(
        "--level", type=float, metavar="P", default=0.95, help="level of the confidence intervals (default: 0.95)"
    )
    parser.add_argument("--seed", type=int, metavar="N", default=0, help="default: 0")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    add_text(parser)
    weights = parser.add_rare_group("weights of the fit, for --loo")
    add_class_weight(weights)
    add_sample_weights(weights)


def run(arguments: Namespace) -> int:
    """Predict, compare with the targets and print the metrics."""
    from fenchel.cli.intervals import intervals
    from fenchel.models.file import load

    if arguments.seed < 0:
        raise InputError(f"--seed must be at least 0, got {arguments.seed}")
    model: Any = load(arguments.model)
    if arguments.loo:
        from fenchel.cli.leave_one_out import run as leave_one_out

        return leave_one_out(model, arguments)
    labels: ByLabel | None = None
    if model.is_structured:
        quality = _of_sequences(model, arguments)
    else:
        quality, labels = _of_rows(model, arguments)
    found = intervals(quality, arguments.resamples, arguments.seed, arguments.level)
    if arguments.json:
        about = {
            "task": quality.task,
            "unit": quality.unit,
            "count": quality.size,
            "status": None,
            "relative_gap": None,
        }
        if hasattr(model, "certificate"):
            about |= {"status": model.status.name, "relative_gap": model.certificate.relative_gap}
        about |= {"resamples": arguments.resamples}
        metrics = {name: estimate._asdict() for name, estimate in found.items()}
        about |= {"seed": arguments.seed, "level": arguments.level, "metrics": metrics}
        print(as_json(about | (labels.plain() if labels is not None else {})))
        return 0
    print(clean(f"{quality.task}: {quality.size} {quality.unit} of {arguments.data}"))
    if hasattr(model, "certificate"):
        print(f"model: {model.status.name}, relative gap {model.certificate.relative_gap:.3g}, tol {model.tol:g}")
    else:
        print(clean(f"model: {model.algorithm}, an online learner: no certificate"))
    print(metrics_table(found, arguments.level))
    if labels is not None:
        print("\n" + labels.text())
    return 0


def _of_rows(model: Scored, arguments: Namespace) -> tuple[Any, ByLabel | None]:
    if not hasattr(model, "predict"):
        raise InputError(f"{arguments.model} holds features of a kernel, which make no predictions")
    data = read_for(model, arguments, qid=model.is_ranking, ignore_more=True)
    if data.y is None:
        raise InputError(f"{arguments.data} has no target column: it has only the features of the model")
    return assessed(model, data, arguments)


def assessed(model: Scored, data: Rows, arguments: Namespace) -> tuple[Any, ByLabel | None]:
    """The metrics of a model on some rows, and for labels the counts of each."""
    from fenchel.cli.by_label import by_label
    from fenchel.cli.quality import quality_of
    from fenchel.cli.tasks import places_or_beyond

    if model.labels is None and data.words is not None:
        raise InputError(f"{arguments.data}: the targets are words, but the model predicts numbers")
    if model.labels is None:
        return quality_of(model, data.X, data.y, data.qid), None
    y, strange = places_or_beyond(data, model.labels, arguments.data)
    if strange:
        _warn_of(strange, int((y >= len(model.labels)).sum()), y.size, arguments)
    return quality_of(model, data.X, y, data.qid), by_label(model, data.X, y)


def metrics_table(found: dict[str, Estimate], level: float) -> str:
    """The metrics with their intervals, as text."""
    rows = [[name.replace("_", " "), _shown(e.value), _interval(e)] for name, e in found.items()]
    return table(["metric", "value", f"{level:.4g} interval"], rows)


def _warn_of(strange: list[Any], rows: int, total: int, arguments: Namespace) -> None:
    """Print a note on labels that did not occur in training."""
    from fenchel.cli.terminal import complain

    some = ", ".join(map(str, strange[:5])) + (", ..." if len(strange) > 5 else "")
    complain(
        f"{rows} of the {total} rows of {arguments.data} have labels that {arguments.model} does not know ({some}); "
        "they count as errors (ROC area and mean level error are those of the other rows)"
    )


def _of_sequences(model: StructuredModel, arguments: Namespace) -> Any:
    from fenchel.cli.columns import read_for as read_columns_for
    from fenchel.cli.quality import sequence_quality

    _, sentences, labels = read_columns_for(model, arguments)
    if labels is None:
        raise InputError(f"{arguments.data} has no labels")
    return sequence_quality(labels, model.predict(model.attributes_of(sentences)))


def _shown(value: float) -> str:
    return "not defined" if math.isnan(value) else f"{value:.6g}"


def _interval(estimate: Estimate) -> str:
    return "" if math.isnan(estimate.low) else f"{estimate.low:.6g} to {estimate.high:.6g}"
