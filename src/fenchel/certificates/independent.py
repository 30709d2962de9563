"""A second checker of certificates, in plain Python: slow, and short enough to be read in one sitting.

The certificate of a `Result` is recomputed by compiled code. This file recomputes it once more without any: no numba, no kernel
cache, no solver, and nothing of the first certificate. Of the package it uses only what defines the problem: the Python methods
of the loss, measure or structured model and of the regularizer. Kernels among them run as plain Python (`interpreted`). Every
sum is a `math.fsum`, which rounds once.

    P(w, b) = sum_i p_i loss(z_i, y_i) + R(w)        z_i = <x_i, w> + offset_i + b
    D       = constant of the dual point - R*(v)     D <= P(w', b') for all w', b'

A dual point is checked, not repaired: where it is outside the domain of a conjugate, D is -inf. Three small things are allowed
for, because a feasible point is never feasible to the last bit: it is scaled down into the domain of R*; what is missing to
sum p u = 0 for a free intercept is multiplied by the intercept and added to the floor; and so is the rounding of all sums.

    family                dual point                                 constant, v
    one score per row     u_i                                        -sum p (loss*(u) - u offset),  -sum p u x
    several scores        u_i, a vector                              -sum p loss*(u),  -sum p x u'
    several, own loss     tangents of the loss at matrices of scores  sum p a (loss(Z) - <u, Z>),  -sum p a x u'
    measure               tangents at vectors of scores               sum a (M(z) - <g, z>),  -X' sum a g
    structured, hinge     labels with weights, or marginals          sum p a L(y),  -sum p a f (phi(y) - phi(gold))
    structured, log       Gibbs distributions at coefficients w_k    sum a (M(w_k) - <g, w_k>),  -sum a g
    kernel                u_i                                        as one score;  R* = (p u)'K(p u) / (2 alpha)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from fenchel.compile.dispatch import is_builtin, is_ours
from fenchel.compile.kernel import interpreted
from fenchel.errors import InputError
from fenchel.losses import derived
from fenchel.losses.protocol import conjugate, slope, value
from fenchel.multiclass.protocol import slopes
from fenchel.result import Certificate
from fenchel.structured import Gibbs, Marginals, Pool
from fenchel.structured.marginals import parts_of
from fenchel.structured.parts import add_cliques, recover_cliques
from fenchel.structured.protocol import (
    add_label,
    begin_pass,
    best_label,
    label_cost,
    label_margin,
    log_partition,
    part_scores,
    plane_ceiling,
    plane_factor,
    score_size,
)

UNIT = 2.0**-53
SAFETY = 16.0  # roundings per term, those inside of losses and conjugates included


class Risk(NamedTuple):
    """sum p loss at (w, b), and the sizes of all that was rounded on the way."""

    value: float
    size: float


class Plane(NamedTuple):
    """What a dual point proves: risk(w') >= constant - <v, w'> - imbalance |b'| for all w', b'."""

    constant: float
    size: float  # of the terms of the constant
    v: np.ndarray
    spread: np.ndarray  # sums of the sizes of the terms of v
    scaled: Callable[[float], tuple[float, float]] | None  # (constant, size) of the point times a number below 1
    imbalance: float = 0.0


def check_proof(problem: Any, coef: Any, intercept: Any = 0.0, dual_point: Any = None) -> Certificate:
    """Recompute a certificate in plain Python, independently of all compiled code: P(coef, intercept), and D(dual_point).

    Parameters
    ----------
    problem : the `Problem` (not one on a cluster).
    coef, intercept : as in a `Result`.
    dual_point : as in a `Result`. None: the slopes of the losses at coef, which prove little unless the loss is smooth.

    Returns
    -------
    Certificate, of basis "independent". Time grows with the stored values of X: about a second for a million.

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
        raise InputError("the independent checker needs the rows here: it cannot check data on a cluster")
    if problem.is_kernel:
        w, b = np.asarray(coef, dtype=float), float(intercept)
    else:
        w, b = problem.variables(coef, intercept)
    with interpreted(), np.errstate(all="ignore"):
        if problem.is_kernel:
            return _kernel_certificate(problem, w, b, dual_point)
        risk, plane = next(check for holds, check in FAMILIES if holds(problem))(problem, w, b, dual_point)
        if problem.is_vector:  # free intercepts are the last variables
            penalised = problem.features * problem.outputs
            return _assembled(
                problem.penalty, w[:penalised], float(np.max(np.abs(w[penalised:]), initial=0.0)), risk, plane
            )
        return _assembled(problem.regularizer, w, abs(b), risk, plane)


def _assembled(penalty: Any, w: np.ndarray, b: float, risk: Risk, plane: Plane) -> Certificate:
    """P and D, and what rounding can hide in P - D."""
    regular = float(penalty.value(w))
    constant, v, size = plane.constant, plane.v, plane.size
    if not (math.isfinite(constant) and np.isfinite(v).all()):
        return _refused(risk.value + regular)
    if (scale := float(penalty.dual_scale(v))) < 1.0:
        if plane.scaled is None:
            return _refused(risk.value + regular)
        v, (constant, size) = scale * v, plane.scaled(scale)
    if not is_ours(type(penalty)):
        _refuse_false_conjugate(penalty, w, v)
    outward = penalty.perturbed(v, SAFETY * UNIT * float(np.max(plane.spread, initial=0.0)))
    ends, conjugate_value = [float(penalty.conjugate(x)) for x in outward], float(penalty.conjugate(v))
    if math.isfinite(max(ends)):
        hidden = max(0.0, max(ends) - conjugate_value)
    else:  # at the end of the domain of R*: the point would be scaled down by so much
        hidden = (1.0 - min(float(penalty.dual_scale(x)) for x in outward)) * size
    floor = SAFETY * UNIT * (risk.size + size + abs(regular) + abs(conjugate_value)) + hidden
    floor += plane.imbalance * max(1.0, b)
    return _certificate(risk.value + regular, constant - conjugate_value, floor)


def _certificate(primal: float, dual: float, floor: float) -> Certificate:
    primal, dual = (primal if primal == primal else math.inf), (dual if dual == dual else -math.inf)
    return Certificate(float(primal), float(dual), "independent", float(floor) if math.isfinite(floor) else math.inf)


def _refused(primal: float) -> Certificate:
    return _certificate(primal, -math.inf, math.inf)


def _refuse_false_conjugate(penalty: Any, w: np.ndarray, v: np.ndarray) -> None:
    """A user's own R* is compared with v'w - R(w) at several w."""
    bound, rng = float(penalty.conjugate(v)), np.random.default_rng(1)
    for x in (w, v, np.zeros(v.size), *(t * rng.standard_normal(v.size) for t in (0.01, 1.0, 100.0))):
        below = float(v @ x) - float(penalty.value(x))
        if below > bound + 1e-9 * (abs(bound) + float(np.abs(v) @ np.abs(x)) + abs(float(penalty.value(x)))):
            raise InputError(
                f"conjugate of {type(penalty).__name__} is wrong: it is {bound:.6g} where it is {below:.6g} at least"
            )


def _rows(X: Any) -> Iterator[tuple[list[int], list[float]]]:
    """(columns, values) of every row."""
    if isinstance(X, np.ndarray):
        for row in X:
            columns = np.flatnonzero(row)
            yield columns.tolist(), row[columns].astype(float).tolist()
    else:
        for i in range(X.shape[0]):
            span = slice(X.indptr[i], X.indptr[i + 1])
            yield X.indices[span].tolist(), X.data[span].astype(float).tolist()


def _scores(X: Any, W: np.ndarray, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(X W + shift, the sums of the sizes of their terms) for W of one column per score; shift has a row per row of X."""
    Z, size, columns = np.empty(shift.shape), np.empty(shift.shape), W.T.tolist()
    for i, (at, x) in enumerate(_rows(X)):
        for c, w in enumerate(columns):
            terms = [t * w[j] for j, t in zip(at, x, strict=True)] + [float(shift[i, c])]
            Z[i, c], size[i, c] = _total(terms), sum(map(abs, terms))
    return Z, size


def _combined(X: Any, a: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """(-X'a, the sums of the sizes of the terms), flat: row by row of the features x scores matrix."""
    terms: list[list[list[float]]] = [[[] for _ in range(a.shape[1])] for _ in range(d)]
    for i, (at, x) in enumerate(_rows(X)):
        for c, factor in enumerate(a[i].tolist()):
            if factor != 0.0:
                for j, t in zip(at, x, strict=True):
                    terms[j][c].append(-factor * t)
    flat = [column for row in terms for column in row]
    return np.array([_total(t) for t in flat]), np.array([sum(map(abs, t)) for t in flat])


def _total(terms: list[float]) -> float:
    return math.fsum(terms) if all(map(math.isfinite, terms)) else math.nan


def _summed(p: np.ndarray, terms: list[float]) -> tuple[float, float]:
    """(sum p t, sum p |t|) over rows that count."""
    weighted = [float(q) * t for q, t in zip(p, terms, strict=True) if q > 0.0]
    if any(t == math.inf for t in weighted):
        return math.inf, math.inf
    return _total(weighted), sum(map(abs, weighted))


def _one_score(problem: Any, w: np.ndarray, b: float, u: Any) -> tuple[Risk, Plane]:
    Z, reach = _scores(problem.X, w[:, None], problem.offset[:, None] + b)
    risk, u = _scalar_risk(problem, Z[:, 0], reach[:, 0], u)
    constant, size = _scalar_constant(problem, u)
    a = problem.weights * u
    v = _combined(problem.X, a[:, None], problem.d)
    return risk, Plane(constant, size, *v, lambda scale: _scalar_constant(problem, scale * u), _imbalance(problem, a))


def _imbalance(problem: Any, a: np.ndarray) -> float:
    return abs(math.fsum(a)) + UNIT * math.fsum(np.abs(a)) if problem.fit_intercept else 0.0


def _scalar_risk(problem: Any, z: np.ndarray, reach: np.ndarray, u: Any) -> tuple[Risk, np.ndarray]:
    """(risk at scores z, the dual point or, if there is none, the slopes at z)."""
    loss, y = problem.loss, problem.y.tolist()
    at = [slope(loss, float(t), q) for t, q in zip(z, y, strict=True)]
    total, size = _summed(problem.weights, [value(loss, float(t), q) for t, q in zip(z, y, strict=True)])
    size += float(problem.weights @ (np.abs(at) * reach))
    return Risk(total, size), np.array(at) if u is None else np.asarray(u, dtype=float)


def _scalar_constant(problem: Any, u: np.ndarray) -> tuple[float, float]:
    """(-sum p (loss*(u) - u offset), its size); of a user's own loss the conjugate is derived from its values."""
    star = conjugate if is_builtin(problem.loss) else derived.conjugate
    triples = zip(u.tolist(), problem.y.tolist(), problem.offset.tolist(), strict=True)
    total, size = _summed(problem.weights, [star(problem.loss, t, q) - t * o for t, q, o in triples])
    return -total, size


def _several_scores(problem: Any, w: np.ndarray, b: float, U: Any) -> tuple[Risk, Plane]:
    m, features, loss, p = problem.outputs, problem.features, problem.loss, problem.weights
    W = w.reshape(-1, m)
    shift = np.broadcast_to(W[features] if problem.free else 0.0, (problem.n, m))
    Z, reach = _scores(problem.X, W[:features], shift)
    total, size, at = _tangents(problem, Z)
    risk = Risk(total, size + float(np.sum(p[:, None] * np.abs(at) * reach)))
    if problem.own:
        weights, points = U if U is not None else (np.ones(1), Z[None])
        constant, slopes_mixed, size = 0.0, np.zeros(Z.shape), 0.0
        for a, at_scores in zip(_mixed(weights, getattr(loss, "nonnegative", False)), points, strict=True):
            height, terms, G = _tangents(problem, at_scores)
            _refuse_tangent_above(problem, at_scores, G, Z)
            constant += a * (height - float(np.sum(p[:, None] * G * at_scores)))
            size += a * (terms + float(np.sum(p[:, None] * np.abs(G * at_scores))))
            slopes_mixed += a * G
        scaled = _towards_0(constant, size) if getattr(loss, "nonnegative", False) else None
        return risk, Plane(constant, size, *_combined(problem.X, p[:, None] * slopes_mixed, features), scaled)
    U = at if U is None else np.array(U.toarray() if hasattr(U, "toarray") else U, dtype=float)

    def constant_of(scale: float) -> tuple[float, float]:
        total, size = _summed(p, [float(conjugate(loss, scale * U[i], problem.y[i])) for i in range(problem.n)])
        return -total, size

    a = p[:, None] * U
    imbalance = (
        max(abs(math.fsum(column)) + UNIT * math.fsum(np.abs(column)) for column in a.T) if problem.free else 0.0
    )
    return risk, Plane(*constant_of(1.0), *_combined(problem.X, a, features), constant_of, imbalance)


def _towards_0(constant: float, size: float) -> Callable[[float], tuple[float, float]]:
    """Where 0 is a lower bound of the risk, too: the plane is mixed with it."""
    return lambda scale: (scale * constant, size)


def _tangents(problem: Any, Z: np.ndarray) -> tuple[float, float, np.ndarray]:
    """(sum p loss(Z), its size, slopes)."""
    G = np.empty(Z.shape)
    for i in range(problem.n):
        slopes(problem.loss, Z[i].copy(), problem.y[i], G[i])
    total, size = _summed(
        problem.weights, [float(value(problem.loss, z.copy(), y)) for z, y in zip(Z, problem.y, strict=True)]
    )
    return total, size, G


def _refuse_tangent_above(problem: Any, at: np.ndarray, G: np.ndarray, Z: np.ndarray) -> None:
    """A user's own loss: no tangent lies above the loss at the scores of the coefficients."""
    for i in range(problem.n):
        height, here = (float(value(problem.loss, z.copy(), problem.y[i])) for z in (at[i], Z[i]))
        rise = float(G[i] @ (Z[i] - at[i]))
        if height + rise > here + 1e-9 * (
            abs(height) + abs(here) + float(np.abs(G[i]) @ (np.abs(Z[i]) + np.abs(at[i])))
        ):
            raise InputError(
                f"loss {type(problem.loss).__name__} lies below its tangent in row {i}: slopes are no subgradient"
            )


def _mixed(weights: Any, nonnegative: bool) -> np.ndarray:
    """Weights of tangents: at least 0, of sum 1, or less where 0 is a lower bound, too."""
    weights = np.maximum(np.asarray(weights, dtype=float), 0.0)
    total = math.fsum(weights)
    return weights / (max(total, 1.0) if nonnegative else total)


def _measure(problem: Any, w: np.ndarray, b: float, mixture: Any) -> tuple[Risk, Plane]:
    Z, reach = _scores(problem.X, w[:, None], np.zeros((problem.n, 1)))
    z, loss, g = Z[:, 0], problem.loss, np.empty(problem.n)
    long = 1.0 + math.log2(problem.n)  # sums over sorted scores run over all of them
    height = float(loss.value_and_slope(z.copy(), problem.prepared, g))
    risk = Risk(height, long * (abs(height) + float(np.abs(g) @ reach[:, 0])))
    weights, points = mixture if mixture is not None else (np.ones(1), z[None])
    constant, size, slope_mixed = 0.0, 0.0, np.zeros(problem.n)
    for a, at in zip(_mixed(weights, loss.nonnegative), points, strict=True):
        height = float(loss.value_and_slope(at.copy(), problem.prepared, g))
        if height + float(g @ (z - at)) > risk.value + 1e-9 * (abs(height) + risk.size + float(np.abs(g) @ np.abs(at))):
            raise InputError(f"measure {type(loss).__name__} lies below a tangent: its slopes are no subgradient")
        constant += a * (height - math.fsum(g * at))
        size += a * long * (abs(height) + float(np.abs(g) @ np.abs(at)))
        slope_mixed += a * g
    scaled = _towards_0(constant, size) if loss.nonnegative else None
    return risk, Plane(constant, size, *_combined(problem.X, slope_mixed[:, None], problem.d), scaled)


def _structured_hinge(problem: Any, w: np.ndarray, b: float, point: Any) -> tuple[Risk, Plane]:
    model, p, first = problem.model, problem.weights, problem.first
    best = np.zeros(int(first[-1]), dtype=np.int32)
    S, losses, sizes = np.empty(model.room), [], 0.0
    for i in range(problem.n):
        y = best[first[i] : first[i + 1]]
        part_scores(model, w, i, S)
        best_label(model, w, S, i, y)
        cost = float(label_cost(model, i, y))
        margin = float(plane_factor(model, cost) * label_margin(model, w, S, i, y))
        losses.append(max(cost + margin, float(plane_ceiling(model, w, S, i)), 0.0))
        sizes += float(p[i]) * (cost + abs(margin))
    total, size = _summed(p, losses)
    risk = Risk(total, (size + sizes) * math.log2(2.0 + problem.d))
    if isinstance(point, Marginals):
        return risk, _marginal_plane(problem, point)
    if not isinstance(point, Pool):
        edges = np.arange(problem.n + 1, dtype=np.int64)
        point = Pool(edges, np.ones(problem.n), np.concatenate([[0], np.cumsum(np.diff(first))]), best)
    gains, g, spread = [], np.zeros(problem.d), np.zeros(problem.d)
    for i in range(problem.n):
        of_example = range(point.start[i], point.start[i + 1])
        for k, a in zip(of_example, _mixed(point.weights[of_example.start : of_example.stop], True), strict=True):
            y, psi = point.labels[point.offsets[k] : point.offsets[k + 1]], np.zeros(problem.d)
            cost = float(label_cost(model, i, y))
            add_label(model, i, y, float(p[i] * a * plane_factor(model, cost)), psi)
            gains.append(float(p[i] * a) * cost)
            g += psi
            spread += np.abs(psi)
    return risk, _weighed(problem, gains, g, spread)


def _marginal_plane(problem: Any, point: Marginals) -> Plane:
    """Of probabilities of parts, which are first made into marginals of a distribution."""
    parts, g, gains = parts_of(problem.model), np.zeros(problem.d), []
    values = np.clip(np.nan_to_num(np.array(point.values, dtype=float)), 0.0, 1.0)
    S, spread, scale = np.empty(parts.room), np.zeros(problem.d), min(max(float(point.scale), 0.0), 1.0)
    for i in range(problem.n):
        mu, change = values[point.start[i] : point.start[i + 1]], np.zeros(problem.d)
        recover_cliques(parts, i, mu)
        gains.append(
            scale * float(problem.weights[i] * add_cliques(parts, i, mu, scale * problem.weights[i], S, change))
        )
        g += change
        spread += np.abs(change)
    return _weighed(problem, gains, g, spread)


def _weighed(problem: Any, gains: list[float], g: np.ndarray, spread: np.ndarray) -> Plane:
    constant, size = _total(gains), sum(map(abs, gains))
    return Plane(constant, size, -g, math.log2(2.0 + problem.n) * spread, _towards_0(constant, size))


def _structured_log(problem: Any, w: np.ndarray, b: float, point: Any) -> tuple[Risk, Plane]:
    height, size, _ = _log_partitions(problem, w)
    weights, coefs = point if isinstance(point, Gibbs) else (np.ones(1), w[None])
    constant, sizes, slope_mixed = 0.0, 0.0, np.zeros(problem.d)
    for a, at in zip(_mixed(weights, True), coefs, strict=True):
        there, terms, g = _log_partitions(problem, at)
        constant += a * (there - math.fsum(g * at))
        sizes += a * (terms + float(np.abs(g) @ np.abs(at)))
        slope_mixed += a * g
    long = math.log2(2.0 + problem.n + problem.d)
    plane = Plane(constant, long * sizes, -slope_mixed, long * np.abs(slope_mixed), _towards_0(constant, long * sizes))
    return Risk(height, long * size), plane


def _log_partitions(problem: Any, w: np.ndarray) -> tuple[float, float, np.ndarray]:
    """(sum p log-loss, its size, its gradient) at w."""
    model, p, g, w = problem.model, problem.weights, np.zeros(problem.d), np.ascontiguousarray(w, dtype=float)
    S, terms, size = np.zeros(model.room), [], 0.0
    begin_pass(model, w, S)
    for i in range(problem.n):
        part_scores(model, w, i, S)
        size += float(p[i] * score_size(model, S, i))
        terms.append(float(log_partition(model, w, S, i, p[i], g)))
    total, more = _summed(p, terms)
    return total, size + more, g


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


FAMILIES = (
    (lambda problem: problem.is_scalar, _one_score),
    (lambda problem: problem.is_vector, _several_scores),
    (lambda problem: problem.is_measure, _measure),
    (lambda problem: problem.log, _structured_log),
    (lambda problem: problem.is_structured, _structured_hinge),
)
