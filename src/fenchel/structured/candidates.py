"""A choice among candidates, each with features of its own: joint features psi(x, j)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.data.accept import read_only, size
from fenchel.data.rows import axpy, dot, row_column, row_span
from fenchel.errors import InputError
from fenchel.structured.label_costs import choice_and_costs
from fenchel.structured.parameters import accept_beta, known_loss, same_count
from fenchel.structured.protocol import label_cost, label_margin, plane_factor
from fenchel.structured.stacked import stacked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fenchel.structured.pool import Pool


@dataclass(frozen=True)
class Candidates:
    """score(x, j) = <w, psi(x, j)>

    for the candidates j of an example, whose number may differ, and of which one is right. The hinge loss is the largest
    cost_j + cost_j^beta (score(x, j) - score(x, right)); beta 0 is margin rescaling, 1 slack rescaling. loss="log"
    is the conditional logit, log sum over j of exp(score(x, j) - score(x, right)).

    An example is a matrix, dense or sparse, with a row psi(x, j) for each candidate. A label is the number of the right one,
    which makes the costs of all others 1, or the costs of all, of which exactly one is 0. With the blocks (0, .., x, .., 0) as
    rows this is a linear classifier with costs of each example.

    >>> import fenchel
    >>> examples = [[[1.0, 0.0], [0.0, 1.0]], [[0.5, 1.0], [2.0, 0.0], [1.0, 1.0]]]
    >>> problem = fenchel.Problem(examples, [0, [1.0, 0.0, 0.2]], loss=fenchel.structured.Candidates(), alpha=0.1)
    >>> result = fenchel.solve(problem, tol=1e-4)
    >>> result.status.name, problem.loss.predict(result.coef, examples[1])
    ('CERTIFIED', 1)
    """

    loss: str = "hinge"
    beta: float = 0.0

    def __post_init__(self) -> None:
        known_loss(self.loss)
        accept_beta(self.beta, self.loss)

    def encode(self, examples: Sequence[Any], labels: Sequence[Any]) -> EncodedCandidates:
        """The candidates of all examples as one matrix, and their costs."""
        examples, labels = list(examples), list(labels)
        same_count(examples, labels)
        parts = [_rows(i, x) for i, x in enumerate(examples)]
        rows, features, first = stacked(parts, "candidate")
        found = [choice_and_costs(i, label, parts[i].shape[0]) for i, label in enumerate(labels)]
        y = read_only(np.array([right for right, _ in found], dtype=np.int32))
        costs = read_only(np.concatenate([cost for _, cost in found]))
        return EncodedCandidates(rows, first, y, costs, features, float(self.beta))

    def predict(self, w: np.ndarray, x: Any) -> int:
        """The candidate with the largest score."""
        rows = _rows(0, x)
        if rows.shape[1] != np.size(w):
            raise InputError(f"the example has {rows.shape[1]} features per candidate, the model {np.size(w)}")
        return int(np.argmax(rows @ np.asarray(w, dtype=np.float64)))


def _rows(i: int, x: Any) -> Any:
    try:
        found = x if sp.issparse(x) else np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"example {i} is not a matrix of numbers: {error}") from None
    if found.ndim != 2 or found.shape[0] == 0:
        raise InputError(f"example {i} must be a matrix with a row for each candidate, got shape {found.shape}")
    return found


class EncodedCandidates(NamedTuple):
    """Candidate j of example i is row first[i] + j of `rows`, and its cost is costs[first[i] + j]."""

    rows: Any
    first: np.ndarray
    y: np.ndarray
    costs: np.ndarray
    features: int
    beta: float

    @property
    def n(self) -> int:
        return self.y.size

    @property
    def d(self) -> int:
        return self.features

    @property
    def workspace_size(self) -> int:
        return int(np.max(np.diff(self.first)))

    @property
    def sizes(self) -> np.ndarray:
        return np.ones(self.y.size, dtype=np.int64)

    @property
    def work(self) -> int:
        return size(self.rows)

    def gold(self, i: int) -> np.ndarray:
        return self.y[i : i + 1]

    def decode(self, i: int, label: np.ndarray) -> int:
        return int(label[0])

    def valid_labels(self, pool: Pool) -> bool:
        counts = np.repeat(np.diff(self.first), np.diff(pool.start))
        return bool(((pool.labels >= 0) & (pool.labels < counts)).all())

    def label_size(self, i):
        return 1

    def part_scores(self, w, i, S):
        S[:] = 0.0
        for c in range(self.first[i + 1] - self.first[i]):
            S[c] = dot(self.rows, np.uint64(self.first[i] + c), w)

    def best_label(self, w, S, i, out):
        gold, best, top = self.y[i], self.y[i], 0.0
        for c in range(self.first[i + 1] - self.first[i]):
            out[0] = c
            cost = label_cost(self, i, out)
            plane = cost + plane_factor(self, cost) * label_margin(self, w, S, i, out)
            if c != gold and (plane > top or plane != plane):
                best, top = c, plane
        out[0] = best

    def plane_factor(self, cost):
        return 1.0 if self.beta == 0.0 else cost**self.beta

    def label_cost(self, i, label):
        return self.costs[self.first[i] + label[0]]

    def label_margin(self, w, S, i, label):
        return S[label[0]] - S[self.y[i]]

    def add_label(self, i, label, a, out):
        if label[0] != self.y[i]:
            axpy(self.rows, np.uint64(self.first[i] + label[0]), a, out)
            axpy(self.rows, np.uint64(self.first[i] + self.y[i]), -a, out)

    def pop_square_norm(self, i, label, out):
        total = 0.0
        for c in (label[0], self.y[i]):
            start, stop = row_span(self.rows, np.uint64(self.first[i] + c))
            for k in range(start, stop):
                j = row_column(self.rows, k)
                total += out[j] * out[j]
                out[j] = 0.0
        return total

    def log_partition(self, w, S, i, a, out):
        count = self.first[i + 1] - self.first[i]
        top, total = np.max(S[:count]), 0.0
        for c in range(count):
            total += np.exp(S[c] - top)
        value = np.log(total) + (top - S[self.y[i]])
        for c in range(count):
            axpy(self.rows, np.uint64(self.first[i] + c), a * np.exp(S[c] - top) / total, out)
        axpy(self.rows, np.uint64(self.first[i] + self.y[i]), -a, out)
        return value
