"""The loss of Usunier, Buffoni and Gallinari: an ordered weighted average of margins."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fenchel.multiclass.classes import class_count
from fenchel.multiclass.parameters import ByContent, fits, rank_weights
from fenchel.multiclass.usunier_family import (
    usunier_conjugate,
    usunier_into_domain,
    usunier_slopes,
    usunier_step,
    usunier_value,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class _Fields(NamedTuple):
    rho: np.ndarray


class WeightedUsunier(ByContent, _Fields):
    """sum_j rho_j max(0, c_[j]), c_[1] >= c_[2] >= ... the sorted c_j = 1 + z_j - z_y, j != y

    rho_1 >= rho_2 >= ... >= 0, at most m - 1 of them and the others 0. Conjugate: -S, S the sum of u_j over j != y, where
    u_y = -S, these u_j >= 0 and the sum of the j largest of them is at most rho_1 + ... + rho_j for every j.

    >>> import numpy as np
    >>> float(WeightedUsunier([0.5, 0.25]).value(np.array([1.0, 1.5, 0.5, -3.0]), 0))
    0.875
    """

    __slots__ = ()
    tex = r"\sum_j \rho_j \max(0,\, c_{[j]})"
    tex_where = "c₍₁₎ ≥ c₍₂₎ ≥ … the sorted 1 + zⱼ − z_y, j ≠ y"
    nonnegative = True
    task = "classes"
    sparse_duals = True

    def __new__(cls, rho: ArrayLike) -> WeightedUsunier:
        return super().__new__(cls, rank_weights(rho))

    @classmethod
    def example(cls) -> WeightedUsunier:
        """An example with three classes."""
        return cls([2.0, 1.0])

    def __repr__(self) -> str:
        return f"WeightedUsunier(rho={np.array2string(self.rho, precision=4, threshold=8, separator=', ')})"

    def outputs(self, y: ArrayLike) -> int:
        return fits(class_count(y), "the length of rho", self.rho.size)

    def value(self, z, y):
        return usunier_value(z, y, self.rho)

    def slopes(self, z, y, out):
        usunier_slopes(z, y, self.rho, out)

    def conjugate(self, u, y):
        return usunier_conjugate(u, y, self.rho)

    def into_domain(self, u, y):
        usunier_into_domain(u, y, self.rho)

    def dual_prox(self, t, g, y, out):
        usunier_step(t, g, y, self.rho, out)

    def largest_slope(self) -> float:
        return math.hypot(np.linalg.norm(self.rho), np.sum(self.rho))

    def smoothness(self):
        return None
