"""Pairs of documents, weighted by the change of the normalised discounted cumulative gain when they are exchanged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fenchel.errors import InputError
from fenchel.measures.level_pairs import Levels, Pair
from fenchel.measures.ndcg import NDCG, require_gains
from fenchel.measures.pairs import PairMeasure
from fenchel.measures.parameters import rank
from fenchel.measures.protocol import Vector

ROUNDING = 1e-12  # mean weights of ranks that differ by less, relative to the first weight, count as equal


@dataclass(frozen=True)
class NDCGPairs(PairMeasure):
    """p_ij proportional to (b_i - b_j) (c̄_i - c̄_j),   b = 2^y - 1, y >= 0;   in `PairMeasure` is the loss

    c are the weights of ranks, c_r = 1/log2(r + 1) and 0 beyond rank k, and c̄_i is their mean over the ranks that documents
    with the target y_i have in an ideal ranking. So p_ij is the loss of NDCG when i and j are exchanged there, averaged over
    ties. Pairs of documents whose ideal ranks are both beyond k have no weight.

    Parameters
    ----------
    k : only the first k ranks have a weight; None: all.
    loss : squared_hinge, hinge or logistic.
    position_weights : c_1 >= c_2 >= ... >= 0 in place of 1/log2(r + 1); 0 beyond them.

    >>> value, slope = NDCGPairs().evaluate([0.5, 1.0, 0.0], [2, 1, 0], groups=[7, 7, 7])
    >>> round(value, 4), slope.round(4)
    (0.1775, array([-0.3239,  0.1931,  0.1308]))
    """

    tex = r"\sum_{y_i > y_j} p_{ij} \phi(z_i - z_j)"
    tex_where = "p_ij the cost of an exchange in NDCG, φ the loss of a difference; the mean over queries"
    k: int | None = None
    loss: str = "squared_hinge"
    position_weights: Any = None

    needs_groups: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k is not None:
            object.__setattr__(self, "k", rank("k", self.k))
        if self.position_weights is not None:
            object.__setattr__(self, "position_weights", accept_position_weights(self.position_weights))

    def relevances(self, y: Vector) -> Vector:
        """The targets, from 0 on."""
        require_gains(y)
        return y

    def pair_weights(self, levels: Levels, pair: Pair) -> Vector:
        """The loss of NDCG by an exchange."""
        gain, weight = self._gains(levels), levels.rank_weights(self._positions(levels))
        falls = weight[pair.high] - weight[pair.low]
        return (gain[pair.high] - gain[pair.low]) * np.where(falls > ROUNDING * self._positions(levels)[0], falls, 0.0)

    def worst(self, levels: Levels) -> Vector:
        """1 - NDCG of the reversed ranking; 0 where no document has a gain."""
        gain, positions = self._gains(levels) * levels.rows, self._positions(levels)
        ideal = levels.add(gain * levels.rank_weights(positions))
        reverse = levels.add(gain * levels.rank_weights(positions, reverse=True))
        return 1.0 - np.divide(reverse, ideal, out=np.ones(ideal.size), where=ideal > 0.0)

    def _gains(self, levels: Levels) -> Vector:
        """2^y - 1, relative to 2^(the largest y of the query) so that nothing overflows."""
        highest = levels.highest()
        return np.exp2(levels.target - highest) - np.exp2(-highest)

    def _positions(self, levels: Levels) -> Vector:
        """c_1, c_2, ... for as many ranks as the largest query has."""
        size = int(levels.sizes.max())
        if self.position_weights is None:
            return NDCG(self.k).discounts(size)
        given = np.array(self.position_weights[: self.k])[:size]
        return np.append(given, np.zeros(size - given.size))


def accept_position_weights(values: ArrayLike) -> tuple[float, ...]:
    """Finite, nonnegative, nonincreasing weights, the first one positive.

    >>> accept_position_weights([1.0, 2.0])
    Traceback (most recent call last):
    fenchel.errors.InputError: position_weights must not increase, but the weight of rank 2 is above that of rank 1
    """
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"position_weights must be numbers, got {values!r}") from None
    if found.ndim != 1 or found.size == 0 or not np.isfinite(found).all() or found.min() < 0.0 or found[0] == 0.0:
        raise InputError(
            f"position_weights must be finite numbers of at least 0, the first one positive, got {values!r}"
        )
    if (rises := np.diff(found) > 0.0).any():
        place = int(np.argmax(rises)) + 2
        raise InputError(
            f"position_weights must not increase, but the weight of rank {place} is above that of rank {place - 1}"
        )
    return tuple(found.tolist())
