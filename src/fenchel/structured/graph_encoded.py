"""Encoded examples of labels on graphs, with a weight for every pair of labels of neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.data.accept import size
from fenchel.data.rows import row_column, row_entry, row_span
from fenchel.structured.graph_input import Graphs
from fenchel.structured.graph_search import best_labels
from fenchel.structured.protocol import label_cost, label_margin
from fenchel.structured.tree_encoded import node_scores

if TYPE_CHECKING:
    from fenchel.structured.pool import Pool

SWEEPS_PER_PASS = 10  # of messages, in the time that a pass is expected to take


@kernel
def pair_tables(graphs, i, w, at, m, S, place):
    """The m x m scores of every edge of example i, from S[place] on."""
    first, stop = graphs.first_edge[i], graphs.first_edge[i + 1]
    for e in range(stop - first):
        here = place + e * m * m
        for c in range(m * m):
            S[here + c] = 0.0
        begin, end = row_span(graphs.links, np.uint64(first + e))
        for k in range(begin, end):
            x = row_entry(graphs.links, np.uint64(first + e), k)
            weights = at + np.int64(row_column(graphs.links, k)) * m * m
            for c in range(m * m):
                S[here + c] += x * w[weights + c]


@kernel
def search_labels(graphs, i, U, tables, m, nodes, out):
    """(the value of the labels that are written to `out`, an upper bound of all values), for scores of nodes and of edges."""
    first, stop, e, last = graphs.first[i], graphs.first[i + 1], graphs.first_edge[i], graphs.first_edge[i + 1]
    start = graphs.start[first : stop + 1]
    return best_labels(
        U.reshape(stop - first, m),
        tables.reshape(last - e, m, m),
        graphs.tails[e:last],
        graphs.heads[e:last],
        start,
        graphs.arcs[start[0] : start[-1]],
        nodes,
        out,
    )


@kernel
def searched(model, S, i, out):
    """(value, upper bound) of the labels of example i, with their costs."""
    graphs, first, m = model.graphs, model.graphs.first[i], model.m
    nodes, edges = graphs.first[i + 1] - first, graphs.first_edge[i + 1] - graphs.first_edge[i]
    U = S[: nodes * m].copy()
    for v in range(nodes):
        for c in range(m):
            U[v * m + c] += model.unit[i] if c != model.y[first + v] else 0.0
    return search_labels(graphs, i, U, S[nodes * m : (nodes + edges * m) * m], m, model.nodes, out)


class EncodedGraphs(NamedTuple):
    """w: (features, m), flat, then m biases, then (edge features, m, m). S: scores of nodes and edges. unit: cost of a node."""

    graphs: Graphs
    y: np.ndarray
    unit: np.ndarray
    m: int
    nodes: int

    @property
    def n(self) -> int:
        return self.unit.size

    @property
    def d(self) -> int:
        return (self.graphs.features + 1 + self.graphs.edge_features * self.m) * self.m

    @property
    def features(self) -> int:
        return self.graphs.features

    @property
    def edge_features(self) -> int:
        return self.graphs.edge_features

    @property
    def workspace_size(self) -> int:
        nodes, edges = np.diff(self.graphs.first), np.diff(self.graphs.first_edge)
        return int(np.max(nodes * self.m + edges * self.m * self.m))

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(self.graphs.first)

    @property
    def work(self) -> int:
        pairs = self.graphs.tails.size * self.m * self.m
        return size(self.graphs.nodes) * self.m + size(self.graphs.links) * self.m**2 + SWEEPS_PER_PASS * pairs

    @property
    def exact(self) -> bool:
        return self.nodes == 0

    def gold(self, i: int) -> np.ndarray:
        return self.y[self.graphs.first[i] : self.graphs.first[i + 1]]

    def decode(self, i: int, label: np.ndarray) -> np.ndarray:
        return np.array(label, dtype=np.int32)

    def valid_labels(self, pool: Pool) -> bool:
        return bool(pool.labels.size == 0 or (pool.labels.min() >= 0 and pool.labels.max() < self.m))

    def label_size(self, i):
        return self.graphs.first[i + 1] - self.graphs.first[i]

    def part_scores(self, w, i, S):
        graphs, first, stop, m = self.graphs, self.graphs.first[i], self.graphs.first[i + 1], self.m
        node_scores(graphs.nodes, first, stop, w, graphs.features, m, S)
        pair_tables(graphs, i, w, (graphs.features + 1) * m, m, S, (stop - first) * m)

    def best_label(self, w, S, i, out):
        searched(self, S, i, out)
        if label_cost(self, i, out) + label_margin(self, w, S, i, out) < 0.0:
            first = self.graphs.first[i]
            for v in range(self.graphs.first[i + 1] - first):
                out[v] = self.y[
                    first + v
                ]  # a negative plane is due to the rounding of large scores, or to the limit of nodes

    def plane_ceiling(self, w, S, i):
        """An upper bound of all planes of example i at w; needed if `nodes` may be too few to find the largest one."""
        if self.nodes == 0:
            return -np.inf
        first, m, gold = self.graphs.first[i], self.m, 0.0
        nodes, e = self.graphs.first[i + 1] - first, self.graphs.first_edge[i]
        for v in range(nodes):
            gold += S[v * m + self.y[first + v]]
        for k in range(self.graphs.first_edge[i + 1] - e):
            a, b = self.y[first + self.graphs.tails[e + k]], self.y[first + self.graphs.heads[e + k]]
            gold += S[nodes * m + (k * m + a) * m + b]
        return max(searched(self, S, i, np.empty(nodes, np.int32))[1] - gold, 0.0)

    def label_cost(self, i, label):
        wrong, first = 0, self.graphs.first[i]
        for v in range(self.graphs.first[i + 1] - first):
            wrong += label[v] != self.y[first + v]
        return wrong * self.unit[i]

    def label_margin(self, w, S, i, label):
        first, m, total, e = self.graphs.first[i], self.m, 0.0, self.graphs.first_edge[i]
        nodes = self.graphs.first[i + 1] - first
        for v in range(nodes):
            total += S[v * m + label[v]] - S[v * m + self.y[first + v]]
        for k in range(self.graphs.first_edge[i + 1] - e):
            u, v, at = self.graphs.tails[e + k], self.graphs.heads[e + k], nodes * m + k * m * m
            total += S[at + label[u] * m + label[v]] - S[at + self.y[first + u] * m + self.y[first + v]]
        return total

    def add_label(self, i, label, a, out):
        graphs, first, e, m = self.graphs, self.graphs.first[i], self.graphs.first_edge[i], self.m
        for v in range(graphs.first[i + 1] - first):
            gold = self.y[first + v]
            if label[v] != gold:
                out[graphs.features * m + label[v]] += a
                out[graphs.features * m + gold] -= a
                begin, end = row_span(graphs.nodes, np.uint64(first + v))
                for k in range(begin, end):
                    x = a * row_entry(graphs.nodes, np.uint64(first + v), k)
                    row = np.int64(row_column(graphs.nodes, k)) * m
                    out[row + label[v]] += x
                    out[row + gold] -= x
        for j in range(graphs.first_edge[i + 1] - e):
            u, v = graphs.tails[e + j], graphs.heads[e + j]
            new, old = label[u] * m + label[v], self.y[first + u] * m + self.y[first + v]
            if new != old:
                begin, end = row_span(graphs.links, np.uint64(e + j))
                for k in range(begin, end):
                    x = a * row_entry(graphs.links, np.uint64(e + j), k)
                    at = ((graphs.features + 1) + np.int64(row_column(graphs.links, k)) * m) * m
                    out[at + new] += x
                    out[at + old] -= x

    def pop_square_norm(self, i, label, out):
        graphs, first, m, total = self.graphs, self.graphs.first[i], self.m, 0.0
        for j in range(graphs.features * m, out.size):
            total += out[j] * out[j]
            out[j] = 0.0
        for v in range(graphs.first[i + 1] - first):
            if label[v] != self.y[first + v]:
                begin, end = row_span(graphs.nodes, np.uint64(first + v))
                for k in range(begin, end):
                    row = np.int64(row_column(graphs.nodes, k)) * m
                    for c in (label[v], self.y[first + v]):
                        total += out[row + c] * out[row + c]
                        out[row + c] = 0.0
        return total
