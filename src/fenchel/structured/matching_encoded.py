"""Encoded examples of bipartite matching."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.data.accept import size
from fenchel.data.rows import axpy, dot, row_column, row_span
from fenchel.structured.matching_assignment import are_matchings, diagonal, heaviest
from fenchel.structured.matching_rescaled import best_rescaled_matching
from fenchel.structured.protocol import label_cost, label_margin, plane_factor

if TYPE_CHECKING:
    from fenchel.structured.pool import Pool


class EncodedMatchings(NamedTuple):
    """Edge (r, c) of example i is line first[i] + r columns[i] + c of `edges`; its gold label starts at places[i] of y."""

    edges: Any
    first: np.ndarray
    places: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    y: np.ndarray
    features: int
    partial: bool
    false_positive: float
    false_negative: float
    beta: float

    @property
    def n(self) -> int:
        return self.rows.size

    @property
    def d(self) -> int:
        return self.features

    @property
    def workspace_size(self) -> int:
        return int(np.max(np.diff(self.first)))

    @property
    def sizes(self) -> np.ndarray:
        return self.rows

    @property
    def work(self) -> int:
        return size(self.edges) + int(np.sum(self.rows * self.columns * np.minimum(self.rows, self.columns)))

    def gold(self, i: int) -> np.ndarray:
        return self.y[self.places[i] : self.places[i + 1]]

    def decode(self, i: int, label: np.ndarray) -> np.ndarray:
        return np.array(label, dtype=np.int32)

    def valid_labels(self, pool: Pool) -> bool:
        return bool(are_matchings(self.rows, self.columns, self.partial, pool.start, pool.offsets, pool.labels))

    def label_size(self, i):
        return self.rows[i]

    def part_scores(self, w, i, S):
        first = self.first[i]
        for e in range(self.first[i + 1] - first):
            S[e] = dot(self.edges, np.uint64(first + e), w)

    def best_label(self, w, S, i, out):
        rows, columns = self.rows[i], self.columns[i]
        gold = self.y[self.places[i] : self.places[i + 1]]
        benefit, strange = np.empty(rows * columns), -1
        for e in range(rows * columns):
            benefit[e] = S[e] + self.false_positive
            if not np.isfinite(S[e]):
                strange = e
        for r in range(rows):
            if gold[r] >= 0:
                benefit[r * columns + gold[r]] -= self.false_positive + self.false_negative
        fine = strange < 0
        if fine and self.beta > 0.0:
            fine = best_rescaled_matching(
                S, rows, columns, gold, self.partial, self.false_positive, self.false_negative, self.beta, out
            )
        elif fine:
            fine = heaviest(benefit, rows, columns, self.partial, out)
        if not fine:
            diagonal(rows, columns, max(strange, 0), out)  # a label whose score is not finite, which the caller detects
            return
        cost = label_cost(self, i, out)
        if cost + plane_factor(self, cost) * label_margin(self, w, S, i, out) < 0.0:
            for r in range(rows):  # a negative plane is due to the rounding of large scores
                out[r] = gold[r]

    def plane_factor(self, cost):
        return 1.0 if self.beta == 0.0 else cost**self.beta

    def label_cost(self, i, label):
        wrong, missed, at = 0, 0, self.places[i]
        for r in range(self.rows[i]):
            gold = self.y[at + r]
            if label[r] != gold:
                wrong += label[r] >= 0
                missed += gold >= 0
        return wrong * self.false_positive + missed * self.false_negative

    def label_margin(self, w, S, i, label):
        total, columns, at = 0.0, self.columns[i], self.places[i]
        for r in range(self.rows[i]):
            gold = self.y[at + r]
            total += (S[r * columns + label[r]] if label[r] >= 0 else 0.0) - (
                S[r * columns + gold] if gold >= 0 else 0.0
            )
        return total

    def add_label(self, i, label, a, out):
        for r in range(self.rows[i]):
            gold, line = self.y[self.places[i] + r], self.first[i] + r * self.columns[i]
            if label[r] != gold:
                if label[r] >= 0:
                    axpy(self.edges, np.uint64(line + label[r]), a, out)
                if gold >= 0:
                    axpy(self.edges, np.uint64(line + gold), -a, out)

    def pop_square_norm(self, i, label, out):
        total = 0.0
        for r in range(self.rows[i]):
            gold, line = self.y[self.places[i] + r], self.first[i] + r * self.columns[i]
            if label[r] != gold:
                for c in (label[r], gold):
                    if c >= 0:
                        start, stop = row_span(self.edges, np.uint64(line + c))
                        for k in range(start, stop):
                            j = row_column(self.edges, k)
                            total += out[j] * out[j]
                            out[j] = 0.0
        return total
