"""Multiclass classification, the smallest structured model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.data.accept import accept_matrix, read_only, size
from fenchel.data.dtypes import is_integer
from fenchel.data.rows import row_column, row_entry, row_span
from fenchel.errors import InputError
from fenchel.structured.parameters import known_loss

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fenchel.structured.pool import Pool


@dataclass(frozen=True)
class Multiclass:
    """phi(x, y) = x in the block of class y; cost 1 for every wrong class: the max hinge, or for loss="log" softmax.

    Examples are the rows of a matrix, labels the classes 0 .. m - 1 (m: `classes`, default one more than the largest seen).

    >>> import fenchel
    >>> model = fenchel.structured.Multiclass()
    >>> problem = fenchel.Problem([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [0, 1, 2], loss=model, alpha=0.1)
    >>> fenchel.solve(problem, tol=1e-3).status.name
    'CERTIFIED'
    """

    classes: int | None = None
    loss: str = "hinge"

    def __post_init__(self) -> None:
        known_loss(self.loss)

    def encode(self, examples: Sequence[Any], labels: Sequence[Any]) -> EncodedClasses:
        """The rows and their classes."""
        matrix, rows = accept_matrix(examples, "examples")
        y = np.asarray(labels)
        if y.shape != (matrix.shape[0],):
            raise InputError(f"there are {matrix.shape[0]} examples, but the labels have shape {y.shape}")
        if not is_integer(y) or y.min() < 0:
            raise InputError("labels must be integers 0, 1, 2, ...")
        m = int(y.max()) + 1 if self.classes is None else int(self.classes)
        if y.max() >= m:
            raise InputError(
                f"the label of example {int(np.argmax(y >= m))} is {int(y.max())}, but there are {m} classes"
            )
        return EncodedClasses(rows, read_only(y.astype(np.int32)), m, matrix.shape[1])

    def predict(self, w: np.ndarray, x: Sequence[Any]) -> int:
        """The class with the largest score."""
        return int(np.argmax(np.asarray(x, dtype=float).ravel() @ w.reshape(np.size(x), -1)))


class EncodedClasses(NamedTuple):
    """w is (features, m), flat."""

    rows: Any
    y: np.ndarray
    m: int
    features: int

    @property
    def n(self) -> int:
        return self.y.size

    @property
    def d(self) -> int:
        return self.features * self.m

    @property
    def workspace_size(self) -> int:
        return self.m

    @property
    def sizes(self) -> np.ndarray:
        return np.ones(self.y.size, dtype=np.int64)

    @property
    def work(self) -> int:
        return size(self.rows) * self.m

    def gold(self, i: int) -> np.ndarray:
        return self.y[i : i + 1]

    def decode(self, i: int, label: np.ndarray) -> int:
        return int(label[0])

    def valid_labels(self, pool: Pool) -> bool:
        return bool(((pool.labels >= 0) & (pool.labels < self.m)).all())

    def label_size(self, i):
        return 1

    def part_scores(self, w, i, S):
        S[: self.m] = 0.0
        start, stop = row_span(self.rows, i)
        for k in range(start, stop):
            x, at = row_entry(self.rows, i, k), np.int64(row_column(self.rows, k)) * self.m
            for c in range(self.m):
                S[c] += x * w[at + c]

    def best_label(self, w, S, i, out):
        best, gold = 0, self.y[i]
        for c in range(1, self.m):
            if S[c] + (c != gold) > S[best] + (best != gold):
                best = c
        out[0] = best

    def label_cost(self, i, label):
        return 0.0 if label[0] == self.y[i] else 1.0

    def label_margin(self, w, S, i, label):
        return S[label[0]] - S[self.y[i]]

    def add_label(self, i, label, a, out):
        start, stop = row_span(self.rows, i)
        for k in range(start, stop):
            x, at = a * row_entry(self.rows, i, k), np.int64(row_column(self.rows, k)) * self.m
            out[at + label[0]] += x
            out[at + self.y[i]] -= x

    def pop_square_norm(self, i, label, out):
        total = 0.0
        start, stop = row_span(self.rows, i)
        for k in range(start, stop):
            at = np.int64(row_column(self.rows, k)) * self.m
            for c in (label[0], self.y[i]):
                total += out[at + c] * out[at + c]
                out[at + c] = 0.0
        return total

    def log_partition(self, w, S, i, a, out):
        gold = self.y[i]
        top = np.max(S[: self.m])
        total = 0.0
        for c in range(self.m):
            total += np.exp(S[c] - top)
        value = np.log(total) + (top - S[gold])
        for c in range(self.m):
            S[c] = np.exp(S[c] - top) / total
        start, stop = row_span(self.rows, i)
        for k in range(start, stop):
            x, at = a * row_entry(self.rows, i, k), np.int64(row_column(self.rows, k)) * self.m
            for c in range(self.m):
                out[at + c] += x * S[c]
            out[at + gold] -= x
        return value
