"""The top-k hinge."""

from __future__ import annotations

from fenchel.multiclass.ranked import EqualRanks, weights_of_ranks
from fenchel.multiclass.top_k_family import top_k_conjugate, top_k_into_domain, top_k_slopes, top_k_value
from fenchel.multiclass.top_k_step import top_k_step


class TopKMethods:
    """The methods of losses with weights for the sorted margins of all classes."""

    __slots__ = ()

    def value(self, z, y):
        return top_k_value(z, y, weights_of_ranks(self))

    def slopes(self, z, y, out):
        top_k_slopes(z, y, weights_of_ranks(self), out)

    def conjugate(self, u, y):
        return top_k_conjugate(u, y, weights_of_ranks(self))

    def into_domain(self, u, y):
        top_k_into_domain(u, y, weights_of_ranks(self))

    def dual_prox(self, t, g, y, out):
        top_k_step(t, g, y, weights_of_ranks(self), out)


class TopK(TopKMethods, EqualRanks):
    """max(0, (1/k) sum of the k largest c_j), c_j = 1 + z_j - z_y for j != y and c_y = 0, 1 <= k < m

    Conjugate: -S, S the sum of u_j over j != y, where u_y = -S, S <= 1 and all these u_j are from 0 to 1/k and at most
    S/(k - 1). It bounds the top-k error: the true class is not among the k classes of the largest scores.

    >>> import numpy as np
    >>> float(TopK(2).value(np.array([1.0, 1.5, 0.5, -3.0]), 0))
    1.0
    """

    __slots__ = ()
    tex = r"\max(0,\, \frac{1}{k} \sum_{j \le k} c_{[j]})"
    tex_where = "c₍₁₎ ≥ c₍₂₎ ≥ … the sorted 1 + zⱼ − z_y, and 0 for y itself"
