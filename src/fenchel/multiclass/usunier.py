"""The top-k loss of Usunier, Buffoni and Gallinari."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from fenchel.multiclass.classes import class_count
from fenchel.multiclass.parameters import ByContent, equal_weights, fits, rank_count
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
    k: int


class Usunier(ByContent, _Fields):
    """(1/k) sum of max(0, c_j) over the k largest c_j = 1 + z_j - z_y, j != y, 1 <= k < m

    Conjugate: -S, S the sum of u_j over j != y, where u_y = -S, S <= 1 and all these u_j are from 0 to 1/k.

    >>> import numpy as np
    >>> float(Usunier(3).value(np.array([1.0, 1.5, 0.5, -3.0]), 0))
    0.6666666666666666
    """

    __slots__ = ()
    tex = r"\frac{1}{k} \sum_{j \le k} \max(0,\, c_{[j]})"
    tex_where = "c₍₁₎ ≥ c₍₂₎ ≥ … the sorted 1 + zⱼ − z_y, j ≠ y"
    nonnegative = True
    task = "classes"
    sparse_duals = True

    def __new__(cls, k: int) -> Usunier:
        return super().__new__(cls, rank_count(k))

    @classmethod
    def example(cls) -> Usunier:
        """An example with three classes."""
        return cls(2)

    def outputs(self, y: ArrayLike) -> int:
        return fits(class_count(y), "k", self.k)

    def value(self, z, y):
        return usunier_value(z, y, equal_weights(self.k))

    def slopes(self, z, y, out):
        usunier_slopes(z, y, equal_weights(self.k), out)

    def conjugate(self, u, y):
        return usunier_conjugate(u, y, equal_weights(self.k))

    def into_domain(self, u, y):
        usunier_into_domain(u, y, equal_weights(self.k))

    def dual_prox(self, t, g, y, out):
        usunier_step(t, g, y, equal_weights(self.k), out)

    def largest_slope(self) -> float:
        return math.sqrt(1.0 + 1.0 / self.k)

    def smoothness(self):
        return None
