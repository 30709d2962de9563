"""A second checker of certificates, in plain Python: slow, and short (with `independent_sums` and `independent_structured`).

The certificate of a `Result` is recomputed by compiled code. This file recomputes it once more without any: no numba, no kernel
cache, no solver, and nothing of the first certificate. Of the package it uses only what defines the problem: the Python methods
of the loss, measure or structured model and of the regularizer. Kernels among them run as plain Python (`interpreted`). Every
sum is a `math.fsum`, which rounds once.

    P(w, b) = sum_i p_i loss(z_i, y_i) + R(w)        z_i = <x_i, w> + offset_i + b
    D       = constant of the dual point - R*(v)     D <= P(w', b') for all w', b'

A dual point is checked, not repaired: where it is outside the domain of a conjugate, D is -inf. Three small things are allowed
for, because points are feasible up to rounding only: it is scaled into the domain of R*; the deviation from sum p u = 0 for a
free intercept is multiplied by the intercept and added to the floor, and so is the deviation from v = 0 along unpenalised
directions, and the rounding of all sums.

    family                dual point                                 constant, v
    one score per row     u_i                                        -sum p (loss*(u) - u offset),  -sum p u x
    several scores        u_i, a vector                              -sum p loss*(u),  -sum p x u'
    several, custom loss  tangents of the loss at matrices of scores  sum p a (loss(Z) - <u, Z>),  -sum p a x u'
    measure               tangents at vectors of scores               sum a (M(z) - <g, z>),  -X' sum a g
    structured, hinge     labels with weights, or marginals          sum p a L(y),  -sum p a f (phi(y) - phi(gold))
    structured, log       Gibbs distributions at coefficients w_k    sum a (M(w_k) - <g, w_k>),  -sum a g
    kernel                u_i                                        as one score;  R* = (p u)'K(p u) / (2 alpha)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.certificates.independent_structured import structured_hinge, structured_log
from fenchel.certificates.independent_sums import (
    SAFETY,
    UNIT,
    Plane,
    Risk,
    combined,
    mixed,
    scores,
    towards_zero,
    weighted_sum,
)
from fenchel.certificates.rigorous import rigorous_certificate
from fenchel.certificates.rigorous_several import rigorous_several
from fenchel.compile.dispatch import is_builtin
from fenchel.compile.kernel import interpreted
from fenchel.errors import InputError
from fenchel.losses import derived
from fenchel.losses.protocol import conjugate, slope, value
from fenchel.multiclass.protocol import slopes
from fenchel.problems.measure import SetProblem
from fenchel.problems.scalar import Problem
from fenchel.problems.vector import VectorProblem
from fenchel.regularizers.base import Regularizer, is_trusted
from fenchel.result import Certificate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def check_proof(
    problem: Problem, coef: ArrayLike, intercept: ArrayLike = 0.0, dual_point: Any = None, rigorous: bool = False
) -> Certificate:
    """Recompute a certificate in plain Python, independently of all compiled code: P(coef, intercept), and D(dual_point).

    Parameters
    ----------
    problem : the `Problem` (not one on a cluster).
    coef, intercept : as in a `Result`.
    dual_point : as in a `Result`. None: the slopes of the losses at coef, which give a poor bound unless the loss is smooth.
    rigorous : bounds in real arithmetic, by exact rational numbers: P rounded up, D rounded down, and a floor of 0. For losses
        of one score, softmax and max hinge with L2, L1, ElasticNet or L0. The weights are the p_i as the problem holds them.

    Returns
    -------
    Certificate, of basis "independent" (rigorous: "exact arithmetic"). Time grows with the stored values of X: about a second
    for a million.

    Examples
    --------
    >>> import fenchel
    >>> problem = fenchel.Problem([[0.0], [1.0], [2.0]], [-1, -1, 1], loss="hinge", alpha=0.1, fit_intercept=True)
    >>> result = fenchel.solve(problem, tol=1e-6)
    >>> fenchel.check_proof(problem, result.coef, result.intercept, result.dual_point).holds(1e-6)
    True
    >>> fenchel.check_proof(problem, result.coef + 0.1, result.intercept, result.dual_point).holds(1e-6)
    False
    """
    if problem.remote:
        raise InputError("the independent checker needs the rows in this process: it cannot check data on a cluster")
    if problem.is_kernel and (problem.is_vector or problem.is_measure):
        raise InputError("with a kernel, the independent checker knows losses of one score only: use fenchel.certify")
    if problem.is_kernel:
        w, b = np.asarray(coef, dtype=float), float(np.asarray(intercept, dtype=float))
    else:
        w, b = problem.variables(coef, intercept)
    with interpreted(), np.errstate(all="ignore"):
        if rigorous:
            several = problem.is_vector and not problem.is_kernel
            return (
                rigorous_several(problem, w, dual_point) if several else rigorous_certificate(problem, w, b, dual_point)
            )
        if problem.is_kernel:
            return _kernel_certificate(problem, w, b, dual_point)
        risk, plane = next(check for holds, check in FAMILIES if holds(problem))(problem, w, b, dual_point)
        if isinstance(problem, VectorProblem):  # free intercepts are the last variables
            penalised = problem.features * problem.outputs
            return _assembled(
                problem.penalty, w[:penalised], float(np.max(np.abs(w[penalised:]), initial=0.0)), risk, plane
            )
        return _assembled(problem.regularizer, w, abs(b), risk, plane)


def _assembled(penalty: Regularizer, w: np.ndarray, b: float, risk: Risk, plane: Plane) -> Certificate:
    """P and D, and the rounding floor of P - D."""
    regular = float(penalty.value(w))
    constant, size = plane.constant, plane.size
    v, charge = _penalised(penalty, plane.v, w)
    if not (math.isfinite(constant) and np.isfinite(v).all()):
        return _refused(risk.value + regular)
    if (scale := float(penalty.dual_scale(v))) < 1.0:
        if plane.scaled is None:
            return _refused(risk.value + regular)
        v, (constant, size) = scale * v, plane.scaled(scale)
    if not is_trusted(penalty):
        _refuse_false_conjugate(penalty, w, v)
    moved = penalty.perturbed(v, SAFETY * UNIT * float(np.max(plane.spread, initial=0.0)))
    outward = [_penalised(penalty, x, w)[0] for x in moved]
    ends, conjugate_value = [float(penalty.conjugate(x)) for x in outward], float(penalty.conjugate(v))
    if math.isfinite(max(ends)):
        hidden = max(0.0, max(ends) - conjugate_value)
    else:  # at the boundary of the domain of R*, the point would be scaled by this factor
        hidden = (1.0 - min(float(penalty.dual_scale(x)) for x in outward)) * size
    if hasattr(penalty, "infeasibility") and math.isfinite(conjugate_value):
        hidden += penalty.infeasibility(w, v)
    floor = SAFETY * UNIT * (risk.size + size + abs(regular) + abs(conjugate_value)) + hidden
    floor += plane.imbalance * max(1.0, b) + charge
    return _certificate(risk.value + regular, constant - conjugate_value, floor)


def _penalised(penalty: Regularizer, v: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float]:
    """(v without its component along unpenalised directions, the contribution of that component at coefficients like w)."""
    find = getattr(penalty, "unpenalised", None)
    N = None if find is None or not np.isfinite(v).all() else find(v.size)
    if N is None:
        return v, 0.0
    N = N.toarray()
    squares = (N * N).sum(axis=0)
    along = N.T @ v
    return v - N @ (along / squares), float(np.abs(along) @ np.maximum(1.0, np.abs(N.T @ w) / squares))


def _certificate(primal: float, dual: float, floor: float) -> Certificate:
    primal, dual = (primal if primal == primal else math.inf), (dual if dual == dual else -math.inf)
    return Certificate(float(primal), float(dual), "independent", float(floor) if math.isfinite(floor) else math.inf)


def _refused(primal: float) -> Certificate:
    return _certificate(primal, -math.inf, math.inf)


def _refuse_false_conjugate(penalty: Regularizer, w: np.ndarray, v: np.ndarray) -> None:
    """Compare the R* of a custom regularizer with v'w - R(w) at several w."""
    bound, rng = float(penalty.conjugate(v)), np.random.default_rng(1)
    for x in (w, v, np.zeros(v.size), *(t * rng.standard_normal(v.size) for t in (0.01, 1.0, 100.0))):
        below = float(v @ x) - float(penalty.value(x))
        if below > bound + 1e-9 * (abs(bound) + float(np.abs(v) @ np.abs(x)) + abs(float(penalty.value(x)))):
            raise InputError(
                f"conjugate of {type(penalty).__name__} is wrong: it is {bound:.6g}, but it must be at least {below:.6g}"
            )


def _one_score(problem: Problem, w: np.ndarray, b: float, u: Any) -> tuple[Risk, Plane]:
    Z, reach = scores(problem.X, w[:, None], problem.offset[:, None] + b)
    risk, u = _scalar_risk(problem, Z[:, 0], reach[:, 0], u)
    constant, size = _scalar_constant(problem, u)
    a = problem.weights * u
    v = combined(problem.X, a[:, None], problem.d)
    return risk, Plane(constant, size, *v, lambda scale: _scalar_constant(problem, scale * u), _imbalance(problem, a))


def _imbalance(problem: Problem, a: np.ndarray) -> float:
    return abs(math.fsum(a)) + UNIT * math.fsum(np.abs(a)) if problem.fit_intercept else 0.0


def _scalar_risk(problem: Problem, z: np.ndarray, reach: np.ndarray, u: Any) -> tuple[Risk, np.ndarray]:
    """(risk at scores z, the dual point or, if there is none, the slopes at z)."""
    loss, y = problem.loss, problem.y.tolist()
    at = [slope(loss, float(t), q) for t, q in zip(z, y, strict=True)]
    total, size = weighted_sum(problem.weights, [value(loss, float(t), q) for t, q in zip(z, y, strict=True)])
    size += float(problem.weights @ (np.abs(at) * reach))
    return Risk(total, size), np.array(at) if u is None else np.asarray(u, dtype=float)


def _scalar_constant(problem: Problem, u: np.ndarray) -> tuple[float, float]:
    """(-sum p (loss*(u) - u offset), its magnitude); for a custom loss the conjugate is derived from its values."""
    star = conjugate if is_builtin(problem.loss) else derived.conjugate
    triples = zip(u.tolist(), problem.y.tolist(), problem.offset.tolist(), strict=True)
    total, size = weighted_sum(problem.weights, [star(problem.loss, t, q) - t * o for t, q, o in triples])
    return -total, size


def _several_scores(problem: VectorProblem, w: np.ndarray, b: float, U: Any) -> tuple[Risk, Plane]:
    m, features, loss, p = problem.outputs, problem.features, problem.loss, problem.weights
    W = w.reshape(-1, m)
    shift = np.broadcast_to(W[features] if problem.free else 0.0, (problem.n, m))
    Z, reach = scores(problem.X, W[:features], shift)
    total, size, at = _tangents(problem, Z)
    risk = Risk(total, size + float(np.sum(p[:, None] * np.abs(at) * reach)))
    if problem.own:
        weights, points = U if U is not None else (np.ones(1), Z[None])
        constant, slopes_mixed, size = 0.0, np.zeros(Z.shape), 0.0
        for a, at_scores in zip(mixed(weights, getattr(loss, "nonnegative", False)), points, strict=True):
            height, terms, G = _tangents(problem, at_scores)
            _refuse_tangent_above(problem, at_scores, G, Z)
            constant += a * (height - float(np.sum(p[:, None] * G * at_scores)))
            size += a * (terms + float(np.sum(p[:, None] * np.abs(G * at_scores))))
            slopes_mixed += a * G
        scaled = towards_zero(constant, size) if getattr(loss, "nonnegative", False) else None
        return risk, Plane(constant, size, *combined(problem.X, p[:, None] * slopes_mixed, features), scaled)
    U = at if U is None else np.array(U.toarray() if hasattr(U, "toarray") else U, dtype=float)

    def constant_of(scale: float) -> tuple[float, float]:
        total, size = weighted_sum(p, [float(conjugate(loss, scale * U[i], problem.y[i])) for i in range(problem.n)])
        return -total, size

    a = p[:, None] * U
    imbalance = (
        max(abs(math.fsum(column)) + UNIT * math.fsum(np.abs(column)) for column in a.T) if problem.free else 0.0
    )
    return risk, Plane(*constant_of(1.0), *combined(problem.X, a, features), constant_of, imbalance)


def _tangents(problem: VectorProblem, Z: np.ndarray) -> tuple[float, float, np.ndarray]:
    """(sum p loss(Z), its size, slopes)."""
    G = np.empty(Z.shape)
    for i in range(problem.n):
        slopes(problem.loss, Z[i].copy(), problem.y[i], G[i])
    total, size = weighted_sum(
        problem.weights, [float(value(problem.loss, z.copy(), y)) for z, y in zip(Z, problem.y, strict=True)]
    )
    return total, size, G


def _refuse_tangent_above(problem: VectorProblem, at: np.ndarray, G: np.ndarray, Z: np.ndarray) -> None:
    """Check for a custom loss that no tangent lies above the loss at the scores of the coefficients."""
    for i in range(problem.n):
        height, here = (float(value(problem.loss, z.copy(), problem.y[i])) for z in (at[i], Z[i]))
        rise = float(G[i] @ (Z[i] - at[i]))
        if height + rise > here + 1e-9 * (
            abs(height) + abs(here) + float(np.abs(G[i]) @ (np.abs(Z[i]) + np.abs(at[i])))
        ):
            raise InputError(
                f"loss {type(problem.loss).__name__} lies below its tangent in row {i}: its slopes are not a subgradient"
            )


def _measure(problem: SetProblem, w: np.ndarray, b: float, mixture: Any) -> tuple[Risk, Plane]:
    Z, reach = scores(problem.X, w[:, None], np.zeros((problem.n, 1)))
    z, loss, g = Z[:, 0], problem.loss, np.empty(problem.n)
    long = 1.0 + math.log2(problem.n)  # sums over sorted scores run over all of them
    height = float(loss.value_and_slope(z.copy(), problem.prepared, g))
    risk = Risk(height, long * (abs(height) + float(np.abs(g) @ reach[:, 0])))
    weights, points = mixture if mixture is not None else (np.ones(1), z[None])
    constant, size, slope_mixed = 0.0, 0.0, np.zeros(problem.n)
    for a, at in zip(mixed(weights, loss.nonnegative), points, strict=True):
        height = float(loss.value_and_slope(at.copy(), problem.prepared, g))
        if height + float(g @ (z - at)) > risk.value + 1e-9 * (abs(height) + risk.size + float(np.abs(g) @ np.abs(at))):
            raise InputError(f"measure {type(loss).__name__} lies below a tangent: its slopes are not a subgradient")
        constant += a * (height - math.fsum(g * at))
        size += a * long * (abs(height) + float(np.abs(g) @ np.abs(at)))
        slope_mixed += a * g
    scaled = towards_zero(constant, size) if loss.nonnegative else None
    return risk, Plane(constant, size, *combined(problem.X, slope_mixed[:, None], problem.d), scaled)


def _kernel_certificate(problem: Any, c: np.ndarray, b: float, u: Any) -> Certificate:
    K, alpha = np.asarray(problem.gram.rows(0, problem.n, np.arange(problem.n)), dtype=float), problem.alpha
    z, reach = K @ c + b, np.abs(K) @ np.abs(c) + abs(b)
    risk, u = _scalar_risk(problem, z, reach * problem.n, u)
    constant, size = _scalar_constant(problem, u)
    a = problem.weights * u
    regular, star = 0.5 * alpha * float(c @ (K @ c)), float(a @ (K @ a)) / (2.0 * alpha)
    rounded = problem.n * (0.5 * alpha * float(np.abs(c) @ np.abs(K) @ np.abs(c)))
    rounded += problem.n * float(np.abs(a) @ np.abs(K) @ np.abs(a)) / (2.0 * alpha)
    floor = SAFETY * UNIT * (risk.size + size + rounded) + _imbalance(problem, a) * max(1.0, abs(b))
    return _certificate(risk.value + regular, constant - star, floor)


FAMILIES: tuple[tuple[Callable[[Any], bool], Callable[..., tuple[Risk, Plane]]], ...] = (
    (lambda problem: problem.is_scalar, _one_score),
    (lambda problem: problem.is_vector, _several_scores),
    (lambda problem: problem.is_measure, _measure),
    (lambda problem: problem.log, structured_log),
    (lambda problem: problem.is_structured, structured_hinge),
)
