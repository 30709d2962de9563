"""Recall among the k highest scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fenchel.measures.precision_at_k import PrecisionAtK
from fenchel.measures.top_k import Counts


@dataclass(frozen=True)
class RecallAtK(PrecisionAtK):
    """max over y' with k positives of 1 - a(y')/n₊ + scale sum_i (y'_i - ȳ_i) z_i;   bounds 1 - recall@k

    a is the number of true positives, n₊ that of positives; `TopKMeasure` defines ȳ and the scale. With k < n₊ the value is at
    least 1 - k/n₊. With groups, the average over queries.

    >>> RecallAtK(1).evaluate([0.5, 1.0, 0.0], [1, -1, 1])
    (1.375, array([-0.25,  0.5 , -0.25]))
    """

    tex = r"\max_{y'} \; 1 - \name{recall}(y') + s \sum_i (y'_i - \name{ȳ}_i) z_i"
    tex_where = "y′ with k positives, ȳ the mean of the best of them, s the scale"

    def divisor(self, depth: Counts, relevant: Counts, whole: bool) -> Counts:
        """The number of relevant rows."""
        return np.asarray(relevant)
