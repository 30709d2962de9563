"""Losses of sorted margins, which have a weight for every rank: 1/k at the first k, or given one by one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from fenchel.compile.dispatch import method
from fenchel.multiclass.classes import class_count
from fenchel.multiclass.parameters import ByContent, equal_weights, fits, rank_count, rank_weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@method()
def weights_of_ranks(loss):
    """rho_1 >= rho_2 >= ... >= 0."""


class Ranked(ByContent):
    """Base of losses of sorted margins."""

    __slots__ = ()
    nonnegative = True
    task = "classes"
    sparse_duals = True
    unit_margins = True  # as of `MaxHinge`
    free_intercepts = True  # by `even_transfer`

    def smoothness(self):
        return None


class _Count(NamedTuple):
    k: int


class EqualRanks(Ranked, _Count):
    """Base of losses with the weight 1/k at the first k ranks."""

    __slots__ = ()

    def __new__(cls, k: int) -> Self:
        return super().__new__(cls, rank_count(k))

    @classmethod
    def example(cls) -> Self:
        """An example with three classes."""
        return cls(2)

    def outputs(self, y: ArrayLike) -> int:
        return fits(class_count(y), "k", self.k)

    def weights_of_ranks(self):
        return equal_weights(self.k)

    def even_transfer(self, m: int) -> float:
        return 1.0

    def largest_slope(self) -> float:
        return math.sqrt(1.0 + 1.0 / self.k)


class _Weights(NamedTuple):
    rho: np.ndarray


class WeightedRanks(Ranked, _Weights):
    """Base of losses with the weights rho_1 >= rho_2 >= ... >= 0 of the ranks."""

    __slots__ = ()

    def __new__(cls, rho: ArrayLike) -> Self:
        return super().__new__(cls, rank_weights(rho))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rho={np.array2string(self.rho, precision=4, threshold=8, separator=', ')})"

    def outputs(self, y: ArrayLike) -> int:
        return fits(class_count(y), "the length of rho", self.rho.size)

    def weights_of_ranks(self):
        return self.rho

    def even_transfer(self, m: int) -> float:
        return float(np.sum(self.rho[: m - 1]))

    def largest_slope(self) -> float:
        return math.hypot(np.linalg.norm(self.rho), np.sum(self.rho))
