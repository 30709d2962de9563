"""alpha (sum_j |w_j+1 - w_j| + l1 |w|_1): the fused lasso on a chain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from fenchel.errors import InputError
from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.chain_kernels import chain_levels, worst_range
from fenchel.regularizers.jacobian import ProxJacobian, with_clusters
from fenchel.regularizers.numerics import Vector, number, product, quiet, round_into, soft_threshold, unit, vector

MAX_STEPS = 100
ROUNDING = 16.0 * 2.0**-52  # relative, up to which the sum of all v_j counts as 0


@dataclass(frozen=True, eq=False, repr=False)
class TotalVariation(Regularizer):
    """R(w) = alpha (sum_j |w_j+1 - w_j| + l1 sum_j |w_j|),  R*(v) = 0 if all sums of neighbours are within bounds, else inf.

    |v_i + ... + v_k| <= alpha (e + l1 (k - i + 1)) for all ranges i..k, where e = 0, 1 or 2 is the number of their ends that
    are not ends of the whole chain; with l1 = 0 the sum of all v_j must be 0, up to rounding. For features in an order
    (times, wavelengths, levels of a factor): coefficients become constant over ranges of neighbours, and 0.

    >>> reg = TotalVariation(0.5, l1=1.0)
    >>> reg.value([1.0, 3.0, 3.0]), reg.conjugate([1.0, -1.0, 0.5]), reg.dual_scale([2.0, 0.0, 0.0])
    (4.5, 0.0, 0.5)
    >>> reg.prox([1.0, 6.0, 4.0], 1.0), TotalVariation(0.5).conjugate([0.5, -1.0, 0.5])
    (array([1. , 4.5, 4. ]), 0.0)
    """

    tex = r"\alpha (\sum_j \lvert w_{j+1} - w_j \rvert + c \lVert w \rVert_1)"
    tex_where = "c the weight of the L1 norm"
    l1: float = 0.0

    formula: ClassVar[str] = "alpha (sum_j |w_{j+1} - w_j| + l1 sum_j |w_j|)"
    degree = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        l1 = number("l1", self.l1)
        if l1 < 0.0:
            raise InputError(f"l1 must be >= 0, got {self.l1!r}.")
        self._set(l1=l1)

    def for_outputs(self, features: int, outputs: int) -> Regularizer:
        """Refused: the variables of several scores are not one chain."""
        raise InputError("TotalVariation is for problems of one score per row; use MultiTask or L1 for several.")

    @quiet
    def value(self, w: ArrayLike) -> float:
        """alpha (sum_j |w_j+1 - w_j| + l1 |w|_1)."""
        w = vector(w)
        return product(self.alpha, float(np.sum(np.abs(np.diff(w)))) + self.l1 * float(np.sum(np.abs(w))))

    def unpenalised(self, dim: int) -> sp.csc_array | None:
        """The level of all coefficients together, if l1 = 0."""
        return None if self.l1 > 0.0 else sp.csc_array(np.ones((dim, 1)))

    def _has_level(self, v: Vector) -> bool:
        """Whether the sum of all v_j is not 0, which it must be if l1 = 0."""
        return self.l1 == 0.0 and abs(math.fsum(v)) > ROUNDING * float(np.sum(np.abs(v)))

    @quiet
    def conjugate(self, v: ArrayLike) -> float:
        """0 if the sums over all ranges of features are within their bounds, else inf."""
        scaled, size = unit(vector(v))
        if self._has_level(scaled):
            return math.inf
        return (
            0.0
            if size == 0.0 or worst_range(scaled, self.alpha / size, self.alpha / size * self.l1)[0] <= 0.0
            else math.inf
        )

    def perturbed(self, v: Vector, error: float) -> tuple[Vector, ...]:
        """All entries up, or all down; and, as a level is no change if l1 = 0, sums moved by as much as they can be."""
        return v + error, v - error, v * (1.0 + product(error, float(v.size), over=(self.alpha,)))

    def dual_scale(self, v: ArrayLike) -> float:
        """The smallest ratio of bound and sum over all ranges, by Dinkelbach's method, rounded down until floats are inside."""
        scaled, size = unit(vector(v))
        if self.conjugate(v) == 0.0:
            return 1.0
        if self._has_level(scaled):
            return 0.0
        scale = 1.0
        for _ in range(MAX_STEPS):
            excess, total, bound = worst_range(scale * scaled, self.alpha / size, self.alpha / size * self.l1)
            if excess <= 0.0 or not scale * bound / total < scale:
                break
            scale *= bound / total
        return round_into(scale, lambda c: self.conjugate(c * np.asarray(v)) == 0.0)

    @quiet
    def _levels(self, w: Vector, step: float) -> Vector:
        """The prox of the total variation alone: the mean of everything if that is best, else level by level."""
        y, size = unit(w)
        strength = step * self.alpha / size if size > 0.0 else np.inf
        mean = float(np.mean(y))
        if y.size == 1 or np.max(np.abs(np.cumsum(y - mean))) <= strength:
            return np.full(y.size, mean * size)
        x = np.empty(y.size)
        chain_levels(y, strength, x)
        numbers = np.concatenate([[0], np.cumsum(np.diff(x) != 0.0)])
        counts = np.bincount(numbers)
        # The means of the ranges follow from the signs of the jumps between them, with no more rounding than a sum has.
        jumps = strength * np.sign(np.diff(x[np.cumsum(counts) - 1]))
        sums = np.bincount(numbers, y) + np.append(jumps, 0.0) - np.append(0.0, jumps)
        return (sums / counts)[numbers] * size

    @quiet
    def prox(self, w: ArrayLike, step: float) -> Vector:
        """The soft threshold, at step alpha l1, of the prox of the total variation alone."""
        return soft_threshold(self._levels(vector(w), step), step * (self.alpha * self.l1))

    @quiet
    def prox_jacobian(self, w: ArrayLike, step: float) -> ProxJacobian:
        """1 1' / count for every range of features whose prox has one value that is not 0."""
        levels = self._levels(vector(w), step)
        numbers = np.concatenate([[0], np.cumsum(np.diff(levels) != 0.0)])
        counts = np.bincount(numbers)
        threshold = step * (self.alpha * self.l1)
        active = (np.abs(levels) > threshold) | (threshold == 0.0)
        kept = np.zeros(counts.size, dtype=bool)
        kept[numbers[active]] = True
        labels = np.where(kept, np.cumsum(kept) - 1, -1)[numbers]
        return with_clusters(np.zeros(levels.size), labels, np.ones(levels.size), 1.0 / counts[kept])
