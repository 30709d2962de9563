"""The point where precision equals recall."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fenchel.measures.top_k import Counts, TopKMeasure


@dataclass(frozen=True)
class BreakEven(TopKMeasure):
    """max over y' with n₊ positives of 1 - a(y')/n₊ + scale sum_i (y'_i - y_i) z_i;   bounds 1 - break-even point

    Precision@k with k = n₊, the number of positives, where precision and recall are equal; `TopKMeasure` defines the scale.
    With groups, the average over queries.

    >>> BreakEven().evaluate([0.5, 1.0, 0.0], [1, -1, 1])
    (1.0, array([ 0. ,  0.5, -0.5]))
    """

    tex = r"\max_{y'} \; 1 - \name{precision}(y') + s \sum_i (y'_i - y_i) z_i"
    tex_where = "y′ with as many positives as y, s the scale"
    scale: float | None = None

    def __post_init__(self) -> None:
        self._check_scale()

    def depth(self, sizes: Counts, relevant: Counts) -> Counts:
        """n₊."""
        return np.asarray(relevant)

    def divisor(self, depth: Counts, relevant: Counts, whole: bool) -> Counts:
        """n₊."""
        return np.asarray(relevant)
