"""Labels on the nodes of any graph, with a weight for every pair of labels of neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fenchel.data.accept import read_only
from fenchel.errors import InputError
from fenchel.structured.graph_encoded import EncodedGraphs, search_labels
from fenchel.structured.graph_input import accept_graphs, graph_to_predict
from fenchel.structured.parameters import node_labels, same_count

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Graph:
    """score(x, y) = sum_v <x_v, W[:, y_v]> + bias[y_v] + sum over edges (u, v) of sum_k f_uvk pairs[k, y_u, y_v]

    and the cost is the number of wrong nodes (normalise=True: divided by the number of nodes).

    An example is a tuple (X, edges) or (X, edges, F): a row of features per node, dense or sparse, the two node numbers of each
    edge, and a row of features per edge (without F the number 1). A label is an integer array, 0 .. m - 1 for each node (m:
    `classes`, default one more than the largest seen). The coefficients are W (features, m), m biases and the weights of pairs
    (edge features, m, m), flat.

    Graphs may have cycles. The max-oracle is then a search: sequential tree-reweighted messages bound the value of all labels,
    and branch and bound closes what they leave open. It is exact, and in the worst case takes a time exponential in the number
    of nodes. `nodes` limits the bounds per call; the certificate then bounds what the oracle may have missed, its basis is
    "bounded max-oracle", and where the bound is not tight the gap does not go to 0. For two labels that tend to be equal at
    neighbours, `AssociativeGraph` is exact at any size. There is no log-loss: the sum over all labels is intractable; without
    cycles use `Tree` or `Chain`.

    >>> import fenchel
    >>> triangle = [[0, 1], [1, 2], [2, 0]]
    >>> examples = [(np.array([[0.0], [1.0], [2.0]]), triangle), (np.array([[2.0], [0.0], [1.0]]), triangle)]
    >>> model = fenchel.structured.Graph()
    >>> problem = fenchel.Problem(examples, [[0, 1, 2], [2, 0, 1]], loss=model, alpha=0.01)
    >>> result = fenchel.solve(problem, tol=1e-3)
    >>> result.status.name, model.predict(result.coef, (np.array([[1.0], [2.0], [1.0]]), triangle)).tolist()
    ('CERTIFIED', [1, 2, 0])
    """

    classes: int | None = None
    nodes: int | None = None
    normalise: bool = False
    loss: ClassVar[str] = "hinge"

    def __post_init__(self) -> None:
        if self.classes is not None and not self.classes >= 1:
            raise InputError(f"classes must be at least 1, got {self.classes!r}")
        if self.nodes is not None and not (isinstance(self.nodes, (int, np.integer)) and self.nodes >= 1):
            raise InputError(f"nodes must be None (no limit) or at least 1, got {self.nodes!r}")

    def encode(self, examples: Sequence[Any], labels: Sequence[Any]) -> EncodedGraphs:
        """The nodes and edges of all examples, with their gold labels."""
        examples, labels = list(examples), list(labels)
        same_count(examples, labels)
        graphs = accept_graphs(examples)
        counts = np.diff(graphs.first)
        found = [node_labels(i, label, int(counts[i])) for i, label in enumerate(labels)]
        m = max(int(y.max()) for y in found) + 1 if self.classes is None else int(self.classes)
        for i, y in enumerate(found):
            if y.max() >= m:
                raise InputError(f"example {i} has label {int(y.max())}, but there are {m} classes")
        unit = 1.0 / counts if self.normalise else np.ones(counts.size)
        return EncodedGraphs(graphs, read_only(np.concatenate(found)), read_only(unit), m, int(self.nodes or 0))

    def predict(self, w: np.ndarray, x: Sequence[Any]) -> np.ndarray:
        """The labels with the largest score, one for each node."""
        graphs, w = graph_to_predict(x, w)
        features, links = graphs.features, graphs.edge_features
        m = 1
        while (features + 1 + links * m) * m < w.size:
            m += 1
        if (features + 1 + links * m) * m != w.size:
            raise InputError(f"{w.size} coefficients do not fit nodes with {features} and edges with {links} features")
        y = np.zeros(int(graphs.first[1]), dtype=np.int32)
        model = EncodedGraphs(graphs, y, np.zeros(1), m, int(self.nodes or 0))
        S = np.empty(model.workspace_size)
        model.part_scores(w, 0, S)
        search_labels(graphs, 0, S[: y.size * m], S[y.size * m :], m, model.nodes, y)
        return y
