"""Expected rank utility."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fenchel.errors import InputError
from fenchel.measures.parameters import finite, positive
from fenchel.measures.protocol import Vector
from fenchel.measures.queries import Queries
from fenchel.measures.ranking import RankingMeasure


@dataclass(frozen=True)
class ERU(RankingMeasure):
    """a_i = 2^((1 - i)/(half_life - 1));   b_j = max(y_j - neutral, 0);   bounds 1 - ERU of a query

    The probability that a reader reaches rank i is one half at rank `half_life` > 1; `neutral` is a vote without utility.
    `RankingMeasure` defines the loss.

    >>> value, slope = ERU(neutral=2, half_life=2).evaluate([0.0, 1.0, 0.0], [5, 3, 1], groups=[1, 1, 1])
    >>> round(value, 9), slope
    (1.0, array([-0.75,  0.5 ,  0.25]))
    """

    tex = r"\max_\pi \sum_i c_i z_{\pi(i)} - \sum_j \name{c̄}_j z_j + 1 - \name{ERU}(\pi)"
    tex_where = "π an order of the documents of a query; the mean over queries"
    neutral: float
    half_life: float
    decay: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "neutral", finite("neutral", self.neutral))
        object.__setattr__(self, "half_life", positive("half_life", self.half_life))
        if self.half_life <= 1.0:
            raise InputError(f"half_life must be > 1 (a rank beyond the first), got {self.half_life!r}")
        self._check_decay()

    @classmethod
    def example(cls) -> ERU:
        """An example."""
        return cls(neutral=0.5, half_life=3.0)

    def gains(self, y: Vector, queries: Queries) -> Vector:
        """max(y - neutral, 0)."""
        return np.maximum(y - self.neutral, 0.0)

    def discounts(self, size: int) -> Vector:
        """2^((1 - i)/(half_life - 1))."""
        return np.exp2((1.0 - np.arange(1.0, size + 1.0)) / (self.half_life - 1.0))
