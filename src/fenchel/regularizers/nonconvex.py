"""Penalties that are not convex: sums over features of a function r(|w_j|) that is quadratic in pieces.

Weak duality needs no convexity of R: P(w) >= -L*(u) - R*(v) for every w and every feasible dual point u, and R*(v) is a
maximum over few candidates per coefficient. So each dual point bounds the *global* optimum. The best bound is the optimum of
the problem with the convex envelope R** in place of R (`envelope.py`), which has the same conjugate; it is below the global
optimum in general, so the gap need not close.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from fenchel.errors import InputError
from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.feature_weights import checked_vector, fit_vector
from fenchel.regularizers.numerics import Vector, number, quiet, vector

EPS = float(np.finfo(np.float64).eps)
MOST_FREE = 1000  # features up to which dual points are balanced for all of them, by dense Newton steps
SAFETY = 8.0  # roundings by which a term of the conjugate is rounded up


class Pieces(NamedTuple):
    """r(t) = constant + slope t + curvature t^2 / 2 for t >= start, up to the start of the next piece; r(0) = 0."""

    start: Vector
    constant: Vector
    slope: Vector
    curvature: Vector

    @property
    def stop(self) -> Vector:
        """The end of each piece."""
        return np.append(self.start[1:], np.inf)


class Derivative(NamedTuple):
    """A continuous derivative that is linear between (at_k, value_k), and rises with the slope `last` after them."""

    at: Vector
    value: Vector
    last: float


class Proven(NamedTuple):
    """By how much the dual value rises if w_j = 0 is excluded, and if the sign of v_j is, per coefficient."""

    without_zero: Vector
    without_sign: Vector


class Nonconvex(Regularizer):
    """The base of L0, MCP and SCAD: R(w) = sum_j r(s_j |w_j|), s = scales; a subclass defines `pieces` and `hull`."""

    ridge: float
    scales: Any

    omitted_if_none: ClassVar[tuple[str, ...]] = ("scales",)
    convex: ClassVar[bool] = False
    separable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        ridge = number("ridge", self.ridge)
        if ridge < 0.0:
            raise InputError(f"ridge must be >= 0, got {self.ridge!r}.")
        scales = None if self.scales is None else checked_vector("scales", self.scales)
        if scales is not None and np.any(scales <= 0.0):
            at = int(np.argmax(scales <= 0.0))
            raise InputError(f"scales must be > 0; scales[{at}] is {scales[at]}.")
        self._set(ridge=ridge, scales=scales)

    def pieces(self) -> Pieces:
        """r, with the ridge."""
        raise NotImplementedError("abstract: a penalty defines its pieces")

    def hull(self) -> Derivative:
        """The derivative of the largest convex function below r, for ridge > 0."""
        raise NotImplementedError("abstract: a penalty defines the derivative of its convex envelope")

    @classmethod
    def example(cls, dim: int) -> Self:
        """One with a ridge, so that bounds are not trivial."""
        return cls(0.1, ridge=0.1)  # type: ignore[call-arg]

    def validate(self, dim: int) -> None:
        """Raise InputError when there is not one scale per feature."""
        super().validate(dim)
        fit_vector("scales", self.scales, dim)

    def standardized(self, deviations: ArrayLike) -> Self:
        """scales s_j times the deviations."""
        s = checked_vector("deviations", deviations)
        return self._with_scales(s if self.scales is None else self.scales * s)

    def for_outputs(self, features: int, outputs: int) -> Regularizer:
        """The same function of every entry."""
        if self.scales is None:
            return self
        return self._with_scales(np.repeat(self.scales, outputs))

    def _with_scales(self, scales: Vector) -> Self:
        changed: Any = {"scales": scales}
        return replace(self, **changed)

    def unpenalised(self, dim: int) -> sp.csc_array | None:
        """Every axis if ridge = 0: r is then bounded, so that R*(v) is inf unless v = 0. None of too many features, for which
        only the dual point 0 is left."""
        return None if self.ridge > 0.0 or dim > MOST_FREE else sp.csc_array(sp.eye_array(dim))

    def dual_scale(self, v: ArrayLike) -> float:
        """1; without a ridge 0, unless v = 0."""
        return 1.0 if self.ridge > 0.0 or not np.any(vector(v)) else 0.0

    def _scaled_by(self, x: Vector) -> Vector:
        return x if self.scales is None else self.scales * x

    @quiet
    def value(self, w: ArrayLike) -> float:
        """sum_j r(s_j |w_j|)."""
        t = np.abs(self._scaled_by(vector(w)))
        pieces = self.pieces()
        k = np.searchsorted(pieces.start, t, side="right") - 1
        values = pieces.constant[k] + (pieces.slope[k] + 0.5 * pieces.curvature[k] * t) * t
        return float(np.sum(np.where(t == 0.0, 0.0, values)))

    @quiet
    def conjugate(self, v: ArrayLike) -> float:
        """sum_j max over t >= 0 of |v_j| t / s_j - r(t), each term rounded up."""
        return float(np.sum(np.maximum(self._heights(vector(v)), 0.0)))

    def _heights(self, v: Vector) -> Vector:
        """sup over t > 0 of |v_j| t / s_j - r(t), rounded up: the best one of the maxima of the pieces."""
        size = np.abs(v) if self.scales is None else np.abs(v) / self.scales
        best = np.full(size.shape, -np.inf)
        if self.ridge == 0.0:
            best[size != 0.0] = np.inf
            size = np.zeros(size.shape)
        pieces = self.pieces()
        for start, stop, constant, slope, curvature in zip(
            pieces.start, pieces.stop, pieces.constant, pieces.slope, pieces.curvature, strict=True
        ):
            # Where a piece is not strictly concave after the subtraction, the neighbours' ends are its maxima.
            at = np.clip((size - slope) / curvature, start, stop) if curvature > 0.0 else np.full(size.shape, start)
            terms = (size * at, -constant, -slope * at, -0.5 * curvature * at * at)
            height = sum(terms) + SAFETY * EPS * sum(map(np.abs, terms))
            best = np.fmax(best, np.where(np.isnan(height), np.inf, height))
        return best

    @quiet
    def proven(self, v: Vector, error: float) -> Proven:
        """The rises at v, which may be off by `error`: no global optimum has a w_j for which it is more than the gap."""
        return Proven(
            -self._heights(np.abs(v) + error), np.maximum(self._heights(np.maximum(np.abs(v) - error, 0.0)), 0.0)
        )

    @quiet
    def prox(self, w: ArrayLike, step: Any) -> Vector:
        """A minimiser of step R(x) + |x - w|^2 / 2: the best one of those of the pieces and 0."""
        w = vector(w)
        x, scales = np.abs(self._scaled_by(w)), 1.0 if self.scales is None else self.scales
        h = np.broadcast_to(step * scales * scales, x.shape)
        best, at = 0.5 * x * x, np.zeros(x.shape)
        pieces = self.pieces()
        for start, stop, constant, slope, curvature in zip(
            pieces.start, pieces.stop, pieces.constant, pieces.slope, pieces.curvature, strict=True
        ):
            q = 1.0 + h * curvature
            t = np.where(q > 0.0, np.clip((x - h * slope) / q, start, stop), start)
            height = h * (constant + slope * t + 0.5 * curvature * t * t) + 0.5 * (t - x) ** 2
            better = (t > 0.0) & (height < best)
            best, at = np.where(better, height, best), np.where(better, t, at)
        return np.copysign(at / scales, w)


def greater(name: str, value: object, least: float) -> float:
    """A finite number greater than `least`, or an InputError that names the argument."""
    found = number(name, value)
    if not found > least or not math.isfinite(found):
        raise InputError(f"{name} must be > {least:g}, got {value!r}.")
    return found
