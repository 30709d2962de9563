"""fenchel report MODEL [MODEL ...] -o FILE.html [--data DATA]"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from fenchel.cli.reading import add_reading, add_text, read_for
from fenchel.cli.terminal import CleanParser
from fenchel.errors import InputError

EPILOG = """\
Writes a self-contained page: the problem, the certificate in words and numbers, the largest weights and,
with --data, an evaluation on these rows. Model files do not contain the history of the solve: to show it, write
the page while training (fenchel train --report FILE, also path and compare). The page repeats the
certificate that the models state; fenchel verify MODEL DATA recomputes it.

exit status: 0 done, 1 error, 2 wrong usage

example: fenchel report hinge.fenchel logistic.fenchel --data test.csv -o models.html
"""


def configure(parser: CleanParser) -> None:
    """Add the options."""
    parser.epilog, parser.usage = EPILOG, "%(prog)s MODEL [MODEL ...] -o FILE [options]"
    parser.add_argument("models", metavar="MODEL", nargs="+", help="files written by fenchel train or path")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the HTML file to write")
    parser.add_argument("--data", metavar="DATA", help="rows with targets, to evaluate the models on; -: stdin")
    parser.add_argument("--title", metavar="TEXT", help="title of the page")
    add_reading(parser)
    add_text(parser)


def run(arguments: Namespace) -> int:
    """Load the models, read the data and write the page."""
    from fenchel.cli.reporting import check_report, write_report
    from fenchel.models.file import load

    check_report(arguments.output)
    models: list[Any] = [load(name) for name in arguments.models]
    data = None if arguments.data is None else _rows(models, arguments)
    title = arguments.title or f"Fenchel: {', '.join(arguments.models)}"
    write_report(arguments.output, models, title, arguments, names=arguments.models, data=data)
    return 0


def _rows(models: list[Any], arguments: Namespace) -> Any:
    """(rows, targets in the labels of the models), and the queries of rankings."""
    from fenchel.cli.reporting import evaluated

    first = models[0]
    for name, model in zip(arguments.models, models, strict=True):
        if not hasattr(model, "certificate"):
            raise InputError(
                f"{name} does not minimise an objective and has no certificate: there is nothing to report"
            )
        if model.is_structured:
            raise InputError(f"--data: {name} is a model of sequences; see fenchel evaluate")
        if _rows_of(model) != _rows_of(first):
            raise InputError(
                f"--data: {name} has other labels or features than {arguments.models[0]}, or other rules for the columns of a "
                "table: write one page for each"
            )
    data = read_for(first, Namespace(**{**vars(arguments), "model": arguments.models[0]}), qid=first.is_ranking)
    if data.y is None:
        raise InputError(f"{arguments.data} has no target column")
    return evaluated(first, data, arguments.data)


def _rows_of(model: Any) -> tuple[Any, ...]:
    """What determines the rows of a model: models that share it can be evaluated on the same rows."""
    own = (getattr(model, name, None) for name in ("preparation", "roles"))
    return (model.labels, model.d, model.feature_names, *own)
