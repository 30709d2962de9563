"""fenchel plan [DATA] [--rows N --columns D --stored K] [--workers 1,2,4] [--measure] [--json]"""

from __future__ import annotations

import json
from argparse import ArgumentTypeError, Namespace

from fenchel.cli.terminal import CleanParser

EPILOG = """\
A round on n workers takes T(n) = s + c n + t / n: the solver's own step and a round trip, the messages to and
from each worker, and the workers' passes over their rows. The constants were measured on the machine of the
benchmarks; --measure measures them on this one (about 20 s; needs pip install 'fenchel[dask]'). The numbers
of rounds are those of one task; set your own with --rounds.
JSON: rows, columns, stored, machine: {per_value, per_row, per_entry, latency, per_worker, bandwidth},
shares: [{solver, workers, passing, messages, own, rounds, per_round, fit}] in seconds, and
solvers: {name: {fastest, limit}}: the number of workers with the shortest fit, and the number from which
messages take half of a round.

exit status: 0 done, 1 error, 2 wrong usage

example: fenchel plan --rows 804414 --columns 47236 --stored 60900000 --workers 1,8,64
"""


def configure(parser: CleanParser) -> None:
    """Add the options."""
    from fenchel.cli.reading import add_drop, add_reading, add_svmlight

    parser.epilog, parser.usage = EPILOG, "%(prog)s [DATA | --rows N --columns D] [options]"
    parser.add_argument("data", metavar="DATA", nargs="?", help="a data file or folder, to take the size from")
    parser.add_argument("--rows", type=int, help="the number of rows")
    parser.add_argument("--columns", type=int, help="the number of columns")
    parser.add_argument("--stored", type=int, help="the number of stored values (default: rows times columns)")
    parser.add_argument(
        "--workers", type=_numbers, metavar="N,N,...", help="numbers of workers (default: 1,2,4,...,1024)"
    )
    parser.add_argument("--rounds", type=_pair, action="append", metavar="SOLVER=N", help="number of rounds of a fit")
    parser.add_argument("--bandwidth", type=float, metavar="BYTES", help="bytes per second to all workers together")
    parser.add_argument("--latency", type=float, metavar="SECONDS", help="latency of a round trip")
    parser.add_argument("--measure", action="store_true", help="measure the constants of this machine first")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    add_reading(rare := parser.add_rare_group("reading DATA"), training=True)
    add_drop(rare)
    add_svmlight(rare)


def _numbers(text: str) -> list[int]:
    try:
        found = [int(word) for word in text.split(",")]
    except ValueError:
        raise ArgumentTypeError(f"expected numbers separated by commas, got {text!r}") from None
    if min(found) < 1:
        raise ArgumentTypeError("there must be at least 1 worker")
    return found


def _pair(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise ArgumentTypeError(f"expected SOLVER=NUMBER, got {text!r}") from None


def check(parser: CleanParser, arguments: Namespace) -> None:
    """Check what argparse cannot check."""
    if arguments.data is None and (arguments.rows is None or arguments.columns is None):
        parser.error("give DATA, or --rows and --columns")


def run(arguments: Namespace) -> int:
    """Measure with --measure, compute the plan and print it."""
    from fenchel.cluster.plan import WORKERS, Machine, plan

    machine = Machine()
    if arguments.measure:
        from fenchel.cluster.calibrate import measure

        machine = measure()
    given = {name: getattr(arguments, name) for name in ("bandwidth", "latency")}
    machine = machine._replace(**{name: value for name, value in given.items() if value is not None})
    found = plan(*_size(arguments), arguments.workers or WORKERS, machine, dict(arguments.rounds or []))
    if arguments.json:
        lines = [share._asdict() | {"per_round": share.per_round, "fit": share.fit} for share in found.shares]
        ends = {name: {"fastest": found.fastest(name), "limit": found.limit(name)} for name in found.methods}
        size = {"rows": found.rows, "columns": found.columns, "stored": found.stored}
        print(json.dumps(size | {"machine": machine._asdict(), "shares": lines, "solvers": ends}, indent=2))
        return 0
    if arguments.measure:
        print(", ".join(f"{name} {value:.3g}" for name, value in machine._asdict().items()))
    print(found)
    return 0


def _size(arguments: Namespace) -> tuple[int, int, int | None]:
    from fenchel.cli.reading import read

    if arguments.data is not None:
        X = read(arguments).matrix
        return X.shape[0], X.shape[1], int(getattr(X, "nnz", X.shape[0] * X.shape[1]))
    return arguments.rows, arguments.columns, arguments.stored
