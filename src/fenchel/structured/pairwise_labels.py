"""Label sets (multilabel classification) with a weight for every pair of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from fenchel.data.accept import accept_matrix, read_only
from fenchel.data.dtypes import is_number_or_bool
from fenchel.errors import InputError
from fenchel.structured.pairwise_encoded import EncodedSets, pair_matrix
from fenchel.structured.pairwise_search import best_set
from fenchel.structured.pairwise_sums import sums_of_sets
from fenchel.structured.parameters import accept_beta, known_loss

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_SUMMED_LABELS = 20  # labels: the sum over 2^20 sets takes about 20 ms an example, and 12 MB


@dataclass(frozen=True)
class PairwiseLabels:
    """phi(x, y) = (x y', y, all y_i y_j with i < j) for y in {0, 1}^m; cost: the number of wrong labels (normalise: / m).

    With beta > 0 the hinge loss is the largest cost + cost^beta <w, phi(x, y) - phi(x, gold)>; 1 is slack rescaling.

    Examples are the rows of a matrix, dense or sparse, labels the rows of a 0/1 matrix with m columns. The coefficients are the
    (features, m) weights, m biases and m (m - 1) / 2 pair weights, row by row of the upper triangle.

    The max-oracle is exact for any m: branch and bound, which took under 0.5 ms on random problems of 20 labels, but in the
    worst case, many labels with large pair weights of both signs, takes a time exponential in m. `nodes` limits it per call;
    the certificate then bounds what the oracle may have missed. loss="log" sums over all 2^m sets, for m up to 20.

    >>> import fenchel
    >>> X = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> problem = fenchel.Problem(X, [[1, 0], [0, 1], [1, 1]], loss=fenchel.structured.PairwiseLabels(), alpha=0.1)
    >>> result = fenchel.solve(problem, tol=1e-3)
    >>> result.status.name, problem.loss.predict(result.coef, X[2])
    ('CERTIFIED', array([1, 1], dtype=int32))
    """

    loss: str = "hinge"
    normalise: bool = False
    nodes: int | None = None
    beta: float = 0.0

    def __post_init__(self) -> None:
        known_loss(self.loss)
        accept_beta(self.beta, self.loss)
        if self.nodes is not None and not (isinstance(self.nodes, (int, np.integer)) and self.nodes >= 1):
            raise InputError(f"nodes must be None (no limit) or at least 1, got {self.nodes!r}")

    def encode(self, examples: Sequence[Any], labels: Sequence[Any]) -> EncodedSets:
        """The rows and their label sets."""
        matrix, rows = accept_matrix(examples, "examples")
        y = _label_matrix(labels, matrix.shape[0])
        m = y.shape[1]
        if self.loss == "log" and m > MAX_SUMMED_LABELS:
            raise InputError(
                f"loss='log' sums over all 2^m label sets, m = {m} is too many (up to {MAX_SUMMED_LABELS}). Use loss='hinge'"
            )
        unit = 1.0 / m if self.normalise else 1.0
        return EncodedSets(rows, read_only(y), matrix.shape[1], m, unit, int(self.nodes or 0), float(self.beta))

    def predict(self, w: np.ndarray, x: Sequence[Any]) -> np.ndarray:
        """The 0/1 array of the label set with the largest score."""
        u, Q = self._scores(w, x)
        out = np.empty(u.size, dtype=np.int32)
        best_set(u, Q, int(self.nodes or 0), out)
        return out

    def marginals(self, w: np.ndarray, x: Sequence[Any]) -> np.ndarray:
        """The probability of each label under P(y) proportional to exp <w, phi(x, y)>.

        >>> PairwiseLabels(loss="log").marginals(np.zeros(5), [1.0])
        array([0.5, 0.5])
        """
        u, Q = self._scores(w, x)
        if u.size > MAX_SUMMED_LABELS:
            raise InputError(
                f"marginals sum over all 2^m label sets: {u.size} labels are too many (up to {MAX_SUMMED_LABELS})"
            )
        pairs = np.zeros((u.size, u.size))
        sums_of_sets(u, Q, pairs)
        return np.diag(pairs).copy()

    def _scores(self, w: np.ndarray, x: Any) -> tuple[np.ndarray, np.ndarray]:
        """(u, Q) of an example; the number of labels follows from the number of coefficients."""
        row = np.asarray(x.toarray() if sp.issparse(x) else x, dtype=np.float64).ravel()
        w = np.ascontiguousarray(w, dtype=np.float64)
        m = 1
        while _coefficients(row.size, m) < w.size:
            m += 1
        if _coefficients(row.size, m) != w.size:
            raise InputError(f"{w.size} coefficients do not fit an example with {row.size} features")
        if not (np.isfinite(row).all() and np.isfinite(w).all()):
            raise InputError("the example or the coefficients contain NaN or infinity")
        Q = np.empty((m, m))
        pair_matrix(w, (row.size + 1) * m, Q)
        at = row.size * m
        return row @ w[:at].reshape(row.size, m) + w[at : at + m], Q


def _coefficients(features: int, m: int) -> int:
    return (features + 1) * m + m * (m - 1) // 2


def _label_matrix(labels: Any, n: int) -> np.ndarray:
    try:
        y = np.asarray(labels.toarray() if sp.issparse(labels) else labels)
    except ValueError as error:
        raise InputError(f"labels are not a 0/1 matrix: {error}") from None
    if y.ndim != 2 or y.shape[0] != n or y.shape[1] == 0:
        raise InputError(f"labels must be a 0/1 matrix with a row for each of the {n} examples, got shape {y.shape}")
    if not is_number_or_bool(y):
        raise InputError(f"labels must be a 0/1 matrix, got type {y.dtype}")
    strange = np.argwhere((y != 0) & (y != 1))
    if strange.size:
        i, k = strange[0]
        raise InputError(f"label {k} of example {i} is {y[i, k].item()!r}: 0 or 1 expected")
    return np.ascontiguousarray(y, dtype=np.int32)
