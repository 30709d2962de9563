"""Defaults for methods of regularizers: the conjugate from `prox` or `primal_from_dual`, the largest feasible multiple of a
dual point, a gradient of the conjugate by differences; and a search for points which show that a conjugate is too small.

R*(v) = sup_w v'w - R(w). Any w bounds it from below, so one w with v'w - R(w) > R*(v) proves that a conjugate is wrong. From
above it is known at w with v in the subdifferential of R there: with w = prox(x, t), (x - w) / t is such a v.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.errors import InputError
from fenchel.regularizers.numerics import Vector

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.regularizers.base import Regularizer

MOST_STEPS = 32  # of the proximal point method
LONGEST = 1e20
CLOSE = 1e-14  # relative difference from v that is allowed for the subgradient that was found
HALVINGS = 60
STEP, SHORT = 1e-5, 1e-7  # of differences of conjugates and of values, relative to the numbers
MOST_AXES = 40  # along which values are compared
REACHES = 2.0 ** np.arange(-24, 13, 3)
ROUNDS = 3
SLACK = 1e-9  # relative tolerance by which a conjugate may lie below v'w - R(w)


def conjugate(reg: Any, v: ArrayLike) -> float:
    """R*(v) = v'w - R(w) at w = primal_from_dual(v), or at the limit w of w <- prox(w + t v, t) with growing t.

    A step ends at a point with the subgradient v + (w_old - w_new) / t, which tends to v if the supremum is attained. It is inf
    if it does not: then v'w - R(w) grows without bound, or no point attains the supremum.
    """
    v = np.asarray(v, dtype=np.float64)
    if hasattr(reg, "primal_from_dual"):
        return _attained(reg, v, np.asarray(reg.primal_from_dual(v), dtype=np.float64))
    if not hasattr(reg, "prox"):
        name = type(reg).__name__
        raise InputError(
            f"{name} needs `conjugate(v)`, sup over w of v'w - value(w), or `prox(w, step)`, from which it is derived: without "
            "either no lower bound of an optimum is known"
        )
    w, t, enough = np.asarray(reg.start(v.size), dtype=np.float64), 1.0 / reg.alpha, CLOSE * float(np.max(np.abs(v)))
    for _ in range(MOST_STEPS):
        new = np.asarray(reg.prox(w + t * v, t), dtype=np.float64)
        left = float(np.max(np.abs(w - new))) / t
        w = new
        if not np.isfinite(w).all():
            return math.inf
        if left <= max(enough, CLOSE * CLOSE * reg.alpha):
            return _attained(reg, v, w)
        t = min(10.0 * t, LONGEST / reg.alpha)
    return math.inf


def _attained(reg: Regularizer, v: Vector, w: Vector) -> float:
    value = float(v @ w) - float(reg.value(w)) if np.isfinite(w).all() else math.inf
    return value if math.isfinite(value) else math.inf


def dual_scale(reg: Any, v: ArrayLike) -> float:
    """The largest c in [0, 1] with R*(c v) < inf, by bisection."""
    v = np.asarray(v, dtype=np.float64)
    if math.isfinite(reg.conjugate(v)):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if math.isfinite(reg.conjugate(middle * v)) else (low, middle)
    return low


def conjugate_gradient(reg: Regularizer, v: Vector) -> Vector:
    """The gradient of R* at v, by central differences."""
    h = STEP * (np.abs(v) + float(np.max(np.abs(v))) + STEP * reg.alpha)
    return _differences(reg.conjugate, v, h)


def subgradient(reg: Regularizer, w: Vector) -> Vector:
    """Differences of values along the axes: the gradient, where it exists."""
    return _differences(reg.value, w, SHORT * (np.abs(w) + float(np.max(np.abs(w))) + SHORT))


def _differences(function: Callable[[Vector], float], x: Vector, h: Vector) -> Vector:
    """Central differences, one-sided at the ends of the domain."""
    out, at, here = np.zeros(x.size), x.copy(), function(x)
    for j in range(x.size):
        at[j] = x[j] + h[j]
        ahead, above = function(at), at[j]
        at[j] = x[j] - h[j]
        behind, below = function(at), at[j]
        at[j] = x[j]
        if not math.isfinite(ahead):
            ahead, above = here, x[j]
        if not math.isfinite(behind):
            behind, below = here, x[j]
        out[j] = (ahead - behind) / (above - below) if above > below else 0.0
    return out


def counterexample(reg: Regularizer, v: Vector, bound: float, points: Iterable[Vector] = ()) -> Vector | None:
    """A w with v'w - R(w) > bound by more than rounding, so that `bound` is not R*(v); None if none was found.

    Candidates are the given points, those that the methods of `reg` suggest (they need not be correct, because values decide),
    and from the best of them an ascent along v, the axes and differences of values.
    """
    best: Vector | None = None
    most = -math.inf
    for w in [*points, *_proposals(reg, v)]:
        height, wrong = _height(reg, v, w, bound)
        if wrong:
            return w
        if height > most:
            best, most = w, height
    for _ in range(ROUNDS):
        start = best
        if start is None:
            break
        for w in _around(reg, v, start):
            height, wrong = _height(reg, v, w, bound)
            if wrong:
                return w
            if height > most:
                best, most = w, height
        if best is start:
            break
    return None


def _height(reg: Regularizer, v: Vector, w: Vector, bound: float) -> tuple[float, bool]:
    """(v'w - R(w), whether it is above the bound by more than rounding)."""
    value = float(reg.value(w)) if w.shape == v.shape and np.isfinite(w).all() else math.inf
    product = float(v @ w)
    if not (math.isfinite(value) and math.isfinite(product)):
        return -math.inf, value == -math.inf
    size = float(np.abs(v) @ np.abs(w)) + abs(value) + abs(bound)
    return product - value, product - value > bound + SLACK * size


def _proposals(reg: Regularizer, v: Vector) -> Iterator[Vector]:
    """Points at which the supremum may be attained, from those methods that `reg` has."""
    yield np.asarray(reg.start(v.size), dtype=np.float64)
    with np.errstate(all="ignore"):
        for sign in (1.0, -1.0):
            yield from (sign * t * v for t in 10.0 ** np.arange(-3, 4))
        if hasattr(reg, "primal_from_dual"):
            yield np.asarray(reg.primal_from_dual(v), dtype=np.float64)
        if hasattr(reg, "prox"):
            w = np.asarray(reg.start(v.size), dtype=np.float64)
            for t in 10.0 ** np.arange(0, 12, 2) / reg.alpha:
                w = np.asarray(reg.prox(w + t * v, t), dtype=np.float64)
                yield w
        if v.size <= MOST_AXES:
            w = conjugate_gradient(reg, v)
            yield from (w, 0.5 * w, 2.0 * w)


def _around(reg: Regularizer, v: Vector, w: Vector) -> Iterator[Vector]:
    """Points at many distances from w: along differences of v'w - R(w), along v, -w and the axes."""
    size = float(np.max(np.abs(w))) or 1.0
    axes = np.argsort(-np.abs(v), kind="stable")[:MOST_AXES]
    directions = [v, -w]
    if v.size <= MOST_AXES:
        directions.insert(0, v - subgradient(reg, w))
    for direction in directions:
        length = float(np.max(np.abs(direction)))
        if length > 0.0:
            yield from (w + (size * reach / length) * direction for reach in REACHES)
    for j in axes:
        for reach in REACHES[::2]:
            for sign in (1.0, -1.0):
                new = w.copy()
                new[j] += sign * size * reach
                yield new
