"""fenchel predict MODEL DATA [-o OUT] [--scores | --proba | --top-k K]"""

from __future__ import annotations

import sys
from argparse import SUPPRESS, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.cli.reading import Rows, add_reading, add_text, read_for
from fenchel.cli.terminal import CleanParser, as_json, clean, complain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from fenchel.models.scored import Scored

EPILOG = """\
Writes one line per row: the label (classification), the prediction (regression and rankings: the score;
Poisson: its exponential), or 1 / -1 for normal / novel rows. The labels of svmlight rows are required but not
used. A table must have the columns that the model was trained on, in any order; other columns are
ignored, and levels that were not in training count as rare ones or as none, with a warning.
With --csv, or if OUT ends in .csv, there is a header, and text that a spreadsheet would evaluate as a
formula is prefixed by an apostrophe, which fenchel removes when it reads the file.
A model of column files (train --columns) writes the columns of DATA, followed by the predicted label or,
with --proba, by one probability per label; the label column of DATA may be missing.
--certain adds 1 where the exact optimum of the training problem is proven to predict the same label, else 0.
It needs a loss of one score, or of several without free intercepts, and L2 or L1 + L2.
JSON: labels, columns (the names of the values of a row, or null), predictions (a list with an entry or a
list per row, or per token of each sentence), ids (with train --id, which CSV repeats as first column).

exit status: 0 done, 1 error, 2 wrong usage

example: fenchel predict iris.fenchel new.csv --proba -o probabilities.csv
"""


def configure(parser: CleanParser) -> None:
    """Add the options."""
    parser.epilog = EPILOG
    parser.usage = "%(prog)s MODEL DATA [-o OUT] [--scores | --proba | --top-k K | --certain] [options]"
    parser.add_argument("model", metavar="MODEL", help="a file written by fenchel train")
    parser.add_argument("data", metavar="DATA", help="svmlight text, table, folder or column file; -: stdin")
    parser.add_argument("out", metavar="OUT", nargs="?", help=SUPPRESS)  # liblinear's order: TEST MODEL OUT
    parser.add_argument("-o", "--output", metavar="OUT", default="-", help="default: stdout")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--scores", action="store_true", help="the score, or one score per label")
    what.add_argument("--proba", action="store_true", help="one probability per label (logistic, softmax, log); -b 1")
    what.add_argument("--top-k", type=int, metavar="K", help="the K labels with the highest scores, best first")
    what.add_argument("--certain", action="store_true", help="the label, and whether it is proven (1) or not (0)")
    add_reading(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="write CSV with a header")
    form.add_argument("--json", action="store_true", help="write JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="no notes on stderr")
    add_text(parser)


def run(arguments: Namespace) -> int:
    """Write the predictions."""
    from fenchel.models.file import load

    _liblinear_order(arguments)
    check_output(arguments.output)
    model: Any = load(arguments.model)
    if model.is_structured:
        from fenchel.cli import columns_use

        return columns_use.predict(model, arguments)
    if not hasattr(model, "predict"):
        from fenchel.errors import InputError

        raise InputError(
            f"{arguments.model} holds features of a kernel, which make no predictions: see fenchel.load(...).transform"
        )
    if arguments.proba:
        model.probabilities(np.zeros((0, model.d)))  # raises before the data are read if the model has no probabilities
    if arguments.top_k is not None:
        _require_labels(model, arguments.top_k)
    if arguments.certain:
        _require_certain(model, arguments)
    data = read_for(model, arguments, need_target=False, ignore_more=True)
    predicted = _ask(model, arguments, data.X)
    names = _columns(model, arguments, predicted)
    if arguments.json:
        found = {"labels": model.labels, "columns": names, "predictions": predicted}
        if data.ids is not None:
            found["ids"] = data.ids
        write(arguments.output, iter([as_json(found) + "\n"]))
    elif arguments.csv or arguments.output.lower().endswith(".csv"):
        name = None if data.ids is None else (data.roles or {}).get("id")
        lines = _csv_lines(names or ["prediction"], predicted, name, data.ids)
        write(arguments.output, _for_terminal(lines) if arguments.output == "-" and sys.stdout.isatty() else lines)
    else:
        write(arguments.output, _lines(predicted))
    if not arguments.quiet:
        if arguments.certain:
            proven = int(np.sum(predicted[:, 1].astype(int)))
            complain(f"{proven} of {len(predicted)} labels are those of the exact optimum (proven)")
            predicted = predicted[:, 0].astype(np.array(model.labels).dtype)
        _note(model, predicted, data, ranked=arguments.top_k is not None)
    return 0


def _liblinear_order(arguments: Namespace) -> None:
    """Three files are those of liblinear's predict, TEST MODEL OUT; MODEL DATA OUT means the same as -o OUT."""
    if arguments.out is None:
        return
    if arguments.output != "-":
        from fenchel.errors import InputError

        raise InputError(f"the output is named twice: {arguments.out} and -o {arguments.output}")
    arguments.output = arguments.out
    if not _is_model(arguments.model) and _is_model(arguments.data):
        arguments.model, arguments.data = arguments.data, arguments.model


def _is_model(name: str) -> bool:
    """Whether the file begins as model files do."""
    from fenchel.files.container import MAGIC

    try:
        with open(name, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _columns(model: Any, arguments: Namespace, predicted: np.ndarray) -> list[str] | None:
    """The names of the values of a row."""
    if predicted.ndim == 1:
        return None
    if arguments.top_k is not None:
        return [f"label {rank + 1}" for rank in range(predicted.shape[1])]
    if arguments.certain:
        return ["prediction", "certain"]
    return [str(label) for label in model.labels]


def _require_certain(model: Any, arguments: Namespace) -> None:
    """Raise InputError before the data are read if the model's predictions cannot be proven."""
    from fenchel.errors import InputError

    if not hasattr(model, "certain"):
        raise InputError(f"--certain needs a linear model; {arguments.model} is {model.content}")
    model.certain(np.zeros((0, model.d)))


def _ask(model: Any, arguments: Namespace, X: ArrayLike) -> Any:
    if arguments.certain:
        return np.column_stack([model.predict(X).astype(object), model.certain(X).astype(int).astype(object)])
    if arguments.top_k is not None:
        return _top(model, X, arguments.top_k)
    return (model.probabilities if arguments.proba else model.label_scores if arguments.scores else model.predict)(X)


def _require_labels(model: Scored, k: int) -> None:
    """Reject --top-k without a score for every label, or with a k out of range."""
    from fenchel.errors import InputError

    name = type(model.loss).__name__
    if model.labels is None:
        raise InputError(f"--top-k: a model with the loss {name} has no labels to choose from; remove the option")
    if model.thresholds is not None:
        raise InputError(
            f"--top-k needs a score for every label, but a model with the loss {name} has one score, and thresholds between "
            "the labels; remove the option, or train with a loss such as top_k or softmax"
        )
    if not 1 <= k <= len(model.labels):
        raise InputError(f"--top-k must be from 1 to {len(model.labels)}, the number of labels, got {k}")


def _top(model: Scored, X: ArrayLike, k: int) -> Any:
    """(n, k): the labels with the highest scores, best first; of ties the first one, as in `Model.predict`."""
    scores = model.label_scores(X)
    if scores.ndim == 1:  # with two labels
        scores = np.column_stack([-scores, scores])
    return np.array(model.labels)[np.argsort(-scores, axis=1, kind="stable")[:, :k]]


def _lines(predicted: np.ndarray) -> Iterator[str]:
    for row in predicted.tolist():
        yield " ".join(_word(entry) for entry in (row if isinstance(row, list) else [row])) + "\n"


def _csv_lines(
    header: list[str], predicted: np.ndarray, name: str | None = None, ids: list[str] | None = None
) -> Iterator[str]:
    """The lines, which begin with the identifiers if there are any."""
    from fenchel.readers.table.csv_text import csv_line

    yield csv_line(header if ids is None else [str(name), *header])
    for k, row in enumerate(predicted.tolist()):
        cells = row if isinstance(row, list) else [row]
        yield csv_line(cells if ids is None else [ids[k], *cells])


def _for_terminal(lines: Iterator[str]) -> Iterator[str]:
    """The text of a label: unchanged for files and pipes, cleaned for a terminal."""
    return (clean(line.removesuffix("\n")) + "\n" for line in lines)


def _word(entry: object) -> str:
    return clean(entry) if isinstance(entry, str) else repr(entry)


def check_output(output: str) -> None:
    """Raise an error before the work starts if the output could not be written."""
    if output != "-":
        from fenchel.files.atomic_write import check_writable

        check_writable(output)


def write(output: str, lines: Iterator[str]) -> None:
    """Write lines to a file, atomically, or to stdout ("-")."""
    if output == "-":
        sys.stdout.writelines(lines)
        return
    from fenchel.files.atomic_write import replacing

    with replacing(output) as file:
        file.writelines(line.encode() for line in lines)


def _real(labels: Sequence[str | float]) -> bool:
    """Whether the labels are numbers that are not all integers."""
    return any(isinstance(label, float) for label in labels)


def _note(model: Any, predicted: np.ndarray, data: Rows, ranked: bool) -> None:
    """Print a note on the columns, or on how many labels agree with those of the file."""
    if predicted.ndim == 2 and not ranked:
        complain("columns: " + " ".join(str(label) for label in model.labels))
        return
    if model.labels is None or data.y is None or np.issubdtype(predicted.dtype, np.floating) != _real(model.labels):
        return
    truth = data.y if data.words is None else np.array(data.words, dtype=object)[data.y.astype(int)]
    if set(truth.tolist()) <= set(model.labels):
        right = int((predicted == truth[:, None]).any(axis=1).sum() if ranked else (predicted == truth).sum())
        among = f" among the {predicted.shape[1]} printed" if ranked else ""
        complain(f"{right} of {truth.size} rows have the label given in the file{among} ({right / truth.size:.4%})")
