"""Rows brought together by query, and the checks of targets, groups and weights that all measures share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.data.accept import accept_vector
from fenchel.data.dtypes import is_floating
from fenchel.errors import InputError


class Queries(NamedTuple):
    """The rows of query q are rows[first[q] : last[q]], in their original order."""

    rows: NDArray[np.uint64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many rows each query has."""
        return self.last - self.first

    @property
    def query(self) -> NDArray[np.int64]:
        """The query at every place of `rows` (before any query was left out)."""
        return np.repeat(np.arange(self.first.size), self.sizes)

    def keep(self, mask: NDArray[np.bool_]) -> Queries:
        """Only some of the queries; the places of `rows` stay what they are."""
        return self._replace(first=self.first[mask], last=self.last[mask])

    def add(self, values: NDArray) -> NDArray:
        """Sums per query of values given at the places of `rows` (before any query was left out)."""
        return np.add.reduceat(values, self.first)


class NothingToRank(InputError):
    """No query has what a measure compares. Of a part of the queries that is no error."""


def queries_in_mean(measure: Any, prepared: Any) -> float:
    """The number of queries whose mean the loss is: `Measure.mass` of all measures that do not weight them."""
    return float(prepared.queries.first.size)


def split(n: int, groups: ArrayLike | None) -> Queries:
    """The queries that `groups` names, in ascending order; one query without groups.

    >>> split(5, ["b", "a", "b", "a", "b"])
    Queries(rows=array([1, 3, 0, 2, 4], dtype=uint64), first=array([0, 2]), last=array([2, 5]))
    """
    if groups is None:
        return Queries(np.arange(n, dtype=np.uint64), np.zeros(1, np.int64), np.full(1, n, np.int64))
    names = np.asarray(groups)
    if names.shape != (n,):
        raise InputError(f"groups has the shape {names.shape}, but there are {n} targets: give one query per row")
    if is_floating(names) and not np.isfinite(names).all():
        row = int(np.argmin(np.isfinite(names)))
        raise InputError(f"groups of row {row} is {names[row]!r}: every row needs a query")
    try:
        _, query = np.unique(names, return_inverse=True)
    except TypeError as error:
        raise InputError(f"groups must be numbers or strings that can be compared: {error}") from None
    rows = np.argsort(query, kind="stable")
    last = np.cumsum(np.bincount(query))
    return Queries(rows.astype(np.uint64), np.concatenate([[0], last[:-1]]), last)


def targets(y: ArrayLike) -> NDArray[np.float64]:
    """y as a vector of finite numbers, at least one."""
    size = np.shape(y)[0] if np.ndim(y) else 0
    if size == 0:
        raise InputError("y is empty or not a vector: pass one target per score")
    return accept_vector(y, size, "y")


def signs(y: ArrayLike, name: str) -> NDArray[np.bool_]:
    """Which targets are +1, after checking that all are -1 or +1."""
    y = targets(y)
    fine = np.abs(y) == 1.0
    if not fine.all():
        row = int(np.argmin(fine))
        raise InputError(f"y of row {row} is {y[row]!r}: {name} needs every target to be -1 or +1")
    return y > 0.0


def refuse_weights(weights: ArrayLike | None, n: int, name: str) -> None:
    """Accept weights only if they say nothing."""
    if weights is None:
        return
    weights = accept_vector(weights, n, "sample_weight", column=False)
    if weights[0] <= 0.0 or (weights != weights[0]).any():
        row = int(np.argmax(weights != weights[0])) if weights[0] > 0.0 else 0
        raise InputError(
            f"sample_weight of row {row} is {weights[row]!r}: {name} is one loss of all scores and no sum over rows, so "
            "it has no weights. Leave sample_weight out, or repeat rows."
        )


def query_weights(weights: ArrayLike | None, queries: Queries, name: str) -> NDArray[np.float64]:
    """The weight of every query, 1 without `weights`; the rows of a query must agree on it.

    >>> query_weights([2.0, 0.5, 2.0], split(3, [1, 2, 1]), "NDCGPairs")
    array([2. , 0.5])
    """
    n = queries.rows.size
    if weights is None:
        return np.ones(queries.first.size)
    given = accept_vector(weights, n, "sample_weight", column=False)
    if given.min() < 0.0:
        row = int(np.argmin(given))
        raise InputError(f"sample_weight of row {row} is {given[row]!r}: weights must be at least 0")
    found = given[queries.rows[queries.first]]
    if (wrong := given[queries.rows] != found[queries.query]).any():
        row = int(queries.rows[np.argmax(wrong)])
        raise InputError(
            f"sample_weight of row {row} is {given[row]!r}, but other rows of its query have another one: {name} weights "
            "queries, so all rows of a query must have the same weight"
        )
    if not found.any():
        raise NothingToRank("sample_weight is 0 for every row")
    return found


def require_groups(groups: ArrayLike | None, name: str) -> None:
    """Refuse a ranking measure without queries."""
    if groups is None:
        raise InputError(
            f"groups is missing: {name} ranks the documents of each query, so pass the query of every row "
            "(groups=qid; all equal if there is only one query)"
        )
