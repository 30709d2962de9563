"""alpha times the sum of the singular values of W."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.multi_task import checked_outputs, fit_outputs
from fenchel.regularizers.numerics import Vector, largest, product, quiet, round_into, unit, vector


@dataclass(frozen=True, eq=False, repr=False)
class NuclearNorm(Regularizer):
    """R(W) = alpha sum_k sigma_k(W),   R*(V) = 0 if sigma_1(V) <= alpha, else inf.

    sigma_1 >= sigma_2 >= ... are the singular values. For problems of several scores (classes or targets): the scores become
    combinations of few. outputs, the number of scores, is set by the problem; W has a row per feature, and the variables are
    W row by row.

    >>> reg = NuclearNorm(0.5, outputs=2)
    >>> reg.value([3.0, 0.0, 0.0, 4.0]), reg.dual_scale([2.0, 0.0, 0.0, 1.0]), reg.prox([3.0, 0.0, 0.0, 1.0], 4.0)
    (3.5, 0.25, array([1., 0., 0., 0.]))
    """

    tex = r"\alpha \sum_k \sigma_k(W)"
    tex_where = "σ_k(W) the singular values of W"
    outputs: int = 1

    formula: ClassVar[str] = "alpha sum_k sigma_k(W), the singular values of W"
    degree = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(outputs=checked_outputs(self.outputs))

    def for_outputs(self, features: int, outputs: int) -> Regularizer:
        """The penalty of features * outputs variables."""
        return replace(self, outputs=outputs)

    def validate(self, dim: int) -> None:
        """Raise InputError when `dim` variables are no matrix with a column per score."""
        super().validate(dim)
        fit_outputs(dim, self.outputs)

    def _sizes(self, x: Vector) -> tuple[Vector, float]:
        """(singular values of x / scale, scale)."""
        shape, scale = unit(x)
        return vector(np.linalg.svd(shape.reshape(-1, self.outputs), compute_uv=False)), scale

    @quiet
    def value(self, w: ArrayLike) -> float:
        """alpha sum_k sigma_k(W)."""
        sizes, scale = self._sizes(vector(w))
        return product(self.alpha, scale, float(np.sum(sizes)))

    def perturbed(self, v: Vector, error: float) -> tuple[Vector, ...]:
        """The largest singular value raised by the norm of such an error."""
        left, _, right = np.linalg.svd(v.reshape(-1, self.outputs), full_matrices=False)
        return (v + error * math.sqrt(v.size) * np.outer(left[:, 0], right[0]).ravel(),)

    @quiet
    def conjugate(self, v: ArrayLike) -> float:
        """0 if sigma_1(V) <= alpha, else inf."""
        sizes, scale = self._sizes(vector(v))
        return 0.0 if product(scale, largest(sizes)) <= self.alpha else math.inf

    @quiet
    def dual_scale(self, v: ArrayLike) -> float:
        """min(1, alpha / sigma_1(V)), rounded down until the scaled floats are inside."""
        v = vector(v)
        sizes, scale = self._sizes(v)
        top = product(scale, largest(sizes))
        if top <= self.alpha:
            return 1.0
        return round_into(self.alpha / top, lambda c: self.conjugate(c * v) == 0.0)

    @quiet
    def prox(self, w: ArrayLike, step: float) -> Vector:
        """The soft threshold of the singular values."""
        shape, scale = unit(vector(w))
        if scale == 0.0:
            return shape.copy()
        left, sizes, right = np.linalg.svd(shape.reshape(-1, self.outputs), full_matrices=False)
        kept = np.maximum(sizes - step * self.alpha / scale, 0.0)
        return ((left * kept) @ right).ravel() * scale
