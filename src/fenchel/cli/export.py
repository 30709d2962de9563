"""fenchel export MODEL --format liblinear|json|onnx -o OUT"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from fenchel.cli.predict import check_output
from fenchel.cli.terminal import CleanParser

EPILOG = """\
liblinear: a text model file for liblinear's predict; features are numbered from 1. Labels must be
    integers. Free intercepts become a constant feature 1. Losses other than the logistic one are written
    as a support vector machine, since predictions need only the weights.
json: the complete content of the model; numbers are restored bit-identically:
    {"header": {...}, "arrays": {name: nested lists}}; infinities are the words "inf" and "-inf".
onnx: a graph in double precision with the input X (rows, features) and the outputs label (or prediction),
    scores, and probabilities if the loss has them (needs pip install 'fenchel[onnx]').
Models of sequences and with a kernel can only be written as json.

exit status: 0 done, 1 error, 2 wrong usage

example: fenchel export a9a.fenchel --format liblinear -o a9a.model
"""


def configure(parser: CleanParser) -> None:
    """Add the options."""
    parser.epilog = EPILOG
    parser.add_argument("model", metavar="MODEL", help="a file written by fenchel train or path")
    parser.add_argument(
        "--format", choices=["liblinear", "json", "onnx"], required=True, help="format of the exported model"
    )
    parser.add_argument("-o", "--output", metavar="OUT", default="-", help="default: stdout (onnx needs a file)")


def check(parser: CleanParser, arguments: Namespace) -> None:
    """Check what argparse cannot check."""
    if arguments.format == "onnx" and arguments.output == "-":
        parser.error("--format onnx writes a binary file: name it with -o OUT")


def run(arguments: Namespace) -> int:
    """Load the model, convert it and write the result."""
    from fenchel.models.export import exported
    from fenchel.models.file import load

    check_output(arguments.output)
    model: Any = load(arguments.model)
    if getattr(model, "preparation", None) is not None:
        from fenchel.cli.terminal import complain

        complain(f"what is exported takes the {model.d} prepared features of the model, not the columns of its table")
    _write(arguments.output, exported(model, arguments.format))
    return 0


def _write(output: str, content: bytes) -> None:
    if output == "-":
        print(content.decode(), end="")
        return
    from fenchel.files.atomic_write import replacing

    with replacing(output) as file:
        file.write(content)
