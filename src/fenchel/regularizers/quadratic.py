"""alpha/2 w'Kw."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from fenchel.errors import InputError
from fenchel.regularizers.base import Regularizer, available_if
from fenchel.regularizers.feature_weights import checked_vector
from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.regularizers.metric import DiagonalMetric, MatrixMetric, Metric
from fenchel.regularizers.numerics import Vector, positive, product, quiet, rescale, symmetric, unit, vector
from fenchel.regularizers.positive_definite import Dense, Diagonal, Sparse, checked_matrix, form


@dataclass(frozen=True, eq=False)
class Quadratic(Regularizer):
    """R(w) = alpha/2 w'Kw,   R*(v) = v'K^-1 v / (2 alpha),   grad R*(v) = K^-1 v / alpha.

    K is symmetric positive definite: a 1-D array (its diagonal), a square array or a scipy.sparse matrix. A read-only
    copy is kept and factorised once.

    >>> reg = Quadratic(2.0, [1.0, 4.0])
    >>> reg.value([1.0, 1.0]), reg.conjugate([2.0, 4.0]), reg.primal_from_dual([2.0, 4.0])
    (5.0, 2.0, array([1. , 0.5]))
    """

    tex = r"\frac{\alpha}{2} w' K w"
    K: Any

    formula: ClassVar[str] = "alpha/2 sum_ij K_ij w_i w_j"
    degree = 2.0
    smooth: ClassVar[bool] = True
    strongly_convex: ClassVar[bool] = True

    @classmethod
    def example(cls, dim: int) -> Self:
        """One that fits `dim` features."""
        return cls(0.1, np.ones(dim))

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(K=checked_matrix(self.K))
        _ = self._form  # factorised here: a K that is not positive definite must not get further

    @cached_property
    def _form(self) -> Diagonal | Dense | Sparse:
        return form(self.K)

    def validate(self, dim: int) -> None:
        """Raise InputError when K is not dim x dim."""
        super().validate(dim)
        if self.K.shape[0] != dim:
            raise InputError(f"K is for {self.K.shape[0]} features but there are {dim}; give one row per feature.")

    def metric(self, dim: int) -> Metric:
        """sqrt(alpha w'Kw)."""
        if np.ndim(self.K) == 1:
            return DiagonalMetric(self.alpha * self.K)
        return MatrixMetric(self.alpha, self.K, self._form.solve)

    def scaled(self, alpha: float) -> Self:
        """The same K with another alpha; the factorisations are shared."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, alpha=positive("alpha", alpha))
        return other

    def standardized(self, deviations: ArrayLike) -> Quadratic:
        """K_ij s_i s_j."""
        s = checked_vector("deviations", deviations)
        if sp.issparse(self.K):
            K = self.K.tocoo()
            return Quadratic(self.alpha, sp.csc_array((K.data * (s[K.row] * s[K.col]), (K.row, K.col)), shape=K.shape))
        return Quadratic(self.alpha, self.K * s * s if self.K.ndim == 1 else self.K * np.outer(s, s))

    @quiet
    def value(self, w: ArrayLike) -> float:
        """alpha/2 w'Kw."""
        shape, scale = unit(vector(w))
        return product(0.5, self.alpha, scale, scale, max(float(shape @ self._form.apply(shape)), 0.0))

    @quiet
    def conjugate(self, v: ArrayLike) -> float:
        """v'K^-1 v / (2 alpha)."""
        shape, scale = unit(vector(v))
        return product(0.5, scale, scale, max(float(shape @ self._form.solve(shape)), 0.0), over=(self.alpha,))

    @quiet
    def primal_from_dual(self, v: ArrayLike) -> Vector:
        """K^-1 v / alpha."""
        shape, scale = unit(vector(v))
        return rescale(self._form.solve(shape), scale, over=(self.alpha,))

    @quiet
    def gradient(self, w: ArrayLike) -> Vector:
        """alpha K w."""
        shape, scale = unit(vector(w))
        return rescale(self._form.apply(shape), scale, self.alpha)

    def hessian(self, dim: int) -> Vector:
        """alpha K, dense."""
        if np.ndim(self.K) == 1:
            return self.alpha * np.diag(self.K)
        return self.alpha * (self.K.toarray() if hasattr(self.K, "toarray") else self.K)

    @quiet
    def prox(self, w: ArrayLike, step: float) -> Vector:
        """(I + step alpha K)^-1 w."""
        shape, scale = unit(vector(w))
        return rescale(self._form.shifted_solve(shape, step * self.alpha), scale)

    @available_if(lambda self: np.ndim(self.K) == 1)
    @quiet
    def prox_jacobian(self, w: ArrayLike, step: float) -> ProxJacobian:
        """1 / (1 + step alpha K_jj) on the diagonal, for a diagonal K."""
        return ProxJacobian(np.broadcast_to(1.0 / (1.0 + step * self.alpha * self.K), np.shape(w)))

    @quiet
    def conjugate_hessian(self, v: ArrayLike, A: Vector) -> Vector:
        """A'K^-1 A / alpha."""
        A = np.asarray(A, dtype=np.float64)
        return symmetric(A.T @ self._form.solve(A)) / self.alpha
