"""fenchel serve-shard DIR --scheduler ADDRESS --name OWNER"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

EPILOG = """\
DIR is a folder written by fenchel convert. Its rows stay in this process, a worker of the Dask cluster at
ADDRESS; whoever solves gets sums over all of them: fenchel.Problem(fenchel.engines.Owners(client),
loss=...). Every question is written to the log. Ctrl-C, or the end of the scheduler, ends it.

This is no privacy: sums of gradients tell about rows, and whoever may send work to the cluster may send any
Python code.

exit status: 0 the scheduler has ended, 1 error, 2 wrong usage, 130 Ctrl-C

example: fenchel serve-shard north.rows --scheduler tcp://10.0.0.1:8786 --name north --log north.jsonl
"""


def configure(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = EPILOG
    parser.add_argument("folder", metavar="DIR", help="rows written by fenchel convert")
    parser.add_argument("--scheduler", metavar="ADDRESS", required=True, help="of the Dask scheduler")
    parser.add_argument("--name", metavar="OWNER", required=True, help="by which the owner is known")
    parser.add_argument("--log", metavar="FILE", help="add a line of JSON for every question")
    parser.add_argument("--min-rows", type=int, default=64, help="fewer rows are not served (default 64)")
    parser.add_argument(
        "--rise", type=float, default=10.0, help="refuse when the own loss is so many times that at w = 0 (default 10)"
    )


def run(arguments: Namespace) -> int:
    """Open, join, serve."""
    from fenchel.cli.terminal import complain
    from fenchel.cluster.owners import Rules, Shard
    from fenchel.cluster.serve import serve
    from fenchel.data.store import open_store

    stored = open_store(arguments.folder)
    rules = Rules(arguments.min_rows, arguments.rise)
    shard = Shard(arguments.name, stored.X, stored.y, rules=rules, diary=arguments.log)
    serve(shard, arguments.scheduler, started=lambda address: complain(f"{shard} is served at {address}"))
    return 0
