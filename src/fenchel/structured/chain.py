"""Linear chains: a label for every position of a sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fenchel.data.stored import Stored
from fenchel.errors import InputError
from fenchel.structured.chain_encoded import EncodedChain
from fenchel.structured.chain_input import NO_EDGES, chain_labels, chain_positions, stored_labels, stored_positions
from fenchel.structured.chain_layout import Full, Observed, observed, observed_pairs
from fenchel.structured.chain_predict import best_paths, path_marginals
from fenchel.structured.chain_weights import ChainWeights, places, split
from fenchel.structured.parameters import accept_beta, known_loss, same_count


@dataclass(frozen=True)
class Chain:
    """score(x, y) = sum_t <x_t, W[:, y_t]> + bias[y_t] + sum_t transitions[y_t, y_{t+1}] + start[y_1] + end[y_T]

    and, with edge_features=True, + sum_t sum_k E[t, k] edges[k, y_t, y_{t+1}]. The cost of a labelling is the number of its
    wrong positions, h (h / T with normalise=True). The loss of a sequence is

    ========  ====================================================================================================
    "hinge"   max over y of cost + cost^beta (score(x, y) - score(x, gold)); beta 0: margin rescaling, 1: slack rescaling
    "log"     log sum over y of exp(score(x, y) - score(x, gold)): a conditional random field
    ========  ====================================================================================================

    Examples are matrices (T, features), dense or scipy sparse; with edge_features=True pairs (X, E) of matrices with T and
    T - 1 rows; or they are `fenchel.open(folder)`, its groups being the sequences and its targets the labels. Labels are
    integer arrays 0 .. m - 1 of length T (m: `classes`, default one more than the largest seen). w is flat: W
    (features, m), bias (m), transitions (m, m), start (m), end (m), edges (edge features, m, m); `split` names them.

    observed_only=True has weights only for pairs of feature and label, and pairs of successive labels, that occur in
    training, as CRFsuite does by default; other pairs score 0. `problem.model.full(w)` is such a w with the zeros filled in.

    >>> import fenchel
    >>> words = [[[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]
    >>> model = fenchel.structured.Chain(loss="log")
    >>> problem = fenchel.Problem(words, [[0, 1, 1], [1, 0]], loss=model, alpha=0.01)
    >>> result = fenchel.solve(problem, tol=1e-4)
    >>> model.predict(result.coef, words[0])
    array([0, 1, 1], dtype=int32)
    """

    classes: int | None = None
    loss: str = "hinge"
    bias: bool = True
    ends: bool = True
    edge_features: bool = False
    beta: float = 0.0
    normalise: bool = False
    observed_only: bool = False

    def __post_init__(self) -> None:
        known_loss(self.loss)
        if self.classes is not None and not self.classes >= 1:
            raise InputError(f"classes must be None or at least 1, got {self.classes!r}")
        accept_beta(self.beta, self.loss)

    def encode(self, examples: Any, labels: Any) -> EncodedChain:
        """The encoded examples: features are stored once, position after position."""
        if isinstance(examples, Stored):
            rows, features, edges, count, first = self._stored(examples)
            labels = stored_labels(examples, first) if labels is None else list(labels)
        else:
            examples, labels = list(examples), list(labels)
            rows, features, edges, count, first = chain_positions(examples, self.edge_features)
        same_count(range(first.size - 1), labels)
        y, m = chain_labels(labels, first, self.classes)
        layout: Full | Observed = Full(features, m)
        pairs = np.arange(m * m)
        if self.observed_only:
            layout, pairs = observed(rows, features, y, m), observed_pairs(y, first, m)
        return self._encoded(rows, edges, layout, pairs, first, y, m, count)

    def _stored(self, stored: Stored) -> tuple[Any, int, Any, int, np.ndarray]:
        if self.edge_features:
            raise InputError("rows on disk have no features of pairs of positions: use edge_features=False")
        rows, features, first = stored_positions(stored)
        return rows, features, NO_EDGES, 0, first

    def _encoded(
        self,
        rows: Any,
        edges: Any,
        layout: Any,
        pairs: np.ndarray,
        first: np.ndarray,
        y: np.ndarray,
        m: int,
        count: int,
    ) -> EncodedChain:
        at = places(layout.weights, pairs.size, m, count, self.bias, self.ends)
        beta, normalise = float(self.beta), bool(self.normalise)
        return EncodedChain(rows, edges, layout, pairs.astype(np.int64), first, y, at, m, count, beta, normalise)

    def split(self, w: np.ndarray, features: int, edge_features: int = 0) -> ChainWeights:
        """The parts of w, as views, for examples with so many features per position (and per pair of positions).

        >>> Chain(ends=False).split(np.arange(10.0), features=2).transitions
        array([[6., 7.],
               [8., 9.]])
        """
        m = self._classes(np.size(w), features, edge_features)
        return split(w, places(features * m, m * m, m, edge_features, self.bias, self.ends), m)

    def predict(self, w: np.ndarray, x: Any) -> np.ndarray:
        """The labels with the largest score."""
        return self.predict_all(w, [x])[0]

    def predict_all(self, w: np.ndarray, examples: Any) -> list[np.ndarray]:
        """The labels with the largest score, for many sequences."""
        model = self._unlabelled(w, examples)
        labels = np.zeros(int(model.first[-1]), dtype=np.int32)
        best_paths(model, np.ascontiguousarray(w, dtype=np.float64), model.workspace_size, labels)
        return np.split(labels, model.first[1:-1])

    def marginals(self, w: np.ndarray, x: Any) -> tuple[np.ndarray, np.ndarray]:
        """(T, m) probabilities of labels, and (T - 1, m, m) of pairs of successive labels: p(y) proportional to exp(score)."""
        model = self._unlabelled(w, [x])
        T, m = int(model.first[-1]), model.m
        nodes, pairs = np.empty(T * m), np.empty(max(T - 1, 0) * m * m)
        path_marginals(model, np.ascontiguousarray(w, dtype=np.float64), model.workspace_size, nodes, pairs)
        return nodes.reshape(T, m), pairs.reshape(-1, m, m)

    def _unlabelled(self, w: np.ndarray, examples: Any) -> EncodedChain:
        rows, features, edges, count, first = chain_positions(list(examples), self.edge_features)
        m = self._classes(np.size(w), features, count)
        y = np.zeros(int(first[-1]), dtype=np.int32)
        return self._encoded(rows, edges, Full(features, m), np.arange(m * m), first, y, m, count)

    def _classes(self, d: int, features: int, count: int) -> int:
        """m such that w has length d."""
        linear, square = features + self.bias + 2 * self.ends, 1 + count
        m = round((np.sqrt(linear * linear + 4.0 * square * d) - linear) / (2.0 * square))
        if (linear + square * m) * m != d or m < 1 or self.classes not in (None, m):
            hint = " With observed_only=True pass problem.model.full(w)." if self.observed_only else ""
            raise InputError(f"w has {d} entries, which fit no chain with {features} features per position.{hint}")
        return m
