"""alpha/power (|w|_q)^power."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from fenchel.errors import InputError
from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.jacobian import ProxJacobian, with_clusters
from fenchel.regularizers.metric import DiagonalMetric
from fenchel.regularizers.numerics import Vector, number, product, quiet, unit, vector
from fenchel.regularizers.q_norm_kernels import q_norm_prox

HUGE = 1e300


@dataclass(frozen=True, eq=False)
class QNorm(Regularizer):
    """R(w) = alpha/s (|w|_q)^s,   R*(v) = alpha/s' (|v|_p / alpha)^s',   1/p + 1/q = 1, 1/s + 1/s' = 1, s = power.

    grad R*(v) = sign(v) (|v| / N)^(p-1) (N / alpha)^(s'-1) with N = |v|_p; strongly convex when q <= 2 and power = 2.

    >>> reg = QNorm(2.0, q=2.0)
    >>> reg.value([3.0, 4.0]), reg.conjugate([3.0, 4.0]), reg.primal_from_dual([0.0, 4.0])
    (25.0, 6.25, array([0., 2.]))
    """

    tex = r"\frac{\alpha}{s} \lVert w \rVert_q^s"
    tex_where = "s the power"
    q: float
    power: float = 2.0

    formula: ClassVar[str] = "alpha/power (sum_j |w_j|^q)^(power/q)"

    @classmethod
    def example(cls, dim: int) -> Self:
        """One that fits `dim` features."""
        return cls(0.1, 1.5)

    def __post_init__(self) -> None:
        super().__post_init__()
        q, power = number("q", self.q), number("power", self.power)
        for name, value in (("q", q), ("power", power)):
            if not value > 1.0:
                raise InputError(f"{name} must be > 1, got {value!r}{'; for q = 1 use L1(alpha)' * (name == 'q')}.")
        self._set(q=q, power=power, strongly_convex=q <= 2.0 and power == 2.0)

    def metric(self, dim: int) -> DiagonalMetric | None:
        """sqrt(alpha (q - 1)) |w|_2 for q <= 2 and power 2: R is strongly convex in |w|_q, which is at least |w|_2."""
        return DiagonalMetric(np.full(dim, self.alpha * (self.q - 1.0))) if self.strongly_convex else None

    @property
    def degree(self) -> float:  # type: ignore[override]
        """The power."""
        return self.power

    @property
    def _p(self) -> float:
        return self.q / (self.q - 1.0)

    @property
    def _dual_power(self) -> float:
        return self.power / (self.power - 1.0)

    def value(self, w: ArrayLike) -> float:
        """alpha/power (|w|_q)^power."""
        _, scale, root = _norm(vector(w), self.q)
        return _power_of(scale, root, 1.0, self.power, self.alpha / self.power)

    def conjugate(self, v: ArrayLike) -> float:
        """alpha/s' (|v|_p / alpha)^s'."""
        _, scale, root = _norm(vector(v), self._p)
        return _power_of(scale, root, self.alpha, self._dual_power, self.alpha / self._dual_power)

    def primal_from_dual(self, v: ArrayLike) -> Vector:
        """sign(v) (|v| / N)^(p-1) (N / alpha)^(s'-1), 0 at v = 0."""
        shape, scale, root = _norm(vector(v), self._p)
        size = _power_of(scale, root, self.alpha, 1.0 / (self.power - 1.0), 1.0)
        return _transfer(shape / root, 1.0 / (self.q - 1.0), size)

    def gradient(self, w: ArrayLike) -> Vector:
        """alpha sign(w) (|w| / N)^(q-1) N^(power-1) with N = |w|_q, 0 at w = 0."""
        shape, scale, root = _norm(vector(w), self.q)
        return _transfer(shape / root, self.q - 1.0, _power_of(scale, root, 1.0, self.power - 1.0, self.alpha))

    @quiet
    def prox(self, w: ArrayLike, step: float) -> Vector:
        """sign(w) x with x_j + step alpha N^(power-q) x_j^(q-1) = |w_j| and N = |x|_q.

        At a given N the x of these equations has a norm above N below the root, and below N above it.
        """
        shape, scale = unit(vector(w))
        if scale == 0.0:
            return np.zeros(shape.size)
        size, factor = np.abs(shape), np.float64(step * self.alpha) * np.float64(scale) ** (self.power - 2.0)
        x = np.empty(shape.size)
        log_size = math.log(float(np.sum(size**self.q))) / self.q
        q_norm_prox(size, float(np.clip(factor, 0.0, HUGE)), self.q, self.power, log_size, x)
        return np.copysign(scale * x, shape)

    @quiet
    def prox_jacobian(self, w: ArrayLike, step: float) -> ProxJacobian:
        """The inverse of I + step times the Hessian of R at x = prox(w, step), which is a diagonal plus an outer product."""
        x = self.prox(w, step)
        norm = float(np.sum(np.abs(x) ** self.q)) ** (1.0 / self.q)
        if norm == 0.0:
            return ProxJacobian(np.zeros(x.size))
        unit_x = np.abs(x) / norm
        factor = step * self.alpha * norm ** (self.power - 2.0)
        diagonal = 1.0 / (1.0 + factor * (self.q - 1.0) * unit_x ** (self.q - 2.0))
        g = np.copysign(unit_x ** (self.q - 1.0), x)
        coupling = factor * (self.power - self.q)
        scale = -coupling / (1.0 + coupling * float(g @ (diagonal * g)))
        return with_clusters(diagonal, np.zeros(x.size, dtype=np.intp), diagonal * g, np.array([scale]))

    @quiet
    def conjugate_hessian(self, v: ArrayLike, A: Vector) -> Vector:
        """c ((p-1) B'DB + (s'-1) A'g g'A) with c = (N / alpha)^(s'-2) / alpha.

        u = |v| / N, D = diag(u^(p-2)), g = sign(v) u^(p-1), B = A - (v/N) g'A: both terms are positive semidefinite.
        Where the Hessian is infinite or not unique (v_j = 0 with p < 2, v = 0 with s' <= 2) a finite choice is made:
        those rows of D are 0, and at v = 0 it is A'A / alpha for s' = 2, else 0.
        """
        shape, scale, root = _norm(vector(v), self._p)
        if scale == 0.0:
            return (A.T @ A) / self.alpha if self._dual_power == 2.0 else np.zeros((A.shape[1], A.shape[1]))
        direction = shape / root
        u = np.abs(direction)
        weights = np.where((u > 0.0) | (self._p >= 2.0), np.minimum(u ** (self._p - 2.0), HUGE), 0.0)
        along = _transfer(direction, 1.0 / (self.q - 1.0), 1.0) @ A
        across = np.sqrt(weights)[:, None] * (A - np.outer(direction, along))
        inner = (across.T @ across) / (self.q - 1.0) + np.outer(along, along) / (self.power - 1.0)
        return inner * min(_power_of(scale, root, self.alpha, self._dual_power - 2.0, 1.0 / self.alpha), HUGE)


@quiet
def _norm(x: Vector, order: float) -> tuple[Vector, float, float]:
    """(x / scale, scale, root) with |x|_order = scale * root, max |x / scale| = 1; root = 1 at x = 0."""
    shape, scale = unit(x)
    root = float(np.sum(np.abs(shape) ** order)) ** (1.0 / order) if scale > 0.0 else 1.0
    return shape, scale, root


@quiet
def _power_of(scale: float, root: float, over: float, exponent: float, factor: float) -> float:
    """factor (scale root / over)^exponent; through logarithms only where the power alone leaves the floats."""
    if scale == 0.0:
        return 0.0
    base = np.float64(product(scale, root, over=(over,)))
    power = float(base**exponent)
    if 1e-300 < power < 1e300 and 1e-300 < base < 1e300:
        return product(factor, power)
    logarithm = math.log(scale) + math.log(root) - math.log(over) if scale < math.inf else math.inf
    return float(np.exp(math.log(max(factor, 5e-324)) + exponent * logarithm))


@quiet
def _transfer(direction: Vector, exponent: float, size: float) -> Vector:
    """sign(direction) |direction|^exponent size; zeros stay zero where the size overflows."""
    magnitude = np.abs(direction) ** exponent
    return np.where(magnitude > 0.0, np.copysign(magnitude * size, direction), 0.0)
