"""The command `fenchel`: one file per subcommand, imported when the command is run.

Results go to stdout; progress, notes and errors to stderr. The exit status is
    0    done (train, path, compare: certified at tol; verify: the certificate holds)
    1    error, with a one-line message on stderr (with FENCHEL_DEBUG=1 in the environment: a traceback)
    2    wrong usage
    3    finished, but a gap is above tol (train, path: the model is written nevertheless)
    4    verify: the recomputed values differ from those that the model states
    130  Ctrl-C (train: the best iterate so far is certified and written)
    141  broken pipe: the reader of stdout has closed it

May import everything; nothing imports it.
"""

from __future__ import annotations

import os
import shlex
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from fenchel.cli.liblinear import UsageError, translate
from fenchel.cli.terminal import CleanParser, complain, log_to_stderr

COMMANDS = {
    "train": "fit a model to a data file, write it with its certificate",
    "predict": "predict labels, scores or probabilities for a data file",
    "evaluate": "evaluate a model on a data file, with confidence intervals",
    "show": "show coefficients and what was done with columns",
    "verify": "recompute the certificate of a model from its data",
    "path": "fit along a path of alpha, cross-validate",
    "compare": "compare losses, penalties and solvers on one file",
    "report": "write an HTML report about models",
    "export": "export a model as liblinear text, JSON or ONNX",
    "convert": "convert a data file to rows that stay on disk",
    "serve-shard": "serve rows to a Dask cluster, releasing only sums",
    "plan": "estimate how long fits take on a cluster",
    "losses": "list losses, measures, structured models and penalties",
    "solvers": "list solvers, and those compatible with a loss and a penalty",
    "warm-up": "compile the kernels of common fits once",
    "completion": "print a script for shell completion",
}
EXAMPLE = "example: fenchel train a9a --model a9a.fenchel && fenchel verify a9a.fenchel a9a"
ERROR, INTERRUPTED, BROKEN_PIPE = 1, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit status.

    >>> main(["losses", "hinge"])
    hinge(margin=1.0)
      max(0, margin - y z), y in {-1, +1}
    <BLANKLINE>
      Conjugate: margin y u for y u in [-1, 0]. Margin 0 is the perceptron criterion.
    <BLANKLINE>
      targets: -1 or +1
      slope: jumps
    0
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        parser = _parser(words)
        try:
            arguments, strange = parser.parse_known_args(translate(words))
        except UsageError as error:
            parser.error(str(error))
        if strange:
            arguments.parser.refuse(strange)
        arguments.check(arguments)
        arguments.command_line = shlex.join(["fenchel", *words])
    except SystemExit as stop:
        return int(stop.code or 0)
    with log_to_stderr():
        return _guarded(lambda: arguments.run(arguments))


def _parser(words: list[str]) -> CleanParser:
    """The parser, with the options of the given command only; of the others it knows the names."""
    parser, commands = _root()
    asked = next((word for word in words if not word.startswith("-")), None)
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, description=purpose[0].upper() + purpose[1:] + ".")
        if name == asked:
            fill(name, command)
    return parser


def full_parser() -> CleanParser:
    """The parser with all options of all commands, for shell completion."""
    parser, commands = _root()
    for name, purpose in COMMANDS.items():
        fill(name, commands.add_parser(name, help=purpose, description=purpose))
    return parser


def fill(name: str, command: CleanParser) -> None:
    """Add the options of a command and the function that runs it."""
    module = import_module("fenchel.cli." + name.replace("-", "_"))
    module.configure(command)
    check = getattr(module, "check", lambda parser, arguments: None)
    command.set_defaults(run=module.run, parser=command, check=lambda arguments: check(command, arguments))


def _root() -> tuple[CleanParser, Any]:
    exit_status = (__doc__ or "").partition("The exit status is")[2].partition("\n\n")[0] + "\n"
    parser = CleanParser(
        prog="fenchel",
        description="Regularized risk minimization with a duality-gap certificate for every result.",
        epilog=f"exit status:{exit_status}\n{EXAMPLE}",
    )
    parser.add_argument("--version", action="version", version=_version())
    return parser, parser.add_subparsers(metavar="COMMAND", required=True)


def _version() -> str:
    from fenchel import __version__

    return f"fenchel {__version__}"


def _guarded(run: Callable[[], int]) -> int:
    """Run a command; an error becomes a one-line message and an exit status."""
    try:
        status = run()
        sys.stdout.flush()
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # Python flushes stdout again at exit, which must not fail on the broken pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:
        if os.environ.get("FENCHEL_DEBUG"):
            traceback.print_exc()
        complain(_in_one_line(error))
        return ERROR
    return status


def _in_one_line(error: Exception) -> str:
    from fenchel.errors import FenchelError

    if isinstance(error, FenchelError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}" if str(error) else "not enough memory"
    return f"{type(error).__name__}: {error} (FENCHEL_DEBUG=1 shows where)"
