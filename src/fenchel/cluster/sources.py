"""Data that are on a cluster, as a user holds them: Dask arrays and data frames, or futures of blocks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.errors import InputError

FORMS = (
    "a Dask array or data frame (y and sample_weight: Dask arrays or series with the same blocks of rows), or a list of "
    "futures, each of a block (X, y), (X, y, sample_weight) or, for structured models, (examples, labels)"
)


class Source(NamedTuple):
    """A block where it lies: one future of all parts, or a future for each of X, y, sample_weight, offset and groups."""

    whole: Any
    parts: tuple[Any, ...]

    @property
    def main(self) -> Any:
        """The future of the rows: where it lies, the block lives."""
        return self.whole if self.whole is not None else self.parts[0]

    @property
    def lost(self) -> bool:
        """Whether some part of it is gone for good."""
        return any(_gone(future) for future in (self.whole, *self.parts) if future is not None)


def _gone(future: Any) -> bool:
    """Whether nobody makes it again: what a task gave is called lost only until the task has run elsewhere."""
    if future.status != "lost":
        return future.status == "cancelled"
    client = future.client
    return client.sync(client.scheduler.get_task_status, keys=[future.key])[future.key] in (None, "forgotten")


def client_of(X: Any) -> Any:
    """The client that holds the data."""
    if isinstance(X, (list, tuple)):
        return X[0].client
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        raise InputError("data on a cluster need a distributed.Client: make one before the Problem") from None


def sources_of(client: Any, X: Any, *others: Any) -> list[Source]:
    """The blocks of X with those of y, sample_weight, offset and groups (None where there are none)."""
    if isinstance(X, (list, tuple)):
        if any(other is not None for other in others):
            raise InputError("each future holds a whole block: put y and sample_weight into it, (X, y, sample_weight)")
        return [Source(future, ()) for future in X]
    blocks = _blocks(client, X, "X")
    columns = [blocks]
    for other, name in zip(others, ("y", "sample_weight", "offset", "groups"), strict=True):
        own = [None] * len(blocks) if other is None else _blocks(client, other, name)
        if len(own) != len(blocks):
            raise InputError(
                f"{name} has {len(own)} blocks of rows and X has {len(blocks)}: rechunk one like the other"
            )
        columns.append(own)
    return [Source(None, parts) for parts in zip(*columns, strict=True)]


def _blocks(client: Any, data: Any, name: str) -> list[Any]:
    """A future for every block of rows; what was computed already stays where it is."""
    if not hasattr(data, "to_delayed"):
        raise InputError(f"{name} is not on the cluster as X is: X must be {FORMS}")
    delayed = np.asarray(data.to_delayed(), dtype=object)
    if delayed.ndim > 1 and delayed.shape[1:] != (1,) * (delayed.ndim - 1):
        raise InputError(f"{name} is cut into blocks of columns: rechunk it so that a block holds whole rows")
    return client.compute(list(delayed.ravel()))
