"""Parts of `Tree`: the labels of roots, and the pairs of labels of every other node and its parent.

The score and the cost of a node belong to its own table, so that each is counted exactly once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fenchel.data.rows import row_column, row_entry, row_span
from fenchel.projections.tree_newton import project_tree, recover_tree, tree_marginals
from fenchel.structured.protocol import part_scores
from fenchel.structured.tree_encoded import EncodedTrees, transitions


class TreeParts(NamedTuple):
    """The table of node v (counted over all examples) starts at place[v] of its example's parts."""

    trees: EncodedTrees
    place: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        return table_sizes(self.trees)[1]

    @property
    def workspace_size(self) -> int:
        return self.trees.workspace_size

    def parts_size(self, i):
        last, m = self.trees.first[i + 1] - 1, self.trees.m
        return self.place[last] + (m * m if self.trees.parent[last] >= 0 else m)

    def clique_scores(self, w, cost, i, S, out):
        trees, first, m = self.trees, self.trees.first[i], self.trees.m
        part_scores(trees, w, i, S)
        T = transitions(w, (trees.features + 1) * m, m)
        for v in range(trees.first[i + 1] - first):
            for c in range(m):
                score = S[v * m + c] + (cost * trees.unit[i] if c != trees.y[first + v] else 0.0)
                if trees.parent[first + v] < 0:
                    out[self.place[first + v] + c] = score
                else:
                    for b in range(m):
                        out[self.place[first + v] + b * m + c] = score + T[b, c]

    def add_cliques(self, i, mu, a, S, out):
        trees, first, m, wrong = self.trees, self.trees.first[i], self.trees.m, 0.0
        at, U = (trees.features + 1) * m, np.empty(m)
        for v in range(trees.first[i + 1] - first):
            gold, here, up = trees.y[first + v], self.place[first + v], trees.parent[first + v]
            for c in range(m):
                U[c] = mu[here + c] if up < 0 else 0.0
            if up >= 0:
                for b in range(m):
                    for c in range(m):
                        U[c] += mu[here + b * m + c]
                        out[at + b * m + c] += a * mu[here + b * m + c]
                out[at + trees.y[first + up] * m + gold] -= a
            for c in range(m):
                wrong += U[c] if c != gold else 0.0
            U[gold] -= 1.0
            for c in range(m):
                out[trees.features * m + c] += a * U[c]
            begin, end = row_span(trees.nodes, np.uint64(first + v))
            for k in range(begin, end):
                x = a * row_entry(trees.nodes, np.uint64(first + v), k)
                row = np.int64(row_column(trees.nodes, k)) * m
                for c in range(m):
                    out[row + c] += x * U[c]
        return wrong * trees.unit[i]

    def project_cliques(self, i, theta):
        a, b = self.trees.first[i], self.trees.first[i + 1]
        project_tree(self.trees.order[a:b], self.trees.parent[a:b], self.place[a:b], self.trees.m, theta)

    def gibbs_cliques(self, i, theta):
        a, b = self.trees.first[i], self.trees.first[i + 1]
        tree_marginals(self.trees.order[a:b], self.trees.parent[a:b], self.place[a:b], self.trees.m, theta)

    def recover_cliques(self, i, mu):
        a, b = self.trees.first[i], self.trees.first[i + 1]
        recover_tree(self.trees.order[a:b], self.trees.parent[a:b], self.place[a:b], self.trees.m, mu)

    def label_reach(self, i):
        trees, first, total = self.trees, self.trees.first[i], 0.0
        for v in range(trees.first[i + 1] - first):
            square = 1.0
            start, stop = row_span(trees.nodes, np.uint64(first + v))
            for k in range(start, stop):
                x = row_entry(trees.nodes, np.uint64(first + v), k)
                square += x * x
            total += np.sqrt(square) + (1.0 if trees.parent[first + v] >= 0 else 0.0)
        return np.sqrt(2.0) * total


def table_sizes(trees: EncodedTrees) -> tuple[np.ndarray, np.ndarray]:
    """(the number of parts of every node, of every example)."""
    tables = np.where(trees.parent >= 0, trees.m * trees.m, trees.m).astype(np.int64)
    return tables, np.add.reduceat(tables, trees.first[:-1])


def tree_parts(trees: EncodedTrees) -> TreeParts:
    """The parts of encoded trees."""
    tables, sizes = table_sizes(trees)
    starts = np.cumsum(tables) - tables
    return TreeParts(trees, starts - np.repeat(np.cumsum(sizes) - sizes, np.diff(trees.first)))
