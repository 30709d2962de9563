"""Encoded examples of label sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.data.accept import size
from fenchel.data.rows import row_column, row_entry, row_span
from fenchel.structured.pairwise_rescaled import best_rescaled_set
from fenchel.structured.pairwise_search import best_set
from fenchel.structured.pairwise_sums import sums_of_sets
from fenchel.structured.protocol import label_cost, label_margin, plane_factor

if TYPE_CHECKING:
    from fenchel.structured.pool import Pool


@kernel
def pair_matrix(w, at, Q):
    """Q = the symmetric matrix of the pair weights, which start at w[at]; its diagonal is 0."""
    for i in range(Q.shape[0]):
        Q[i, i] = 0.0
        for j in range(i + 1, Q.shape[0]):
            Q[i, j] = Q[j, i] = w[at]
            at += 1


class EncodedSets(NamedTuple):
    """w is (features, m), flat, then m biases, then the pairs; S holds the score of each label alone. unit: cost of a label."""

    rows: Any
    y: np.ndarray
    features: int
    m: int
    unit: float
    nodes: int
    beta: float

    @property
    def n(self) -> int:
        return self.y.shape[0]

    @property
    def d(self) -> int:
        return (self.features + 1) * self.m + self.m * (self.m - 1) // 2

    @property
    def workspace_size(self) -> int:
        return self.m

    @property
    def sizes(self) -> np.ndarray:
        return np.full(self.y.shape[0], self.m, dtype=np.int64)

    @property
    def work(self) -> int:
        return size(self.rows) * self.m + self.n * self.m * self.m

    @property
    def exact(self) -> bool:
        return self.nodes == 0

    def gold(self, i: int) -> np.ndarray:
        return self.y[i]

    def decode(self, i: int, label: np.ndarray) -> np.ndarray:
        return np.array(label, dtype=np.int32)

    def valid_labels(self, pool: Pool) -> bool:
        return bool(np.isin(pool.labels, (0, 1)).all())

    def label_size(self, i):
        return self.m

    def part_scores(self, w, i, S):
        m = self.m
        for c in range(m):
            S[c] = w[self.features * m + c]
        start, stop = row_span(self.rows, np.uint64(i))
        for k in range(start, stop):
            x, at = row_entry(self.rows, np.uint64(i), k), np.int64(row_column(self.rows, k)) * m
            for c in range(m):
                S[c] += x * w[at + c]

    def best_label(self, w, S, i, out):
        m = self.m
        u, Q = np.empty(m), np.empty((m, m))
        pair_matrix(w, (self.features + 1) * m, Q)
        if self.beta > 0.0:
            best_rescaled_set(S[:m], Q, self.y[i], self.unit, self.beta, self.nodes, out)
        else:
            for c in range(m):
                u[c] = S[c] + self.unit * (1 - 2 * self.y[i, c])
            best_set(u, Q, self.nodes, out)
        cost = label_cost(self, i, out)
        if cost + plane_factor(self, cost) * label_margin(self, w, S, i, out) < 0.0:
            for c in range(m):  # a negative plane is due to the rounding of large scores, or to the limit of nodes
                out[c] = self.y[i, c]

    def plane_ceiling(self, w, S, i):
        """An upper bound of all planes of example i at w; needed if `nodes` may be too few to find the largest one."""
        if self.nodes == 0:
            return -np.inf
        m, gold = self.m, 0.0
        u, Q, out = np.empty(m), np.empty((m, m)), np.empty(m, np.int32)
        pair_matrix(w, (self.features + 1) * m, Q)
        if self.beta > 0.0:
            return best_rescaled_set(S[:m], Q, self.y[i], self.unit, self.beta, self.nodes, out)[1]
        for c in range(m):
            u[c] = S[c] + self.unit * (1 - 2 * self.y[i, c])
            if self.y[i, c] == 1:
                gold += u[c]
                for b in range(c):
                    gold += Q[b, c] * self.y[i, b]
        return max(best_set(u, Q, self.nodes, out)[1] - gold, 0.0)

    def plane_factor(self, cost):
        return 1.0 if self.beta == 0.0 else cost**self.beta

    def label_cost(self, i, label):
        wrong = 0
        for c in range(self.m):
            wrong += label[c] != self.y[i, c]
        return wrong * self.unit

    def label_margin(self, w, S, i, label):
        total, at = 0.0, (self.features + 1) * self.m
        for c in range(self.m):
            total += S[c] * (label[c] - self.y[i, c])
            for b in range(c + 1, self.m):
                total += w[at] * (label[c] * label[b] - self.y[i, c] * self.y[i, b])
                at += 1
        return total

    def add_label(self, i, label, a, out):
        m = self.m
        at = (self.features + 1) * m
        for c in range(m):
            out[self.features * m + c] += a * (label[c] - self.y[i, c])
            for b in range(c + 1, m):
                out[at] += a * (label[c] * label[b] - self.y[i, c] * self.y[i, b])
                at += 1
        start, stop = row_span(self.rows, np.uint64(i))
        for k in range(start, stop):
            x, row = a * row_entry(self.rows, np.uint64(i), k), np.int64(row_column(self.rows, k)) * m
            for c in range(m):
                out[row + c] += x * (label[c] - self.y[i, c])

    def pop_square_norm(self, i, label, out):
        total, m = 0.0, self.m
        for j in range(self.features * m, out.size):
            total += out[j] * out[j]
            out[j] = 0.0
        start, stop = row_span(self.rows, np.uint64(i))
        for k in range(start, stop):
            at = np.int64(row_column(self.rows, k)) * m
            for c in range(m):
                total += out[at + c] * out[at + c]
                out[at + c] = 0.0
        return total

    def log_partition(self, w, S, i, a, out):
        m = self.m
        u, Q, pairs = S[:m].copy(), np.empty((m, m)), np.empty((m, m))
        at = (self.features + 1) * m
        pair_matrix(w, at, Q)
        value = sums_of_sets(u, Q, pairs)
        for c in range(m):
            value -= u[c] * self.y[i, c]
            S[c] = pairs[c, c] - self.y[i, c]
            out[self.features * m + c] += a * S[c]
            for b in range(c + 1, m):
                both = self.y[i, c] * self.y[i, b]
                value -= Q[c, b] * both
                out[at] += a * (pairs[b, c] - both)
                at += 1
        start, stop = row_span(self.rows, np.uint64(i))
        for k in range(start, stop):
            x, row = a * row_entry(self.rows, np.uint64(i), k), np.int64(row_column(self.rows, k)) * m
            for c in range(m):
                out[row + c] += x * S[c]
        return value
