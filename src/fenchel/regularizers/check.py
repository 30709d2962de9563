"""The defining inequalities of a regularizer, tried at random points: for the author of a new one, and for a `Problem` with one
that is not Fenchel's own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from fenchel.errors import InputError
from fenchel.regularizers import derived
from fenchel.regularizers.base import Regularizer, is_trusted
from fenchel.regularizers.feature_weights import penalised_part
from fenchel.regularizers.numerics import Vector

TOL = 1e-8  # tolerance relative to the numbers compared
ROUNDING = 1e-14  # tolerance of a sum of products, relative to their magnitudes
DIFFERENCE_TOL = 1e-4  # tolerance of central differences with a relative step of 1e-6
_SOUND: set[tuple[type, bytes, str, int]] = (
    set()
)  # custom ones, with the number of features, that have passed the checks


def check(reg: Regularizer, dim: int, rng_seed: int = 0) -> None:
    """Raise InputError with the list of defining inequalities that `reg` breaks at random points of R^dim.

    Checked: R is convex and finite at its start; R(w) + R*(v) >= v'w, with equality at w = primal_from_dual(v),
    v = gradient(w) and v = (w - prox(w)) / step; dual_scale is feasible and maximal; prox minimises; gradient and
    conjugate_hessian agree with finite differences; scaled multiplies R. If `convex` is False, only what bounds rest on:
    R(w) + R*(v) >= v'w and dual_scale. Optional methods are checked if they exist. For
    a custom regularizer the list includes what a `Problem` would refuse.

    >>> from fenchel.regularizers import L2
    >>> check(L2(0.1), dim=3)
    """
    reg.validate(dim)
    rng = np.random.default_rng(rng_seed)
    broken = list(_broken(reg, dim, rng))
    if not is_trusted(reg):  # what a `Problem` refuses
        broken += _first_broken(reg, dim, np.random.default_rng(0))
    _refuse(reg, list(dict.fromkeys(broken)))


def check_foreign(reg: Regularizer, dim: int) -> None:
    """Raise InputError if a custom regularizer violates a condition on which lower bounds rest, in R^dim.

    Called for every `Problem`; a regularizer is checked once per class, parameters and number of features. Checked: `value`
    returns numbers, the same each time, finite at `start`; R*(v) >= v'w - R(w), also where `prox`, `primal_from_dual` or an
    ascent by values find v'w - R(w) to be large; dual_scale in [0, 1] and feasible; prox, where there is no conjugate,
    minimises.

    >>> from fenchel.regularizers import L2
    >>> check_foreign(L2(0.1), dim=3)  # nothing to do
    """
    if is_trusted(reg):
        return
    key = type(reg), reg.fingerprint(), repr(sorted(vars(reg).items())), dim
    if key in _SOUND:
        return
    with np.errstate(all="ignore"):
        _refuse(reg, _first_broken(reg, dim, np.random.default_rng(0)))
    _SOUND.add(key)


def _first_broken(reg: Regularizer, dim: int, rng: np.random.Generator) -> list[str]:
    try:
        return [next(_foreign(reg, dim, rng))]
    except StopIteration:
        return []
    except InputError as error:
        return [str(error)]
    except Exception as error:
        return [f"one of its methods raised {type(error).__name__}: {error}"]


def _foreign(reg: Regularizer, dim: int, rng: np.random.Generator) -> Iterator[str]:
    points = [reg.start(dim), *rng.standard_normal((4, dim)), *np.abs(rng.standard_normal((4, dim)))]
    for w in points:
        value = reg.value(w.copy())
        if not isinstance(value, (int, float, np.number)) or math.isnan(value) or value == -math.inf:
            yield f"value must return a number or inf, got {value!r}"
        if reg.value(w.copy()) != value:
            yield "value changes from call to call"
    if not math.isfinite(reg.value(points[0])):
        yield "start(dim) must have a finite value"
    domain = [w for w in points if math.isfinite(reg.value(w))]
    if type(reg).conjugate is Regularizer.conjugate and hasattr(reg, "prox"):
        yield from (
            fault
            for point, step, x in _steps(reg, domain, rng)
            for fault in _minimised(reg, domain, point, step, x, rng)
        )
    for v in [scale * reg.alpha * rng.standard_normal(dim) for scale in (0.01, 0.3, 1.0, 3.0, 30.0)]:
        c = float(reg.dual_scale(v.copy()))
        if not 0.0 <= c <= 1.0:
            yield f"dual_scale must be in [0, 1], got {c!r}"
        v, bound = c * v, float(reg.conjugate(c * v))
        if not math.isfinite(bound):
            yield "conjugate must be a number, and dual_scale feasible: conjugate(dual_scale(v) * v) < inf"
        if reg.conjugate(v.copy()) != bound:
            yield "conjugate changes from call to call"
        if (w := derived.counterexample(reg, v, bound, domain)) is not None:
            yield (
                f"Fenchel-Young must hold: value(w) + conjugate(v) >= v'w, but they are {reg.value(w):.6g}, {bound:.6g} and "
                f"{float(v @ w):.6g} (the conjugate is too small)"
            )


def _refuse(reg: Regularizer, broken: list[str]) -> None:
    if broken:
        raise InputError(
            f"{type(reg).__name__} is not a valid regularizer:\n" + "\n".join(f"  - {line}" for line in broken)
        )


def _broken(reg: Regularizer, dim: int, rng: np.random.Generator) -> Iterator[str]:
    if not math.isfinite(reg.value(reg.start(dim))):
        yield "start(dim) must have a finite value"
    v_points = [scale * reg.alpha * rng.standard_normal(dim) for scale in (0.01, 0.3, 1.0, 3.0) for _ in range(3)]
    w_points = _domain_points(reg, dim, rng, v_points)
    yield from _dual_scale(reg, v_points)
    yield from _fenchel_young(reg, w_points, v_points)
    if not reg.convex:
        return
    yield from _convex(reg, w_points)
    yield from _scaled(reg, w_points)
    yield from _unpenalised(reg, w_points, rng)
    if hasattr(reg, "primal_from_dual"):
        yield from _primal_from_dual(reg, v_points)
    if hasattr(reg, "gradient"):
        yield from _gradient(reg, rng, dim)
    if hasattr(reg, "prox"):
        yield from _prox(reg, w_points, rng)
    if hasattr(reg, "conjugate_hessian") and hasattr(reg, "primal_from_dual"):
        yield from _hessian(reg, v_points, rng)


def _domain_points(reg: Regularizer, dim: int, rng: np.random.Generator, v_points: list[Vector]) -> list[Vector]:
    points = [reg.start(dim), *rng.standard_normal((4, dim)), *np.abs(rng.standard_normal((4, dim)))]
    if hasattr(reg, "primal_from_dual"):
        points += [reg.primal_from_dual(v) for v in v_points]
    return [w for w in points if math.isfinite(reg.value(w))]


def _far(left: float, right: float, *sizes: float) -> bool:
    """left < right by more than rounding (or not comparable at all)."""
    return not left >= right - TOL * (abs(left) + abs(right) + sum(abs(size) for size in sizes))


def _feasible(reg: Regularizer, v: Vector) -> Vector:
    return reg.dual_scale(v) * v


def _convex(reg: Regularizer, w_points: list[Vector]) -> Iterator[str]:
    for a, b in pairwise(w_points):
        for share in (0.5, 0.1):
            chord = (1 - share) * reg.value(a) + share * reg.value(b)
            if _far(chord, reg.value((1 - share) * a + share * b), reg.value(a), reg.value(b)):
                yield "value must be convex: value((1-t)a + t b) <= (1-t) value(a) + t value(b)"


def _dual_scale(reg: Regularizer, v_points: list[Vector]) -> Iterator[str]:
    for v in v_points:
        c = reg.dual_scale(v)
        if not 0.0 <= c <= 1.0:
            yield "dual_scale must be in [0, 1]"
        elif not math.isfinite(reg.conjugate(c * v)):
            yield "dual_scale must be feasible: conjugate(dual_scale(v) * v) < inf"
        elif c < 1.0 and math.isfinite(reg.conjugate(min(1.0, c * (1 + 1e-9) + 1e-300) * v)):
            yield "dual_scale must be maximal: a larger c keeps conjugate(c * v) < inf"


def _fenchel_young(reg: Regularizer, w_points: list[Vector], v_points: list[Vector]) -> Iterator[str]:
    for v in [_feasible(reg, v) for v in v_points]:
        bound = reg.conjugate(v)
        for w in w_points:
            product = float(v @ w)
            if _far(reg.value(w) + bound, product, reg.value(w), bound):
                yield "Fenchel-Young must hold: value(w) + conjugate(v) >= v'w (the conjugate is too small)"


def _slack(reg: Regularizer, w: Vector, v: Vector) -> bool:
    """Whether Fenchel-Young holds with a gap although v is a subgradient at w."""
    value, bound, product = reg.value(w), reg.conjugate(v), float(v @ w)
    rounded = (
        ROUNDING / TOL * float(np.abs(v) @ np.abs(w))
    )  # rounding of the product, if all three are 0 up to rounding
    return _far(product, value + bound, value, bound, rounded) or _far(value + bound, product, value, bound, rounded)


def _scaled(reg: Regularizer, w_points: list[Vector]) -> Iterator[str]:
    twice = reg.scaled(2.0 * reg.alpha)
    if any(
        not math.isclose(twice.value(w), 2.0 * reg.value(w), rel_tol=TOL, abs_tol=TOL * reg.alpha) for w in w_points
    ):
        yield "scaled(2 alpha) must double the value"


def _unpenalised(reg: Regularizer, w_points: list[Vector], rng: np.random.Generator) -> Iterator[str]:
    N = reg.unpenalised(w_points[0].size)
    if N is not None and any(
        not math.isclose(reg.value(w + N @ rng.standard_normal(N.shape[1])), reg.value(w), rel_tol=TOL, abs_tol=TOL)
        for w in w_points
        if math.isfinite(reg.value(w))
    ):
        yield "unpenalised must give directions along which the value does not change"


def _primal_from_dual(reg: Regularizer, v_points: list[Vector]) -> Iterator[str]:
    if any(_slack(reg, reg.primal_from_dual(v), v) for v in v_points):  # type: ignore[attr-defined]
        yield "primal_from_dual must attain the sup: value(w) + conjugate(v) = v'w at w = primal_from_dual(v)"


def _gradient(reg: Regularizer, rng: np.random.Generator, dim: int) -> Iterator[str]:
    for w in rng.standard_normal((4, dim)):
        g = reg.gradient(w)  # type: ignore[attr-defined]
        if _slack(reg, w, _feasible(reg, g)):
            yield "gradient must be a subgradient: value(w) + conjugate(v) = v'w at v = gradient(w)"
        steps = 1e-6 * np.eye(dim)
        slope = np.array([(reg.value(w + h) - reg.value(w - h)) / 2e-6 for h in steps])
        if not np.max(np.abs(slope - g)) <= DIFFERENCE_TOL * np.max(np.abs(g)):
            yield "gradient must agree with finite differences of value"


def _steps(reg: Any, w_points: list[Vector], rng: np.random.Generator) -> Iterator[tuple[Vector, float, Vector]]:
    """(w, step, prox(w, step)) for points near those given."""
    for w, step in zip(w_points, np.tile([0.1, 1.0, 10.0], len(w_points)) / reg.alpha, strict=False):
        point = w + 0.5 * rng.standard_normal(w.size)
        yield point, step, np.asarray(reg.prox(point, step), dtype=np.float64)


def _minimised(
    reg: Regularizer, w_points: list[Vector], point: Vector, step: float, x: Vector, rng: np.random.Generator
) -> Iterator[str]:
    nearby = [x + size * rng.standard_normal(x.size) for size in (1e-4, 1e-2)]
    others = [*nearby, *(x + share * (other - x) for other in w_points for share in (1e-3, 0.1, 1.0))]
    best = step * reg.value(x) + 0.5 * float((x - point) @ (x - point))
    for other in others:
        # the objective is 1-strongly convex, so its minimiser beats `other` by half the squared distance
        there = step * reg.value(other) + 0.5 * float((other - point) @ (other - point))
        if _far(there, best + 0.5 * float((other - x) @ (other - x)), step * reg.value(x)):
            yield "prox must minimise step value(x) + 1/2 |x - w|^2"


def _prox(reg: Regularizer, w_points: list[Vector], rng: np.random.Generator) -> Iterator[str]:
    for point, step, x in _steps(reg, w_points, rng):
        yield from _minimised(reg, w_points, point, step, x, rng)
        v = penalised_part(reg, (point - x) / step)
        if not hasattr(reg, "primal_from_dual") and (reg.dual_scale(v) < 1 - TOL or _slack(reg, x, _feasible(reg, v))):
            yield "conjugate must be the sup: value(x) + conjugate(v) = v'x at x = prox(w, step), v = (w - x) / step"


def _hessian(reg: Regularizer, v_points: list[Vector], rng: np.random.Generator) -> Iterator[str]:
    for v in v_points:
        A = rng.standard_normal((v.size, 2))
        h = 1e-6 * np.max(np.abs(v))
        ahead = np.column_stack([reg.primal_from_dual(v + h * a) for a in A.T])  # type: ignore[attr-defined]
        behind = np.column_stack([reg.primal_from_dual(v - h * a) for a in A.T])  # type: ignore[attr-defined]
        slope, H = A.T @ ((ahead - behind) / (2 * h)), reg.conjugate_hessian(v, A)  # type: ignore[attr-defined]
        size = np.max(np.abs(slope)) + TOL * np.max(np.abs(ahead)) / h * np.max(np.abs(A))
        if not np.max(np.abs(H - slope)) <= DIFFERENCE_TOL * size + 1e-300:
            yield "conjugate_hessian must agree with finite differences of primal_from_dual"
