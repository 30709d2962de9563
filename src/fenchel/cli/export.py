"""fenchel export MODEL --format liblinear|json|onnx -o OUT"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from fenchel.cli.predict import check_output
from fenchel.cli.terminal import CleanParser, as_json

EPILOG = """\
liblinear: the text form of its model files, for its predict; feature i of the file is index i there (from
    1). Labels must be whole numbers. Free intercepts become a constant feature 1. Losses other than the
    logistic one are written as a support vector machine, since predictions need only the weights.
json: everything that is in the model, every number written so that it is read back to the last bit:
    {"header": {...}, "arrays": {name: nested lists}}; infinities are the words "inf" and "-inf".
onnx: a graph in double precision with the input X (rows, features) and the outputs label (or prediction),
    scores, and probabilities where the loss has them (needs pip install 'fenchel[onnx]').
Models of sequences and with a kernel are written as json only.

exit status: 0 done, 1 error, 2 wrong usage

example: fenchel export a9a.fenchel --format liblinear -o a9a.model
"""


def configure(parser: CleanParser) -> None:
    """Declare the options."""
    parser.epilog = EPILOG
    parser.add_argument("model", metavar="MODEL", help="a file written by fenchel train or path")
    parser.add_argument(
        "--format", choices=["liblinear", "json", "onnx"], required=True, help="format of the exported model"
    )
    parser.add_argument("-o", "--output", metavar="OUT", default="-", help="default: stdout (onnx: needs a file)")


def check(parser: CleanParser, arguments: Namespace) -> None:
    """What argparse cannot see."""
    if arguments.format == "onnx" and arguments.output == "-":
        parser.error("--format onnx writes bytes that are not text: name a file with -o OUT")


def run(arguments: Namespace) -> int:
    """Load, translate, write."""
    from fenchel.errors import InputError
    from fenchel.models.file import load

    check_output(arguments.output)
    model: Any = load(arguments.model)
    if arguments.format != "json" and not model.is_linear:
        what = f"model of {type(model.loss).__name__}" if model.is_structured else "kernel"
        raise InputError(f"--format {arguments.format} has no place for a {what}: use json")
    if arguments.format == "liblinear":
        from fenchel.cli.export_liblinear import liblinear_text

        content = liblinear_text(model).encode()
    elif arguments.format == "onnx":
        from fenchel.cli.export_onnx import onnx_bytes

        content = onnx_bytes(model)
    else:
        from fenchel.models.stored import plain

        header, arrays = plain(model)
        content = (
            as_json({"header": header, "arrays": {name: a.tolist() for name, a in arrays.items()}}) + "\n"
        ).encode()
    _write(arguments.output, content)
    return 0


def _write(output: str, content: bytes) -> None:
    if output == "-":
        print(content.decode(), end="")
        return
    from fenchel.files.atomic_write import replacing

    with replacing(output) as file:
        file.write(content)
