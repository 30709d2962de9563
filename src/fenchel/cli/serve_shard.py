"""fenchel serve-shard DIR --scheduler ADDRESS --name OWNER"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

EPILOG = """\
DIR is a folder written by fenchel convert. Its rows stay in this process, a worker of the Dask cluster at
ADDRESS. A client gets sums over all rows only: fenchel.Problem(fenchel.engines.Owners(client), loss=...).
Every request is written to the log. The command ends with the scheduler or after Ctrl-C.

This is not a privacy guarantee: sums of gradients reveal information about rows, and anyone who can submit
work to the cluster can run arbitrary Python code.

exit status: 0 the scheduler has ended, 1 error, 2 wrong usage, 130 Ctrl-C

example: fenchel serve-shard north.rows --scheduler tcp://10.0.0.1:8786 --name north --log north.jsonl
"""


def configure(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = EPILOG
    parser.add_argument("folder", metavar="DIR", help="rows written by fenchel convert")
    parser.add_argument("--scheduler", metavar="ADDRESS", required=True, help="address of the Dask scheduler")
    parser.add_argument("--name", metavar="OWNER", required=True, help="name of the owner")
    parser.add_argument("--log", metavar="FILE", help="append a line of JSON for every request")
    parser.add_argument("--min-rows", type=int, default=64, help="refuse to serve fewer rows (default: 64)")
    parser.add_argument(
        "--rise",
        type=float,
        default=10.0,
        help="refuse if the owner's loss exceeds this multiple of its value at w = 0 (default: 10)",
    )


def run(arguments: Namespace) -> int:
    """Open the folder, join the cluster and serve."""
    from fenchel.cli.terminal import complain
    from fenchel.cluster.owners import Rules, Shard
    from fenchel.cluster.serve import serve
    from fenchel.data.store import open_store

    stored = open_store(arguments.folder)
    rules = Rules(arguments.min_rows, arguments.rise)
    shard = Shard(arguments.name, stored.X, stored.y, rules=rules, diary=arguments.log, groups=stored.groups)
    serve(shard, arguments.scheduler, started=lambda address: complain(f"{shard} is served at {address}"))
    return 0
