"""Small clusters on this machine, and one problem of every family on the cut that the tests of clusters share."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

import fenchel
from fenchel.data.write_store import RowBlock, write_store
from fenchel.structured import Chain

CUT = (0, 100, 250, 333, 480, 600)
EXAMPLE_CUT = (0, 8, 19, 24)
rng = np.random.default_rng(0)
X = rng.standard_normal((600, 8))
SIGNS = np.where(X[:, 0] + rng.standard_normal(600) > 0, 1.0, -1.0)
CLASSES = X[:, :3].argmax(axis=1)
RELEVANCE = np.digitize(X[:, 1] + 0.5 * rng.standard_normal(600), [-0.5, 0.7]).astype(float)
QUERIES = np.searchsorted(CUT[1:], np.arange(600), side="right") * 100 + np.arange(600) // 10
WEIGHTS = rng.uniform(0.5, 2.0, 600)
SEQUENCES = [rng.standard_normal((5, 4)) for _ in range(24)]
TAGS = [(x[:, 0] > 0).astype(int) for x in SEQUENCES]


class Case(NamedTuple):
    """A problem in memory and a solver for it that is also used on clusters."""

    X: Any
    y: Any
    solver: str
    options: dict[str, Any]
    cut: tuple[int, ...] = CUT

    def problem(self) -> Any:
        return fenchel.Problem(self.X, self.y, **self.options)

    def solve(self, problem: Any = None, engine: Any = None, **more: Any) -> Any:
        more = {"tol": 1e-12, "max_iter": 5, **more}  # stopped by iterations: certificates are due by time
        return fenchel.solve(self.problem() if problem is None else problem, self.solver, engine=engine, **more)

    def at_home(self, threads: int = 1, **more: Any) -> Any:
        return self.solve(engine=fenchel.engines.Local(threads, self.cut), **more)


CASES = {
    "logistic": Case(X, SIGNS, "lbfgs", {"loss": "logistic", "alpha": 0.01, "fit_intercept": True}),
    "hinge": Case(X, SIGNS, "bundle", {"loss": "hinge", "alpha": 0.01, "fit_intercept": True}),
    "cocoa": Case(X, SIGNS, "cocoa", {"loss": "hinge", "alpha": 0.01}),
    # Few columns, so that Newton's method begins on a sample of the rows.
    "newton": Case(X[:, :3], SIGNS, "newton_cg", {"loss": "logistic", "alpha": 1e-3, "fit_intercept": True}),
    "softmax": Case(X, CLASSES, "lbfgs", {"loss": "softmax", "alpha": 0.01, "fit_intercept": True}),
    "max_hinge": Case(X, CLASSES, "bundle", {"loss": "max_hinge", "alpha": 0.01}),
    "ndcg": Case(X, RELEVANCE, "bundle", {"loss": "ndcg", "alpha": 0.01, "groups": QUERIES}),
    "pairs": Case(X, RELEVANCE, "newton_cg", {"loss": "ndcg_pairs", "alpha": 0.01, "groups": QUERIES}),
    "chain": Case(SEQUENCES, TAGS, "bundle", {"loss": Chain(classes=2), "alpha": 0.01}, EXAMPLE_CUT),
    "chain log": Case(SEQUENCES, TAGS, "lbfgs", {"loss": Chain(classes=2, loss="log"), "alpha": 0.01}, EXAMPLE_CUT),
}


def bits(result: Any) -> bytes:
    return np.asarray(result.coef).tobytes() + np.asarray(result.intercept, dtype=float).tobytes()


def as_folder(place: Any, case: Case) -> Any:
    """The rows of a case on disk."""
    groups = case.options.get("groups")
    return write_store(place, [RowBlock(case.X, np.asarray(case.y, dtype=float), groups)])


@contextmanager
def local_client(workers: int = 2, **more: Any) -> Any:
    """A client of a cluster of worker processes on this machine."""
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL, **more}
    with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster) as client:
        yield client
