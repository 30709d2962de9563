"""Encoded examples of binary labels on graphs whose neighbours tend to agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.data.accept import size
from fenchel.data.rows import axpy, dot, row_column, row_entry, row_span
from fenchel.structured.graph_input import Graphs
from fenchel.structured.min_cut import best_cut
from fenchel.structured.protocol import label_cost, label_margin

if TYPE_CHECKING:
    from fenchel.structured.pool import Pool

WORK_PER_NODE = 50  # stored numbers that could be read in the time of a minimum cut, for each node and edge


@kernel
def edge_scores(graphs, i, w, at, S, place):
    """S[place + e] = <f_e, w[at:]>, the strength of edge e of example i."""
    first, stop = graphs.first_edge[i], graphs.first_edge[i + 1]
    for e in range(stop - first):
        S[place + e] = 0.0
        begin, end = row_span(graphs.links, np.uint64(first + e))
        for k in range(begin, end):
            x = row_entry(graphs.links, np.uint64(first + e), k)
            S[place + e] += x * w[at + np.int64(row_column(graphs.links, k))]


@kernel
def cut_labels(a, t, graphs, i, out):
    """out = the best labels of the nodes of example i for gains a of label 1 and strengths t; negative ones count as 0."""
    first, stop, e = graphs.first[i], graphs.first[i + 1], graphs.first_edge[i]
    tails, heads = graphs.tails[e : e + t.size], graphs.heads[e : e + t.size]
    start = graphs.start[first : stop + 1]
    best_cut(a, np.maximum(t, 0.0), tails, heads, start, graphs.arcs[start[0] : start[-1]], out)


@kernel
def valid_cuts(graphs, start, offsets, labels):
    """Whether all entries of the labels are 0 or 1, and all edges between nodes of different labels are 1."""
    for i in range(start.size - 1):
        nodes, first = graphs.first[i + 1] - graphs.first[i], graphs.first_edge[i]
        for k in range(start[i], start[i + 1]):
            y = labels[offsets[k] : offsets[k + 1]]
            for c in y:
                if c != 0 and c != 1:
                    return False
            for e in range(graphs.first_edge[i + 1] - first):
                if y[nodes + e] == 0 and y[graphs.tails[first + e]] != y[graphs.heads[first + e]]:
                    return False
    return True


class EncodedCuts(NamedTuple):
    """A label is y_v for every node, then d_e for every edge, 0 or 1 with d_e >= [y_u != y_v]: d_e = 1 where the strength of
    the edge is negative. w: node features, bias, edge features; S: scores of nodes, strengths of edges. unit: cost of a node.
    """

    graphs: Graphs
    y: np.ndarray
    unit: np.ndarray

    @property
    def n(self) -> int:
        return self.unit.size

    @property
    def d(self) -> int:
        return self.graphs.features + 1 + self.graphs.edge_features

    @property
    def features(self) -> int:
        return self.graphs.features

    @property
    def edge_features(self) -> int:
        return self.graphs.edge_features

    @property
    def m(self) -> int:
        return 2

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(self.graphs.first) + np.diff(self.graphs.first_edge)

    @property
    def workspace_size(self) -> int:
        return int(np.max(self.sizes))

    @property
    def work(self) -> int:
        return size(self.graphs.nodes) + size(self.graphs.links) + WORK_PER_NODE * int(self.sizes.sum())

    def gold(self, i: int) -> np.ndarray:
        first, last = self.graphs.first_edge[i], self.graphs.first_edge[i + 1]
        y = self.y[self.graphs.first[i] : self.graphs.first[i + 1]]
        cut = y[self.graphs.tails[first:last]] != y[self.graphs.heads[first:last]]
        return np.concatenate([y, cut.astype(np.int32)])

    def decode(self, i: int, label: np.ndarray) -> np.ndarray:
        """The labels of the nodes, then, for each edge, whether it is counted as one between different labels."""
        return np.array(label, dtype=np.int32)

    def valid_labels(self, pool: Pool) -> bool:
        return bool(valid_cuts(self.graphs, pool.start, pool.offsets, pool.labels))

    def label_size(self, i):
        graphs = self.graphs
        return graphs.first[i + 1] - graphs.first[i] + graphs.first_edge[i + 1] - graphs.first_edge[i]

    def part_scores(self, w, i, S):
        graphs, first = self.graphs, self.graphs.first[i]
        nodes = graphs.first[i + 1] - first
        for v in range(nodes):
            S[v] = w[graphs.features] + dot(graphs.nodes, np.uint64(first + v), w)
        edge_scores(graphs, i, w, graphs.features + 1, S, nodes)

    def best_label(self, w, S, i, out):
        graphs, first, e = self.graphs, self.graphs.first[i], self.graphs.first_edge[i]
        nodes, edges = graphs.first[i + 1] - first, graphs.first_edge[i + 1] - e
        a = np.empty(nodes)
        for v in range(nodes):
            a[v] = S[v] + self.unit[i] * (1 - 2 * self.y[first + v])
        cut_labels(a, S[nodes : nodes + edges], graphs, i, out[:nodes])
        for k in range(edges):
            differ = out[graphs.tails[e + k]] != out[graphs.heads[e + k]]
            out[nodes + k] = 1 if differ or S[nodes + k] < 0.0 else 0
        if label_cost(self, i, out) + label_margin(self, w, S, i, out) < 0.0:
            for v in range(nodes):  # a negative plane is due to the rounding of large scores
                out[v] = self.y[first + v]
            for k in range(edges):
                out[nodes + k] = self.y[first + graphs.tails[e + k]] != self.y[first + graphs.heads[e + k]]

    def label_cost(self, i, label):
        wrong, first = 0, self.graphs.first[i]
        for v in range(self.graphs.first[i + 1] - first):
            wrong += label[v] != self.y[first + v]
        return wrong * self.unit[i]

    def label_margin(self, w, S, i, label):
        graphs, first, e, total = self.graphs, self.graphs.first[i], self.graphs.first_edge[i], 0.0
        nodes = graphs.first[i + 1] - first
        for v in range(nodes):
            total += S[v] * (label[v] - self.y[first + v])
        for k in range(graphs.first_edge[i + 1] - e):
            gold = self.y[first + graphs.tails[e + k]] != self.y[first + graphs.heads[e + k]]
            total -= S[nodes + k] * (label[nodes + k] - gold)
        return total

    def add_label(self, i, label, a, out):
        graphs, first, e = self.graphs, self.graphs.first[i], self.graphs.first_edge[i]
        nodes = graphs.first[i + 1] - first
        for v in range(nodes):
            change = label[v] - self.y[first + v]
            if change != 0:
                out[graphs.features] += a * change
                axpy(graphs.nodes, np.uint64(first + v), a * change, out)
        for k in range(graphs.first_edge[i + 1] - e):
            gold = self.y[first + graphs.tails[e + k]] != self.y[first + graphs.heads[e + k]]
            if label[nodes + k] != gold:
                step = a if label[nodes + k] == 0 else -a
                begin, end = row_span(graphs.links, np.uint64(e + k))
                for j in range(begin, end):
                    at = graphs.features + 1 + np.int64(row_column(graphs.links, j))
                    out[at] += step * row_entry(graphs.links, np.uint64(e + k), j)

    def pop_square_norm(self, i, label, out):
        total, graphs, first = 0.0, self.graphs, self.graphs.first[i]
        for j in range(graphs.features, out.size):
            total += out[j] * out[j]
            out[j] = 0.0
        for v in range(graphs.first[i + 1] - first):
            if label[v] != self.y[first + v]:
                begin, end = row_span(graphs.nodes, np.uint64(first + v))
                for k in range(begin, end):
                    at = np.int64(row_column(graphs.nodes, k))
                    total += out[at] * out[at]
                    out[at] = 0.0
        return total
