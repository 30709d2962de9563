"""The convex envelope of a penalty that is not convex, with the same conjugate: its problem gives the best dual points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.regularizers.no_penalty import NoPenalty
from fenchel.regularizers.nonconvex import Nonconvex
from fenchel.regularizers.numerics import Vector, quiet, vector


@dataclass(frozen=True, eq=False, repr=False)
class Envelope(Regularizer):
    """R**(w), the largest convex function below R, for R = inner with a ridge > 0. R** * = R*.

    For L0 it is the reverse Huber penalty: a multiple of |w_j| near 0, then quadratic.
    """

    inner: Any

    formula: ClassVar[str] = "the convex envelope of a penalty"
    separable: ClassVar[bool] = True

    @quiet
    def value(self, w: ArrayLike) -> float:
        """The integral of the derivative, which is linear in pieces, over 0 .. s_j |w_j|."""
        t, total = np.abs(self.inner._scaled_by(vector(w))), 0.0
        for start, stop, low, rise in self._spans():
            width = np.clip(t, start, stop) - start
            total += float(np.sum(width * (low + 0.5 * rise * width)))
        return total

    def conjugate(self, v: ArrayLike) -> float:
        """That of R."""
        return float(self.inner.conjugate(v))

    def _spans(self) -> list[tuple[float, float, float, float]]:
        """(start, stop, derivative at start, its slope) of each piece."""
        at, value, last = self.inner.hull()
        stops = np.append(at[1:], np.inf)
        rises = np.append(np.diff(value) / np.diff(at), last)
        return list(zip(at.tolist(), stops.tolist(), value.tolist(), rises.tolist(), strict=True))

    def _prox(self, w: ArrayLike, step: Any) -> tuple[Vector, Vector]:
        """(prox, its derivative)."""
        w = vector(w)
        scales = 1.0 if self.inner.scales is None else self.inner.scales
        x, h = np.abs(self.inner._scaled_by(w)), step * scales * scales
        t, derivative = np.zeros(x.shape), np.zeros(x.shape)
        for start, stop, low, rise in self._spans():
            q = 1.0 + h * rise
            inside = x > start + h * low
            t = np.where(inside, np.minimum(start + (x - start - h * low) / q, stop), t)
            derivative = np.where(inside, 1.0 / q, derivative)
        return np.copysign(t / scales, w), derivative

    @quiet
    def prox(self, w: ArrayLike, step: Any) -> Vector:
        """t with t + step r'(t) = |w_j|, or 0."""
        return self._prox(w, step)[0]

    @quiet
    def prox_jacobian(self, w: ArrayLike, step: Any) -> ProxJacobian:
        """1 / (1 + step r''(t)), or 0."""
        return ProxJacobian(self._prox(w, step)[1])


def envelope_of(regularizer: Nonconvex) -> Regularizer:
    """R**: no penalty at all without a ridge, because R is bounded then.

    >>> from fenchel.regularizers import L0
    >>> envelope_of(L0(2.0, ridge=1.0)).value([1.0, 3.0]), envelope_of(L0(2.0))
    (8.5, NoPenalty())
    """
    return Envelope(regularizer.alpha, regularizer) if regularizer.ridge > 0.0 else NoPenalty()
