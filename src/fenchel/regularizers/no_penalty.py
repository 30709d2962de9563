"""No penalty: R(w) = 0."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from fenchel.regularizers.constraint_set import ConstraintSet
from fenchel.regularizers.feature_weights import axes
from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.regularizers.numerics import Vector, vector


@dataclass(frozen=True, eq=False, repr=False)
class NoPenalty(ConstraintSet):
    """R(w) = 0,   R*(v) = 0 if v = 0, else inf. `Unpenalised` is another name of this class.

    Maximum likelihood, least squares, least absolute deviations, quantile regression as they are. The optimum need not be
    unique, nor attained: rows that are separated by their labels end a logistic regression with `NoMinimumError`. `weights` of
    L1, L2 and ElasticNet leave single features unpenalised.

    >>> reg = NoPenalty()
    >>> reg.value([3.0, 4.0]), reg.conjugate([0.0, 0.0]), reg.conjugate([0.0, 1e-9]), reg.prox([3.0, 4.0], 1.0)
    (0.0, 0.0, inf, array([3., 4.]))
    """

    tex = "0"

    formula: ClassVar[str] = "0"
    smooth: ClassVar[bool] = True
    separable: ClassVar[bool] = True

    def standardized(self, deviations: ArrayLike) -> NoPenalty:
        """The same."""
        return self

    def unpenalised(self, dim: int) -> sp.csc_array | None:
        """All axes."""
        return axes(np.arange(dim), dim)

    def value(self, w: ArrayLike) -> float:
        """0."""
        return 0.0

    def conjugate(self, v: ArrayLike) -> float:
        """0 if v = 0, else inf."""
        return 0.0 if not np.any(vector(v)) else math.inf

    def dual_scale(self, v: ArrayLike) -> float:
        """1 if v = 0, else 0."""
        return 1.0 if not np.any(vector(v)) else 0.0

    def gradient(self, w: ArrayLike) -> Vector:
        """0."""
        return np.zeros(np.size(w))

    def prox(self, w: ArrayLike, step: float | Vector) -> Vector:
        """w."""
        return vector(w).copy()

    def prox_jacobian(self, w: ArrayLike, step: float | Vector) -> ProxJacobian:
        """The identity."""
        return ProxJacobian(np.ones(np.size(w)))
