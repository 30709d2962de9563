"""The certificate: P and D recomputed from the definitions, trusting nobody.

P(w, b) = sum_i p_i loss(z_i, y_i) + R(w),  z_i = <x_i, w> + offset_i + b,  p_i = s_i / S
D(u)    = sum_i p_i (u_i offset_i - loss*(u_i, y_i)) - R*(v),  v = -sum_i p_i u_i x_i,  sum_i p_i u_i = 0 if b is free

D(u) <= P(w, b) for every feasible u and every (w, b), so P - D bounds the distance to the optimum. A dual point that is
not quite feasible is first moved: clipped into the domain of loss*, balanced when the intercept is free, and scaled
down where R* is an indicator (L1). This file has compiled passes of its own, whose sums over rows are compensated and not
reordered (those within a row, whose rounding the floor bounds in any order, may be), and imports no kernel, engine or solver.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fenchel.data.accept import accept_vector
from fenchel.data.rows import add_rows, sized_dot, sqnorm
from fenchel.data.sums import add
from fenchel.data.walk import stretches, walk
from fenchel.errors import InputError
from fenchel.jit import kernel
from fenchel.losses.protocol import conjugate, dual_domain, slope, value
from fenchel.result import Certificate

EPS = float(np.finfo(float).eps)
CHUNK = (
    4096  # rows whose share of v is added up before it joins the total: keeps the rounding of v near that of one chunk
)
WIDE = 8  # stored values in a block, at least, for each column of the sums that it makes
AT_ONCE = np.uint64(128)  # rows whose losses are found before they are added up
NEAR = np.uint64(32)  # rows that are gone through twice while they are in the cache
SAFETY = 4.0  # roundings per term that the floor allows for


@kernel(fastmath=True)
def sized_scores(rows, offset, w, b, z, size):
    """z_i = <x_i, w> + offset_i + b, and size_i, the sum of the sizes of its terms."""
    for i in range(np.uint64(z.size)):
        product, spread = sized_dot(rows, i, w)
        z[i] = product + offset[i] + b
        size[i] = spread + abs(offset[i]) + abs(b)


@kernel
def primal_pass(loss, rows, y, p, offset, w, b, z, size):
    """z and size, as `sized_scores`; returns (sum p loss, sum p |loss|)."""
    sized_scores(rows, offset, w, b, z, size)
    total, correction, magnitude, n, terms = 0.0, 0.0, 0.0, np.uint64(z.size), np.empty(AT_ONCE)
    for start in range(np.uint64(0), n, AT_ONCE):
        count = min(AT_ONCE, n - start)
        for k in range(count):  # vectorised; the sum below is not, and keeps its order
            term = p[start + k] * value(loss, z[start + k], y[start + k])
            terms[k] = term if p[start + k] > 0.0 else 0.0
        for k in range(count):
            magnitude += abs(terms[k])
            total, correction = add(total, correction, terms[k])
    return total + correction, magnitude


@kernel
def slopes_pass(loss, y, z, u):
    """u_i = slope(z_i, y_i)."""
    for i in range(z.size):
        u[i] = slope(loss, z[i], y[i])


@kernel(fastmath=True)  # a bound on roundings, which may itself be rounded in any order
def through_pass(loss, y, p, z, size, u):
    """sum_i p_i size_i max(|u_i|, the steepest slope within the rounding of z_i): how the scores' rounding shows in P and D."""
    total = 0.0
    for i in range(np.uint64(z.size)):
        reach = EPS * size[i]
        steepest = max(abs(slope(loss, z[i] - reach, y[i])), abs(slope(loss, z[i] + reach, y[i])))
        term = size[i] * max(abs(u[i]), steepest)
        term = term if p[i] > 0.0 else 0.0
        total += p[i] * term
    return total


@kernel
def clip_pass(loss, y, u, low, high, out):
    """The ends of every row's dual domain, and u clipped into it."""
    for i in range(y.size):
        low[i], high[i] = dual_domain(loss, y[i])
        out[i] = min(max(u[i], low[i]), high[i])


@kernel
def conjugate_pass(loss, y, p, offset, u):
    """(sum p (loss*(u) - u offset), the sum of the sizes of its terms, sum p u)."""
    total, correction, magnitude, slopes, slopes_correction = 0.0, 0.0, 0.0, 0.0, 0.0
    n, terms = np.uint64(u.size), np.empty(AT_ONCE)
    for start in range(np.uint64(0), n, AT_ONCE):
        count = min(AT_ONCE, n - start)
        for k in range(count):
            i = start + k
            term = p[i] * (conjugate(loss, u[i], y[i]) - u[i] * offset[i])
            terms[k] = term if p[i] > 0.0 else 0.0
        for k in range(count):
            magnitude += abs(terms[k])
            total, correction = add(total, correction, terms[k])
            term = p[start + k] * u[start + k] if p[start + k] > 0.0 else 0.0
            slopes, slopes_correction = add(slopes, slopes_correction, term)
    return total + correction, magnitude, slopes + slopes_correction


@kernel(fastmath=True)  # a bound on roundings, which may itself be rounded in any order
def spread_pass(rows, start, stop, p, u):
    """sum_i p_i |u_i| |x_i| over the rows start..stop."""
    spread = 0.0
    for i in range(start, stop):
        a = abs(p[i] * u[i])
        if a != 0.0:
            spread += a * np.sqrt(sqnorm(rows, i))
    return spread


@kernel
def combine_pass(rows, p, u, chunk, part, v):
    """v = -sum_i p_i u_i x_i, added up chunk by chunk; returns sum_i p_i |u_i| |x_i|, which its rounding is proportional to."""
    spread, n, step = 0.0, np.uint64(u.size), np.uint64(chunk)
    for j in range(v.size):
        v[j] = 0.0
    for start in range(np.uint64(0), n, step):
        stop = min(start + step, n)
        for near in range(start, stop, NEAR):
            end = min(near + NEAR, stop)
            add_rows(rows, near, end, p, u, part)
            spread += spread_pass(rows, near, end, p, u)
        for j in range(v.size):
            v[j] -= part[j]
            part[j] = 0.0
    return spread


@kernel
def balance_pass(u, low, high, p, keep_ends, out):
    """out = clip(u + shift, low, high) with sum p out = 0: safeguarded Newton on a piecewise linear function.

    With `keep_ends` only rows strictly inside move. Returns False if no shift does it. The rows strictly inside take what
    rounding leaves.
    """
    least, most, size = 0.0, 0.0, 0.0
    left, right, shift = -np.inf, np.inf, 0.0
    for trial in range(200):
        total, free = 0.0, 0.0
        for i in range(u.size):
            lower, upper = low[i], high[i]
            if keep_ends and not lower < u[i] < upper:
                lower, upper = u[i], u[i]
            moved = u[i] + shift
            out[i] = min(max(moved, lower), upper)
            if p[i] > 0.0:
                total += p[i] * out[i]
                free += p[i] * (1.0 if lower < moved < upper else 0.0)
                if trial == 0:
                    least += p[i] * lower
                    most += p[i] * upper
                    size += p[i] * abs(u[i])
        if abs(total) <= 1e-16 * size:
            return True
        if total < 0.0:
            left = shift
        else:
            right = shift
        step = shift - total / free if free > 0.0 else np.nan
        if not left < step < right:
            if np.isfinite(left) and np.isfinite(right):
                step = 0.5 * (left + right)
            elif total < 0.0:
                step = left + 2.0 * max(abs(left), size, 1e-300)
            else:
                step = right - 2.0 * max(abs(right), size, 1e-300)
        if step == shift or not np.isfinite(step):
            break
        shift = step
    return abs(total) <= 1e-9 * size and least <= 1e-9 * size and most >= -1e-9 * size


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
    low, high, clipped = np.empty(problem.n), np.empty(problem.n), np.empty(problem.n)
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
