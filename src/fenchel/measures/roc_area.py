"""The area under the ROC curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.compile.kernel import kernel
from fenchel.measures.common import is_spoiled, longest
from fenchel.measures.order import sort_stably
from fenchel.measures.parameters import positive
from fenchel.measures.protocol import Measure, Vector, as_scores
from fenchel.measures.queries import Queries, queries_in_mean, refuse_weights, signs, split


class Pairs(NamedTuple):
    """Queries that have both classes, and which rows are positive."""

    queries: Queries
    positive: NDArray[np.bool_]


@dataclass(frozen=True)
class ROCArea(Measure):
    """1/(n₊ n₋) sum over i positive, j negative of max(0, margin - (z_i - z_j)),   y in {-1, +1}

    An upper bound of margin (1 - area under the ROC curve), where tied pairs count one half. With one class missing the
    value is 0. One sort of the scores; with groups, the average over the queries that have both classes.

    >>> ROCArea().evaluate([2.0, 0.5, 0.0], [1, -1, 1])
    (0.75, array([ 0. ,  0.5, -0.5]))
    """

    tex = r"\frac{1}{n_+ n_-} \sum_{i \text{ positive},\, j \text{ negative}} \max(0,\, \rho - z_i + z_j)"
    tex_where = "ρ the margin"
    margin: float = 1.0

    shift_invariant: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    task: ClassVar[str] = "binary"
    signs_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "margin", positive("margin", self.margin))

    def prepare(self, y: ArrayLike, groups: ArrayLike | None = None, weights: ArrayLike | None = None) -> Pairs:
        """Queries with both classes."""
        sign = signs(y, "ROCArea")
        refuse_weights(weights, sign.size, "ROCArea")
        queries = split(sign.size, groups)
        count = queries.add(sign[queries.rows].astype(np.int64))
        return Pairs(queries.keep((count > 0) & (count < queries.sizes)), sign)

    mass = queries_in_mean

    def value_and_slope(self, z: Vector, prepared: Pairs, out: Vector) -> float:
        """The mean over queries; out = its subgradient."""
        return roc_area(as_scores(z, out), prepared, self.margin, out)


@kernel
def roc_area(z, pairs, margin, out):
    """Sort z_i - margin/2 of the positives among z_j + margin/2 of the negatives.

    A positive then pays once for every negative above it. The label of a row is 2 row + [positive], which saves looking
    the class up at a random place of memory.
    """
    if is_spoiled(z, out):
        return np.nan
    rows, first, last = pairs.queries
    out[:] = 0.0
    size = longest(first, last)
    keys, labels = np.empty(size), np.empty(size, np.uint64)
    spare_keys, spare_labels = np.empty(size), np.empty(size, np.uint64)
    total = 0.0
    for q in range(first.size):
        own = rows[first[q] : last[q]]
        size = own.size
        n_positive = fill_keys(z, own, pairs.positive, 0.5 * margin, keys, labels)
        sort_stably(keys[:size], labels[:size], spare_keys[:size], spare_labels[:size])
        n_negative = size - n_positive
        unit = 1.0 / (np.float64(n_positive) * np.float64(n_negative) * first.size)
        above, below, value = np.int64(n_negative), np.int64(0), 0.0
        for i in range(np.uint64(size)):
            is_positive = np.int64(labels[i] & np.uint64(1))
            below += is_positive
            above -= 1 - is_positive
            change = below - is_positive * (above + below)  # without a branch that nobody could predict
            value += change * keys[i]
            out[labels[i] >> np.uint64(1)] = unit * change
        total += unit * value
    return total


@kernel
def fill_keys(z, rows, positive, half, keys, labels):
    """Centred scores moved by half the margin; returns the number of positives."""
    count, mean = np.int64(0), 0.0
    for i in range(np.uint64(rows.size)):
        mean += z[rows[i]]
    mean /= rows.size
    for i in range(np.uint64(rows.size)):
        row, is_positive = rows[i], np.uint64(positive[rows[i]])
        keys[i] = (z[row] - mean) + (half if is_positive == 0 else -half)
        labels[i] = row * np.uint64(2) + is_positive
        count += np.int64(is_positive)
    return count
