"""Only the first rank counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fenchel.measures.protocol import Vector
from fenchel.measures.queries import Queries
from fenchel.measures.ranking import RankingMeasure


@dataclass(frozen=True)
class WinnerTakesAll(RankingMeasure):
    """a = (1, 0, 0, ...);   b_j = 1 if y_j is the largest of its query, else 0;   bounds 1[the first is no best one]

    `RankingMeasure` defines the loss; with the default weights it is max_j (z_j + 1 - b_j) - mean of z over the best.

    >>> WinnerTakesAll().evaluate([0.5, 1.0, 0.0], [2, 1, 0], groups=[7, 7, 7])
    (1.5, array([-1.,  1.,  0.]))
    """

    tex = r"\max_\pi \sum_i c_i z_{\pi(i)} - \sum_j \name{c̄}_j z_j + 1 - \name{best}(\pi)"
    tex_where = "best: 1 if the first document is one; the mean over queries"
    decay: float | None = None

    def __post_init__(self) -> None:
        self._check_decay()

    def gains(self, y: Vector, queries: Queries) -> Vector:
        """1 for the best of every query."""
        ordered = y[queries.rows]
        best = np.maximum.reduceat(ordered, queries.first)[queries.query]
        gain = np.empty(y.size)
        gain[queries.rows] = ordered == best
        return gain

    def discounts(self, size: int) -> Vector:
        """1, 0, 0, ..."""
        return (np.arange(size) == 0).astype(np.float64)
