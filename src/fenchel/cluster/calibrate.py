"""The constants of `plan`, measured on this machine: passes on one core, and rounds of a Dask cluster of 1 and 4 processes.

Of every time the least of several is taken: what a machine can do when nobody else uses it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.cluster.engine import Dask
from fenchel.cluster.plan import BYTES, Machine
from fenchel.data.blas import one_blas_thread
from fenchel.engines import Local
from fenchel.oracles.scalar import Oracle
from fenchel.problems.scalar import Problem

ROWS, COLUMNS, WIDE = 40_000, 5_000, 400_000
REPEATS = 30


class Round(NamedTuple):
    """Seconds of one round: the shortest, and what this process, client and scheduler, computes in the mean."""

    shortest: float
    here: float


def measure() -> Machine:
    """The constants of this machine; the bandwidth is that between its processes.

    What a worker adds is measured by the computing time of client and scheduler: workers elsewhere take none of it.
    """
    few, many = _pass_seconds(5), _pass_seconds(50)
    per_value = (many - few) / (45 * ROWS)
    per_row = max(few / ROWS - 5 * per_value, 1e-10)
    vector = np.ones(WIDE)
    with one_blas_thread():
        per_entry = least(lambda: vector @ vector) / WIDE
    one, four, wide = one_round(1, columns=8), one_round(4, columns=8), one_round(1, columns=WIDE)
    per_worker = max((four.here - one.here) / 3.0, 1e-5)
    latency = max(one.shortest - per_worker, 1e-5)
    bandwidth = BYTES * (2 * WIDE + 1) / max(wide.shortest - one.shortest, 1e-6)
    return Machine(per_value, per_row, per_entry, latency, per_worker, bandwidth)


def sparse_problem(rows: int, columns: int, per_row: int) -> Problem:
    """Random rows with so many stored values in each."""
    rng = np.random.default_rng(0)
    where = np.sort(rng.integers(0, columns, (rows, per_row)), axis=1).astype(np.int32).ravel()
    starts = np.arange(0, rows * per_row + 1, per_row, dtype=np.int64)
    X = sp.csr_matrix((rng.standard_normal(rows * per_row), where, starts), shape=(rows, columns))
    X.sum_duplicates()
    return Problem(X, np.where(rng.random(rows) < 0.5, 1.0, -1.0), loss="logistic", alpha=0.1)


def least(action: Callable[[], Any], repeats: int = REPEATS) -> float:
    """The shortest time in seconds."""
    found = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        action()
        found.append(time.perf_counter() - began)
    return min(found[1:])


def _pass_seconds(per_row: int) -> float:
    oracle = Oracle(sparse_problem(ROWS, COLUMNS, per_row), Local(threads=1))
    w = np.full(COLUMNS, 0.01)
    return least(lambda: oracle.risk(w), 10)


def one_round(workers: int, problem: Problem | None = None, columns: int = 8) -> Round:
    """A pass of messages on a cluster of so many processes; over a few rows, if no problem is given."""
    from distributed import Client, LocalCluster

    problem = problem or sparse_problem(64, columns, 1)
    quiet = {"dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL}
    with LocalCluster(n_workers=workers, threads_per_worker=1, **quiet) as cluster, Client(cluster) as client:
        edges = tuple(int(k) for k in np.linspace(0, problem.n, workers + 1))
        oracle = Dask(client, cut=edges).oracle(problem)
        w = np.random.default_rng(0).standard_normal(problem.d)
        oracle.risk(w)
        began = time.process_time()
        shortest = least(lambda: oracle.risk(w))
        here = (time.process_time() - began) / (REPEATS + 1)
        oracle.close()
    return Round(shortest, here)
