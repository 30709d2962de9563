"""The loss of Usunier, Buffoni and Gallinari: an ordered weighted average of margins."""

from __future__ import annotations

from fenchel.multiclass.ranked import WeightedRanks
from fenchel.multiclass.usunier import UsunierMethods


class WeightedUsunier(UsunierMethods, WeightedRanks):
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

    @classmethod
    def example(cls) -> WeightedUsunier:
        """An example with three classes."""
        return cls([2.0, 1.0])
