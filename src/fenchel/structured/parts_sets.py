"""Parts of `PairwiseLabels` with few labels: the label sets themselves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fenchel.data.rows import row_column, row_entry, row_span
from fenchel.structured.pairwise_encoded import EncodedSets, pair_matrix
from fenchel.structured.parts_simplex import ON_SIMPLEX
from fenchel.structured.protocol import part_scores

MAX_LABELS = 12  # 4096 sets of an example


class SetParts(NamedTuple):
    """A part for every set of labels, by its number in binary: mu is a distribution of sets."""

    sets: EncodedSets

    @property
    def sizes(self) -> np.ndarray:
        return np.full(self.sets.n, 1 << self.sets.m)

    @property
    def workspace_size(self) -> int:
        return self.sets.workspace_size

    def parts_size(self, i):
        return 1 << self.sets.m

    def clique_scores(self, w, cost, i, S, out):
        m, Q = self.sets.m, np.empty((self.sets.m, self.sets.m))
        part_scores(self.sets, w, i, S)
        pair_matrix(w, (self.sets.features + 1) * m, Q)
        out[0] = 0.0
        for c in range(m):
            out[0] += cost * self.sets.unit * self.sets.y[i, c]
            S[c] += cost * self.sets.unit * (1 - 2 * self.sets.y[i, c])
        for c in range(m):  # the sets whose largest label is c, from those without it
            for s in range(1 << c):
                score = out[s] + S[c]
                for b in range(c):
                    if (s >> b) & 1:
                        score += Q[b, c]
                out[s + (1 << c)] = score

    def add_cliques(self, i, mu, a, S, out):
        m, both = self.sets.m, np.zeros((self.sets.m, self.sets.m))
        mass = 0.0
        for s in range(mu.size):
            if mu[s] != 0.0:
                mass += mu[s]
                for c in range(m):
                    if (s >> c) & 1:
                        for b in range(c + 1):
                            both[b, c] += mu[s] if (s >> b) & 1 else 0.0
        cost, at = 0.0, (self.sets.features + 1) * m
        for c in range(m):
            gold = self.sets.y[i, c]
            cost += self.sets.unit * (both[c, c] * (1 - 2 * gold) + mass * gold)
            S[c] = both[c, c] - gold
            out[self.sets.features * m + c] += a * S[c]
            for b in range(c + 1, m):
                out[at] += a * (both[c, b] - gold * self.sets.y[i, b])
                at += 1
        start, stop = row_span(self.sets.rows, np.uint64(i))
        for k in range(start, stop):
            x, row = a * row_entry(self.sets.rows, np.uint64(i), k), np.int64(row_column(self.sets.rows, k)) * m
            for c in range(m):
                out[row + c] += x * S[c]
        return cost

    project_cliques, gibbs_cliques, recover_cliques = ON_SIMPLEX  # type: ignore[misc]

    def label_reach(self, i):
        m, total = self.sets.m, 1.0
        start, stop = row_span(self.sets.rows, np.uint64(i))
        for k in range(start, stop):
            x = row_entry(self.sets.rows, np.uint64(i), k)
            total += x * x
        return np.sqrt(m * total + 0.5 * m * (m - 1))
