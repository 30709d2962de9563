"""The top-k loss of Usunier, Buffoni and Gallinari."""

from __future__ import annotations

from fenchel.multiclass.ranked import EqualRanks, weights_of_ranks
from fenchel.multiclass.usunier_family import (
    usunier_conjugate,
    usunier_into_domain,
    usunier_slopes,
    usunier_step,
    usunier_value,
)


class UsunierMethods:
    """The methods of losses with weights for the positive ones among the sorted margins of the other classes."""

    __slots__ = ()

    def value(self, z, y):
        return usunier_value(z, y, weights_of_ranks(self))

    def slopes(self, z, y, out):
        usunier_slopes(z, y, weights_of_ranks(self), out)

    def conjugate(self, u, y):
        return usunier_conjugate(u, y, weights_of_ranks(self))

    def into_domain(self, u, y):
        usunier_into_domain(u, y, weights_of_ranks(self))

    def dual_prox(self, t, g, y, out):
        usunier_step(t, g, y, weights_of_ranks(self), out)


class Usunier(UsunierMethods, EqualRanks):
    """(1/k) sum of max(0, c_j) over the k largest c_j = 1 + z_j - z_y, j != y, 1 <= k < m

    Conjugate: -S, S the sum of u_j over j != y, where u_y = -S, S <= 1 and all these u_j are from 0 to 1/k.

    >>> import numpy as np
    >>> float(Usunier(3).value(np.array([1.0, 1.5, 0.5, -3.0]), 0))
    0.6666666666666666
    """

    __slots__ = ()
    tex = r"\frac{1}{k} \sum_{j \le k} \max(0,\, c_{[j]})"
    tex_where = "c₍₁₎ ≥ c₍₂₎ ≥ … the sorted 1 + zⱼ − z_y, j ≠ y"
