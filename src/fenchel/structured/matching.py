"""Bipartite matching."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from fenchel.data.accept import read_only
from fenchel.data.dtypes import is_integer, is_number_or_bool
from fenchel.errors import InputError
from fenchel.structured.matching_assignment import heaviest
from fenchel.structured.matching_encoded import EncodedMatchings
from fenchel.structured.parameters import accept_beta, same_count
from fenchel.structured.stacked import stacked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Matching:
    """phi(x, y) = sum of the features of the matched edges; cost false_positive for each edge that is matched but not in the
    gold matching, false_negative for each gold edge that is not matched.

    An example is an array (rows, columns, features), or a pair (edges, columns) of a matrix, dense or sparse, with a line
    per edge, row by row, and the number of columns. A label is the column of each row, -1 for none, or a 0/1 matrix. A full
    matching has min(rows, columns) edges; with partial=True every matching is a label. The max-oracle is an assignment
    problem, solved exactly. With beta > 0 the loss is the largest cost + cost^beta <w, phi(x, y) - phi(x, gold)> (1: slack
    rescaling), which branch and bound over assignment problems finds exactly, in the worst case in exponential time. There
    is no log-loss: the sum over all matchings is a permanent.

    >>> import fenchel
    >>> x = np.array([[[2.0, 1.0], [0.0, 1.0]], [[1.0, 1.0], [0.5, 1.0]]])
    >>> problem = fenchel.Problem([x], [[0, 1]], loss=fenchel.structured.Matching(), alpha=0.1)
    >>> result = fenchel.solve(problem, tol=1e-3)
    >>> result.status.name, problem.loss.predict(result.coef, x)
    ('CERTIFIED', array([0, 1], dtype=int32))
    """

    partial: bool = False
    false_positive: float = 1.0
    false_negative: float = 1.0
    beta: float = 0.0
    loss: ClassVar[str] = "hinge"

    def __post_init__(self) -> None:
        for name in ("false_positive", "false_negative"):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise InputError(f"{name} must be finite and at least 0, got {getattr(self, name)!r}")
        accept_beta(self.beta)

    def encode(self, examples: Sequence[Any], labels: Sequence[Any]) -> EncodedMatchings:
        """The edges of all examples as one matrix, and the gold matchings."""
        examples, labels = list(examples), list(labels)
        same_count(examples, labels)
        parts, shapes = zip(*(_edges(i, x) for i, x in enumerate(examples)), strict=True)
        edges, features, first = stacked(list(parts), "edge")
        rows, columns = (read_only(side) for side in np.array(shapes, dtype=np.int64).T.copy())
        golden = [self._gold(i, label, shapes[i]) for i, label in enumerate(labels)]
        places = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
        costs = float(self.false_positive), float(self.false_negative)
        y = read_only(np.concatenate(golden))
        return EncodedMatchings(
            edges, first, places, rows, columns, y, features, bool(self.partial), *costs, float(self.beta)
        )

    def _gold(self, i: int, label: object, shape: tuple[int, int]) -> np.ndarray:
        wanted = _edge_matrix(f"the label of example {i}", label, shape)
        rows, columns = shape
        for side, counts in (("column", wanted.sum(axis=0)), ("row", wanted.sum(axis=1))):
            if counts.max() > 1:
                raise InputError(
                    f"the label of example {i} is no matching: {side} {int(counts.argmax())} has {counts.max()} edges. "
                    "`Matching.feasible` makes a matching of it"
                )
        if not self.partial and wanted.sum() != min(shape):
            raise InputError(
                f"the label of example {i} has {wanted.sum()} edges, a full matching of {rows} x {columns} has {min(shape)}. "
                "Use partial=True, or `Matching.feasible` to complete it"
            )
        return np.where(wanted.any(axis=1), wanted.argmax(axis=1), -1).astype(np.int32)

    def feasible(self, x: Sequence[Any], label: object, weights: ArrayLike | None = None) -> np.ndarray:
        """The matching of example x with as many edges of `label` as possible, among those the one of largest total weight.

        A label such as "the best column for each row" may name a column twice; training needs matchings. `weights` is
        (rows, columns), for instance the association scores that the label was made from. A full matching is then completed.

        >>> Matching(partial=True).feasible(np.zeros((3, 2, 1)), [0, 0, 1], weights=[[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
        array([-1,  0,  1], dtype=int32)
        """
        shape = _edges(0, x)[1]
        wanted = _edge_matrix("the label", label, shape)
        weight = np.zeros(shape) if weights is None else np.asarray(weights, dtype=np.float64)
        if weight.shape != shape or not np.isfinite(weight).all():
            raise InputError(f"weights must be finite, of shape {shape}, got shape {weight.shape}")
        scale = float(np.ptp(weight)) or 1.0
        weight = (weight - weight.min()) / (scale * (1.0 + min(shape)))  # all weights together are less than an edge
        benefit = wanted + (np.where(wanted, weight, -1.0) if self.partial else weight)
        out = np.empty(shape[0], dtype=np.int32)
        heaviest(benefit.ravel(), *shape, bool(self.partial), out)
        return out

    def predict(self, w: np.ndarray, x: Sequence[Any]) -> np.ndarray:
        """The column of each row in the matching with the largest score, -1 for none."""
        edges, (rows, columns) = _edges(0, x)
        if edges.shape[1] != np.size(w):
            raise InputError(f"the example has {edges.shape[1]} features per edge, the model {np.size(w)}")
        scores = np.asarray(edges @ np.asarray(w, dtype=np.float64), dtype=np.float64)
        out = np.empty(rows, dtype=np.int32)
        if not heaviest(scores, rows, columns, bool(self.partial), out):
            raise InputError("the scores of the edges are not finite: look for NaN in the features and coefficients")
        return out


def _edges(i: int, x: Sequence[Any]) -> tuple[Any, tuple[int, int]]:
    """(matrix with a line per edge, (rows, columns)) of an example."""
    if isinstance(x, tuple) and len(x) == 2 and isinstance(x[1], (int, np.integer)):
        matrix, columns = (x[0] if sp.issparse(x[0]) else np.asarray(x[0])), int(x[1])
        if columns < 1 or matrix.ndim != 2 or matrix.shape[0] == 0 or matrix.shape[0] % columns:
            raise InputError(f"example {i}: {matrix.shape} edges do not make full rows of {columns} columns")
        return matrix, (matrix.shape[0] // columns, columns)
    try:
        array = np.asarray(x)
    except ValueError as error:
        raise InputError(f"example {i} is not an array of numbers: {error}") from None
    if array.ndim != 3 or 0 in array.shape:
        raise InputError(
            f"example {i} has shape {array.shape}: expected (rows, columns, features), none 0, or a pair (edges, columns)"
        )
    return array.reshape(-1, array.shape[2]), array.shape[:2]


def _edge_matrix(name: str, label: Any, shape: tuple[int, int]) -> np.ndarray:
    """The edges of a label as a boolean matrix, whether they are a matching or not."""
    rows, columns = shape
    y = np.asarray(label.toarray() if sp.issparse(label) else label)
    if y.shape == shape and is_number_or_bool(y) and np.isin(y, (0, 1)).all():
        return y.astype(bool)
    if y.shape != (rows,) or not is_integer(y):
        raise InputError(
            f"{name} has shape {y.shape}, type {y.dtype}: expected the column of each of {rows} rows, or a 0/1 matrix {shape}"
        )
    outside = np.flatnonzero((y < -1) | (y >= columns))
    if outside.size:
        raise InputError(
            f"{name} matches row {outside[0]} with column {y[outside[0]]}: columns are 0 .. {columns - 1}, or -1"
        )
    return y[:, None] == np.arange(columns)
