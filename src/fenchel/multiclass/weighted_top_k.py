"""The top-k hinge with a weight for every rank."""

from __future__ import annotations

from fenchel.multiclass.ranked import WeightedRanks
from fenchel.multiclass.top_k import TopKMethods


class WeightedTopK(TopKMethods, WeightedRanks):
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

    @classmethod
    def example(cls) -> WeightedTopK:
        """An example with three classes."""
        return cls([0.75, 0.25])
