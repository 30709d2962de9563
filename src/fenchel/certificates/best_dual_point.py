"""The best dual point that can be built from coefficients alone.

For a differentiable loss the slopes at w are the dual point of w, and the gap they give shrinks with the square of the
distance to the optimum. A nonsmooth loss has many subgradients at a nonsmooth point, and an optimal w has many rows exactly
there: the right combination must be found. Candidates are the slopes of the smoothed losses; for regularizers with a quadratic
part the combination at the nonsmooth points that fits -sum_i p_i u_i x_i = grad R(w) best, and exact coordinate steps from the
best of all; for L1 the best combination with |sum_i p_i u_i x_ij| <= alpha, a linear program. Nothing here is trusted:
`certify` recomputes D at the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.certificates.passes import slopes_pass
from fenchel.certificates.scalar import (
    Certifier,
    DualValue,
    accept_duals,
    certificate,
    dual_value,
    primal_sums,
    slopes_at,
)
from fenchel.compile.kernel import kernel
from fenchel.data.rows import axpy, mapped_dot, sqnorm
from fenchel.data.types import Matrix
from fenchel.losses.protocol import dual_step, slope
from fenchel.mirror_maps.coordinatewise import Coordinatewise, Identity, Soft
from fenchel.problems.scalar import Problem
from fenchel.regularizers import L1, L2, ElasticNet
from fenchel.regularizers.base import Regularizer

SMOOTHINGS = 10.0 ** np.arange(-9, 1)
ROUNDS = 30
SWEEPS = 200  # per round
MOST_PASSES, MOST_VISITS = (
    30,
    5_000_000,
)  # limit of coordinate steps: so many passes over the data, or so many steps if that is more
GOOD = 1e-9  # relative gap at which the improvement stops
NEAR = 10.0 ** np.arange(-10, -1)  # distances from a nonsmooth point, relative to the scores, that count as being at it
FEW = 5_000_000  # numbers in the least-squares problem of the nonsmooth points
LARGEST_PROGRAM, LONGEST = (
    500_000,
    10.0,
)  # maximum number of entries and of seconds of the linear program at nonsmooth points


@kernel
def smoothed_slopes(loss, y, z, gamma, u):
    """u_i = slope of the Moreau envelope of the loss at z_i."""
    for i in range(z.size):
        u[i] = dual_step(loss, 0.0, z[i], gamma, y[i])


@kernel
def ascend(loss, rows, y, p, offset, transfer, order, inverse_strength, inverse_bias, b, u, v, moved):
    """Exact dual steps for the rows in `order`; moved_i counts the steps that changed u_i."""
    for k in range(np.uint64(order.size)):
        i = order[k]
        z = mapped_dot(rows, i, v, transfer) + offset[i] + b
        q = p[i] * (sqnorm(rows, i) * inverse_strength + inverse_bias)
        new = dual_step(loss, u[i], z, q, y[i]) if q > 0.0 else slope(loss, z, y[i])
        if new != u[i]:
            moved[i] += 1
            axpy(rows, i, (u[i] - new) * p[i] * inverse_strength, v)
            b += (u[i] - new) * p[i] * inverse_bias
            u[i] = new
    return b


def best_dual_point(problem: Problem, coef: np.ndarray, intercept: float) -> np.ndarray:
    """A dual point with a high D, found at moderate cost."""
    u = slopes_at(problem, coef, intercept)
    if problem.smooth_loss:
        return u
    best = dual_value(problem, u)
    z = problem.X @ coef + problem.offset + intercept
    spread = float(np.median(np.abs(z))) or 1.0
    for gamma in SMOOTHINGS * spread:
        candidate = np.empty(problem.n)
        smoothed_slopes(problem.compiled_loss, problem.y, z, gamma, candidate)
        found = dual_value(problem, candidate)
        best = found if found.dual > best.dual else best
    quadratic = _quadratic_part(problem.regularizer)
    if quadratic is not None:
        for candidate in _fitted_at_nonsmooth_points(problem, coef, z, spread, quadratic[0]):
            found = dual_value(problem, candidate)
            best = found if found.dual > best.dual else best
        best = _coordinate_steps(problem, intercept, best, *quadratic)
    elif isinstance(problem.regularizer, L1) and problem.regularizer.weights is None:
        primal = primal_sums(problem, coef, intercept, np.empty(problem.n), np.empty(problem.n))[0]
        primal += problem.regularizer.value(coef)
        for candidate in _programmed_at_breakpoints(problem, z, spread, primal):
            found = dual_value(problem, candidate)
            best = found if found.dual > best.dual else best
            if primal - best.dual <= GOOD * abs(primal):
                break
    return best.point


def _quadratic_part(regularizer: Regularizer) -> tuple[float, Any] | None:
    """(strength, transfer) of a regularizer strength/2 |w|^2 + threshold |w|_1."""
    if getattr(regularizer, "weights", None) is not None:
        return None
    if isinstance(regularizer, L2):
        return regularizer.alpha, Identity()
    if isinstance(regularizer, ElasticNet):
        strength = regularizer.alpha * (1.0 - regularizer.l1_ratio)
        return strength, Soft(regularizer.alpha * regularizer.l1_ratio / strength)
    return None


def _fitted_at_nonsmooth_points(
    problem: Problem, coef: np.ndarray, z: np.ndarray, spread: float, strength: float
) -> Iterator[Any]:
    """Slopes at z, those of the rows near a nonsmooth point fitted to the gradient of R between the slopes on either side.

    At the optimum grad R(w) = -sum_i p_i u_i x_i on the columns where R is differentiable, and sum_i p_i u_i = 0 with a
    free intercept: bounded least squares in the u_i of the nonsmooth points, for the set of rows within each distance.
    """
    from scipy.optimize import lsq_linear

    columns = np.flatnonzero(coef) if isinstance(problem.regularizer, ElasticNet) else np.arange(problem.d)
    gradient = strength * coef + (problem.regularizer.alpha - strength) * np.sign(coef)
    p = problem.weights
    for free, low, high, u in _breakpoints(problem, z, spread, FEW // (columns.size + 1)):
        missing = (_combined(problem, u) - gradient)[columns]
        A = _dense(problem.X[free])[:, columns].T * p[free]
        if problem.fit_intercept:
            A, missing = np.vstack([A, p[free]]), np.append(missing, -float(p @ u))
        unit = p[free].max()
        u[free] = lsq_linear(A / unit, missing / unit, bounds=(low[free], high[free])).x
        yield u


def _programmed_at_breakpoints(problem: Problem, z: np.ndarray, spread: float, primal: float) -> Iterator[np.ndarray]:
    """Slopes at z, those of the rows near a nonsmooth point chosen by the linear program

    min over u, t >= 0 of sum_i p_i u_i (z_i - offset_i) + |P| t, |v_j| <= (1 + t) alpha, v = -sum_i p_i u_i x_i,

    and sum_i p_i u_i = 0 with a free intercept. The first sum is -D up to a constant, as loss*(u) = u z - loss(z) for every u
    between the slopes at a nonsmooth point, and the second term is about the loss of D when u is scaled by 1 / (1 + t) into the
    domain of R*.
    """
    from scipy.optimize import linprog

    p, alpha = problem.weights, problem.regularizer.alpha
    for free, low, high, u in _breakpoints(problem, z, spread, LARGEST_PROGRAM // problem.d):
        fixed, slack = _combined(problem, u), np.full((problem.d, 1), -alpha)
        A = sp.csr_matrix(problem.X[free], dtype=float).T.multiply(p[free])
        both = sp.vstack([sp.hstack([A, slack]), sp.hstack([-A, slack])], format="csr")
        balance = {}
        if problem.fit_intercept:
            balance = {"A_eq": np.append(p[free], 0.0)[None, :], "b_eq": [-float(p @ u)]}
        found = linprog(
            np.append(p[free] * (z - problem.offset)[free], abs(primal)), both, np.append(alpha + fixed, alpha - fixed),
            bounds=[*zip(low[free], high[free], strict=True), (0.0, None)], method="highs", **balance,
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "time_limit": LONGEST},
        )  # fmt: skip
        if found.x is not None:
            u[free] = np.clip(found.x[:-1], low[free], high[free])
            yield u


def _breakpoints(problem: Problem, z: np.ndarray, spread: float, most: int) -> Iterator[tuple[np.ndarray, ...]]:
    """(rows near a nonsmooth point, the slopes of all rows on either side, the slopes with 0 for these rows), for the set of
    rows within each distance, up to `most` rows."""
    before = 0
    for near in NEAR * spread:
        low, high = _slopes(problem, z - near), _slopes(problem, z + near)
        free = np.flatnonzero((low < high) & (problem.weights > 0.0))
        if free.size > most:
            return
        if free.size in (0, before):
            continue
        before, u = free.size, 0.5 * (low + high)
        u[free] = 0.0
        yield free, low, high, u


def _slopes(problem: Problem, z: np.ndarray) -> np.ndarray:
    u = np.empty(problem.n)
    slopes_pass(problem.compiled_loss, problem.y, z, u)
    return u


def _dense(X: Matrix) -> np.ndarray:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)


def _coordinate_steps(
    problem: Problem, intercept: float, best: DualValue, strength: float, transfer: Coordinatewise
) -> DualValue:
    """Rounds of sweeps over the rows that still move, each round evaluated by the true dual value.

    The number of passes is limited, because far from the optimum every dual point is poor.
    """
    rng = np.random.default_rng(0)
    u, p = best.point.copy(), problem.weights
    bias = strength * float(np.mean(_norms(problem))) if problem.fit_intercept else 0.0
    inverse_bias = 1.0 / bias if bias > 0.0 else 0.0
    active = np.flatnonzero(p > 0.0).astype(np.uint64)
    left = max(MOST_PASSES * active.size, MOST_VISITS)  # steps
    for _ in range(ROUNDS):
        v = _combined(problem, u) / strength
        b = intercept - float(p @ u) * inverse_bias
        moved = np.zeros(problem.n, dtype=np.int64)
        order = active
        for _ in range(SWEEPS):
            order = rng.permutation(order)
            arguments = (problem.rows, problem.y, p, problem.offset, transfer, order, 1.0 / strength, inverse_bias)
            b = ascend(problem.compiled_loss, *arguments, b, u, v, moved)
            left -= order.size
            if left <= 0:
                break
            order = order[moved[order] > 0] if order.size == active.size else order
        found = dual_value(problem, u)
        gain = found.dual - best.dual
        best = found if gain > 0.0 else best
        if gain <= GOOD * abs(best.dual) or left <= 0:
            break
    return best


def _norms(problem: Problem) -> np.ndarray:
    X = problem.X
    return np.asarray((X.multiply(X) if hasattr(X, "multiply") else X * X).sum(axis=1), dtype=float).ravel()


def _combined(problem: Problem, u: np.ndarray) -> np.ndarray:
    return -np.asarray(problem.X.T @ (problem.weights * u), dtype=float).ravel()


CERTIFIER = Certifier(certificate, slopes_at, best_dual_point, accept_duals)
