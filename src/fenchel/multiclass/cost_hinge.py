"""The cost-sensitive hinge, with margin or slack rescaling."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.errors import InputError
from fenchel.multiclass.classes import class_count
from fenchel.multiclass.cost_step import cost_step
from fenchel.multiclass.parameters import ByContent, frozen
from fenchel.multiclass.simplex_step import simplex_step
from fenchel.multiclass.transfers import SLACK, clear, is_transfer, scale_transfer

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class _Fields(NamedTuple):
    cost: np.ndarray
    beta: float
    scale: np.ndarray


class CostHinge(ByContent, _Fields):
    """max(0, max over j != y of D_j^beta (z_j - z_y) + D_j), D_j = cost[y, j]: the cost of predicting j for y

    beta = 0 rescales the margin, beta = 1 the slack. The loss is at least the cost of the class of the largest score.
    Conjugate: -sum of D_j^(1 - beta) u_j over j != y, where u_y = -sum of these u_j >= 0, and sum of u_j/D_j^beta <= 1.
    Costs are nonnegative, 0 on the diagonal and, if beta > 0, positive off it. For costs of each row: a matrix of them as
    targets of `MaxHinge` or, for slack rescaling or features of each class, `fenchel.structured.Candidates`.

    >>> import numpy as np
    >>> float(CostHinge([[0, 1, 4], [1, 0, 2], [4, 2, 0]]).value(np.array([1.0, 0.5, -1.0]), 0))
    2.0
    """

    __slots__ = ()
    tex = r"\max(0,\, \max_{j \ne y} D_j^\beta (z_j - z_y) + D_j)"
    tex_where = "Dⱼ the cost of predicting j for y"
    nonnegative = True
    task = "classes"
    sparse_duals = True
    free_intercepts = True  # by `even_transfer`, or because every t (e_j - e_y), t <= 1, is in the domain of loss*

    def __new__(cls, cost: ArrayLike, beta: float = 0.0) -> CostHinge:
        costs = _checked(cost)
        if not 0.0 <= beta <= 1.0:
            raise InputError(f"beta must be from 0 (margin rescaling) to 1 (slack rescaling), got {beta!r}")
        others = costs + np.eye(len(costs))
        if beta > 0.0 and others.min() <= 0.0:
            i, j = np.argwhere(others <= 0.0)[0]
            raise InputError(f"cost must be positive off the diagonal if beta > 0, but cost[{i}, {j}] = 0")
        scale = others**beta
        scale.setflags(write=False)
        return super().__new__(cls, costs, float(beta), scale)

    @classmethod
    def example(cls) -> CostHinge:
        """An example with three classes."""
        return cls(1.0 - np.eye(3))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.cost, self.beta

    def __repr__(self) -> str:
        return f"CostHinge(cost=<{len(self.cost)} x {len(self.cost)}>, beta={self.beta})"

    def even_transfer(self, m: int) -> float | None:
        if self.scale.min() >= 1.0:
            return None
        shares = 1.0 / self.scale
        return float((m - 1) / np.max(shares.sum(axis=1) - np.diagonal(shares)))

    def outputs(self, y: ArrayLike) -> int:
        return class_count(y, len(self.cost))

    def value(self, z, y):
        best, _ = worst_class(self.cost, self.scale, z, y)
        return best

    def slopes(self, z, y, out):
        clear(out)
        best, j = worst_class(self.cost, self.scale, z, y)
        if best > 0.0:
            out[j] = self.scale[y, j]
            out[y] = -out[j]

    def conjugate(self, u, y):
        used, earned, size = totals(self.cost, self.scale, u, y)
        return -earned if used <= 1.0 + SLACK and is_transfer(u, y, size) else math.inf

    def into_domain(self, u, y):
        used, _, _ = totals(self.cost, self.scale, u, y)
        scale_transfer(u, y, 1.0 / max(1.0, used))

    def dual_prox(self, t, g, y, out):
        c = np.empty(t.size)
        if self.beta == 0.0:
            for j in range(t.size):  # `simplex_step` has costs of 1, so the scores of the other classes are shifted
                c[j] = t[j] + (self.cost[y, j] - 1.0) if j != y else t[j]
            simplex_step(c, g, y, 1.0, out)
            return
        weight = np.empty(t.size)
        for j in range(t.size):
            weight[j] = 1.0 / self.scale[y, j]
            c[j] = self.cost[y, j] * weight[j] + (t[j] - t[y])
        cost_step(c, weight, g, y, out)

    def vertex_margins(self, z, y, margins, sizes):
        for j in range(z.size):
            sizes[j] = self.scale[y, j]
            margins[j] = self.scale[y, j] * (z[j] - z[y]) + self.cost[y, j]

    def largest_slope(self) -> float:
        off = ~np.eye(len(self.scale), dtype=bool)
        return math.sqrt(2.0) * float(np.max(self.scale[off]))

    def smoothness(self):
        return None


@helper
def worst_class(cost, scale, z, y):
    """(the largest scaled margin or 0, its class or y)."""
    best, worst = 0.0, y
    for j in range(z.size):
        margin = scale[y, j] * (z[j] - z[y]) + cost[y, j]
        if margin > best and j != y:
            best, worst = margin, j
    return best, worst


@helper
def totals(cost, scale, u, y):
    """(sum of u_j/D_j^beta, sum of D_j^(1 - beta) u_j, largest D_j^beta), j != y."""
    used, earned, size = 0.0, 0.0, 0.0
    for j in range(u.size):
        if j != y:
            share = max(u[j], 0.0) / scale[y, j]
            used += share
            earned += share * cost[y, j]
            size = max(size, scale[y, j])
    return used, earned, size


def _checked(cost: ArrayLike) -> np.ndarray:
    costs = frozen("cost", cost, 2)
    m = len(costs)
    if costs.shape != (m, m) or m < 2:
        raise InputError(f"cost must be a square matrix, classes x classes, at least 2 x 2, got shape {costs.shape}")
    if costs.min() < 0.0:
        i, j = np.argwhere(costs < 0.0)[0]
        raise InputError(f"cost must not be negative, but cost[{i}, {j}] = {costs[i, j]}")
    if np.diagonal(costs).any():
        i = int(np.argmax(np.diagonal(costs) != 0.0))
        raise InputError(
            f"cost must be 0 on the diagonal (the right answer is free), but cost[{i}, {i}] = {costs[i, i]}"
        )
    return costs
