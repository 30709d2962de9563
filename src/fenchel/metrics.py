"""Evaluation metrics that scikit-learn lacks or defines differently, in plain NumPy.

For tied scores the result is the mean over all orders of the tied entries, so that it does not depend on the order of the
rows. `groups` gives the query of each row, in any order; without it all rows form one query. Means over queries exclude
those without a relevant document, for which the metrics are undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.data.dtypes import is_integer
from fenchel.errors import InputError
from fenchel.sequences.metrics import (
    ChunkScores,
    alignment_error_rate,
    chunk_f1,
    chunk_scores,
    sequence_error,
    token_error,
)

__all__ = [
    "ChunkScores",
    "alignment_error_rate",
    "break_even",
    "chunk_f1",
    "chunk_scores",
    "err",
    "eru",
    "mean_average_precision",
    "mrr",
    "ndcg",
    "sequence_error",
    "token_error",
    "top_k_error",
    "tree_distance",
]

Vector = NDArray[np.float64]


def top_k_error(y: ArrayLike, scores: ArrayLike, k: int) -> float:
    """The fraction of rows whose class y_i is not among the k highest of scores[i, :]; classes are 0 ... m-1.

    >>> top_k_error([0, 1], [[0.2, 0.5, 0.3], [0.2, 0.5, 0.3]], k=2)
    0.5
    """
    table = _finite("scores", scores, 2)
    n, m = table.shape
    classes = _integers("y", y, m)
    if classes.size != n:
        raise InputError(f"y has {classes.size} entries, scores has {n} rows")
    _require_rank(k)
    own = table[np.arange(n), classes][:, None]
    higher, equal = (table > own).sum(axis=1), (table == own).sum(axis=1)
    return float(np.mean(1.0 - np.clip((k - higher) / equal, 0.0, 1.0)))


def ndcg(y: ArrayLike, scores: ArrayLike, groups: ArrayLike | None = None, k: int | None = None) -> float:
    """Mean over queries of DCG/ideal DCG, DCG = sum over ranks i <= k of (2^y_π(i) - 1)/log2(i + 1), π(i) at rank i.

    (`sklearn.metrics.ndcg_score` uses y itself as the gain.)

    >>> round(ndcg([3, 0, 1], [0.9, 0.8, 0.1]), 4)
    0.9828
    """
    if k is not None:
        _require_rank(k)

    def one(y: Vector, scores: Vector) -> float | None:
        i = np.arange(1, y.size + 1)
        return _share_of_ideal(np.exp2(y) - 1.0, scores, np.where(i <= (k or y.size), 1.0 / np.log2(i + 1.0), 0.0))

    if (np.asarray(y) < 0).any():
        row = int(np.argmax(np.asarray(y) < 0))
        raise InputError(f"y of row {row} is {np.asarray(y)[row]!r}: a relevance must be at least 0")
    return _mean_over_queries(one, y, scores, groups)


def mrr(y: ArrayLike, scores: ArrayLike, groups: ArrayLike | None = None) -> float:
    """Mean over queries of 1/(rank of the first document with y > 0).

    >>> mrr([0, 1, 1, 1, 0], [3.0, 2.0, 1.0, 1.0, 0.0], groups=[1, 1, 1, 2, 2])
    0.75
    """

    def one(y: Vector, scores: Vector) -> float | None:
        relevant = y > 0.0
        if not relevant.any():
            return None
        best = scores[relevant].max()
        tied, among = int((scores == best).sum()), int((relevant & (scores == best)).sum())
        rank, still, value = 1 + int((scores > best).sum()), 1.0, 0.0
        for place in range(tied - among + 1):  # position of the first relevant document among the tied ones
            chance = among / (tied - place)
            value += still * chance / (rank + place)
            still *= 1.0 - chance
        return value

    return _mean_over_queries(one, y, scores, groups)


def eru(y: ArrayLike, scores: ArrayLike, groups: ArrayLike | None = None, *, neutral: float, half_life: float) -> float:
    """Mean over queries of U/ideal U, U = sum over ranks i of max(y_π(i) - neutral, 0) 2^((1 - i)/(half_life - 1)).

    >>> round(eru([5, 3, 1], [0.0, 1.0, 0.0], neutral=2, half_life=2), 4)
    0.6071
    """
    if not half_life > 1.0:
        raise InputError(f"half_life must be > 1, got {half_life!r}")

    def one(y: Vector, scores: Vector) -> float | None:
        discount = np.exp2(-np.arange(y.size) / (half_life - 1.0))
        return _share_of_ideal(np.maximum(y - neutral, 0.0), scores, discount)

    return _mean_over_queries(one, y, scores, groups)


def mean_average_precision(y: ArrayLike, scores: ArrayLike, groups: ArrayLike | None = None) -> float:
    """Mean over queries of the average precision: the mean over documents with y > 0 of the precision at their rank.

    >>> round(mean_average_precision([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.6]), 4)  # (1/1 + 2/3) / 2
    0.8333
    """

    def one(y: Vector, scores: Vector) -> float | None:
        relevant = y > 0.0
        if not relevant.any():
            return None
        order, start, sizes = _ties(scores)
        found = np.add.reduceat(relevant[order].astype(np.float64), start)
        before, among = np.repeat(np.cumsum(found) - found, sizes), np.repeat(found, sizes)
        n, rank = np.repeat(sizes, sizes), np.arange(1, y.size + 1)
        place = rank - np.repeat(start, sizes)  # position 1, 2, ... among the tied documents
        # The expected number of relevant documents up to this position, given that the document there is relevant.
        others = (place - 1) * (among - 1.0) / np.maximum(n - 1, 1)
        return float(np.sum(among / n * (before + 1.0 + others) / rank) / relevant.sum())

    return _mean_over_queries(one, y, scores, groups)


def err(
    y: ArrayLike, scores: ArrayLike, groups: ArrayLike | None = None, k: int | None = None, highest: float | None = None
) -> float:
    """Expected reciprocal rank: mean over queries of sum over ranks r <= k of 1/r g_r prod_{i < r} (1 - g_i).

    g = (2^y - 1)/2^highest is the probability that a document satisfies the user, and `highest` the largest possible
    relevance (default: the largest of y). Chapelle et al. (2009).

    >>> round(err([1, 0, 1], [0.9, 0.8, 0.7]), 4)  # 1/2 + 1/3 1/2 1/2
    0.5833
    """
    if k is not None:
        _require_rank(k)
    targets = _finite("y", y, 1)
    top = float(targets.max()) if highest is None else float(highest)
    if not (targets.min() >= 0.0 and targets.max() <= top < np.inf):
        raise InputError(
            f"relevances must be at least 0 and at most highest={top:g}, got {targets.min():g} to {targets.max():g}"
        )

    def one(y: Vector, scores: Vector) -> float | None:
        if not (y > 0.0).any():
            return None
        order, start, sizes = _ties(scores)
        passes, value = 1.0, 0.0  # the probability that no document ranked higher satisfies the user
        miss = 1.0 - (np.exp2(y[order] - top) - np.exp2(-top))
        for a, n in zip(start[:k], sizes[:k], strict=True):
            products = _mean_products(miss[a : a + n])
            rank = np.arange(a + 1, a + n + 1)
            value += passes * float(((products[:-1] - products[1:]) / rank)[rank <= (k or y.size)].sum())
            passes *= products[-1]
        return value

    return _mean_over_queries(one, y, scores, groups)


def _mean_products(x: Vector) -> Vector:
    """The mean over all subsets of j of the numbers x of their product, for j = 0 ... x.size."""
    means = np.zeros(x.size + 1)
    means[0] = 1.0
    for m, value in enumerate(x):  # for the first m numbers, then including the next one
        j = np.arange(1, m + 2)
        means[1 : m + 2] = ((m + 1 - j) * means[1 : m + 2] + j * value * means[: m + 1]) / (m + 1)
    return means


def break_even(y: ArrayLike, scores: ArrayLike) -> float:
    """Precision (= recall) of the n₊ rows with the highest scores, n₊ the number of positive rows (y > 0).

    >>> break_even([1, 1, -1, -1], [0.9, 0.3, 0.5, 0.1])
    0.5
    """
    positive, z = _finite("y", y, 1) > 0.0, _finite("scores", scores, 1)
    _require_equal_length(positive, z)
    if not positive.any():
        raise InputError("break_even needs at least one positive target, but y has none")
    value = _share_of_ideal(positive.astype(np.float64), z, (np.arange(z.size) < positive.sum()).astype(np.float64))
    assert value is not None
    return value


def tree_distance(y_true: ArrayLike, y_pred: ArrayLike, parent: ArrayLike) -> float:
    """The mean over rows of half the number of edges between the nodes y_true and y_pred of a tree.

    parent[v] is the parent of node v, -1 for a root. Two leaves with the same parent have distance 1. Several roots are
    treated as children of a common root.

    >>> tree_distance([3, 3, 3], [3, 4, 5], parent=[-1, 0, 0, 1, 1, 2])
    1.0
    """
    up = np.asarray(parent)
    if up.ndim != 1 or not is_integer(up) or up.size == 0 or up.min() < -1 or up.max() >= up.size:
        raise InputError("parent must be a vector of node numbers, -1 for a root")
    true, predicted = _integers("y_true", y_true, up.size), _integers("y_pred", y_pred, up.size)
    _require_equal_length(true, predicted)
    depth = _depths(up)
    a, b, steps = true.copy(), predicted.copy(), np.zeros(true.size)
    while (apart := a != b).any():  # the deeper node moves up to its parent; the parent of a root is -1
        for node, other in ((a, b), (b, a)):
            moves = apart & (_at(depth, node) >= _at(depth, other)) & (node >= 0)
            node[moves] = up[node[moves]]
            steps += moves
            apart = a != b
    return float(steps.mean() / 2.0)


def _depths(up: NDArray) -> NDArray:
    """The number of edges to the common root (-1, at depth 0); InputError if there is a cycle."""
    depth, node = np.zeros(up.size, dtype=np.int64), np.arange(up.size)
    for _ in range(up.size):
        depth += node >= 0
        node = np.where(node >= 0, up[node], -1)
        if (node < 0).all():
            return depth
    raise InputError(f"parent is not a tree: it has a cycle above node {int(np.argmax(node >= 0))}")


def _at(depth: NDArray, node: NDArray) -> NDArray:
    return np.where(node >= 0, depth[node], 0)


def _share_of_ideal(gain: Vector, scores: Vector, discount: Vector) -> float | None:
    """sum_i discount_i gain_π(i) over its largest possible value (None if that is 0); tied scores share their discounts."""
    ideal = float(np.sort(gain)[::-1] @ discount)
    if ideal == 0.0:
        return None
    order, start, sizes = _ties(scores)
    tied = np.add.reduceat(gain[order], start) * np.add.reduceat(discount, start) / sizes
    return float(tied.sum()) / ideal


def _ties(scores: Vector) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(the order by descending scores, the positions at which runs of tied scores begin, their lengths)."""
    order = np.argsort(-scores, kind="stable")
    start = np.flatnonzero(np.append(True, scores[order][1:] != scores[order][:-1]))
    return order, start, np.diff(np.append(start, scores.size))


def _mean_over_queries(
    one: Callable[[Vector, Vector], float | None], y: ArrayLike, scores: ArrayLike, groups: ArrayLike | None
) -> float:
    targets, z = _finite("y", y, 1), _finite("scores", scores, 1)
    _require_equal_length(targets, z)
    values = [one(targets[rows], z[rows]) for rows in _queries(groups, z.size)]
    known = [value for value in values if value is not None]
    if not known:
        raise InputError("no query has a relevant document (y > 0), so there is nothing to rank")
    return float(np.mean(known))


def _queries(groups: ArrayLike | None, n: int) -> Iterator[NDArray]:
    if groups is None:
        yield np.arange(n)
        return
    names = np.asarray(groups)
    if names.shape != (n,):
        raise InputError(f"groups has the shape {names.shape}, but there are {n} scores: give one query per row")
    _, query = np.unique(names, return_inverse=True)
    yield from np.split(np.argsort(query, kind="stable"), np.cumsum(np.bincount(query))[:-1])


def _finite(name: str, values: ArrayLike, ndim: int) -> Vector:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != ndim or array.size == 0:
        raise InputError(f"{name} must have {ndim} dimension(s) and not be empty, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{name} has an entry that is not finite at {np.argwhere(~np.isfinite(array))[0].tolist()}")
    return array


def _integers(name: str, values: ArrayLike, end: int) -> NDArray[np.int64]:
    array = _finite(name, values, 1)
    fine = (array == np.floor(array)) & (array >= 0) & (array < end)
    if not fine.all():
        row = int(np.argmin(fine))
        raise InputError(f"{name} of row {row} is {array[row]:g}: it must be an integer from 0 to {end - 1}")
    return array.astype(np.int64)


def _require_rank(k: object) -> None:
    if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or k < 1:
        raise InputError(f"k must be an integer of at least 1, got {k!r}")


def _require_equal_length(y: NDArray, other: NDArray) -> None:
    if y.shape != other.shape:
        raise InputError(f"y and scores must have the same length: there are {y.size} targets and {other.size} scores")
