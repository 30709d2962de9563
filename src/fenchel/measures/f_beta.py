"""The F measure."""

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
from fenchel.measures.queries import NothingToRank, Queries, queries_in_mean, refuse_weights, signs, split


class Labelings(NamedTuple):
    """Queries that have both classes with their scales, and which rows are positive."""

    queries: Queries
    scale: NDArray[np.float64]
    positive: NDArray[np.bool_]


@dataclass(frozen=True)
class FBeta(Measure):
    """max over y' in {-1, +1}^n of 1 - F(y') + scale sum_i (y'_i - y_i) z_i,   F = (1 + β²) a/(a + b + β² n₊)

    a and b are the true and false positives of y', n₊ the positives. An upper bound of 1 - F_β of the labeling sign(z).
    The worst y' takes the a highest positives and b highest negatives; for every a the best b is found by bisection, since
    the value is concave in b: O(n₊ log n₋) after the sort.

    scale None is 1/(2 n), which makes the slopes those of the mean hinge, 1/n at most. With the regularizer L2(alpha), a
    scale s is the same as the scale 1 with alpha/s^2. Both classes must occur; with groups, queries where one is missing
    are left out of the average.

    >>> FBeta(scale=0.5).evaluate([0.5, 1.0, -2.0], [1, -1, -1])
    (1.5, array([-1.,  1.,  0.]))
    """

    tex = r"\max_{y'} \; 1 - \name{F}(y') + s \sum_i (y'_i - y_i) z_i"
    tex_where = "y′ any labels of the rows, F the F-measure of y′, s the scale"
    beta: float = 1.0
    scale: float | None = None

    shift_invariant: ClassVar[bool] = False
    nonnegative: ClassVar[bool] = True
    task: ClassVar[str] = "binary"
    signs_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", positive("beta", self.beta))
        if self.scale is not None:
            object.__setattr__(self, "scale", positive("scale", self.scale))

    def prepare(self, y: ArrayLike, groups: ArrayLike | None = None, weights: ArrayLike | None = None) -> Labelings:
        """Queries with both classes."""
        sign = signs(y, "FBeta")
        refuse_weights(weights, sign.size, "FBeta")
        queries = split(sign.size, groups)
        count = queries.add(sign[queries.rows].astype(np.int64))
        kept = queries.keep((count > 0) & (count < queries.sizes))
        if not kept.first.size:
            where = f"every target is {'+1' if sign[0] else '-1'}" if groups is None else "no query has both"
            raise NothingToRank(f"FBeta needs targets of both classes: {where}")
        scale = 0.5 / kept.sizes if self.scale is None else np.full(kept.first.size, self.scale)
        return Labelings(kept, scale, sign)

    mass = queries_in_mean

    def value_and_slope(self, z: Vector, prepared: Labelings, out: Vector) -> float:
        """The loss (its mean over queries); out = its subgradient."""
        return f_beta(as_scores(z, out), prepared, self.beta, out)


@kernel
def f_beta(z, labelings, beta, out):
    """Per query: sort each class in descending order, choose (a, b), write the slope of that labeling."""
    if is_spoiled(z, out):
        return np.nan
    rows, first, last = labelings.queries
    out[:] = 0.0
    size = longest(first, last)
    scores, labels = np.empty(size), np.empty(size, np.uint64)
    spare_scores, spare_labels = np.empty(size), np.empty(size, np.uint64)
    total = 0.0
    for q in range(first.size):
        own, scale = rows[first[q] : last[q]], labelings.scale[q]
        size = own.size
        n_positive, n_negative = 0, 0
        for i in range(size):  # positives from the left, negatives from the right
            if labelings.positive[own[i]]:
                place = n_positive
                n_positive += 1
            else:
                n_negative += 1
                place = size - n_negative
            scores[place], labels[place] = -z[own[i]], own[i]
        for start, end in ((0, n_positive), (n_positive, size)):
            sort_stably(scores[start:end], labels[start:end], spare_scores[start:end], spare_labels[start:end])
        a, b = worst_counts(scores[:n_positive], scores[n_positive:size], 2.0 * scale, beta)
        value = 1.0 - (1.0 + beta**2) * a / (a + b + beta**2 * n_positive)
        for i in range(a, n_positive):
            value += 2.0 * scale * scores[i]
            out[labels[i]] = -2.0 * scale / first.size
        for i in range(n_positive, n_positive + b):
            value -= 2.0 * scale * scores[i]
            out[labels[i]] = 2.0 * scale / first.size
        total += value
    return total / first.size


@kernel
def worst_counts(positives, negatives, factor, beta):
    """The (a, b) of the worst labeling; both lists hold minus the scores, in ascending order.

    One more false positive changes the value by (1 + β²) a/(D (D + 1)) - factor negatives[b], D = a + b + β² n₊: this falls
    with b also in floating point, so bisection for its sign is safe.
    """
    room = beta**2 * positives.size
    sums = np.zeros(negatives.size + 1)
    for b in range(negatives.size):
        sums[b + 1] = sums[b] - negatives[b]
    left_out = 0.0  # the sum of minus the scores of the positives that y' calls negative
    best, best_a, best_b = -np.inf, 0, 0
    for a in range(positives.size, -1, -1):
        if a < positives.size:
            left_out += positives[a]
        low, high = 0, negatives.size
        while low < high:  # bisection of integers
            middle = (low + high) // 2
            D = a + middle + room
            if (1.0 + beta**2) * a / (D * (D + 1.0)) > factor * negatives[middle]:
                low = middle + 1
            else:
                high = middle
        value = 1.0 - (1.0 + beta**2) * a / (a + low + room) + factor * (sums[low] + left_out)
        if value > best:
            best, best_a, best_b = value, a, low
    return best_a, best_b
