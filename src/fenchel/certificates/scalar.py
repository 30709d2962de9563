"""The certificate of losses of one score per row: P and D recomputed from the definitions. Trusted code.

P(w, b) = sum_i p_i loss(z_i, y_i) + R(w),  z_i = <x_i, w> + offset_i + b,  p_i = s_i / S
D(u)    = sum_i p_i (u_i offset_i - loss*(u_i, y_i)) - R*(v),  v = -sum_i p_i u_i x_i,  sum_i p_i u_i = 0 if b is free

D(u) <= P(w, b) for every feasible u and every (w, b), so P - D bounds the distance to the optimum. A dual point that is
not quite feasible is first moved: clipped into the domain of loss*, balanced if the intercept is free, and scaled if R* is
an indicator (L1). The compiled passes belong to the certificate (`passes.py`); no kernel, engine or solver is imported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.certificates.assemble import Share, assemble, lower_bound, none_like, sum_of
from fenchel.certificates.passes import (
    clip_pass,
    combine_pass,
    conjugate_pass,
    move_pass,
    primal_pass,
    reach_pass,
    shift_pass,
    slopes_pass,
    subgradient_pass,
    through_pass,
)
from fenchel.certificates.unpenalised import balance_on, directions, free_columns, split
from fenchel.compile.dispatch import is_builtin, without
from fenchel.data.accept import accept_vector
from fenchel.data.row_blocks import map_row_blocks, map_row_ranges
from fenchel.data.types import Rows
from fenchel.errors import InputError
from fenchel.problems.scalar import Problem
from fenchel.problems.some_rows import RowProblem
from fenchel.result import Certificate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

CHUNK = 4096  # rows whose contributions to v are added before they join the total, which limits rounding errors
WIDE = 8  # minimum number of stored values in a block for each column of its sums
MOST_SHIFTS = 200  # tried to balance a dual point


class DualValue(NamedTuple):
    """D at a feasible point, and the point."""

    dual: float
    point: Any


class Conjugates(NamedTuple):
    """sum p (loss*(u) - u offset), the sum of the absolute values of its terms, and sum p u."""

    total: float
    magnitude: float
    imbalance: float


def certified_loss(problem: Problem) -> Any:
    """The loss as the certificate evaluates it: of a custom loss it uses `value` and `slope` alone and derives the rest.

    An error in the `conjugate` or `dual_step` of a custom loss can slow down a solver, but cannot make a lower bound wrong.
    """
    return without(problem.compiled_loss, ("conjugate", "dual_step"))


def usable(problem: Problem, u: np.ndarray) -> bool:
    """Whether u can be moved to a feasible point."""
    return u.shape == (problem.n,) and bool(np.isfinite(u).all())


def dual_value(problem: Problem, u: np.ndarray) -> DualValue:
    """D at the feasible point nearest to u (as defined by `feasible`); -inf if there is none."""
    if not usable(problem, u):
        return DualValue(-np.inf, np.zeros(problem.n))
    u = feasible(problem, u)
    v = split(problem, *combined(problem, problem.weights, u)).v
    share = with_conjugates(Share(v), conjugates(problem, u))
    found = lower_bound(problem.regularizer, share, rescaled(problem, share, u))
    return DualValue(found.dual, scaled_point(found.scale, u))


def with_conjugates(share: Share, sums: Conjugates) -> Share:
    """The share, with the gain of a dual point."""
    return share._replace(gain=(-sums.total,), gain_size=(sums.magnitude,), balance=np.array([sums.imbalance]))


def rescaled(problem: Problem, share: Share, u: np.ndarray) -> Callable[[float], Share]:
    """The share at a multiple of u."""
    return lambda scale: with_conjugates(share._replace(v=scale * share.v), conjugates(problem, scale * u))


def scaled_point(scale: float, u: Any) -> Any:
    """The multiple of a dual point that the certificate is for."""
    return scale * u if scale < 1.0 else u


def combined(problem: Problem, p: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, float]:
    """(-sum_i p_i u_i x_i, the size that its rounding is proportional to)."""
    total, spread = np.zeros(problem.d), 0.0
    for v, more in map_row_blocks(problem.rows, problem.n, combiner(problem, p, u), least=WIDE * problem.d):
        total += v
        spread += more
    return total, spread


def combiner(problem: Problem, p: np.ndarray, u: np.ndarray) -> Callable[[slice, Any], tuple[np.ndarray, float]]:
    """combine_pass for some of the rows."""
    chunk = max(CHUNK, int(problem.d * problem.n / (problem.X.size if problem.X.size else 1)))

    def work(span: slice, rows: Rows) -> tuple[np.ndarray, float]:
        part, v = np.zeros(problem.d), np.empty(problem.d)
        return v, combine_pass(rows, p[span], u[span], chunk, part, v)

    return work


def conjugates(problem: Problem, u: np.ndarray) -> Conjugates:
    """conjugate_pass over one range of rows after the other."""
    return conjugates_of(map_row_ranges(problem.n, lambda span: conjugated(problem, span, u)))


def conjugated(problem: Problem, span: slice, u: np.ndarray) -> tuple[float, float, float]:
    """conjugate_pass for some of the rows."""
    loss = certified_loss(problem)
    return conjugate_pass(loss, problem.y[span], problem.weights[span], problem.offset[span], u[span])


def conjugates_of(parts: Iterable[tuple[float, float, float]]) -> Conjugates:
    """The sums of the results of `conjugated`."""
    totals, magnitudes, slopes = zip(*parts, strict=True)
    return Conjugates(sum_of(totals), sum(magnitudes), sum_of(slopes))


def feasible(problem: RowProblem, u: np.ndarray) -> np.ndarray:
    """u clipped into the domain of loss* and, if the intercept is free, moved so that sum p u = 0; also so that N'v = 0 for the
    directions N that are not penalised, if that is possible.

    Rows strictly inside their domain are shifted first, all by the same amount. Only if that is not enough, the others move,
    too: at the optimum, a row at the end of its domain usually stays there.
    """
    N = directions(problem)
    ends = problem.n if problem.fit_intercept or N is not None else 0  # only balancing needs them
    low, high, clipped = np.empty(ends), np.empty(ends), np.empty(problem.n)
    clip_pass(problem.compiled_loss, problem.y, u, low, high, clipped)
    if N is not None:
        assert isinstance(problem, Problem)  # Solvers copy rows together only if R penalises every direction.
        found = balance_on(free_columns(problem, N), clipped, low, high, problem.weights)
        if found is not None:
            return found
    if not problem.fit_intercept:
        return clipped
    for keep_ends in (True, False):
        shift = balancing(clipped, low, high, problem.weights, keep_ends)
        if shift is not None:
            move_pass(clipped, low, high, shift, keep_ends, clipped)
            return clipped
    raise InputError("no dual point is balanced: the loss has no minimum over the intercept; use fit_intercept=False")


def balancing(u: np.ndarray, low: np.ndarray, high: np.ndarray, p: np.ndarray, keep_ends: bool) -> float | None:
    """The shift after which sum p clip(u + shift, low, high) = 0; with `keep_ends` only rows strictly inside move."""
    size, least, most = reach_pass(u, low, high, p, keep_ends)
    sums = lambda shift: shift_pass(u, low, high, p, shift, keep_ends)  # noqa: E731
    return shift_to_balance(sums, size, least, most, enough=1e-16)


def shift_to_balance(
    sums: Callable[[float], tuple[float, float]], size: float, least: float, most: float, enough: float
) -> float | None:
    """The root of a piecewise linear, rising function, by safeguarded Newton steps; None if there is none.

    sums(shift) gives the function, sum p u' of the shifted u', and its slope, the weight of the rows that can still move. The
    function goes from `least` to `most`; `size` is sum p |u|, and what is `enough` is relative to it. A function that is not
    finite (its dual value will be none) counts as balanced.
    """
    if least > 1e-9 * size or most < -1e-9 * size:
        return None
    left, right, shift, total = -math.inf, math.inf, 0.0, 0.0
    for _ in range(MOST_SHIFTS):
        total, free = sums(shift)
        if abs(total) <= enough * size or not math.isfinite(total):
            return shift
        left, right = (shift, right) if total < 0.0 else (left, shift)
        step = shift - total / free if free > 0.0 else math.nan
        if not left < step < right:
            if math.isfinite(left) and math.isfinite(right):
                step = 0.5 * (left + right)
            else:
                reach = 2.0 * max(abs(shift), size, 1e-300)
                step = shift + reach if total < 0.0 else shift - reach
        if step == shift or not math.isfinite(step):
            break
        shift = step
    return shift if abs(total) <= 1e-9 * size else None


def slopes_at(problem: Problem, coef: np.ndarray, intercept: float) -> np.ndarray:
    """The slopes of all losses at (coef, intercept)."""
    z, size = np.empty(problem.n), np.empty(problem.n)
    primal_sums(problem, coef, intercept, z, size)
    u = np.empty(problem.n)
    slopes_pass(problem.compiled_loss, problem.y, z, u)
    return u


def primal_sums(
    problem: Problem, coef: np.ndarray, intercept: float, z: np.ndarray, size: np.ndarray
) -> tuple[float, float]:
    """primal_pass over one block of rows after the other."""

    def work(span: slice, rows: Rows) -> tuple[float, float]:
        return scored(problem, span, rows, coef, intercept, z[span], size[span])

    return risk_of(map_row_blocks(problem.rows, problem.n, work))


def scored(
    problem: Problem, span: slice, rows: Rows, coef: np.ndarray, intercept: float, z: np.ndarray, size: np.ndarray
) -> tuple[float, float]:
    """primal_pass for some of the rows, whose scores and their sizes are written into z and size."""
    arguments = (problem.y[span], problem.weights[span], problem.offset[span], coef, intercept, z, size)
    return primal_pass(certified_loss(problem), rows, *arguments)


def risk_of(parts: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """The sums of the results of `scored`."""
    totals, magnitudes = zip(*parts, strict=True)
    return sum_of(totals), sum(magnitudes)


def require_subgradients(problem: Problem, span: slice, z: np.ndarray) -> None:
    """Raise InputError if a value of a custom loss lies below its tangent at one of the scores z."""
    if is_builtin(problem.loss):
        return
    y = problem.y[span]
    row, x = subgradient_pass(certified_loss(problem), y, problem.weights[span], z)
    if row < z.size:
        raise InputError(
            f"loss {type(problem.loss).__name__} is not convex, or its slope is not a subgradient: for y={y[row]:.6g} the "
            f"value at z={x:.6g} lies below the tangent at z={z[row]:.6g} (the score of row {span.start + row}). No "
            "certificate can be given; fenchel.losses.check(loss, targets=y) lists what is wrong"
        )


def share_of(problem: Problem, coef: np.ndarray, intercept: float, u: np.ndarray) -> Share:
    """The share of all rows of a problem, block by block; everything about a block is computed while it is in the cache."""
    combine = combiner(problem, problem.weights, u)

    def work(span: slice, rows: Rows) -> tuple:
        z, size = np.empty(span.stop - span.start), np.empty(span.stop - span.start)
        risk = scored(problem, span, rows, coef, intercept, z, size)
        arguments = (problem.y[span], problem.weights[span], z, size, u[span])
        through = through_pass(problem.compiled_loss, *arguments)
        require_subgradients(problem, span, z)
        return risk, combine(span, rows), conjugated(problem, span, u), through

    v, spread, through_all, risks, conjugate_sums = np.zeros(problem.d), 0.0, 0.0, [], []
    for risk, (part, more), conjugate, through in map_row_blocks(problem.rows, problem.n, work, least=WIDE * problem.d):
        v += part  # added immediately, because many parts of v would take too much memory
        spread += more
        through_all += through
        risks.append(risk)
        conjugate_sums.append(conjugate)
    risk_sum, magnitude = risk_of(risks)
    sums = conjugates_of(conjugate_sums)
    v, charge = split(problem, v, spread, coef)
    return Share(
        v, (-sums.total,), (sums.magnitude,), (spread,), np.array([sums.imbalance]),
        (risk_sum,), (magnitude,), (through_all,), charge,
    )  # fmt: skip


def certificate(problem: Problem, coef: np.ndarray, intercept: float, u: np.ndarray) -> tuple[Certificate, np.ndarray]:
    """(certificate, feasible dual point) for given coefficients and a given dual point."""
    given = usable(problem, u)
    point = feasible(problem, u) if given else np.zeros(problem.n)
    with np.errstate(over="ignore", invalid="ignore"):
        share = share_of(problem, coef, intercept, point)
    share = share if given else none_like(share)
    found, scale = assemble(problem, coef, share, rescaled(problem, share, point), abs(intercept))
    return found, scaled_point(scale, point)


def certify(problem: Problem, coef: ArrayLike, intercept: ArrayLike = 0.0, dual_point: Any = None) -> Certificate:
    """An upper bound on the suboptimality of (coef, intercept): a Certificate.

    It works for coefficients from any tool. If no dual point is given, the best one that can be constructed from the
    coefficients is used: the slopes of the losses there, improved where the loss is not differentiable. For several scores
    per row, a dual point is an array or a sparse matrix, rows x scores.

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
    certifier = certifier_of(problem)
    w, b = problem.variables(coef, intercept)
    with np.errstate(all="ignore"):  # overflow is detected by its result
        u = (
            certifier.best_dual_point(problem, w, b)
            if dual_point is None
            else certifier.accept_dual(problem, dual_point)
        )
        return certifier.certificate(problem, w, b, u)[0]


class Certifier(NamedTuple):
    """The functions that compute certificates for one family of problems, from the variables of a solver."""

    certificate: Callable[..., tuple[Certificate, Any]]
    slopes_at: Callable[..., Any]
    best_dual_point: Callable[..., Any]
    accept_dual: Callable[..., Any]
    slopes_certificate: Callable[..., tuple[Certificate, Any]] | None = None  # if that costs less than both separately

    def at_slopes(self, problem: Problem, w: np.ndarray, b: float) -> tuple[Certificate, Any]:
        """(certificate, feasible dual point) with the slopes of the losses at (w, b) as dual point."""
        if self.slopes_certificate is not None:
            return self.slopes_certificate(problem, w, b)
        return self.certificate(problem, w, b, self.slopes_at(problem, w, b))


_MODULES = {  # by the kind of problem; imported at the first use
    "scalar": "best_dual_point",
    "vector": "vector",
    "free vector": "vector",
    "own vector": "tangents",
    "set": "measure",
    "structured": "structured",
    "structured log": "structured",
    "kernel": "kernel",
}


def certifier_of(problem: Problem) -> Certifier:
    """The certifier for the family of the problem; problems on a cluster bring their own."""
    own = getattr(problem, "certifier", None)
    return own if own is not None else import_module(f"{__package__}.{_MODULES[problem.kind]}").CERTIFIER


def accept_duals(problem: Problem, dual_point: Any) -> np.ndarray:
    """A user's dual point of one number per row, checked."""
    return accept_vector(dual_point, problem.n, "dual_point")
