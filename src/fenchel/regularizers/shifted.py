"""A regularizer with its centre at given coefficients."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from fenchel.errors import InputError
from fenchel.regularizers.base import Regularizer, available_if, require_convex
from fenchel.regularizers.feature_weights import checked_vector, fit_vector
from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.regularizers.l2 import L2
from fenchel.regularizers.metric import Metric
from fenchel.regularizers.numerics import Vector, quiet, vector

LONG = 1e8  # a step, relative to 1 / alpha
FAR = 1e6  # where a regularizer without bounds is finite


def _if_has(method: str) -> available_if:
    return available_if(lambda self: hasattr(self.regularizer, method))


@dataclass(frozen=True, eq=False, repr=False)
class Shifted(Regularizer):
    """R(w) = R0(w - c),   R*(v) = R0*(v) + v'c,   with R0 = regularizer and c = center, one number per feature.

    Shrinks coefficients towards c instead of 0: those of an earlier model, or of a theory.

    >>> from fenchel.regularizers import L2
    >>> reg = Shifted(L2(2.0), center=[1.0, 0.0])
    >>> reg.value([1.0, 3.0]), reg.conjugate([2.0, 2.0]), reg.primal_from_dual([2.0, 2.0])
    (9.0, 4.0, array([2., 1.]))
    """

    tex = r"R_0(w - c)"
    tex_where = "R₀ the inner regularizer, c its centre"
    alpha: float = field(init=False)
    regularizer: Any
    center: Any

    formula: ClassVar[str] = "regularizer(w - center)"

    @classmethod
    def example(cls, dim: int) -> Self:
        """One that fits `dim` features."""
        return cls(L2(0.1), np.ones(dim))

    def __post_init__(self) -> None:
        if not isinstance(self.regularizer, Regularizer):
            raise InputError(f"regularizer must be a Regularizer such as L2(alpha), got {self.regularizer!r}.")
        inner = self.regularizer
        require_convex(inner, "Shifted")
        self._set(alpha=inner.alpha, center=checked_vector("center", self.center))
        self._set(
            smooth=inner.smooth, strongly_convex=inner.strongly_convex, separable=inner.separable, sorts=inner.sorts
        )

    def scaled(self, alpha: float) -> Self:
        """The inner regularizer with another alpha, around the same centre."""
        return replace(self, regularizer=self.regularizer.scaled(alpha))

    def standardized(self, deviations: ArrayLike) -> Self:
        """R0 of w - c times the deviations: the centre is that of the coefficients as they are."""
        return replace(self, regularizer=self.regularizer.standardized(deviations))

    def for_outputs(self, features: int, outputs: int) -> Regularizer:
        """The same centre for every score."""
        return Shifted(self.regularizer.for_outputs(features, outputs), np.repeat(self.center, outputs))

    def validate(self, dim: int) -> None:
        """Raise InputError when the centre or the inner regularizer does not fit `dim` features."""
        self.regularizer.validate(dim)
        fit_vector("center", self.center, dim)
        if not all(np.isfinite(self.regularizer.value(np.full(dim, far))) for far in (FAR, -FAR)):
            raise InputError(
                f"{self.regularizer!r} is infinite somewhere: Shifted takes regularizers that are finite everywhere; move the "
                "bounds instead, as in Bounded(L2(alpha), lower=..., upper=...)."
            )

    def unpenalised(self, dim: int) -> sp.csc_array | None:
        """Those of the inner regularizer."""
        return self.regularizer.unpenalised(dim)

    def metric(self, dim: int) -> Metric | None:
        """That of the inner regularizer: a shift changes no curvature."""
        return self.regularizer.metric(dim)

    def start(self, dim: int) -> Vector:
        """That of the inner regularizer, moved to the centre."""
        return self.regularizer.start(dim) + self.center

    @quiet
    def value(self, w: ArrayLike) -> float:
        """R0(w - c)."""
        return self.regularizer.value(vector(w) - self.center)

    @quiet
    def conjugate(self, v: ArrayLike) -> float:
        """R0*(v) + v'c."""
        v = vector(v)
        total = float(self.regularizer.conjugate(v)) + float(v @ self.center)
        return total if total == total else np.inf

    def perturbed(self, v: Vector, error: float) -> tuple[Vector, ...]:
        """Those of the inner regularizer, and v moved along the slopes of R*: c and, by a long proximal step, those of R0*."""
        slopes, step = self.center, LONG / self.alpha
        if hasattr(self.regularizer, "prox"):
            slopes = slopes + np.nan_to_num(self.regularizer.prox(step * v, step))
        return (v + np.copysign(error, slopes), *self.regularizer.perturbed(v, error))

    def dual_scale(self, v: ArrayLike) -> float:
        """That of the inner regularizer: v'c is finite."""
        return self.regularizer.dual_scale(v)

    @_if_has("primal_from_dual")
    @quiet
    def primal_from_dual(self, v: ArrayLike) -> Vector:
        """grad R0*(v) + c."""
        return self.regularizer.primal_from_dual(v) + self.center

    @_if_has("gradient")
    @quiet
    def gradient(self, w: ArrayLike) -> Vector:
        """grad R0(w - c)."""
        return self.regularizer.gradient(vector(w) - self.center)

    @_if_has("prox")
    @quiet
    def prox(self, w: ArrayLike, step: Any) -> Vector:
        """c + prox of R0 at w - c."""
        return self.regularizer.prox(vector(w) - self.center, step) + self.center

    @_if_has("prox_jacobian")
    @quiet
    def prox_jacobian(self, w: ArrayLike, step: Any) -> ProxJacobian:
        """That of R0 at w - c."""
        return self.regularizer.prox_jacobian(vector(w) - self.center, step)

    @_if_has("conjugate_hessian")
    def conjugate_hessian(self, v: ArrayLike, A: Vector) -> Vector:
        """That of R0*: v'c is linear."""
        return self.regularizer.conjugate_hessian(v, A)
