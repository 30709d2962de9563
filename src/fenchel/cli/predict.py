"""fenchel predict MODEL DATA [-o OUT] [--scores | --proba | --top-k K]"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any

from fenchel.cli.tasks import read_for
from fenchel.cli.terminal import clean, complain

EPILOG = """\
One line per row: the label (classification), the prediction (regression and rankings: the score; Poisson: its
exponential), or 1 / -1 for usual / novel rows. --scores prints the score, or one score per label; --proba one
probability per label; --top-k the K labels with the highest scores, the best first.
The label of a row in DATA is not used for its prediction, but must be there, as in every svmlight file.
A model of column files (train --columns) writes the columns of DATA and the predicted label behind them, divided by
blanks, with --proba one probability per label instead; there DATA may have the label column or lack it.

exit status: 0 done, 1 error, 2 wrong usage
"""


def configure(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = EPILOG
    parser.add_argument("model", metavar="MODEL", help="a file written by fenchel train")
    parser.add_argument("data", metavar="DATA", help="svmlight file, or column file; - is stdin")
    parser.add_argument("-o", "--output", metavar="OUT", default="-", help="default: stdout")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--scores", action="store_true", help="scores instead of labels")
    what.add_argument(
        "--proba",
        action="store_true",
        help="probabilities instead of labels (loss logistic, softmax, hierarchical_softmax, log)",
    )
    what.add_argument("--top-k", type=int, metavar="K", help="the K best labels of every row instead of one")
    parser.add_argument("--quiet", action="store_true", help="no notes on stderr")


def run(arguments: Namespace) -> int:
    """Predict and write."""
    from fenchel.model_file import load

    model: Any = load(arguments.model)
    if model.family == "structured":
        from fenchel.cli import columns_use

        return columns_use.predict(model, arguments)
    if arguments.proba:
        model.probabilities(_no_rows(model.d))  # before the data are read: can it at all?
    if arguments.top_k is not None:
        _require_labels(model, arguments.top_k)
    data = read_for(model, arguments.data, arguments.model)
    predicted = _ask(model, arguments, data.X)
    write(arguments.output, _lines(predicted))
    if not arguments.quiet:
        _note(model, predicted, data.y, ranked=arguments.top_k is not None)
    return 0


def _ask(model: Any, arguments: Namespace, X: Any) -> Any:
    if arguments.top_k is not None:
        return _top(model, X, arguments.top_k)
    return (model.probabilities if arguments.proba else model.label_scores if arguments.scores else model.predict)(X)


def _require_labels(model: Any, k: int) -> None:
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


def _top(model: Any, X: Any, k: int) -> Any:
    """(n, k): the labels with the highest scores, the best first and the first of equals, as in `Model.predict`."""
    import numpy as np

    scores = model.label_scores(X)
    if scores.ndim == 1:  # of two labels
        scores = np.column_stack([-scores, scores])
    return np.array(model.labels)[np.argsort(-scores, axis=1, kind="stable")[:, :k]]


def _no_rows(d: int) -> Any:
    import numpy as np

    return np.zeros((0, d))


def _lines(predicted: Any) -> Iterator[str]:
    for row in predicted.tolist():
        yield " ".join(_word(entry) for entry in (row if isinstance(row, list) else [row])) + "\n"


def _word(entry: Any) -> str:
    return clean(entry) if isinstance(entry, str) else repr(entry)


def write(output: str, lines: Iterator[str]) -> None:
    """Lines to a file, which is then there as a whole, or to stdout ("-")."""
    if output == "-":
        sys.stdout.writelines(lines)
        return
    from fenchel.whole_file import replacing

    with replacing(output) as file:
        file.writelines(line.encode() for line in lines)


def _note(model: Any, predicted: Any, y: Any, ranked: bool) -> None:
    """What the columns are, or how many labels agree with those of the file."""
    if predicted.ndim == 2 and not ranked:
        complain("columns: " + " ".join(str(label) for label in model.labels))
    elif model.labels is not None and predicted.dtype.kind in "if" and set(y.tolist()) <= set(model.labels):
        right = int((predicted == y[:, None]).any(axis=1).sum() if ranked else (predicted == y).sum())
        among = f" among the {predicted.shape[1]} printed" if ranked else ""
        complain(f"{right} of {y.size} rows have the label that the file gives{among} ({right / y.size:.4%})")
