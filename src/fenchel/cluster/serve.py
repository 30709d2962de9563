"""A Dask worker that serves an owner's rows."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from fenchel.cluster.owners import SHARD, Shard
from fenchel.errors import FenchelError


class ClusterGone(FenchelError, RuntimeError):
    """The scheduler cannot be reached."""


def serve(shard: Shard, scheduler: str, timeout: float = 30.0, started: Any = None) -> None:
    """Join the cluster as a worker of one thread that holds the shard, until the scheduler ends or Ctrl-C.

    `started(address)` is called once the worker has joined.
    """
    try:
        asyncio.run(_serve(shard, scheduler, timeout, started))
    except (TimeoutError, OSError) as error:
        raise ClusterGone(f"no scheduler answers at {scheduler}: {error or type(error).__name__}") from error


async def _serve(shard: Shard, scheduler: str, timeout: float, started: Any) -> None:
    from distributed import Worker

    logging.getLogger("distributed").setLevel(logging.WARNING)  # what is asked is in the owner's own log
    worker = Worker(scheduler, name=shard.name, nthreads=1, death_timeout=timeout, dashboard=False)
    setattr(worker, SHARD, shard)
    async with worker:
        if started is not None:
            started(worker.address)
        await worker.finished()
