"""The certificate in real arithmetic of `rigorous`, for softmax and max hinge: several scores per row.

Dual points u_i of both losses have q_i = u_i + e_y in the simplex. A point that is outside by rounding is moved exactly:
negative q_ij become 0, and q_iy takes the rest. With free intercepts sum_i p_i u_i = 0 in every score: few rows take the
difference.

    loss        value                                      conjugate
    softmax     log sum_j exp(z_j) - z_y                   sum_j q_j log q_j
    max_hinge   max(0, max over j != y of 1 + z_j - z_y)   q_y - 1
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from fenchel import multiclass
from fenchel.certificates.independent_sums import rows_of, scores
from fenchel.certificates.rigorous import (
    BASIS,
    conjugate_at,
    penalty_at,
    require_regularizer,
    rounded,
    scale_into_domain,
)
from fenchel.certificates.rigorous_numbers import ONE, ZERO, exp_above, log_above, x_log_x_above
from fenchel.errors import InputError
from fenchel.multiclass.protocol import slopes
from fenchel.result import Certificate

Row = list[Fraction]


class Exact(NamedTuple):
    """Of a loss: upper bounds of its value at scores, and of its conjugate at q = u + e_y in the simplex."""

    value: Callable[[Row, int], Fraction]
    conjugate: Callable[[Row, int], Fraction]


def _softmax(z: Row, y: int) -> Fraction:
    top = max(z)
    rest = [exp_above(t - top) for t in z]
    return top - z[y] + log_above(sum((t for t in rest if t is not None), ZERO))


def _max_hinge(z: Row, y: int) -> Fraction:
    return max([ZERO, *(1 + t - z[y] for j, t in enumerate(z) if j != y)])


EXACT: dict[type, Exact] = {
    multiclass.Softmax: Exact(_softmax, lambda q, y: sum(map(x_log_x_above, q), ZERO)),
    multiclass.MaxHinge: Exact(_max_hinge, lambda q, y: q[y] - 1),
}


def rigorous_several(problem: Any, w: np.ndarray, U: Any = None) -> Certificate:
    """The certificate of the variables w and the feasible dual point next to U (None: next to the slopes there)."""
    _require(problem)
    m, features, exact = problem.outputs, problem.features, EXACT[type(problem.loss)]
    W = w.reshape(-1, m)
    shift = W[features] if problem.free else np.zeros(m)
    if U is None:
        Z = scores(problem.X, W[:features], np.broadcast_to(shift, (problem.n, m)))[0]
        U = np.empty(Z.shape)
        for i in range(problem.n):
            slopes(problem.loss, Z[i].copy(), problem.y[i], U[i])
    U = np.asarray(U.toarray() if hasattr(U, "toarray") else U, dtype=float)
    rows = [(at, list(map(Fraction, x))) for at, x in rows_of(problem.X)]
    p, y = [Fraction(t) for t in problem.weights.tolist()], [int(t) for t in problem.y]
    coef, fixed = [[Fraction(t) for t in row] for row in W[:features].tolist()], [Fraction(t) for t in shift.tolist()]
    risk = ZERO
    for (at, x), weight, label in zip(rows, p, y, strict=True):
        if weight:
            z = [sum((t * coef[j][c] for j, t in zip(at, x, strict=True)), fixed[c]) for c in range(m)]
            risk += weight * exact.value(z, label)
    primal = risk + penalty_at(problem.penalty, [t for row in coef for t in row])
    return Certificate(rounded(primal, up=True), _dual(problem, exact, rows, p, y, U), BASIS, 0.0)


def _dual(problem: Any, exact: Exact, rows: list[Any], p: Row, y: list[int], U: np.ndarray) -> float:
    """D at the feasible point, rounded down; -inf if there is none."""
    m = problem.outputs
    if U.shape != (problem.n, m) or not np.isfinite(U).all():
        return -math.inf
    Q = [_in_simplex(u, label) for u, label in zip(U.tolist(), y, strict=True)]
    if problem.free and not _balance(Q, y, p):
        return -math.inf
    v = [ZERO] * (problem.features * m)
    for (at, x), weight, q, label in zip(rows, p, Q, y, strict=True):
        for j, entry in zip(at, x, strict=True):
            for c in range(m):
                v[j * m + c] -= weight * entry * (q[c] - (c == label))
    scale = scale_into_domain(problem.penalty, v)
    total = conjugate_at(problem.penalty, [scale * t for t in v])
    for weight, q, label in zip(p, Q, y, strict=True):
        if weight:
            at_scale = [scale * t for t in q]
            at_scale[label] += 1 - scale
            total += weight * exact.conjugate(at_scale, label)
    return rounded(-total, up=False)


def _in_simplex(u: list[float], y: int) -> Row:
    """q = u + e_y, moved into the simplex."""
    q = [max(Fraction(t), ZERO) if j != y else ZERO for j, t in enumerate(u)]
    over = sum(q, ZERO) - ONE
    for j in sorted(range(len(q)), key=lambda j: -q[j]):
        if over > 0:
            cut = min(over, q[j])
            q[j], over = q[j] - cut, over - cut
    q[y] = ONE - sum(q, ZERO)
    return q


def _balance(Q: list[Row], y: list[int], p: Row) -> bool:
    """Make sum p u = 0 in every score by moving mass from one score to another in few rows; False if they have not enough."""
    m = len(Q[0])
    rest = [sum((w * (q[c] - (c == label)) for w, q, label in zip(p, Q, y, strict=True)), ZERO) for c in range(m)]
    for high in range(m):
        if rest[high] <= 0:
            continue
        for i in sorted(range(len(Q)), key=lambda i: -float(p[i] * Q[i][high])):
            for low in range(m):
                move = min(rest[high], -rest[low], p[i] * Q[i][high])
                if p[i] and move > 0:
                    Q[i][high] -= move / p[i]
                    Q[i][low] += move / p[i]
                    rest[high] -= move
                    rest[low] += move
            if rest[high] == 0:
                break
    return not any(rest)


def _require(problem: Any) -> None:
    """Raise InputError for problems without exact formulas."""
    if type(problem.loss) not in EXACT:
        raise InputError(
            "bounds in exact arithmetic of several scores are known for Softmax and MaxHinge, not for "
            f"{type(problem.loss).__name__}"
        )
    require_regularizer(problem.given)
