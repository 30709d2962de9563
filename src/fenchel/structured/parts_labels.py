"""Parts of a custom model that lists its labels: the labels themselves. Runs as plain Python."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from fenchel import deadline
from fenchel.structured.parts_simplex import ON_SIMPLEX, recover_simplex
from fenchel.structured.pool import Marginals, Pool

if TYPE_CHECKING:
    from fenchel.structured.python_model import PythonModel

MAX_LABELS = 4096  # labels of an example: as many as sets of 12 labels


class LabelParts:
    """A part for every label that `labels(x)` lists: mu is a distribution of labels.

    Features are relative to those of the gold label: F_i has the columns phi(y) - phi(gold), which changes nothing as the
    entries of mu sum to 1. Labels that are not listed have no weight; the dual value is a lower bound without them, too.
    """

    compiled = False
    workspace_size = 1

    def __init__(self, model: PythonModel, numbers: list[list[int]]):
        self.model, self.numbers = model, numbers

    @property
    def sizes(self) -> np.ndarray:
        return np.array([len(some) for some in self.numbers], dtype=np.int64)

    def pool(self, point: Marginals) -> Pool:
        """The same dual point as labels with weights."""
        weights = np.clip(np.nan_to_num(np.array(point.values, dtype=np.float64)), 0.0, 1.0)
        for i in range(len(self.numbers)):
            recover_simplex(weights[point.start[i] : point.start[i + 1]])
        labels = np.array([k for some in self.numbers for k in some], dtype=np.int32)
        scale = min(max(float(point.scale), 0.0), 1.0)
        return Pool(point.start, scale * weights, np.arange(labels.size + 1, dtype=np.int64), labels)

    def parts_size(self, i):
        return len(self.numbers[i])

    def clique_scores(self, w, cost, i, S, out):
        deadline.check()
        for at, k in enumerate(self.numbers[i]):
            _, _, own, (index, values) = self.model.table[k]
            out[at] = cost * own + w[index] @ values

    def add_cliques(self, i, mu, a, S, out):
        total = 0.0
        for share, k in zip(mu, self.numbers[i], strict=True):
            _, _, cost, (index, values) = self.model.table[k]
            out[index] += a * share * values
            total += share * cost
        return total

    project_cliques, gibbs_cliques, recover_cliques = ON_SIMPLEX

    def label_reach(self, i):
        return max(float(np.linalg.norm(self.model.table[k][3][1])) for k in self.numbers[i])


def label_parts(model: PythonModel) -> LabelParts | None:
    """The parts of a custom model; None if it does not list its labels, or an example has more than MAX_LABELS."""
    if not hasattr(model.model, "labels"):
        return None
    numbers = []
    for i, x in enumerate(model.examples):
        found = [model.number(i, y) for y in islice(model.model.labels(x), MAX_LABELS + 1)]
        if len(found) > MAX_LABELS or not found:
            return None
        numbers.append(list(dict.fromkeys(found)))
    return LabelParts(model, numbers)
