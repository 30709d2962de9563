"""fenchel report MODEL [MODEL ...] -o FILE.html [--data DATA]"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from fenchel.cli.reading import add_reading, read_for
from fenchel.cli.terminal import CleanParser
from fenchel.errors import InputError

EPILOG = """\
One page that needs no network: the problem, the certificate in words and numbers, the largest weights and,
with --data, how the models do on these rows. How the bounds closed over time is not in a model file: for
that write the page while training (fenchel train --report FILE, also path and compare). The page repeats
the certificate that the models state; fenchel verify MODEL DATA recomputes it.

exit status: 0 done, 1 error, 2 wrong usage

example: fenchel report hinge.fenchel logistic.fenchel --data test.csv -o models.html
"""


def configure(parser: CleanParser) -> None:
    """Declare the options."""
    parser.epilog, parser.usage = EPILOG, "%(prog)s MODEL [MODEL ...] -o FILE [options]"
    parser.add_argument("models", metavar="MODEL", nargs="+", help="files written by fenchel train or path")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="where the page is written")
    parser.add_argument("--data", metavar="DATA", help="rows with targets to evaluate the models on; - is stdin")
    parser.add_argument("--title", metavar="TEXT", help="of the page")
    add_reading(parser)


def run(arguments: Namespace) -> int:
    """Load, read, write the page."""
    from fenchel.cli.reporting import check_report, write_report
    from fenchel.models.file import load

    check_report(arguments.output)
    models: list[Any] = [load(name) for name in arguments.models]
    data = None if arguments.data is None else _rows(models, arguments)
    title = arguments.title or f"Fenchel: {', '.join(arguments.models)}"
    write_report(arguments.output, models, title, arguments, names=arguments.models, data=data)
    return 0


def _rows(models: list[Any], arguments: Namespace) -> Any:
    """(rows, targets as all models call them), and the queries of rankings."""
    from fenchel.cli.reporting import evaluated

    first = models[0]
    for name, model in zip(arguments.models, models, strict=True):
        if not hasattr(model, "certificate"):
            raise InputError(f"{name} is no answer to a problem and has no certificate: there is nothing to report")
        if model.is_structured:
            raise InputError(f"--data: {name} is a model of sequences; see fenchel evaluate")
        if (model.labels, model.d, model.feature_names) != (first.labels, first.d, first.feature_names):
            raise InputError(f"--data: {name} has other labels or features than {arguments.models[0]}: one page each")
    data = read_for(first, Namespace(**{**vars(arguments), "model": arguments.models[0]}), qid=first.is_ranking)
    if data.y is None:
        raise InputError(f"{arguments.data} has no target to compare with")
    return evaluated(first, data, arguments.data)
