"""Labels on the nodes of a tree; each example has its own tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from fenchel.data.accept import read_only
from fenchel.data.dtypes import is_integer
from fenchel.errors import InputError
from fenchel.structured.parameters import accept_beta, known_loss, node_labels, same_count
from fenchel.structured.stacked import stacked
from fenchel.structured.tree_encoded import EncodedTrees, node_scores, transitions
from fenchel.structured.tree_passes import best_tree, depths, sums_of_tree

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Tree:
    """score(x, y) = sum_v <x_v, W[:, y_v]> + bias[y_v] + sum over v with a parent u of transitions[y_u, y_v]

    and the cost is the number of wrong nodes (normalise=True: divided by the number of nodes). With beta > 0 the hinge loss is
    the largest cost + cost^beta (score(x, y) - score(x, gold)); 1 is slack rescaling.

    An example is a pair (X, parent): a row of features per node, dense or sparse, and the parent of each node, -1 for a root;
    there may be several roots. A label is an integer array, 0 .. m - 1 for each node (m: `classes`, default one more than the
    largest seen). The coefficients are W (features, m), m biases and the m x m transitions, flat. Max-product (loss="hinge")
    and sum-product ("log") are exact.

    >>> import fenchel
    >>> x = (np.array([[1.0], [-1.0], [-2.0]]), [-1, 0, 0])
    >>> problem = fenchel.Problem([x], [[0, 1, 1]], loss=fenchel.structured.Tree(loss="log"), alpha=0.1)
    >>> result = fenchel.solve(problem, tol=1e-4)
    >>> result.status.name, problem.loss.predict(result.coef, x)
    ('CERTIFIED', array([0, 1, 1], dtype=int32))
    """

    classes: int | None = None
    loss: str = "hinge"
    normalise: bool = False
    beta: float = 0.0

    def __post_init__(self) -> None:
        known_loss(self.loss)
        accept_beta(self.beta, self.loss)
        if self.classes is not None and not self.classes >= 1:
            raise InputError(f"classes must be at least 1, got {self.classes!r}")

    def encode(self, examples: Sequence[Any], labels: Sequence[Any]) -> EncodedTrees:
        """The nodes of all examples as one matrix, with their parents and gold labels."""
        examples, labels = list(examples), list(labels)
        same_count(examples, labels)
        parts = [_parts(i, x) for i, x in enumerate(examples)]
        nodes, features, first = stacked([X for X, _ in parts], "node")
        counts = np.diff(first)
        parents, orders = zip(*(_forest(i, parent, int(counts[i])) for i, (_, parent) in enumerate(parts)), strict=True)
        y = np.concatenate([node_labels(i, label, int(counts[i])) for i, label in enumerate(labels)])
        m = int(y.max()) + 1 if self.classes is None else int(self.classes)
        if y.max() >= m:
            i = int(np.searchsorted(first, np.argmax(y >= m), side="right")) - 1
            raise InputError(f"example {i} has label {y[y >= m][0]}, but there are {m} classes")
        unit = 1.0 / counts if self.normalise else np.ones(counts.size)
        parent, order, y, unit = map(read_only, (np.concatenate(parents), np.concatenate(orders), y, unit))
        return EncodedTrees(nodes, first, parent, order, y, unit, features, m, float(self.beta))

    def predict(self, w: np.ndarray, x: Sequence[Any]) -> np.ndarray:
        """The labels with the largest score, one for each node."""
        S, T, order, parent = self._scores(w, x)
        out = np.empty(order.size, dtype=np.int32)
        best_tree(S, T, order, parent, T.shape[0], out)
        return out

    def marginals(self, w: np.ndarray, x: Sequence[Any]) -> np.ndarray:
        """P(label of node), (nodes, m), under P(y) proportional to exp score(x, y).

        >>> Tree(loss="log").marginals(np.zeros(8), ([[1.0], [2.0]], [-1, 0]))
        array([[0.5, 0.5],
               [0.5, 0.5]])
        """
        S, T, order, parent = self._scores(w, x)
        m = T.shape[0]
        sums_of_tree(S, T, order, parent, m, np.zeros((m, m)))
        return S.reshape(-1, m)

    def _scores(self, w: np.ndarray, x: Sequence[Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(node scores, transitions, order, parent); the number of labels follows from the number of coefficients."""
        X, parent = _parts(0, x)
        nodes, features, first = stacked([X], "node")
        w = np.ascontiguousarray(w, dtype=np.float64)
        m = round((np.sqrt((features + 1) ** 2 + 4.0 * w.size) - features - 1) / 2)
        if m < 1 or (features + 1 + m) * m != w.size:
            raise InputError(f"{w.size} coefficients do not fit nodes with {features} features")
        parent, order = _forest(0, parent, int(first[1]))
        S = np.empty(int(first[1]) * m)
        node_scores(nodes, 0, int(first[1]), w, features, m, S)
        return S, transitions(w, (features + 1) * m, m), order, parent


def _parts(i: int, x: Sequence[Any]) -> tuple[Any, Any]:
    if not (isinstance(x, (tuple, list)) and len(x) == 2):
        raise InputError(
            f"example {i} must be a pair (features of the nodes, parent of each node), got {type(x).__name__}"
        )
    X = x[0] if sp.issparse(x[0]) else np.asarray(x[0])
    if X.ndim < 1 or X.shape[0] == 0:
        raise InputError(f"example {i} has no nodes: a tree has at least one")
    return X, x[1]


def _forest(i: int, parent: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """(parents, nodes in an order that has parents first)."""
    found = np.asarray(parent)
    if found.shape != (count,) or not is_integer(found):
        raise InputError(f"example {i} has {count} nodes, but its parents have shape {found.shape}, type {found.dtype}")
    outside = np.flatnonzero((found < -1) | (found >= count))
    if outside.size:
        v = outside[0]
        raise InputError(
            f"the parent of node {v} of example {i} is {found[v]}: nodes are 0 .. {count - 1}, -1 for a root"
        )
    found, depth = found.astype(np.int32), np.empty(count, dtype=np.int32)
    if not depths(found, depth):
        raise InputError(f"the parents of example {i} form a cycle: a tree has none")
    return found, np.argsort(depth, kind="stable").astype(np.int32)
