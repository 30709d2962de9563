"""The engine of a Dask cluster."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from fenchel.cluster.holder import hold, hold_range
from fenchel.cluster.remote_blocks import RemoteBlocks
from fenchel.cluster.team import Team
from fenchel.engines.local import Local
from fenchel.errors import InputError
from fenchel.oracles import oracle_of
from fenchel.problems.scalar import Problem
from fenchel.problems.structured import StructuredProblem


class Dask:
    """The workers of a Dask cluster hold the rows.

    Parameters
    ----------
    client : a `distributed.Client`.
    timeout : seconds without an answer, while others have answered, after which a worker counts as lost.
    cut : row numbers at which the data are cut, as in `Local`; data that are on the cluster already are cut as they lie.

    Rows go out once (or are read by the workers, if the data are in a folder that all of them see). Then per pass the
    variables go out once to each worker, and their sums, d + 1 numbers, come back from each.

    >>> from distributed import Client
    >>> import numpy as np, fenchel
    >>> X = np.arange(40.0).reshape(20, 2) / 40.0
    >>> problem = fenchel.Problem(X, np.where(X[:, 0] > 0.4, 1.0, -1.0), loss="logistic", alpha=0.01)
    >>> with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as client:
    ...     result = fenchel.solve(problem, solver="lbfgs", engine=fenchel.engines.Dask(client))
    >>> result.status.name
    'CERTIFIED'
    """

    remote = True
    threads = None

    def __init__(self, client: Any, timeout: float = 60.0, cut: Sequence[int] | None = None):
        if not hasattr(client, "submit") or not hasattr(client, "scatter"):
            raise InputError(f"client must be a distributed.Client, got {type(client).__name__}")
        self.client, self.timeout, self.cut = client, timeout, None if cut is None else tuple(cut)

    def __repr__(self) -> str:
        return f"Dask({self.client.scheduler.address!r})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Dask:
        return self  # a cluster is not copied; scikit-learn clones parameters

    def __getstate__(self) -> dict[str, Any]:
        raise InputError("a cluster cannot be saved or sent to another process: set_params(engine=None) first")

    def oracle(self, problem: Problem) -> Any:
        """The oracle of a problem whose blocks are with the workers."""
        return oracle_of(problem, self)

    def blocks(self, problem: Problem) -> RemoteBlocks:
        """The blocks of a problem, for the questions of one oracle."""
        return RemoteBlocks(problem, self.team(problem))

    def team(self, problem: Problem) -> Team:
        """The blocks of a problem, placed."""
        if hasattr(problem, "team"):  # its rows are on a cluster
            return problem.team(self)
        if isinstance(problem, StructuredProblem):
            return self._structured(problem)
        spans = list(pairwise(Local(cut=self.cut).edges(problem)))

        def place(k: int, worker: str) -> Any:
            (part,) = self.client.scatter([problem.part(*spans[k])], workers=[worker], hash=False)
            return self.client.submit(hold, part, workers=[worker], pure=False)

        return Team(self.client, len(spans), place, timeout=self.timeout)

    def _structured(self, problem: StructuredProblem) -> Team:
        """Examples are encoded together: every worker gets all of them once, and answers for its share."""
        spans = [(block.start, block.stop) for block in problem.cut(self.cut)]
        sent: dict[str, Any] = {}

        def place(k: int, worker: str) -> Any:
            if worker not in sent:
                (sent[worker],) = self.client.scatter([problem], workers=[worker], hash=False)
            return self.client.submit(hold_range, sent[worker], *spans[k], workers=[worker], pure=False)

        return Team(self.client, len(spans), place, timeout=self.timeout)
