"""A Dask cluster on this machine: `python -m benchmarks.cluster`.

Bytes of one pass as the workers count them beside the numbers that the pass needs, the cost of a round that has nothing to do,
and passes on 1 and 2 worker processes beside what `fenchel plan` predicts from constants measured just before.
"""

from __future__ import annotations

import logging
import statistics
import time
from typing import Any

import numpy as np

import fenchel
from benchmarks.table import machine
from benchmarks.traffic import traffic
from fenchel.cluster import calibrate
from fenchel.cluster.plan import METHODS, Method, share

SIZES = {"Reuters CCAT": (804_414, 47_236, 60_900_000), "web": (1_000_000_000, 1_000_000, 100_000_000_000)}
LARGE = (400_000, 5_000, 50)  # rows, columns, values per row


def cluster(workers: int) -> Any:
    """(cluster, client) to be used with `with`."""
    from distributed import LocalCluster

    options: dict[str, Any] = {"dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL}
    return LocalCluster(n_workers=workers, threads_per_worker=1, **options)


def show_bytes() -> None:
    """A table of bytes per pass and worker."""
    print("| columns | w, bytes | received | sums, bytes | sent |\n| --- | --- | --- | --- | --- |")
    with cluster(2) as found, found.get_client() as client:
        for columns in (100, 20_000, 400_000):
            problem = calibrate.sparse_problem(600, columns, 5)
            oracle = fenchel.engines.Dask(client, cut=(0, 300, 600)).oracle(problem)
            w = np.random.default_rng(0).standard_normal(columns)
            for moved in traffic(client, lambda oracle=oracle, w=w: oracle.risk(w), 20).values():
                received, sent = moved["received"], moved["sent"]
                print(f"| {columns} | {8 * columns} | {received:.0f} | {8 * (columns + 1)} | {sent:.0f} |")
            oracle.close()


def show_overhead() -> None:
    """Milliseconds of a round on a few rows."""
    with cluster(2) as found, found.get_client() as client:
        oracle = fenchel.engines.Dask(client, cut=(0, 32, 64)).oracle(calibrate.sparse_problem(64, 100, 1))
        times, w = [], np.zeros(100)
        for _ in range(201):
            began = time.perf_counter()
            oracle.risk(w)
            times.append(1e3 * (time.perf_counter() - began))
        oracle.close()
    print(
        f"\nA round of 2 workers with nothing to do: {min(times):.1f} ms at best, {statistics.median(times):.1f} median"
    )


def show_prediction() -> None:
    """Passes on 1 and 2 workers, measured and predicted."""
    constants = calibrate.measure()
    print("\nConstants: " + ", ".join(f"{name} {value:.3g}" for name, value in constants._asdict().items()))
    rows, columns, per_row = LARGE
    problem = calibrate.sparse_problem(rows, columns, per_row)
    bare: dict[str, Method] = {"pass": METHODS["lbfgs"]._replace(vectors=0)}
    print("\n| workers | ms per pass, measured | predicted |\n| --- | --- | --- |")
    for n in (1, 2):
        expected = share(rows, columns, problem.X.nnz, constants, bare, "pass", n)
        print(f"| {n} | {1e3 * calibrate.one_round(n, problem).shortest:.1f} | {1e3 * expected.per_round:.1f} |")


def show_plans() -> None:
    """What the default constants say of data that are not here."""
    for name, size in SIZES.items():
        found = fenchel.plan(*size, workers=(1, 2, 8, 64, 1024))
        print(f"\n{name}: {size[0]} rows, {size[1]} columns, {size[2]} values\n")
        print("| solver | 1 | 2 | 8 | 64 | 1024 | fastest | messages are half from |\n" + "| --- " * 8 + "|")
        for solver in METHODS:
            fits = " | ".join(f"{line.fit:.3g}" for line in found.shares if line.solver == solver)
            print(f"| {solver} | {fits} | {found.fastest(solver)} | {found.limit(solver)} |")


def main() -> None:
    print(machine())
    show_bytes()
    show_overhead()
    show_prediction()
    show_plans()


if __name__ == "__main__":
    main()
