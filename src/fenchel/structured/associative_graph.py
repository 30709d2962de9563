"""Binary labels on the nodes of graphs whose neighbours tend to have the same label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fenchel.data.accept import read_only
from fenchel.errors import InputError
from fenchel.structured.associative_encoded import EncodedCuts, cut_labels
from fenchel.structured.graph_input import accept_graphs, graph_to_predict
from fenchel.structured.parameters import node_labels, same_count

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class AssociativeGraph:
    """score(x, y) = sum_v y_v (<x_v, w> + bias) - sum over edges of t_uv [y_u != y_v], t_uv = <f_uv, strengths>, y_v 0 or 1

    and the cost is the number of wrong nodes (normalise=True: divided by the number of nodes).

    An example is a tuple (X, edges) or (X, edges, F): a row of features per node, dense or sparse, the two node numbers of each
    edge, and a row of features f_uv per edge (without F the number 1, so that all edges have one strength). A label is an array
    of 0 and 1, one for each node. The coefficients are w, the bias and the strengths, in this order.

    The max-oracle is a minimum cut, exact for every graph and all coefficients. Edges with t_uv < 0 would make it NP-hard: they
    count as strength 0 in `predict`, and the loss treats [y_u != y_v] as a free choice of 0 or 1 wherever the labels agree, so
    that it stays convex. It is the structured hinge loss if no t_uv is negative (always at the optimum of a problem with one
    strength), and otherwise an upper bound of the hinge loss of what `predict` does. For neighbours that tend to differ use
    `Graph`. There is no log-loss: the sum over all labels is intractable.

    >>> import fenchel
    >>> x = (np.array([[1.0], [0.2], [1.0], [-1.0]]), [[0, 1], [1, 2], [2, 3]])
    >>> problem = fenchel.Problem([x], [[1, 1, 1, 0]], loss=fenchel.structured.AssociativeGraph(), alpha=0.1)
    >>> result = fenchel.solve(problem, tol=1e-3)
    >>> noisy = (np.array([[1.0], [-0.3], [1.0], [-1.0]]), [[0, 1], [1, 2], [2, 3]])
    >>> result.status.name, problem.loss.predict(result.coef, noisy)
    ('CERTIFIED', array([1, 1, 1, 0], dtype=int32))
    """

    normalise: bool = False
    loss: ClassVar[str] = "hinge"

    def encode(self, examples: Sequence[Any], labels: Sequence[Any]) -> EncodedCuts:
        """The nodes and edges of all examples, with their gold labels."""
        examples, labels = list(examples), list(labels)
        same_count(examples, labels)
        graphs = accept_graphs(examples)
        counts = np.diff(graphs.first)
        found = [node_labels(i, label, int(counts[i])) for i, label in enumerate(labels)]
        for i, y in enumerate(found):
            if y.max() > 1:
                raise InputError(
                    f"the label of node {int(np.argmax(y > 1))} of example {i} is {int(y[y > 1][0])}: AssociativeGraph has the "
                    "labels 0 and 1, use Graph for more"
                )
        unit = 1.0 / counts if self.normalise else np.ones(counts.size)
        return EncodedCuts(graphs, read_only(np.concatenate(found)), read_only(unit))

    def predict(self, w: np.ndarray, x: Sequence[Any]) -> np.ndarray:
        """The labels with the largest score, one for each node."""
        graphs, w = graph_to_predict(x, w)
        if w.size != graphs.features + 1 + graphs.edge_features:
            raise InputError(
                f"{w.size} coefficients do not fit nodes with {graphs.features} and edges with {graphs.edge_features} features"
            )
        y = np.zeros(int(graphs.first[1]), dtype=np.int32)
        model = EncodedCuts(graphs, y, np.zeros(1))
        S = np.empty(model.workspace_size)
        model.part_scores(w, 0, S)
        cut_labels(S[: y.size], S[y.size :], graphs, 0, y)
        return y
