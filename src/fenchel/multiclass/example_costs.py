"""Costs of each example: a loss whose margins are 1 + z_j - z_y, with the cost of class j for row i in place of the 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.data.accept import read_only
from fenchel.errors import InputError
from fenchel.multiclass.moreau import MoreauVector
from fenchel.multiclass.parameters import ByContent
from fenchel.multiclass.protocol import conjugate, dual_prox, into_domain, slopes, value

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@helper
def right_class(costs):
    """The class that costs nothing."""
    for j in range(costs.size):
        if costs[j] == 0.0:
            return j
    return 0


@helper
def with_margins(z, costs, right):
    """z_j + D_j - 1 for j != right, so that 1 + z_j becomes D_j + z_j."""
    out = np.empty(z.size)
    for j in range(z.size):
        out[j] = z[j] + (costs[j] - 1.0)
    out[right] = z[right]
    return out


class _Fields(NamedTuple):
    loss: Any


class ExampleCosts(ByContent, _Fields):
    """loss(z + D - 1, y), D_j the cost of class j for this row and 0 for its right class y, which is not shifted

    The target of a row is the vector D. Conjugate: loss*(u) - sum of (D_j - 1) u_j over j != y, with the domain of loss*.

    >>> import numpy as np
    >>> from fenchel.multiclass import MaxHinge
    >>> float(ExampleCosts(MaxHinge()).value(np.array([1.0, 0.5, -1.0]), np.array([0.0, 1.0, 4.0])))
    2.0
    """

    __slots__ = ()
    tex = r"\ell(z + D - 1, y)"
    tex_where = "D the costs of the classes for this row, ℓ the loss inside"
    nonnegative = True
    task = "classes"
    several_targets = True

    @property
    def sparse_duals(self) -> bool:
        return getattr(self.loss, "sparse_duals", False)

    def outputs(self, y: ArrayLike) -> int:
        costs = np.asarray(y)
        self.loss.outputs(np.array([0, costs.shape[1] - 1]))
        return int(costs.shape[1])

    def value(self, z, y):
        right = right_class(y)
        return value(self.loss, with_margins(z, y, right), right)

    def slopes(self, z, y, out):
        right = right_class(y)
        slopes(self.loss, with_margins(z, y, right), right, out)

    def conjugate(self, u, y):
        right = right_class(y)
        earned = 0.0
        for j in range(u.size):
            if j != right:
                earned += (y[j] - 1.0) * u[j]
        return conjugate(self.loss, u, right) - earned

    def into_domain(self, u, y):
        into_domain(self.loss, u, right_class(y))

    def dual_prox(self, t, g, y, out):
        right = right_class(y)
        dual_prox(self.loss, with_margins(t, y, right), g, right, out)

    def largest_slope(self) -> float:
        return self.loss.largest_slope()

    def smoothness(self) -> float | None:
        return self.loss.smoothness()


def with_costs(loss: Any, costs: Any, n: int) -> tuple[Any, np.ndarray]:
    """(the loss for targets that are costs, the costs of all n rows), from an n x m matrix with one 0 in each row.

    >>> from fenchel.multiclass import TopK
    >>> with_costs(TopK(1), [[0.0, 2.0, 1.0]], 1)[0]
    ExampleCosts(loss=TopK(k=1))
    """
    if isinstance(loss, MoreauVector):
        inner, found = with_costs(loss.loss, costs, n)
        return MoreauVector(inner, loss.gamma), found
    if not getattr(loss, "unit_margins", False):
        raise InputError(
            f"y is a matrix, but loss {type(loss).__name__} needs one class per row: costs of each example are for MaxHinge, "
            "TopK, Usunier, their weighted forms and Moreau envelopes of these"
        )
    try:
        found = np.array(costs, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InputError("y must be a matrix of numbers, the cost of every class for each row") from None
    if found.ndim != 2 or found.shape[0] != n or found.shape[1] < 2:
        raise InputError(f"y must be a vector of {n} classes, or {n} x classes costs, got shape {found.shape}")
    fine = np.isfinite(found) & (found >= 0.0)
    if not fine.all():
        i, j = (int(place) for place in np.argwhere(~fine)[0])
        raise InputError(f"y[{i}, {j}] is {found[i, j]!r}: costs must be finite and at least 0")
    free = (found == 0.0).sum(axis=1)
    if (free != 1).any():
        i = int(np.argmax(free != 1))
        raise InputError(
            f"{free[i]} classes of row {i} cost 0: exactly one, the right one, must; give the others a small cost"
        )
    return ExampleCosts(loss), read_only(found)
