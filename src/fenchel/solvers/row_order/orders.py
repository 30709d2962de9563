"""Orders in which an epoch visits the rows: shuffled in blocks, permuted, or as they are."""

from __future__ import annotations

import numpy as np

from fenchel.solvers.row_order.settings import SETTINGS


def blocks(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """The rows in shuffled blocks of consecutive ones; one by one when there are few."""
    length = SETTINGS.rows_per_block
    if rows.size < SETTINGS.min_blocks * length:
        return rng.permutation(rows)
    offset = int(rng.integers(length))  # A random offset makes blocks hold other rows in every epoch.
    edges = np.arange(offset, rows.size, length)
    head, body, tail = rows[:offset], rows[edges[0] : edges[0] + (edges.size - 1) * length], rows[edges[-1] :]
    order = rng.permutation(edges.size - 1)
    return np.concatenate([tail, body.reshape(-1, length)[order].ravel(), head])


def permuted(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """A fresh permutation."""
    return rng.permutation(rows)


def cyclic(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """The rows in their own order."""
    return rows


ORDERS = {"blocks": blocks, "permuted": permuted, "cyclic": cyclic}
