"""Multiclass classification, the smallest structured model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.data.accept import accept_matrix, read_only, size
from fenchel.data.dtypes import is_integer, is_number
from fenchel.data.rows import row_column, row_entry, row_span
from fenchel.errors import InputError
from fenchel.structured.label_costs import right_one
from fenchel.structured.parameters import accept_beta, known_loss
from fenchel.structured.protocol import plane_factor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fenchel.structured.pool import Pool


@dataclass(frozen=True)
class Multiclass:
    """phi(x, y) = x in the block of class y; cost 1 for every wrong class: the max hinge, or for loss="log" softmax.

    Examples are the rows of a matrix, labels the classes 0 .. m - 1 (m: `classes`, default one more than the largest seen), or
    a matrix with the costs of each example: a column for each class, and exactly one 0 in each row, at the right class. With
    beta > 0 the hinge loss is the largest cost + cost^beta (score(x, y) - score(x, gold)); 1 is slack rescaling.

    >>> import fenchel
    >>> model = fenchel.structured.Multiclass()
    >>> problem = fenchel.Problem([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [0, 1, 2], loss=model, alpha=0.1)
    >>> fenchel.solve(problem, tol=1e-3).status.name
    'CERTIFIED'
    """

    classes: int | None = None
    loss: str = "hinge"
    beta: float = 0.0

    def __post_init__(self) -> None:
        known_loss(self.loss)
        accept_beta(self.beta, self.loss)

    def encode(self, examples: Sequence[Any], labels: Sequence[Any]) -> EncodedClasses:
        """The rows and their classes."""
        matrix, rows = accept_matrix(examples, "examples")
        y, costs = np.asarray(labels), np.zeros((0, 0))
        if y.ndim == 2 and y.shape[0] == matrix.shape[0] and is_number(y) and y.shape[1] > 0:
            costs = np.ascontiguousarray(y, dtype=np.float64)
            y = np.array([right_one(i, row) for i, row in enumerate(costs)])
        if y.shape != (matrix.shape[0],):
            raise InputError(f"there are {matrix.shape[0]} examples, but the labels have shape {y.shape}")
        if not is_integer(y) or y.min() < 0:
            raise InputError("labels must be integers 0, 1, 2, ...")
        m = costs.shape[1] or (int(y.max()) + 1 if self.classes is None else int(self.classes))
        if costs.size and self.classes not in (None, m):
            raise InputError(f"there are costs of {m} classes, but classes={self.classes}")
        if y.max() >= m:
            raise InputError(
                f"the label of example {int(np.argmax(y >= m))} is {int(y.max())}, but there are {m} classes"
            )
        return EncodedClasses(
            rows, read_only(y.astype(np.int32)), m, matrix.shape[1], read_only(costs), float(self.beta)
        )

    def predict(self, w: np.ndarray, x: Sequence[Any]) -> int:
        """The class with the largest score."""
        return int(np.argmax(np.asarray(x, dtype=float).ravel() @ w.reshape(np.size(x), -1)))


@helper
def class_cost(model, i, c):
    """The cost of class c for example i."""
    if model.costs.size > 0:
        return model.costs[i, c]
    return 0.0 if c == model.y[i] else 1.0


class EncodedClasses(NamedTuple):
    """w is (features, m), flat. costs: those of every example and class, or 0 x 0, which is 1 for every wrong class."""

    rows: Any
    y: np.ndarray
    m: int
    features: int
    costs: np.ndarray
    beta: float

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
        gold, best, top = self.y[i], self.y[i], 0.0
        for c in range(self.m):
            cost = class_cost(self, i, c)
            plane = cost + plane_factor(self, cost) * (S[c] - S[gold])
            if c != gold and (plane > top or plane != plane):
                best, top = c, plane
        out[0] = best

    def plane_factor(self, cost):
        return 1.0 if self.beta == 0.0 else cost**self.beta

    def label_cost(self, i, label):
        return class_cost(self, i, label[0])

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
