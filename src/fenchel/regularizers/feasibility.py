"""Coefficients that satisfy lower <= A w <= upper, or multipliers which prove that there are none (Farkas).

Every w in the domain of R0 with lower <= A w <= upper has y'A w <= S(y), for every y. If

    S(y) + sup over w in the domain of -y'A w < 0,

no such w exists. The multipliers come from a linear program or from Newton's method; the inequality is verified in rational
numbers, so that the proof does not rest on them.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.errors import InputError
from fenchel.regularizers.balanced_entropy import BalancedEntropy
from fenchel.regularizers.bounded import Bounded
from fenchel.regularizers.constraint_rows import END_ROUNDING, Rows, excess
from fenchel.regularizers.entropy import Entropy
from fenchel.regularizers.l1_ball import L1Ball
from fenchel.regularizers.l2_ball import L2Ball
from fenchel.regularizers.multipliers import constrained_prox, corrected
from fenchel.regularizers.numerics import Vector, quiet
from fenchel.regularizers.simplex import Simplex
from fenchel.regularizers.unnormalised_entropy import UnnormalisedEntropy

SHORTEST = 2.0**-100  # a step, relative to 1 / alpha: the prox is then the nearest point
LONGEST = 30.0  # seconds of the linear program
MOST_SHOWN = 6  # multipliers in a message
SMALLEST = 1e-9  # a multiplier, relative to the largest one, that counts as 0
MOST_EXACT = 60  # multipliers that are computed in rational numbers
LEAST_RADIUS = 1e3  # of coefficients that are proven not to exist, relative to what bounds and rows suggest


class Proof(NamedTuple):
    """Multipliers of rows, and the largest |w_j| for which they prove that no w exists (inf: none at all)."""

    y: dict[int, Fraction]
    radius: float
    allowed: float  # S(y), which y'A w may not exceed
    least: float  # what y'A w is at least in the domain of R0


@quiet
def feasible_point(inner: Any, A: Any, ends: tuple[Vector, Vector], rows: Rows) -> Vector:
    """A point near the start of `inner` that satisfies all rows; InputError with a proof if there is none."""
    start, step = np.asarray(inner.start(A.shape[1]), dtype=np.float64), SHORTEST / inner.alpha
    point = constrained_prox(inner, rows, start, step, np.zeros(rows.upper.size))
    candidates = [corrected(inner, rows, start, step, point)]
    directions = [_as_given(rows, A.shape[0], point.y)]
    for w in candidates:
        if is_feasible(inner, A, ends, w):
            return w
    box = _box(inner, A.shape[1])
    if box is not None:
        total = inner.total if isinstance(inner, (Simplex, Entropy)) else None
        w, y = _linear_program(rows, box, total)
        again = constrained_prox(inner, rows, w, step, np.zeros(rows.upper.size))
        for x in (w, corrected(inner, rows, w, step, again)):
            if is_feasible(inner, A, ends, x):
                return x
        directions.insert(0, _as_given(rows, A.shape[0], y))
    zero = np.setdiff1d(np.arange(A.shape[0]), rows.kept)
    for i in zero[(ends[0][zero] > 0.0) | (ends[1][zero] < 0.0)]:
        directions.insert(0, np.where(np.arange(A.shape[0]) == i, np.where(ends[0] > 0.0, -1.0, 1.0), 0.0))
    for y in directions:
        proof = proven(inner, A, ends, y)
        if proof is not None:
            raise InputError(_message(proof))
    over, size = excess(A, *ends, candidates[0])
    worst = int(np.argmax(over / np.maximum(size, 1e-300)))
    raise InputError(
        "no coefficients were found that satisfy lower <= A w <= upper, nor a proof that there are none: row "
        f"{worst} is outside by {over[worst]:.3g}, where its terms are of size {size[worst]:.3g}. Loosen the bounds."
    )


def is_feasible(inner: Any, A: Any, ends: tuple[Vector, Vector], w: Vector) -> bool:
    """Whether w is in the domain of R0 and satisfies all rows up to rounding."""
    over, size = excess(A, *ends, w)
    return bool(np.all(over <= END_ROUNDING * size)) and math.isfinite(inner.value(w))


def _as_given(rows: Rows, m: int, y: Vector) -> Vector:
    """Multipliers of the rows as given."""
    out = np.zeros(m)
    out[rows.kept] = y / rows.length
    return out


def _box(inner: Any, dim: int) -> tuple[Vector, Vector] | None:
    """The domain of R0, if it is all of the space, a box, or w >= 0 with a given sum."""
    if isinstance(inner, Bounded):
        low = -np.inf if inner.lower is None else inner.lower
        high = np.inf if inner.upper is None else inner.upper
        return np.broadcast_to(low, dim), np.broadcast_to(high, dim)
    if isinstance(inner, (Simplex, Entropy, UnnormalisedEntropy)):
        return np.zeros(dim), np.full(dim, np.inf)
    far = np.full(dim, 1e6)
    everywhere = all(math.isfinite(inner.value(w)) for w in (far, -far, far * (-1.0) ** np.arange(dim)))
    return (np.full(dim, -np.inf), np.full(dim, np.inf)) if everywhere else None


def _linear_program(rows: Rows, box: tuple[Vector, Vector], total: float | None) -> tuple[Vector, Vector]:
    """(w of the smallest sum of deviations from the rows, its multipliers), for w in a box, whose sum may be given."""
    from scipy.optimize import linprog  # Imported here: few constraint sets need it.

    d, m = rows.At.shape
    low, high = np.flatnonzero(np.isfinite(rows.lower)), np.flatnonzero(np.isfinite(rows.upper))
    A = np.vstack([rows.At.T[high], -rows.At.T[low]])
    slack = sp.eye_array(high.size + low.size)
    found = linprog(
        np.concatenate([np.zeros(d), np.ones(high.size + low.size)]),
        sp.hstack([sp.csr_array(A), -slack], format="csr"),
        np.concatenate([rows.upper[high], -rows.lower[low]]),
        *((None, None) if total is None else (np.append(np.ones(d), np.zeros(high.size + low.size))[None, :], [total])),
        bounds=[*zip(*box, strict=True), *[(0.0, None)] * (high.size + low.size)],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "time_limit": LONGEST},
    )
    if found.x is None:
        return np.clip(np.zeros(d), *box), np.zeros(m)
    y = np.zeros(m)
    y[high] -= found.ineqlin.marginals[: high.size]
    y[low] += found.ineqlin.marginals[high.size :]
    return np.clip(found.x[:d], *box), y


def proven(inner: Any, A: Any, ends: tuple[Vector, Vector], y: Vector) -> Proof | None:
    """A proof that no w exists, from multipliers like y; None if they prove nothing.

    >>> from fenchel.regularizers import L2
    >>> proven(L2(1.0), np.ones((2, 1)), (np.array([2.0, -1.0]), np.array([3.0, 1.0])), np.array([-0.5, 0.5])).radius
    inf
    """
    largest = float(np.max(np.abs(y), initial=0.0))
    if not 0.0 < largest < math.inf:
        return None
    used = np.flatnonzero(np.abs(y) > SMALLEST * largest)
    rows = sp.csr_array(A[used] if not sp.issparse(A) else sp.csr_array(A)[used])
    given = {int(i): Fraction(float(y[i] / largest)) for i in used}
    best: Proof | None = None
    for candidate in (_simple(given), _exact(rows, given), given):
        found = None if candidate is None else _verified(inner, rows, ends, candidate, A.shape[1])
        if found is not None and (best is None or found.radius > best.radius):
            best = found
        if best is not None and best.radius == math.inf:
            break
    scale = 1.0 + max(float(np.max(np.abs(end[np.isfinite(end)]), initial=0.0)) for end in ends)
    return best if best is not None and best.radius >= LEAST_RADIUS * scale else None


def _simple(y: dict[int, Fraction]) -> dict[int, Fraction]:
    """The nearest multiples of the smallest multiplier with small denominators."""
    unit = min(map(abs, y.values()))
    return {i: (t / unit).limit_denominator(1000) for i, t in y.items()}


def _exact(rows: sp.csr_array, y: dict[int, Fraction]) -> dict[int, Fraction] | None:
    """Multipliers near y with y'A = 0 exactly, by elimination; None if there are too many, or none."""
    if len(y) > MOST_EXACT:
        return None
    used, values = list(y), list(y.values())
    columns = sp.csc_array(rows)
    pivots: list[
        tuple[int, list[Fraction]]
    ] = []  # (multiplier, its expression in the others), each from one column of A
    for j in range(columns.shape[1]):
        span = slice(columns.indptr[j], columns.indptr[j + 1])
        if span.start == span.stop:
            continue
        line = [Fraction(0)] * len(used)
        for i, a in zip(columns.indices[span].tolist(), columns.data[span].tolist(), strict=True):
            line[i] = Fraction(a)
        for k, known in pivots:
            if line[k]:
                factor = line[k]
                line = [
                    a + factor * b if i != k else Fraction(0) for i, (a, b) in enumerate(zip(line, known, strict=True))
                ]
        k = max(range(len(line)), key=lambda i: abs(line[i]))
        if not line[k]:
            continue
        expression = [-a / line[k] if i != k else Fraction(0) for i, a in enumerate(line)]
        pivots = [
            (
                p,
                [
                    a + known[k] * b if i != k else Fraction(0)
                    for i, (a, b) in enumerate(zip(known, expression, strict=True))
                ],
            )
            for p, known in pivots
        ]
        pivots.append((k, expression))
        if len(pivots) == len(used):
            return None
    out = list(values)
    for k, expression in pivots:
        out[k] = sum((a * t for a, t in zip(expression, values, strict=True)), Fraction(0))
    return dict(zip(used, out, strict=True)) if any(out) else None


def _verified(
    inner: Any, rows: sp.csr_array, ends: tuple[Vector, Vector], y: dict[int, Fraction], dim: int
) -> Proof | None:
    """S(y) + sup of -y'A w in rational numbers; a proof if it is negative for all |w_j| up to a radius."""
    total, combined = Fraction(0), [Fraction(0)] * dim
    for k, (i, t) in enumerate(y.items()):
        end = float(ends[1][i] if t > 0 else ends[0][i])
        if t and not math.isfinite(end):
            return None
        total += t * Fraction(end) if t else 0
        for j, a in zip(
            *(x[rows.indptr[k] : rows.indptr[k + 1]].tolist() for x in (rows.indices, rows.data)), strict=True
        ):
            combined[j] -= t * Fraction(a)
    finite, unbounded = _over_domain(inner, combined)
    if total + finite >= 0:
        return None
    radius = math.inf if unbounded == 0 else float(-(total + finite) / unbounded) * (1.0 - 1e-9)
    return Proof(y, radius, float(total), float(-finite))


def _over_domain(inner: Any, g: list[Fraction]) -> tuple[Fraction, Fraction]:
    """(a, b) with sup of g'w <= a + b max |w_j| over the domain of R0."""
    sizes = [abs(x) for x in g]
    if isinstance(inner, (Simplex, Entropy)):
        return Fraction(inner.total) * max(g), Fraction(0)
    if isinstance(inner, L1Ball):
        return Fraction(inner.radius) * max(sizes), Fraction(0)
    if isinstance(inner, BalancedEntropy) and inner.total is not None:
        return Fraction(inner.total) * max(sizes), Fraction(0)
    if isinstance(inner, L2Ball):
        root = math.sqrt(float(sum(x * x for x in g))) * (1.0 + 1e-12) + 1e-300
        return Fraction(inner.radius) * Fraction(root), Fraction(0)
    low, high = [-math.inf] * len(g), [math.inf] * len(g)
    if isinstance(inner, UnnormalisedEntropy):
        low = [0.0] * len(g)
    elif isinstance(inner, Bounded):
        low, high = (end.tolist() for end in _box(inner, len(g)) or ())
    finite, unbounded = Fraction(0), Fraction(0)
    for x, l, u in zip(g, low, high, strict=True):
        end = u if x > 0 else l
        if x and math.isfinite(end):
            finite += x * Fraction(end)
        else:
            unbounded += abs(x)
    return finite, unbounded


def _message(proof: Proof) -> str:
    used = [(i, t) for i, t in proof.y.items() if t]
    shown = used[:MOST_SHOWN]
    numbers = ", ".join(f"{float(t):.6g}" for _, t in shown)
    more = f" and {len(used) - len(shown)} more" if len(used) > len(shown) else ""
    names = ", ".join(str(i) for i, _ in shown[:-1])
    rows = f"row {shown[0][0]}" if len(used) == 1 else f"rows {names}{',' if more else ' and'} {shown[-1][0]}{more}"
    within = "" if proof.radius == math.inf else f" with all |w_j| <= {proof.radius:.3g}"
    multipliers = "multiplier" if len(used) == 1 else "multipliers"
    return (
        f"no coefficients satisfy lower <= A w <= upper: with the {multipliers} y = [{numbers}{', ...' if more else ''}] of "
        f"{rows}, the bounds require y'A w <= {proof.allowed:.6g}, but y'A w >= {proof.least:.6g} for every w{within} where "
        "the regularizer is finite (verified in exact arithmetic). Loosen one of these rows."
    )
