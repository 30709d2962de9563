"""The certificate: P and D recomputed from the definitions, trusting nobody.

P(w, b) = sum_i p_i loss(z_i, y_i) + R(w),  z_i = <x_i, w> + offset_i + b,  p_i = s_i / S
D(u)    = sum_i p_i (u_i offset_i - loss*(u_i, y_i)) - R*(v),  v = -sum_i p_i u_i x_i,  sum_i p_i u_i = 0 if b is free

D(u) <= P(w, b) for every feasible u and every (w, b), so P - D bounds the distance to the optimum. A dual point that is
not quite feasible is first moved: clipped into the domain of loss*, balanced when the intercept is free, and scaled
down where R* is an indicator (L1). The compiled passes are the certificate's own (`certify_passes.py`); no kernel, engine or
solver is imported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fenchel.certify_passes import (
    EPS,
    balance_pass,
    clip_pass,
    combine_pass,
    conjugate_pass,
    primal_pass,
    slopes_pass,
    through_pass,
)
from fenchel.data.accept import accept_vector
from fenchel.data.walk import stretches, walk
from fenchel.errors import InputError
from fenchel.result import Certificate

CHUNK = 4096  # rows whose share of v is added up before it joins the total: its rounding stays near that of one chunk
WIDE = 8  # stored values in a block, at least, for each column of the sums that it makes
SAFETY = 4.0  # roundings per term that the floor allows for


class DualValue(NamedTuple):
    """D at a feasible point, the point, and the sizes that its rounding is proportional to."""

    dual: float
    point: np.ndarray
    magnitude: float
    imbalance: float
    blur: float = 0.0  # what the rounding of v can hide in R*(v)


def dual_value(problem: Any, u: np.ndarray) -> DualValue:
    """D at the feasible point nearest (in the sense of `feasible`) to u; -inf if u is none."""
    if u.shape != (problem.n,) or not np.isfinite(u).all():
        return DualValue(-np.inf, np.zeros(problem.n), 0.0, 0.0)
    u = feasible(problem, u)
    regularizer = problem.regularizer
    v, spread = combined(problem, problem.weights, u)
    if not np.isfinite(v).all():
        return DualValue(-np.inf, u, 0.0, 0.0)
    scale = regularizer.dual_scale(v)
    if scale < 1.0:
        u, v = scale * u, scale * v
    total, magnitude, imbalance = conjugates(problem, u)
    regular = regularizer.conjugate(v)
    dual = -total - regular
    hidden = blur(regularizer, v, EPS * spread, magnitude)
    return DualValue(dual if dual == dual else -np.inf, u, magnitude + abs(regular), imbalance, hidden)


def combined(problem: Any, p: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, float]:
    """(-sum_i p_i u_i x_i, the size that its rounding is proportional to)."""
    chunk = max(CHUNK, int(problem.d * problem.n / (problem.X.size if problem.X.size else 1)))

    def work(span: slice, rows: Any) -> tuple[np.ndarray, float]:
        part, v = np.zeros(problem.d), np.empty(problem.d)
        return v, combine_pass(rows, p[span], u[span], chunk, part, v)

    total, spread = np.zeros(problem.d), 0.0
    for v, more in walk(problem.rows, problem.n, work, least=WIDE * problem.d):
        total += v
        spread += more
    return total, spread


def conjugates(problem: Any, u: np.ndarray) -> tuple[float, float, float]:
    """conjugate_pass over one stretch of rows after the other."""

    def work(span: slice) -> tuple[float, float, float]:
        return conjugate_pass(
            problem.compiled_loss, problem.y[span], problem.weights[span], problem.offset[span], u[span]
        )

    totals, magnitudes, slopes = zip(*stretches(problem.n, work), strict=True)
    return sum_of(totals), sum(magnitudes), sum_of(slopes)


def blur(regularizer: Any, v: np.ndarray, error: float, magnitude: float) -> float:
    """How much D may lose if every v_j is off by `error`: through a larger R*, or through scaling back into its domain."""
    worst = (v + error, v + np.copysign(error, v))  # the conjugates grow with v or with |v|
    rise = max(map(regularizer.conjugate, worst)) - regularizer.conjugate(v)
    if np.isfinite(rise):
        return max(rise, 0.0)
    return (1.0 - min(map(regularizer.dual_scale, worst))) * magnitude or np.inf


def feasible(problem: Any, u: np.ndarray) -> np.ndarray:
    """u clipped into the domain of loss* and, if the intercept is free, moved so that sum p u = 0.

    Rows strictly inside their domain are shifted first, all by the same amount; only if they cannot take it do the
    others move: a row at the end of its domain is usually there for a reason.
    """
    ends = problem.n if problem.fit_intercept else 0  # only balancing asks for them
    low, high, clipped = np.empty(ends), np.empty(ends), np.empty(problem.n)
    clip_pass(problem.compiled_loss, problem.y, u, low, high, clipped)
    if not problem.fit_intercept:
        return clipped
    out = np.empty(problem.n)
    for keep_ends in (True, False):
        if balance_pass(clipped, low, high, problem.weights, keep_ends, out):
            return out
    raise InputError("no dual point is balanced: the loss has no minimum over the intercept; use fit_intercept=False")


def slopes_at(problem: Any, coef: np.ndarray, intercept: float) -> np.ndarray:
    """The slopes of all losses at (coef, intercept)."""
    z, size = np.empty(problem.n), np.empty(problem.n)
    primal_sums(problem, coef, intercept, z, size)
    u = np.empty(problem.n)
    slopes_pass(problem.compiled_loss, problem.y, z, u)
    return u


def primal_sums(
    problem: Any, coef: np.ndarray, intercept: float, z: np.ndarray, size: np.ndarray
) -> tuple[float, float]:
    """primal_pass over one block of rows after the other."""

    def work(span: slice, rows: Any) -> tuple[float, float]:
        arguments = (problem.y[span], problem.weights[span], problem.offset[span], coef, intercept, z[span], size[span])
        return primal_pass(problem.compiled_loss, rows, *arguments)

    found = list(walk(problem.rows, problem.n, work))
    return sum_of([total for total, _ in found]), sum(magnitude for _, magnitude in found)


def through(problem: Any, z: np.ndarray, size: np.ndarray, u: np.ndarray) -> float:
    """through_pass over one stretch of rows after the other."""

    def work(span: slice) -> float:
        return through_pass(problem.compiled_loss, problem.y[span], problem.weights[span], z[span], size[span], u[span])

    return sum(stretches(problem.n, work))


def sum_of(totals: Sequence[float]) -> float:
    """Their sum, rounded once; infinite or NaN if one of them is."""
    return math.fsum(totals) if np.isfinite(totals).all() else float(np.sum(totals))


def certificate(problem: Any, coef: np.ndarray, intercept: float, u: np.ndarray) -> tuple[Certificate, np.ndarray]:
    """(certificate, feasible dual point) for given coefficients and a given dual point."""
    z, size = np.empty(problem.n), np.empty(problem.n)
    risk, magnitude = primal_sums(problem, coef, intercept, z, size)
    regular = problem.regularizer.value(coef)
    primal = risk + regular
    found = dual_value(problem, u)
    with np.errstate(over="ignore", invalid="ignore"):
        through_scores = through(problem, z, size, found.point)
    balance = abs(found.imbalance) * max(1.0, abs(intercept)) if problem.fit_intercept else 0.0
    floor = SAFETY * EPS * (magnitude + abs(regular) + found.magnitude + through_scores) + SAFETY * found.blur + balance
    primal = primal if primal == primal else np.inf
    floor = floor if np.isfinite(floor) else np.inf
    return Certificate(float(primal), float(found.dual), problem.basis, float(floor)), found.point


def certify(problem: Any, coef: Any, intercept: float = 0.0, dual_point: Any = None) -> Certificate:
    """How far (coef, intercept) is from the optimum of the problem, at most: a Certificate.

    Works for coefficients that any tool produced. With no dual point given, the best one that can be built from the
    coefficients is used: the slopes of the losses there, improved where the loss has kinks. Of several scores per row a
    dual point is an array or a sparse matrix, rows x scores.

    Examples
    --------
    >>> import numpy as np, fenchel
    >>> X, y = np.array([[1.0], [2.0]]), np.array([1.0, 3.0])
    >>> problem = fenchel.Problem(X, y, loss="squared", regularizer="l2", alpha=0.5)
    >>> w = np.linalg.solve(X.T @ X / 2 + 0.5 * np.eye(1), X.T @ y / 2)  # the closed form
    >>> fenchel.certify(problem, w).relative_gap < 1e-12
    True
    >>> fenchel.certify(problem, w + 1.0).relative_gap > 0.1
    True
    """
    judge = judge_of(problem)
    w, b = problem.variables(coef, intercept)
    with np.errstate(all="ignore"):  # what overflows is found by its value
        u = judge.best_dual_point(problem, w, b) if dual_point is None else judge.accept_dual(problem, dual_point)
        return judge.certificate(problem, w, b, u)[0]


class Judge(NamedTuple):
    """How the certificate of one family of problems is computed, from a solver's variables."""

    certificate: Callable[..., tuple[Certificate, Any]]
    slopes_at: Callable[..., Any]
    best_dual_point: Callable[..., Any]
    accept_dual: Callable[..., Any]


def judge_of(problem: Any) -> Judge:
    """The judge of the problem's family, or the problem's own."""
    own = getattr(problem, "judge", None)
    if own is not None:
        return own
    if problem.family == "vector":
        from fenchel import vector_certify

        return vector_certify.JUDGE
    if problem.family == "set":
        from fenchel import set_certify

        return set_certify.JUDGE
    if problem.family == "structured":
        from fenchel import structured_certify

        return structured_certify.JUDGE
    from fenchel.dual_point import best_dual_point

    return Judge(certificate, slopes_at, best_dual_point, lambda p, u: accept_vector(u, p.n, "dual_point"))
