"""Parts of `Multiclass`: the classes themselves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fenchel.data.rows import row_column, row_entry, row_span
from fenchel.structured.multiclass import EncodedClasses, class_cost
from fenchel.structured.parts_simplex import ON_SIMPLEX
from fenchel.structured.protocol import part_scores


class ClassParts(NamedTuple):
    """A part for every class: mu is a distribution of classes."""

    classes: EncodedClasses

    @property
    def sizes(self) -> np.ndarray:
        return np.full(self.classes.n, self.classes.m)

    @property
    def workspace_size(self) -> int:
        return self.classes.workspace_size

    def parts_size(self, i):
        return self.classes.m

    def clique_scores(self, w, cost, i, S, out):
        part_scores(self.classes, w, i, S)
        for c in range(self.classes.m):
            out[c] = S[c] + cost * class_cost(self.classes, i, c)

    def add_cliques(self, i, mu, a, S, out):
        m, gold = self.classes.m, self.classes.y[i]
        start, stop = row_span(self.classes.rows, i)
        for k in range(start, stop):
            x, at = a * row_entry(self.classes.rows, i, k), np.int64(row_column(self.classes.rows, k)) * m
            for c in range(m):
                out[at + c] += x * mu[c]
            out[at + gold] -= x
        total = 0.0
        for c in range(m):
            total += mu[c] * class_cost(self.classes, i, c)
        return total

    project_cliques, gibbs_cliques, recover_cliques = ON_SIMPLEX  # type: ignore[misc]

    def label_reach(self, i):
        total = 0.0
        start, stop = row_span(self.classes.rows, i)
        for k in range(start, stop):
            x = row_entry(self.classes.rows, i, k)
            total += x * x
        return np.sqrt(2.0 * total)
