"""Normalised discounted cumulative gain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fenchel.errors import InputError
from fenchel.measures.parameters import rank
from fenchel.measures.protocol import Vector
from fenchel.measures.queries import Queries
from fenchel.measures.ranking import RankingMeasure

LARGEST = 1000.0  # sums of 2^y over a million documents do not overflow


@dataclass(frozen=True)
class NDCG(RankingMeasure):
    """a_i = 1/log2(i + 1), 0 beyond rank k;   b_j = 2^y_j - 1, y_j >= 0;   bounds 1 - NDCG@k of a query

    `RankingMeasure` defines the loss. With k, the default score weights are truncated like a, so that one sort is enough;
    scores of documents beyond rank k then have no weight, unless decay is given, as in `decay=0.25`.

    >>> value, slope = NDCG().evaluate([0.5, 1.0, 0.0], [2, 1, 0], groups=[7, 7, 7])
    >>> round(value, 4), slope.round(4)
    (0.4305, array([-0.5   ,  0.3691,  0.1309]))
    """

    tex = r"\max_\pi \sum_i c_i z_{\pi(i)} - \sum_j \name{c̄}_j z_j + 1 - \name{NDCG}(\pi)"
    tex_where = "π an order of the documents of a query; the mean over queries"
    k: int | None = None
    decay: float | None = None

    def __post_init__(self) -> None:
        if self.k is not None:
            object.__setattr__(self, "k", rank("k", self.k))
        self._check_decay()

    def gains(self, y: Vector, queries: Queries) -> Vector:
        """2^y - 1."""
        require_gains(y)
        return np.exp2(y) - 1.0

    def discounts(self, size: int) -> Vector:
        """1/log2(i + 1) for i <= k."""
        i = np.arange(1, size + 1)
        return np.where(i <= (self.k or size), 1.0 / np.log2(i + 1.0), 0.0)


def require_gains(y: Vector) -> None:
    """Raise InputError for relevances whose gain 2^y - 1 is negative or too large."""
    fine = (y >= 0.0) & (y <= LARGEST)
    if not fine.all():
        row = int(np.argmin(fine))
        raise InputError(f"y of row {row} is {y[row]!r}: NDCG needs every relevance to be in [0, {LARGEST:g}]")
