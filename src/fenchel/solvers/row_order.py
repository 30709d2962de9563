"""Orders in which an epoch walks the rows."""

from __future__ import annotations

import numpy as np

RUN = 16  # rows that are shuffled together: 10-15 % more epochs, but each takes little more than half the time


def blocks(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """The rows in shuffled runs of RUN; one by one when there are few."""
    if rows.size < 64 * RUN:
        return rng.permutation(rows)
    offset = int(rng.integers(RUN))  # so that runs do not always hold the same rows
    edges = np.arange(offset, rows.size, RUN)
    head, body, tail = rows[:offset], rows[edges[0] : edges[0] + (edges.size - 1) * RUN], rows[edges[-1] :]
    order = rng.permutation(edges.size - 1)
    return np.concatenate([tail, body.reshape(-1, RUN)[order].ravel(), head])


def permuted(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """A fresh permutation."""
    return rng.permutation(rows)


def cyclic(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """As they are."""
    return rows


ORDERS = {"blocks": blocks, "permuted": permuted, "cyclic": cyclic}
