"""Encoded examples of labels on trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.data.accept import size
from fenchel.data.rows import row_column, row_entry, row_span
from fenchel.structured.protocol import label_cost, label_margin, plane_factor
from fenchel.structured.tree_counts import best_counted_tree
from fenchel.structured.tree_passes import best_raised_tree, sums_of_tree

if TYPE_CHECKING:
    from fenchel.structured.pool import Pool


@kernel
def node_scores(nodes, first, stop, w, features, m, S):
    """S[v m + c] = <x_v, W[:, c]> + bias[c]."""
    for v in range(stop - first):
        for c in range(m):
            S[v * m + c] = w[features * m + c]
        begin, end = row_span(nodes, np.uint64(first + v))
        for k in range(begin, end):
            x, at = row_entry(nodes, np.uint64(first + v), k), np.int64(row_column(nodes, k)) * m
            for c in range(m):
                S[v * m + c] += x * w[at + c]


@kernel
def transitions(w, at, m):
    """The m x m weights from w[at] on."""
    T = np.empty((m, m))
    for a in range(m):
        for b in range(m):
            T[a, b] = w[at + a * m + b]
    return T


class EncodedTrees(NamedTuple):
    """Nodes first[i] .. first[i+1] are those of example i; `parent` and `order` count from there. w is (features, m), flat,
    then m biases, then the m x m transitions from the parent's label to the child's. unit: cost of a wrong node."""

    nodes: Any
    first: np.ndarray
    parent: np.ndarray
    order: np.ndarray
    y: np.ndarray
    unit: np.ndarray
    features: int
    m: int
    beta: float

    @property
    def n(self) -> int:
        return self.unit.size

    @property
    def d(self) -> int:
        return (self.features + 1 + self.m) * self.m

    @property
    def workspace_size(self) -> int:
        return int(np.max(np.diff(self.first))) * self.m

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(self.first)

    @property
    def work(self) -> int:
        return size(self.nodes) * self.m + self.y.size * self.m * self.m

    def gold(self, i: int) -> np.ndarray:
        return self.y[self.first[i] : self.first[i + 1]]

    def decode(self, i: int, label: np.ndarray) -> np.ndarray:
        return np.array(label, dtype=np.int32)

    def valid_labels(self, pool: Pool) -> bool:
        return bool(pool.labels.size == 0 or (pool.labels.min() >= 0 and pool.labels.max() < self.m))

    def label_size(self, i):
        return self.first[i + 1] - self.first[i]

    def part_scores(self, w, i, S):
        node_scores(self.nodes, self.first[i], self.first[i + 1], w, self.features, self.m, S)
        S[(self.first[i + 1] - self.first[i]) * self.m :] = 0.0  # clear the values of a larger tree

    def best_label(self, w, S, i, out):
        start, stop, m = self.first[i], self.first[i + 1], self.m
        T, order, parent = transitions(w, (self.features + 1) * m, m), self.order[start:stop], self.parent[start:stop]
        if self.beta > 0.0:
            best_counted_tree(S, T, order, parent, m, self.y[start:stop], self.unit[i], self.beta, out)
        else:
            best_raised_tree(S, T, order, parent, m, self.y[start:stop], self.unit[i], out)
        cost = label_cost(self, i, out)
        if cost + plane_factor(self, cost) * label_margin(self, w, S, i, out) < 0.0:
            for v in range(stop - start):  # a negative plane is due to the rounding of large scores
                out[v] = self.y[start + v]

    def plane_factor(self, cost):
        return 1.0 if self.beta == 0.0 else cost**self.beta

    def label_cost(self, i, label):
        wrong, start = 0, self.first[i]
        for v in range(self.first[i + 1] - start):
            wrong += label[v] != self.y[start + v]
        return wrong * self.unit[i]

    def label_margin(self, w, S, i, label):
        total, start, m, at = 0.0, self.first[i], self.m, (self.features + 1) * self.m
        for v in range(self.first[i + 1] - start):
            gold, u = self.y[start + v], self.parent[start + v]
            total += S[v * m + label[v]] - S[v * m + gold]
            if u >= 0:
                total += w[at + label[u] * m + label[v]] - w[at + self.y[start + u] * m + gold]
        return total

    def add_label(self, i, label, a, out):
        start, m, at = self.first[i], self.m, (self.features + 1) * self.m
        for v in range(self.first[i + 1] - start):
            gold, u = self.y[start + v], self.parent[start + v]
            if u >= 0:
                out[at + label[u] * m + label[v]] += a
                out[at + self.y[start + u] * m + gold] -= a
            if label[v] != gold:
                out[self.features * m + label[v]] += a
                out[self.features * m + gold] -= a
                begin, end = row_span(self.nodes, np.uint64(start + v))
                for k in range(begin, end):
                    x, row = a * row_entry(self.nodes, np.uint64(start + v), k), np.int64(row_column(self.nodes, k)) * m
                    out[row + label[v]] += x
                    out[row + gold] -= x

    def pop_square_norm(self, i, label, out):
        total, start, m = 0.0, self.first[i], self.m
        for j in range(self.features * m, out.size):
            total += out[j] * out[j]
            out[j] = 0.0
        for v in range(self.first[i + 1] - start):
            if label[v] != self.y[start + v]:
                begin, end = row_span(self.nodes, np.uint64(start + v))
                for k in range(begin, end):
                    row = np.int64(row_column(self.nodes, k)) * m
                    for c in (label[v], self.y[start + v]):
                        total += out[row + c] * out[row + c]
                        out[row + c] = 0.0
        return total

    def log_partition(self, w, S, i, a, out):
        start, stop, m, at = self.first[i], self.first[i + 1], self.m, (self.features + 1) * self.m
        T, pairs, gold_score = transitions(w, at, m), np.zeros((m, m)), 0.0
        for v in range(stop - start):
            gold, u = self.y[start + v], self.parent[start + v]
            gold_score += S[v * m + gold]
            if u >= 0:
                gold_score += T[self.y[start + u], gold]
                pairs[self.y[start + u], gold] -= 1.0
        value = sums_of_tree(S, T, self.order[start:stop], self.parent[start:stop], m, pairs) - gold_score
        for b in range(m):
            for c in range(m):
                out[at + b * m + c] += a * pairs[b, c]
        for v in range(stop - start):
            S[v * m + self.y[start + v]] -= 1.0
            for c in range(m):
                out[self.features * m + c] += a * S[v * m + c]
            begin, end = row_span(self.nodes, np.uint64(start + v))
            for k in range(begin, end):
                x, row = a * row_entry(self.nodes, np.uint64(start + v), k), np.int64(row_column(self.nodes, k)) * m
                for c in range(m):
                    out[row + c] += x * S[v * m + c]
        return value
