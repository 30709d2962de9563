"""fenchel evaluate MODEL DATA"""

from __future__ import annotations

import math
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from fenchel.cli.reading import add_reading, read_for
from fenchel.cli.terminal import CleanParser, as_json, clean, table
from fenchel.errors import InputError

if TYPE_CHECKING:
    from fenchel.cli.intervals import Estimate
    from fenchel.models.scored import Scored
    from fenchel.models.structured import StructuredModel

EPILOG = """\
classification: accuracy, balanced accuracy, F1 (of the greater of two labels, else the mean over labels),
    ROC area (two labels), top-k accuracy (more), log loss (losses with probabilities)
regression: RMSE, MAE, R2; quantile: pinball loss and the share of targets at or below the prediction;
    Poisson: mean deviance.  novelty: the share of rows that are called novel
rankings: NDCG, NDCG at 10 (or the measure's k), MRR, over queries in which something is relevant
sequences: accuracy of tokens and of whole sequences; precision, recall and F1 of spans
Labels of DATA that the model does not know count as wrong.
Intervals are percentiles of the bootstrap: rows (queries, sequences) are drawn with replacement, the
model stays as it is. Equal seeds give equal intervals.
JSON: task, unit, count, status and relative_gap (of the model), resamples, seed, level,
metrics: {name: {value, low, high}}.

exit status: 0 done, 1 error, 2 wrong usage

example: fenchel evaluate iris.fenchel test.csv --target species
"""


def configure(parser: CleanParser) -> None:
    """Declare the options."""
    parser.epilog, parser.usage = EPILOG, "%(prog)s MODEL DATA [options]"
    parser.add_argument("model", metavar="MODEL", help="a file written by fenchel train or path")
    parser.add_argument("data", metavar="DATA", help="rows with their targets; - is stdin")
    add_reading(parser)
    parser.add_argument("--resamples", type=int, metavar="N", default=1000, help="default: 1000; 0: no intervals")
    parser.add_argument("--level", type=float, metavar="P", default=0.95, help="of the intervals (default: 0.95)")
    parser.add_argument("--seed", type=int, metavar="N", default=0, help="default: 0")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(arguments: Namespace) -> int:
    """Predict, compare with the targets, print."""
    from fenchel.cli.intervals import intervals
    from fenchel.models.file import load

    if arguments.seed < 0:
        raise InputError(f"--seed must be at least 0, got {arguments.seed}")
    model: Any = load(arguments.model)
    quality = _of_sequences(model, arguments) if model.is_structured else _of_rows(model, arguments)
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
        print(as_json({**about, "seed": arguments.seed, "level": arguments.level, "metrics": metrics}))
        return 0
    print(clean(f"{quality.task}: {quality.size} {quality.unit} of {arguments.data}"))
    if hasattr(model, "certificate"):
        print(f"model: {model.status.name}, relative gap {model.certificate.relative_gap:.3g}, asked {model.tol:g}")
    else:
        print(clean(f"model: {model.algorithm}, an online learner: no certificate"))
    between = f"{arguments.level:.4g} interval"
    rows = [[name.replace("_", " "), _shown(e.value), _interval(e)] for name, e in found.items()]
    print(table(["metric", "value", between], rows))
    return 0


def _of_rows(model: Scored, arguments: Namespace) -> Any:
    if not hasattr(model, "predict"):
        raise InputError(f"{arguments.model} holds features of a kernel: they predict nothing that could be compared")
    from fenchel.cli.quality import quality_of
    from fenchel.cli.tasks import places_or_beyond

    data = read_for(model, arguments, qid=model.is_ranking)
    if data.y is None:
        raise InputError(f"{arguments.data} has no target to compare with: it has the features of the model only")
    if model.labels is None and data.words is not None:
        raise InputError(f"{arguments.data}: the target holds words, but the model predicts numbers")
    if model.labels is None:
        return quality_of(model, data.X, data.y, data.qid)
    y, strange = places_or_beyond(data, model.labels, arguments.data)
    if strange:
        _warn_of(strange, int((y >= len(model.labels)).sum()), y.size, arguments)
    return quality_of(model, data.X, y, data.qid)


def _warn_of(strange: list[Any], rows: int, total: int, arguments: Namespace) -> None:
    """Of labels that were not in training."""
    from fenchel.cli.terminal import complain

    some = ", ".join(map(str, strange[:5])) + (", ..." if len(strange) > 5 else "")
    complain(
        f"{rows} of the {total} rows of {arguments.data} have labels that {arguments.model} does not know ({some}): no "
        "prediction can be right there, and they count as wrong (ROC area and mean level error are of the other rows)"
    )


def _of_sequences(model: StructuredModel, arguments: Namespace) -> Any:
    from fenchel.cli.columns import read_for as read_columns_for
    from fenchel.cli.quality import sequence_quality

    _, sentences, labels = read_columns_for(model, arguments)
    if labels is None:
        raise InputError(f"{arguments.data} has no labels to compare with")
    return sequence_quality(labels, model.predict(model.attributes_of(sentences)))


def _shown(value: float) -> str:
    return "not defined" if math.isnan(value) else f"{value:.6g}"


def _interval(estimate: Estimate) -> str:
    return "" if math.isnan(estimate.low) else f"{estimate.low:.6g} to {estimate.high:.6g}"
