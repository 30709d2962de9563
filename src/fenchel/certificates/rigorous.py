"""A certificate in real arithmetic: P rounded up and D rounded down, with nothing left to a rounding floor.

Data, weights p_i, parameters, coefficients and dual point are floating-point numbers, that is, rational numbers. The scores,
v and all sums are computed exactly; exponentials and logarithms are replaced by bounds in the safe direction
(`rigorous_numbers`). A dual point that is infeasible by rounding is moved exactly: into the domain of every conjugate, to
sum p u = 0 if the intercept is free (one row takes the difference), and towards 0 if R* is the indicator of a box. So

    D <= min P <= P(w, b)

holds for the problem with these numbers, without an assumption on rounding errors. Losses of one score (`rigorous_several`:
of several) with L2, L1, ElasticNet or L0; time grows with the stored values of X, about twenty seconds for a million.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from fenchel.certificates.independent_sums import rows_of, scores
from fenchel.certificates.rigorous_numbers import EXACT, ZERO, Exact
from fenchel.errors import InputError
from fenchel.losses.protocol import slope
from fenchel.regularizers import L0, L1, L2, ElasticNet
from fenchel.result import Certificate

BASIS = "exact arithmetic"


def rigorous_certificate(problem: Any, w: np.ndarray, b: float, u: Any = None) -> Certificate:
    """The certificate of (w, b) and the feasible dual point next to u (None: next to the slopes there)."""
    require_scalar(problem)
    if u is None:
        at_w = scores(problem.X, w[:, None], problem.offset[:, None] + b)[0][:, 0]
        u = [slope(problem.loss, float(t), target) for t, target in zip(at_w, problem.y.tolist(), strict=True)]
    u = np.asarray(u, dtype=float)
    exact, loss = EXACT[type(problem.loss)], problem.loss
    rows = [(at, list(map(Fraction, x))) for at, x in rows_of(problem.X)]
    p, y, offset = ([Fraction(t) for t in part.tolist()] for part in (problem.weights, problem.y, problem.offset))
    coef, constant = [Fraction(t) for t in w.tolist()], Fraction(b)
    risk: Fraction | None = ZERO
    for (at, x), q, target, fixed in zip(rows, p, y, offset, strict=True):
        z = sum((t * coef[j] for j, t in zip(at, x, strict=True)), fixed + constant)
        value = exact.value(loss, z, target) if q else ZERO
        risk = None if risk is None or value is None else risk + q * value
    primal = math.inf if risk is None else rounded(risk + penalty_at(problem.regularizer, coef), up=True)
    return Certificate(primal, _dual(problem, exact, rows, (p, y, offset), u), BASIS, 0.0)


def _dual(problem: Any, exact: Exact, rows: list[Any], parts: tuple[list[Fraction], ...], u: np.ndarray) -> float:
    """D at the feasible point, rounded down; -inf if there is none."""
    if u.shape != (problem.n,) or not np.isfinite(u).all():
        return -math.inf
    p, y, offset = parts
    domains = [exact.domain(problem.loss, target) for target in y]
    point = [_clipped(Fraction(t), *ends) for t, ends in zip(u.tolist(), domains, strict=True)]
    if problem.fit_intercept and not _balance(point, domains, p):
        return -math.inf
    v = [ZERO] * problem.d
    for (at, x), q, t in zip(rows, p, point, strict=True):
        for j, entry in zip(at, x, strict=True):
            v[j] -= q * t * entry
    scale = scale_into_domain(problem.regularizer, v)
    total = conjugate_at(problem.regularizer, [scale * t for t in v])
    for q, t, target, fixed in zip(p, point, y, offset, strict=True):
        if q:
            found = exact.conjugate(problem.loss, scale * t, target)
            if found is None:
                return -math.inf
            total += q * (found - scale * t * fixed)
    return rounded(-total, up=False)


def _clipped(t: Fraction, low: Fraction | None, high: Fraction | None) -> Fraction:
    t = t if low is None else max(t, low)
    return t if high is None else min(t, high)


def _balance(point: list[Fraction], domains: list[Any], p: list[Fraction]) -> bool:
    """Make sum p u = 0 by moving the rows that have the most room, as few as possible; False if they have not enough."""
    rest = sum((q * t for q, t in zip(p, point, strict=True)), ZERO)
    for i in sorted(range(len(point)), key=lambda i: -_room(point[i], domains[i], float(p[i]), rest > 0)):
        if not rest:
            break
        if p[i]:
            moved = _clipped(point[i] - rest / p[i], *domains[i])
            rest += p[i] * (moved - point[i])
            point[i] = moved
    return not rest


def _room(t: Fraction, ends: Any, p: float, down: bool) -> float:
    """p times the distance to the end in a direction."""
    end = ends[0] if down else ends[1]
    return math.inf if end is None and p > 0.0 else 0.0 if end is None else p * float(abs(t - end))


def penalty_at(regularizer: Any, w: list[Fraction]) -> Fraction:
    """R(w)."""
    if type(regularizer) is L0:
        alpha, squares = Fraction(regularizer.alpha), _ridges(regularizer, len(w))
        return sum((alpha + s * t * t / 2 for t, s in zip(w, squares, strict=True) if t), ZERO)
    absolute, square = _strengths(regularizer, len(w))
    pairs = zip(w, absolute, square, strict=True)
    return sum((a * abs(t) + s * t * t / 2 for t, a, s in pairs), ZERO)


def scale_into_domain(regularizer: Any, v: list[Fraction]) -> Fraction:
    """The largest c <= 1 with R*(c v) < inf."""
    if type(regularizer) is L0:
        return Fraction(1)
    absolute, square = _strengths(regularizer, len(v))
    ratios = [a / abs(t) for t, a, s in zip(v, absolute, square, strict=True) if not s and abs(t) > a]
    return min(ratios, default=Fraction(1))


def conjugate_at(regularizer: Any, v: list[Fraction]) -> Fraction:
    """R*(v) in its domain: sum max(|v_j| - a_j, 0)^2 / (2 s_j), or of L0 sum max(v_j^2 / (2 s_j) - alpha, 0)."""
    if type(regularizer) is L0:
        alpha, squares = Fraction(regularizer.alpha), _ridges(regularizer, len(v))
        return sum((max(t * t / (2 * s) - alpha, ZERO) for t, s in zip(v, squares, strict=True)), ZERO)
    absolute, square = _strengths(regularizer, len(v))
    return sum((max(abs(t) - a, ZERO) ** 2 / (2 * s) for t, a, s in zip(v, absolute, square, strict=True) if s), ZERO)


def _ridges(regularizer: L0, d: int) -> list[Fraction]:
    """s with R(w) = sum alpha [w_j != 0] + s_j/2 w_j^2."""
    scales = [1.0] * d if regularizer.scales is None else regularizer.scales.tolist()
    return [Fraction(regularizer.ridge) * Fraction(c) ** 2 for c in scales]


def _strengths(regularizer: Any, d: int) -> tuple[list[Fraction], list[Fraction]]:
    """(a, s) with R(w) = sum a_j |w_j| + s_j/2 w_j^2."""
    alpha = Fraction(regularizer.alpha)
    weights = [Fraction(1)] * d if regularizer.weights is None else [Fraction(c) for c in regularizer.weights.tolist()]
    none = [ZERO] * d
    if type(regularizer) is L2:
        return none, [alpha * c for c in weights]
    if type(regularizer) is L1:
        return [alpha * c for c in weights], none
    ratio, squares = Fraction(regularizer.l1_ratio), regularizer.square_weights
    square_weights = weights if squares is None else [Fraction(c) for c in squares.tolist()]
    return [alpha * ratio * c for c in weights], [alpha * (1 - ratio) * c for c in square_weights]


def rounded(x: Fraction, up: bool) -> float:
    """The nearest floating-point number that is not less, or not greater."""
    try:
        found = float(x)
    except OverflowError:
        return math.inf if up == (x > 0) or up else -math.inf
    if (Fraction(found) < x) if up else (Fraction(found) > x):
        return math.nextafter(found, math.inf if up else -math.inf)
    return found


def require_scalar(problem: Any) -> None:
    """Raise InputError for problems without exact formulas."""
    name = type(problem.loss).__name__
    if not problem.is_scalar or type(problem.loss) not in EXACT:
        known = ", ".join(sorted(cls.__name__ for cls in EXACT))
        raise InputError(f"bounds in exact arithmetic are known for {known} of one score per row, not for {name}")
    require_regularizer(problem.regularizer)


def require_regularizer(regularizer: Any) -> None:
    """Raise InputError for a regularizer without exact formulas."""
    if type(regularizer) is L0:
        if regularizer.ridge == 0.0:
            raise InputError("bounds in exact arithmetic need a ridge > 0 in L0")
        return
    if type(regularizer) not in (L1, L2, ElasticNet):
        raise InputError(
            f"bounds in exact arithmetic need L2, L1 or ElasticNet, or L0, not {type(regularizer).__name__}"
        )
    if regularizer.weights is not None and not np.all(regularizer.weights > 0.0):
        raise InputError("bounds in exact arithmetic need a weight > 0 for every feature")
