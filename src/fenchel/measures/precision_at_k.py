"""Precision among the k highest scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fenchel.errors import InputError
from fenchel.measures.parameters import rank
from fenchel.measures.queries import Queries
from fenchel.measures.top_k import Counts, TopKMeasure


@dataclass(frozen=True)
class PrecisionAtK(TopKMeasure):
    """max over y' with k positives of 1 - a(y')/k + scale sum_i (y'_i - ȳ_i) z_i;   bounds 1 - precision@k

    a is the number of true positives; `TopKMeasure` defines ȳ and the scale. With groups the loss of a query is normalised by
    the attainable maximum, 1 - a(y')/min(k, n₊), so that a perfect ranking has precision 1.

    >>> PrecisionAtK(1).evaluate([0.5, 1.0, 0.0], [1, -1, 1])
    (1.75, array([-0.5,  1. , -0.5]))
    """

    tex = r"\max_{y'} \; 1 - \name{precision}(y') + s \sum_i (y'_i - \name{ȳ}_i) z_i"
    tex_where = "y′ with k positives, ȳ the mean of the best of them, s the scale"
    k: int
    scale: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", rank("k", self.k))
        self._check_scale()

    @classmethod
    def example(cls) -> PrecisionAtK:
        """An example."""
        return cls(k=3)

    def depth(self, sizes: Counts, relevant: Counts) -> Counts:
        """k, or the whole query."""
        return np.minimum(self.k, sizes)

    def divisor(self, depth: Counts, relevant: Counts, whole: bool) -> Counts:
        """k; within queries at most the number of relevant rows."""
        return depth if whole else np.minimum(depth, relevant)

    def _check(self, queries: Queries, relevant: Counts, whole: bool) -> None:
        if whole and self.k > queries.sizes[0]:
            raise InputError(f"k must be at most the number of rows ({queries.sizes[0]}), got {self.k}")
        super()._check(queries, relevant, whole)
