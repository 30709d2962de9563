"""The top-k hinge with a weight for every rank."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fenchel.multiclass.classes import class_count
from fenchel.multiclass.parameters import ByContent, fits, rank_weights
from fenchel.multiclass.top_k_family import top_k_conjugate, top_k_into_domain, top_k_slopes, top_k_value
from fenchel.multiclass.top_k_step import top_k_step

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class _Fields(NamedTuple):
    rho: np.ndarray


class WeightedTopK(ByContent, _Fields):
    """max(0, sum_j rho_j c_[j]), c_[1] >= c_[2] >= ... the sorted c_j = 1 + z_j - z_y, c_y = 0 among them

    rho_1 >= rho_2 >= ... >= 0, at most m - 1 of them and the others 0. Conjugate: -S, S the sum of u_j over j != y, where
    u_y = -S and (u_j, j != y), completed by some number >= 0, is in the convex hull of 0 and all orders of rho.

    >>> import numpy as np
    >>> float(WeightedTopK([0.5, 0.25]).value(np.array([1.0, 1.5, 0.5, -3.0]), 0))
    0.875
    """

    __slots__ = ()
    tex = r"\max(0,\, \sum_j \rho_j c_{[j]})"
    tex_where = "c₍₁₎ ≥ c₍₂₎ ≥ … the sorted 1 + zⱼ − z_y, and 0 for y itself"
    nonnegative = True
    task = "classes"
    sparse_duals = True

    def __new__(cls, rho: ArrayLike) -> WeightedTopK:
        return super().__new__(cls, rank_weights(rho))

    @classmethod
    def example(cls) -> WeightedTopK:
        """An example with three classes."""
        return cls([0.75, 0.25])

    def __repr__(self) -> str:
        return f"WeightedTopK(rho={np.array2string(self.rho, precision=4, threshold=8, separator=', ')})"

    def outputs(self, y: ArrayLike) -> int:
        return fits(class_count(y), "the length of rho", self.rho.size)

    def value(self, z, y):
        return top_k_value(z, y, self.rho)

    def slopes(self, z, y, out):
        top_k_slopes(z, y, self.rho, out)

    def conjugate(self, u, y):
        return top_k_conjugate(u, y, self.rho)

    def into_domain(self, u, y):
        top_k_into_domain(u, y, self.rho)

    def dual_prox(self, t, g, y, out):
        top_k_step(t, g, y, self.rho, out)

    def largest_slope(self) -> float:
        return math.hypot(np.linalg.norm(self.rho), np.sum(self.rho))

    def smoothness(self):
        return None
