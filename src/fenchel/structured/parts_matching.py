"""Parts of `Matching`: the edges. The marginals of a distribution of matchings are nonnegative numbers whose sums over the
edges of a node are at most 1."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fenchel.data.rows import axpy, row_entry, row_span
from fenchel.projections.matching_newton import project_matching, recover_matching, scale_matching
from fenchel.structured.matching_encoded import EncodedMatchings
from fenchel.structured.protocol import part_scores


class MatchingParts(NamedTuple):
    """A part for every edge. The cost of a matching is affine in its edges: that of missing all gold edges is constant.

    `gibbs_cliques` gives the mixture of matchings of largest entropy of the edges and of unmatched nodes, not that of a Gibbs
    distribution, whose marginals are permanents.
    """

    matchings: EncodedMatchings

    @property
    def sizes(self) -> np.ndarray:
        return self.matchings.rows * self.matchings.columns

    @property
    def workspace_size(self) -> int:
        return self.matchings.workspace_size

    def parts_size(self, i):
        return self.matchings.rows[i] * self.matchings.columns[i]

    def clique_scores(self, w, cost, i, S, out):
        rows, columns, place = self.matchings.rows[i], self.matchings.columns[i], self.matchings.places[i]
        part_scores(self.matchings, w, i, S)
        for r in range(rows):
            gold = self.matchings.y[place + r]
            for c in range(columns):
                unit = self.matchings.false_positive if c != gold else -self.matchings.false_negative
                out[r * columns + c] = S[r * columns + c] + cost * unit

    def add_cliques(self, i, mu, a, S, out):
        rows, columns, place = self.matchings.rows[i], self.matchings.columns[i], self.matchings.places[i]
        total = 0.0
        for r in range(rows):
            gold = self.matchings.y[place + r]
            total += self.matchings.false_negative if gold >= 0 else 0.0
            for c in range(columns):
                share = mu[r * columns + c]
                total += share * (self.matchings.false_positive if c != gold else -self.matchings.false_negative)
                share -= 1.0 if c == gold else 0.0
                if share != 0.0:
                    axpy(self.matchings.edges, np.uint64(self.matchings.first[i] + r * columns + c), a * share, out)
        return total

    def project_cliques(self, i, theta):
        project_matching(self.matchings.rows[i], self.matchings.columns[i], self.matchings.partial, theta)

    def gibbs_cliques(self, i, theta):
        scale_matching(self.matchings.rows[i], self.matchings.columns[i], self.matchings.partial, theta)

    def recover_cliques(self, i, mu):
        recover_matching(self.matchings.rows[i], self.matchings.columns[i], self.matchings.partial, mu)

    def label_reach(self, i):
        rows, columns, place = self.matchings.rows[i], self.matchings.columns[i], self.matchings.places[i]
        total, squares = 0.0, 0.0
        for r in range(rows):
            longest, gold = 0.0, 0.0
            for c in range(columns):
                line, square = np.uint64(self.matchings.first[i] + r * columns + c), 0.0
                start, stop = row_span(self.matchings.edges, line)
                for k in range(start, stop):
                    x = row_entry(self.matchings.edges, line, k)
                    square += x * x
                longest = max(longest, square)
                gold = square if c == self.matchings.y[place + r] else gold
            total += np.sqrt(longest) + np.sqrt(gold)
            squares += longest
        return max(
            total, 2.0 * np.sqrt(squares)
        )  # the second for the entropy of edges, which is strongly convex row by row
