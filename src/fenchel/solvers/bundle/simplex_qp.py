"""Small convex programs over the probability simplex: the master problems of bundle methods.

`quadratic` minimises 1/2 a'Ga - c'a by a warm-started active-set method, and by an interior-point method where that stalls;
`convex` minimises a smooth convex function by Newton steps whose subproblems are `quadratic`. Both always return a feasible
point: an inexact solution costs iterations of the bundle method, never the validity of its bound.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fenchel.solvers.bundle.kernels import active_set
from fenchel.solvers.bundle.settings import SETTINGS

Evaluate = Callable[[np.ndarray], tuple[float, np.ndarray]]
Hessian = Callable[[np.ndarray], np.ndarray]


def vertex(size: int, index: int) -> np.ndarray:
    a = np.zeros(size)
    a[index] = 1.0
    return a


def gap_of(a: np.ndarray, gradient: np.ndarray) -> float:
    """How far a is from minimal at most: <gradient, a> - min gradient."""
    return float(a @ gradient - gradient.min())


def quadratic(G: np.ndarray, c: np.ndarray, warm: np.ndarray, tol: float) -> np.ndarray:
    """argmin 1/2 a'Ga - c'a over the simplex, to a gap of tol.

    A few steps of the warm-started active-set method are usually enough, because a new plane changes little. It can stall
    where planes are nearly dependent; an interior-point method without a warm start is robust there.
    """
    a, gap = _active_set(G, c, warm, tol)
    if gap <= tol:
        return a
    cold = sparsified(G, c, _interior_point(G, c, tol), tol)
    return cold if gap_of(cold, G @ cold - c) < gap else a


def sparsified(G: np.ndarray, c: np.ndarray, a: np.ndarray, tol: float) -> np.ndarray:
    """a without its tiny entries, if its gap stays within the larger of `tol` and what it is."""
    enough = max(tol, gap_of(a, G @ a - c))
    for threshold in SETTINGS.sparsity_thresholds:
        small = np.where(a > threshold, a, 0.0)
        small /= small.sum()
        if gap_of(small, G @ small - c) <= enough:
            return small
    return a


def _interior_point(G: np.ndarray, c: np.ndarray, tol: float) -> np.ndarray:
    """Mehrotra's predictor-corrector for the KKT system Ga - c - nu - s = 0, sum a = 1, a s = 0."""
    m = c.size
    a = np.full(m, 1.0 / m)
    gradient = G @ a - c
    spread = float(gradient.max() - gradient.min()) or 1.0
    nu = float(gradient.min()) - spread
    s, small = gradient - nu, SETTINGS.interior_point_gap_ratio * tol
    for _ in range(SETTINGS.max_interior_point_steps):
        dual_residual = G @ a - c - nu - s
        complementarity = float(a @ s)
        if complementarity <= small and float(np.abs(dual_residual).max()) <= small:
            break
        try:  # entries of G that differ by hundreds of powers of ten can leave the factor with a zero on its diagonal
            factor = np.linalg.cholesky(G + np.diag(s / a))
            da, dnu, ds = _newton(factor, a, s, dual_residual, -a * s, 1.0 - a.sum())
            step = min(_max_step(a, da), _max_step(s, ds))
            centring = (float((a + step * da) @ (s + step * ds)) / complementarity) ** 3
            target = centring * complementarity / m - a * s - da * ds
            da, dnu, ds = _newton(factor, a, s, dual_residual, target, 1.0 - a.sum())
        except np.linalg.LinAlgError:
            break
        step = SETTINGS.boundary_step_ratio * min(_max_step(a, da), _max_step(s, ds))
        new = a + step * da
        if not np.isfinite(new).all():
            break
        a, nu, s = new, nu + step * dnu, s + step * ds
    a = np.maximum(a, 0.0)
    return a / a.sum()


def _newton(
    factor: np.ndarray, a: np.ndarray, s: np.ndarray, dual_residual: np.ndarray, target: np.ndarray, balance: float
) -> tuple[np.ndarray, float, np.ndarray]:
    """(da, dnu, ds) with G da - dnu - ds = -dual_residual, sum da = balance, s da + a ds = target."""
    right = np.column_stack([target / a - dual_residual, np.ones(a.size)])
    x, e = np.linalg.solve(factor.T, np.linalg.solve(factor, right)).T
    dnu = (balance - x.sum()) / e.sum()
    da = x + dnu * e
    return da, dnu, (target - s * da) / a


def two_simplices(G: np.ndarray, c: np.ndarray, first: np.ndarray, tol: float) -> np.ndarray:
    """argmin 1/2 a'Ga - c'a, the entries of `first` and those of the others each in a simplex: an interior-point method
    as above, with a sum for each."""
    sums = np.array([first, ~first], dtype=float)
    a = sums.T @ (1.0 / sums.sum(axis=1))
    gradient = G @ a - c
    spread = float(gradient.max() - gradient.min()) or 1.0
    nu = np.array([gradient[first].min(), gradient[~first].min()]) - spread
    s, small = gradient - nu @ sums, SETTINGS.interior_point_gap_ratio * tol
    for _ in range(SETTINGS.max_two_simplex_steps):
        residual, left = G @ a - c - nu @ sums - s, 1.0 - sums @ a
        complementarity = float(a @ s)
        if complementarity <= small and float(np.abs(residual).max()) <= small:
            break
        try:
            factor = np.linalg.cholesky(G + np.diag(s / a))
            da, dnu, ds = _newton_with_sums(factor, sums, a, s, residual, -a * s, left)
            step = min(_max_step(a, da), _max_step(s, ds))
            centring = (float((a + step * da) @ (s + step * ds)) / complementarity) ** 3
            target = centring * complementarity / a.size - a * s - da * ds
            da, dnu, ds = _newton_with_sums(factor, sums, a, s, residual, target, left)
        except np.linalg.LinAlgError:
            break
        step = SETTINGS.boundary_step_ratio * min(_max_step(a, da), _max_step(s, ds))
        new = a + step * da
        if not np.isfinite(new).all():
            break
        a, nu, s = new, nu + step * dnu, s + step * ds
    a = np.where(a > SETTINGS.max_zero_weight, a, 0.0)
    return a / ((sums @ a) @ sums)


def _newton_with_sums(
    factor: np.ndarray,
    sums: np.ndarray,
    a: np.ndarray,
    s: np.ndarray,
    residual: np.ndarray,
    target: np.ndarray,
    left: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(da, dnu, ds) with G da - sums' dnu - ds = -residual, sums da = left, s da + a ds = target."""
    right = np.column_stack([target / a - residual, sums.T])
    found = np.linalg.solve(factor.T, np.linalg.solve(factor, right))
    x, e = found[:, 0], found[:, 1:]
    dnu = np.linalg.solve(sums @ e, left - sums @ x)
    da = x + e @ dnu
    return da, dnu, (target - s * da) / a


def _max_step(x: np.ndarray, dx: np.ndarray) -> float:
    """The largest step in (0, 1] that keeps x + step dx >= 0."""
    falling = dx < 0.0
    return min(1.0, float(np.min(-x[falling] / dx[falling]))) if falling.any() else 1.0


def _active_set(G: np.ndarray, c: np.ndarray, start: np.ndarray, tol: float) -> tuple[np.ndarray, float]:
    """(point, gap) of the compiled active-set method; where its factor has drifted, it goes on with a fresh one."""
    a, scale, gap = np.array(start), float(np.trace(G)) / c.size or 1.0, np.inf
    for _ in range(SETTINGS.max_active_set_factors):
        steps = SETTINGS.active_set_steps_per_plane * (c.size + 1)
        gap = active_set(G, c, a, tol, steps, scale, SETTINGS.face_ridge_ratio * scale)
        if gap <= tol:
            break
    return a, gap


def damped(damping: float, step: float, slope: float, direction: np.ndarray) -> float:
    """The multiple of I that is added to the next Hessian. Where few coordinates are active it is singular, and steps far too
    long: after a step t along p, it is what would have made that step of length t for a Hessian of 0."""
    if step == 1.0:
        return SETTINGS.damping_fall * damping
    return max(damping, -slope / (step * float(direction @ direction)))


def convex(evaluate: Evaluate, hessian: Hessian, warm: np.ndarray, tol: float) -> np.ndarray:
    """argmin of a smooth convex f over the simplex; evaluate gives (f, gradient), hessian a semidefinite matrix."""
    a, damping = warm, 0.0
    value, gradient = evaluate(a)
    for _ in range(SETTINGS.max_newton_steps):
        gap = gap_of(a, gradient)
        if not gap > tol:
            break
        H = hessian(a)
        H.flat[:: a.size + 1] += damping
        target = quadratic(H, H @ a - gradient, a, SETTINGS.newton_gap_ratio * gap)
        direction = target - a
        slope = float(gradient @ direction)
        if not slope < -SETTINGS.rounding_ratio * abs(value):
            direction = vertex(a.size, int(np.argmin(gradient))) - a
            slope = float(gradient @ direction)
        step, improved = 1.0, False
        for _ in range(SETTINGS.max_search_trials):
            new = np.maximum(a + step * direction, 0.0)
            new /= new.sum()
            new_value, new_gradient = evaluate(new)
            rounding = SETTINGS.unchanged_objective_roundings * SETTINGS.rounding_ratio * abs(value)
            flat = abs(new_value - value) <= rounding and gap_of(new, new_gradient) < gap
            if new_value <= value + SETTINGS.armijo_ratio * step * slope or flat:
                damping = damped(damping, step, slope, direction)
                a, value, gradient, improved = new, new_value, new_gradient, True
                break
            step *= SETTINGS.search_backtrack_ratio
        if not improved:
            break
    return a
