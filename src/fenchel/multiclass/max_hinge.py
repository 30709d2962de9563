"""The max hinge of Crammer and Singer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from fenchel.multiclass.classes import class_count
from fenchel.multiclass.parameters import ByContent
from fenchel.multiclass.simplex_step import largest_other, simplex_step
from fenchel.multiclass.transfers import SLACK, best_other, clear, is_transfer, scale_transfer, taken

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class _NoFields(NamedTuple):
    pass


class MaxHinge(ByContent, _NoFields):
    """max(0, max over j != y of 1 + z_j - z_y), y a class 0 .. m - 1

    Conjugate: -sum of u_j over j != y, where all these u_j >= 0, their sum is at most 1, and u_y is minus their sum.
    With two classes it is the hinge of z_1 - z_0.

    >>> import numpy as np
    >>> float(MaxHinge().value(np.array([1.0, 0.5, -3.0]), 0))
    0.5
    """

    __slots__ = ()
    tex = r"\max(0,\, \max_{j \ne y} 1 + z_j - z_y)"
    tex_where = "y a class"
    nonnegative = True
    task = "classes"
    sparse_duals = True
    unit_margins = True  # a function of 1 + z_j - z_y: `ExampleCosts` puts costs in place of the 1
    free_intercepts = True  # every t (e_j - e_y), t <= 1, is in the domain of loss*

    def outputs(self, y: ArrayLike) -> int:
        return class_count(y)

    def value(self, z, y):
        return max(0.0, 1.0 + (largest_other(z, y) - z[y]))

    def slopes(self, z, y, out):
        clear(out)
        best = best_other(z, y)
        if 1.0 + (z[best] - z[y]) > 0.0:
            out[best] = 1.0
            out[y] = -1.0

    def conjugate(self, u, y):
        total = taken(u, y)
        return -total if is_transfer(u, y, 1.0) and total <= 1.0 + SLACK else math.inf

    def into_domain(self, u, y):
        scale_transfer(u, y, 1.0 / max(1.0, taken(u, y)))

    def dual_prox(self, t, g, y, out):
        simplex_step(t, g, y, 1.0, out)

    def vertex_margins(self, z, y, margins, sizes):
        sizes[:] = 1.0
        for j in range(z.size):
            margins[j] = 1.0 + (z[j] - z[y])

    def largest_slope(self) -> float:
        return math.sqrt(2.0)

    def smoothness(self):
        return None
