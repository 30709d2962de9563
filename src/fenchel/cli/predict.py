"""fenchel predict MODEL DATA [-o OUT] [--scores | --proba | --top-k K]"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.cli.reading import Rows, add_reading, read_for
from fenchel.cli.terminal import CleanParser, as_json, clean, complain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from fenchel.models.scored import Scored

EPILOG = """\
One line per row: the label (classification), the prediction (regression and rankings: the score;
Poisson: its exponential), or 1 / -1 for usual / novel rows. Labels of svmlight rows are not used, but
must be there. A table must have the columns that the model was trained on, in any order; others are not
looked at. With --csv, or if OUT ends in .csv, there is a header, and text that a spreadsheet would run
as a formula has an apostrophe in front, which fenchel takes away when it reads the file.
A model of column files (train --columns) writes the columns of DATA and the predicted label behind
them, with --proba one probability per label instead; DATA may have the label column or lack it.
JSON: labels, columns (the names of what is in a row, or null), predictions (a list with an entry or a
list per row, or per token of each sentence).

exit status: 0 done, 1 error, 2 wrong usage

example: fenchel predict iris.fenchel new.csv --proba -o probabilities.csv
"""


def configure(parser: CleanParser) -> None:
    """Declare the options."""
    parser.epilog = EPILOG
    parser.usage = "%(prog)s MODEL DATA [-o OUT] [--scores | --proba | --top-k K] [options]"
    parser.add_argument("model", metavar="MODEL", help="a file written by fenchel train")
    parser.add_argument("data", metavar="DATA", help="svmlight text, table, folder or column file; - is stdin")
    parser.add_argument("-o", "--output", metavar="OUT", default="-", help="default: stdout")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--scores", action="store_true", help="the score, or one score per label")
    what.add_argument("--proba", action="store_true", help="one probability per label (logistic, softmax, log)")
    what.add_argument("--top-k", type=int, metavar="K", help="the K labels with the highest scores, best first")
    add_reading(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="write CSV with a header")
    form.add_argument("--json", action="store_true", help="write JSON")
    parser.add_argument("--quiet", action="store_true", help="no notes on stderr")


def run(arguments: Namespace) -> int:
    """Predict and write."""
    from fenchel.models.file import load

    check_output(arguments.output)
    model: Any = load(arguments.model)
    if model.is_structured:
        from fenchel.cli import columns_use

        return columns_use.predict(model, arguments)
    if not hasattr(model, "predict"):
        from fenchel.errors import InputError

        raise InputError(
            f"{arguments.model} holds features of a kernel and predicts nothing: see fenchel.load(...).transform"
        )
    if arguments.proba:
        model.probabilities(np.zeros((0, model.d)))  # before the data are read: can it at all?
    if arguments.top_k is not None:
        _require_labels(model, arguments.top_k)
    data = read_for(model, arguments, need_target=False)
    predicted = _ask(model, arguments, data.X)
    names = _columns(model, arguments, predicted)
    if arguments.json:
        found = {"labels": model.labels, "columns": names, "predictions": predicted}
        write(arguments.output, iter([as_json(found) + "\n"]))
    elif arguments.csv or arguments.output.lower().endswith(".csv"):
        lines = _csv_lines(names or ["prediction"], predicted)
        write(arguments.output, _for_terminal(lines) if arguments.output == "-" and sys.stdout.isatty() else lines)
    else:
        write(arguments.output, _lines(predicted))
    if not arguments.quiet:
        _note(model, predicted, data, ranked=arguments.top_k is not None)
    return 0


def _columns(model: Any, arguments: Namespace, predicted: Any) -> list[str] | None:
    """What the numbers of a row are."""
    if predicted.ndim == 1:
        return None
    if arguments.top_k is not None:
        return [f"label {rank + 1}" for rank in range(predicted.shape[1])]
    return [str(label) for label in model.labels]


def _ask(model: Scored, arguments: Namespace, X: ArrayLike) -> Any:
    if arguments.top_k is not None:
        return _top(model, X, arguments.top_k)
    return (model.probabilities if arguments.proba else model.label_scores if arguments.scores else model.predict)(X)


def _require_labels(model: Scored, k: int) -> None:
    """A score for every label, and k of them."""
    from fenchel.errors import InputError

    name = type(model.loss).__name__
    if model.labels is None:
        raise InputError(f"--top-k: a model of {name} has no labels to choose from; leave the option out")
    if model.thresholds is not None:
        raise InputError(
            f"--top-k needs a score for every label, but a model of {name} has one score, and thresholds between the "
            "labels; leave the option out, or train with a loss such as top_k or softmax"
        )
    if not 1 <= k <= len(model.labels):
        raise InputError(f"--top-k must be from 1 to {len(model.labels)}, the number of labels, got {k}")


def _top(model: Scored, X: ArrayLike, k: int) -> Any:
    """(n, k): the labels with the highest scores, the best first and the first of equals, as in `Model.predict`."""
    scores = model.label_scores(X)
    if scores.ndim == 1:  # of two labels
        scores = np.column_stack([-scores, scores])
    return np.array(model.labels)[np.argsort(-scores, axis=1, kind="stable")[:, :k]]


def _lines(predicted: Any) -> Iterator[str]:
    for row in predicted.tolist():
        yield " ".join(_word(entry) for entry in (row if isinstance(row, list) else [row])) + "\n"


def _csv_lines(header: list[str], predicted: Any) -> Iterator[str]:
    from fenchel.readers.table.csv_text import csv_line

    yield csv_line(header)
    for row in predicted.tolist():
        yield csv_line(row if isinstance(row, list) else [row])


def _for_terminal(lines: Iterator[str]) -> Iterator[str]:
    """Files and pipes get what the labels are, a terminal what it can show."""
    return (clean(line.removesuffix("\n")) + "\n" for line in lines)


def _word(entry: Any) -> str:
    return clean(entry) if isinstance(entry, str) else repr(entry)


def check_output(output: str) -> None:
    """Complain before the work rather than after it, if nothing could be written there."""
    if output != "-":
        from fenchel.files.atomic_write import check_writable

        check_writable(output)


def write(output: str, lines: Iterator[str]) -> None:
    """Lines to a file, which is then there as a whole, or to stdout ("-")."""
    if output == "-":
        sys.stdout.writelines(lines)
        return
    from fenchel.files.atomic_write import replacing

    with replacing(output) as file:
        file.writelines(line.encode() for line in lines)


def _real(labels: Sequence[str | float]) -> bool:
    """Whether labels are numbers that are not all whole."""
    return any(isinstance(label, float) for label in labels)


def _note(model: Any, predicted: Any, data: Rows, ranked: bool) -> None:
    """What the columns are, or how many labels agree with those of the file."""
    if predicted.ndim == 2 and not ranked:
        complain("columns: " + " ".join(str(label) for label in model.labels))
        return
    if model.labels is None or data.y is None or np.issubdtype(predicted.dtype, np.floating) != _real(model.labels):
        return
    truth = data.y if data.words is None else np.array(data.words, dtype=object)[data.y.astype(int)]
    if set(truth.tolist()) <= set(model.labels):
        right = int((predicted == truth[:, None]).any(axis=1).sum() if ranked else (predicted == truth).sum())
        among = f" among the {predicted.shape[1]} printed" if ranked else ""
        complain(f"{right} of {truth.size} rows have the label that the file gives{among} ({right / truth.size:.4%})")
