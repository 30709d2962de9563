"""fenchel predict MODEL DATA [-o OUT] [--scores | --proba]"""

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
probability per label.
The label of a row in DATA is not used for its prediction, but must be there, as in every svmlight file.

exit status: 0 done, 1 error, 2 wrong usage
"""


def configure(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = EPILOG
    parser.add_argument("model", metavar="MODEL", help="a file written by fenchel train")
    parser.add_argument("data", metavar="DATA", help="svmlight file; - is stdin")
    parser.add_argument("-o", "--output", metavar="OUT", default="-", help="default: stdout")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--scores", action="store_true", help="scores instead of labels")
    what.add_argument(
        "--proba",
        action="store_true",
        help="probabilities instead of labels (loss logistic, softmax, hierarchical_softmax)",
    )
    parser.add_argument("--quiet", action="store_true", help="no notes on stderr")


def run(arguments: Namespace) -> int:
    """Predict and write."""
    from fenchel.model_file import load

    model = load(arguments.model)
    if arguments.proba:
        model.probabilities(_no_rows(model.d))  # before the data are read: can it at all?
    data = read_for(model, arguments.data, arguments.model)
    ask = model.probabilities if arguments.proba else model.label_scores if arguments.scores else model.predict
    predicted = ask(data.X)
    _write(arguments.output, _lines(predicted))
    if not arguments.quiet:
        _note(model, predicted, data.y)
    return 0


def _no_rows(d: int) -> Any:
    import numpy as np

    return np.zeros((0, d))


def _lines(predicted: Any) -> Iterator[str]:
    for row in predicted.tolist():
        yield " ".join(_word(entry) for entry in (row if isinstance(row, list) else [row])) + "\n"


def _word(entry: Any) -> str:
    return clean(entry) if isinstance(entry, str) else repr(entry)


def _write(output: str, lines: Iterator[str]) -> None:
    if output == "-":
        sys.stdout.writelines(lines)
        return
    from fenchel.whole_file import replacing

    with replacing(output) as file:
        file.writelines(line.encode() for line in lines)


def _note(model: Any, predicted: Any, y: Any) -> None:
    """What the columns are, or how many labels agree with those of the file."""
    if predicted.ndim == 2:
        complain("columns: " + " ".join(str(label) for label in model.labels))
    elif model.labels is not None and predicted.dtype.kind in "if" and set(y.tolist()) <= set(model.labels):
        right = int((predicted == y).sum())
        complain(f"{right} of {y.size} rows have the label that the file gives ({right / y.size:.4%})")
