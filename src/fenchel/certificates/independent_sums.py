"""Exact sums for the independent checker (`independent.py`): scores, sums over rows, and mixtures, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fenchel.data.types import Matrix

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

UNIT = 2.0**-53
SAFETY = 16.0  # roundings per term, including those inside losses and conjugates


class Risk(NamedTuple):
    """sum p loss at (w, b), and the magnitudes of all terms that were rounded."""

    value: float
    size: float


class Plane(NamedTuple):
    """The bound of a dual point: risk(w') >= constant - <v, w'> - imbalance |b'| for all w', b'."""

    constant: float
    size: float  # of the terms of the constant
    v: np.ndarray
    spread: np.ndarray  # sums of the sizes of the terms of v
    scaled: Callable[[float], tuple[float, float]] | None  # (constant, size) of the point times a number below 1
    imbalance: float = 0.0


def rows_of(X: Matrix) -> Iterator[tuple[list[int], list[float]]]:
    """(columns, values) of every row."""
    if isinstance(X, np.ndarray):
        for row in X:
            columns = np.flatnonzero(row)
            yield columns.tolist(), row[columns].astype(float).tolist()
    else:
        for i in range(X.shape[0]):
            span = slice(X.indptr[i], X.indptr[i + 1])
            yield X.indices[span].tolist(), X.data[span].astype(float).tolist()


def scores(X: Matrix, W: np.ndarray, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(X W + shift, the sums of the sizes of their terms) for W of one column per score; shift has a row per row of X."""
    Z, size, columns = np.empty(shift.shape), np.empty(shift.shape), W.T.tolist()
    for i, (at, x) in enumerate(rows_of(X)):
        for c, w in enumerate(columns):
            terms = [t * w[j] for j, t in zip(at, x, strict=True)] + [float(shift[i, c])]
            Z[i, c], size[i, c] = exact_sum(terms), sum(map(abs, terms))
    return Z, size


def combined(X: Matrix, a: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """(-X'a, the sums of the sizes of the terms), flat: row by row of the features x scores matrix."""
    terms: list[list[list[float]]] = [[[] for _ in range(a.shape[1])] for _ in range(d)]
    for i, (at, x) in enumerate(rows_of(X)):
        for c, factor in enumerate(a[i].tolist()):
            if factor != 0.0:
                for j, t in zip(at, x, strict=True):
                    terms[j][c].append(-factor * t)
    flat = [column for row in terms for column in row]
    return np.array([exact_sum(t) for t in flat]), np.array([sum(map(abs, t)) for t in flat])


def exact_sum(terms: list[float]) -> float:
    return math.fsum(terms) if all(map(math.isfinite, terms)) else math.nan


def weighted_sum(p: np.ndarray, terms: list[float]) -> tuple[float, float]:
    """(sum p t, sum p |t|) over rows with positive weight."""
    weighted = [float(q) * t for q, t in zip(p, terms, strict=True) if q > 0.0]
    if any(t == math.inf for t in weighted):
        return math.inf, math.inf
    return exact_sum(weighted), sum(map(abs, weighted))


def mixed(weights: ArrayLike, nonnegative: bool) -> np.ndarray:
    """Weights of tangents: nonnegative with sum 1, or less if 0 is a lower bound, too."""
    found = np.maximum(np.asarray(weights, dtype=float), 0.0)
    total = math.fsum(found)
    return found / (max(total, 1.0) if nonnegative else total)


def towards_zero(constant: float, size: float) -> Callable[[float], tuple[float, float]]:
    """Combine the plane with the plane 0, if that is a lower bound of the risk."""
    return lambda scale: (scale * constant, size)
