"""Enumeration of all labels of small examples, with which tests compare the oracles and sums of encoded models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import permutations, product
from typing import TYPE_CHECKING

import numpy as np

from fenchel.structured.protocol import add_label, label_cost, plane_factor

if TYPE_CHECKING:
    from fenchel.structured.protocol import EncodedModel


def strings(m: int, size: int) -> Iterator[np.ndarray]:
    """Every label of `size` entries 0 .. m - 1.

    >>> [y.tolist() for y in strings(2, 2)]
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    return (np.array(y, dtype=np.int32) for y in product(range(m), repeat=size))


def matchings(rows: int, columns: int, partial: bool = False) -> Iterator[np.ndarray]:
    """Every matching: the column of each row, or -1. Full ones have min(rows, columns) edges.

    >>> [y.tolist() for y in matchings(1, 2, partial=True)]
    [[0], [1], [-1]]
    """
    free = rows if partial else max(rows - columns, 0)
    for y in sorted(
        set(permutations([*range(columns), *[-1] * free], rows)), key=lambda y: [c % (columns + 1) for c in y]
    ):
        if partial or sum(c >= 0 for c in y) == min(rows, columns):
            yield np.array(y, dtype=np.int32)


def difference(model: EncodedModel, i: int, y: np.ndarray) -> np.ndarray:
    """phi_i(y) - phi_i(gold) as an array."""
    out = np.zeros(model.d)
    add_label(model, i, y, 1.0, out)
    return out


def best_plane(model: EncodedModel, w: np.ndarray, i: int, labels: Iterable[np.ndarray]) -> float:
    """max over the labels of L_i(y) + f <w, phi_i(y) - phi_i(gold)>."""
    return max(_plane(model, w, i, y) for y in labels)


def _plane(model: EncodedModel, w: np.ndarray, i: int, y: np.ndarray) -> float:
    cost = label_cost(model, i, y)
    return float(cost + plane_factor(model, cost) * (difference(model, i, y) @ w))


def log_sum(model: EncodedModel, w: np.ndarray, i: int, labels: Iterable[np.ndarray]) -> tuple[float, np.ndarray]:
    """(log sum over the labels of exp <w, phi_i(y) - phi_i(gold)>, its gradient: the expectation of that difference)."""
    slopes = np.array([difference(model, i, y) for y in labels])
    scores = slopes @ w
    top = scores.max()
    weights = np.exp(scores - top)
    return float(np.log(weights.sum()) + top), weights @ slopes / weights.sum()
