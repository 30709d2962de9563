"""The certificate of problems with structured outputs, recomputed from the definitions: trusted code.

Hinge    P(w) = sum_i p_i max_y [L_i(y) + f <w, psi_i(y)>] + R(w),  psi_i(y) = phi_i(y) - phi_i(gold)
         D(a) = sum_i p_i sum_y a_i(y) L_i(y) - R*(-g),  g = sum_i p_i sum_y a_i(y) f psi_i(y),  a_i >= 0, sum_y a_i(y) <= 1
Log      P(w) = sum_i p_i log sum_y exp <w, psi_i(y)> + R(w)
         D: with planes F(w_k) + <g_k, w - w_k> of the first sum F, which is convex, mixed by weights that sum to 1

D is recomputed from the labels (or marginals, or points) of the dual point alone. P rests on the model's max-oracle, and its
basis says whether that is exact: the value of the label that it returns is recomputed, and a label worse than the gold one is
an error. The oracle of a custom model can only be assumed to be exact, and the basis says so; a known label that is better than
the returned one (from the dual point, from earlier calls or from `predict`) is an error, too. If an inexact oracle has an upper
bound for all planes, P is computed from that bound, so that P - D is still valid.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.certificates.assemble import Share, assemble
from fenchel.certificates.marginals import accept_marginals, weigh_marginals
from fenchel.certificates.mixtures import accept_planes, mixed_plane, usable_weights
from fenchel.certificates.scalar import Certifier
from fenchel.compile.kernel import kernel
from fenchel.data.sums import add
from fenchel.errors import FenchelError, InputError
from fenchel.problems.structured import StructuredProblem
from fenchel.regularizers import L2
from fenchel.result import Certificate
from fenchel.structured import Gibbs, Pool
from fenchel.structured.marginals import parts_of
from fenchel.structured.pool import DualPoint, Marginals, empty_pool, fits, pool_of
from fenchel.structured.protocol import (
    add_label,
    begin_pass,
    best_label,
    label_cost,
    label_margin,
    label_size,
    log_partition,
    part_scores,
    plane_ceiling,
    plane_factor,
    pop_square_norm,
    score_size,
)

ROUNDS = 30  # rounds of steps over all examples, for coefficients without a dual point
KNOWN = 1e-8  # relative tolerance by which a known label may be better than the oracle's
FEASIBLE = 1e-9  # relative tolerance for a best plane below 0


@kernel
def structured_primal_pass(model, p, w, room, first, labels):
    """(sum p loss, sum of the magnitudes of its terms, first invalid example or -1); labels: the best ones."""
    total, correction, magnitude, S = 0.0, 0.0, 0.0, np.empty(room)
    for i in range(p.size):
        y = labels[first[i] : first[i] + label_size(model, i)]
        part_scores(model, w, i, S)
        best_label(model, w, S, i, y)
        cost = label_cost(model, i, y)
        rest = plane_factor(model, cost) * label_margin(model, w, S, i, y)
        if not cost + rest >= -FEASIBLE * (cost + abs(rest)):
            return total, magnitude, i
        if p[i] > 0.0:
            total, correction = add(total, correction, p[i] * max(cost + rest, plane_ceiling(model, w, S, i), 0.0))
            magnitude += p[i] * (cost + abs(rest))
    return total + correction, magnitude, -1


@kernel
def structured_log_pass(model, p, w, room, out):
    """(sum p loss, its magnitude, first invalid example or -1); out += sum p (expected - gold features)."""
    total, correction, magnitude, S = 0.0, 0.0, 0.0, np.empty(room)
    begin_pass(model, w, S)
    for i in range(p.size):
        if p[i] > 0.0:
            part_scores(model, w, i, S)
            size = score_size(model, S, i)
            value = log_partition(model, w, S, i, p[i], out)
            if not np.isfinite(value):
                return total, magnitude, i
            total, correction = add(total, correction, p[i] * value)
            magnitude += p[i] * (abs(value) + size)
    return total + correction, magnitude, -1


@kernel
def structured_pool_pass(model, p, start, weights, offsets, labels, scratch, out):
    """(sum_i p_i sum_k a_k L_k, sum_i p_i sum_k a_k f_k |psi_k|); out += sum_i p_i sum_k a_k f_k psi_k."""
    total, correction, spread = 0.0, 0.0, 0.0
    for i in range(p.size):
        for k in range(start[i], start[i + 1]):
            if p[i] > 0.0 and weights[k] > 0.0:
                y = labels[offsets[k] : offsets[k + 1]]
                cost = label_cost(model, i, y)
                total, correction = add(total, correction, p[i] * weights[k] * cost)
                a = p[i] * weights[k] * plane_factor(model, cost)
                add_label(model, i, y, a, out)
                add_label(model, i, y, a, scratch)
                spread += np.sqrt(pop_square_norm(model, i, y, scratch))
    return total + correction, spread


def bad_example(problem: StructuredProblem, i: int, w: np.ndarray) -> FenchelError:
    """The error for an example whose loss is NaN or negative."""
    if not np.isfinite(w).all():
        return InputError("the coefficients contain NaN or infinity")
    return InputError(
        f"example {i}: the max-oracle of {type(problem.loss).__name__} returned a label that is worse than the gold label, or "
        "its score is not a number. The gold label must be among those that the oracle can return, and the features finite"
    )


def structured_certificate(
    problem: StructuredProblem, w: np.ndarray, b: float, point: DualPoint | None
) -> tuple[Certificate, Any]:
    """(certificate, feasible dual point) for given coefficients and a given dual point."""
    share, kept = share_of(problem, np.ascontiguousarray(w, dtype=np.float64), point)
    found, scale = assemble(problem, w, share, depth=rounding_depth(problem))
    if scale < 1.0 or problem.log:  # The rest of the weight belongs to the gold labels or to the plane 0.
        part = {"scale": scale * kept.scale} if isinstance(kept, Marginals) else {"weights": scale * kept.weights}
        kept = kept._replace(**part)
    return found, kept


def rounding_depth(problem: StructuredProblem) -> float:
    """The number of roundings that a term of a label's score may go through."""
    return float(np.log2(2.0 + problem.d))


def share_of(problem: StructuredProblem, w: np.ndarray, point: DualPoint | None) -> tuple[Share, Any]:
    """(the share of all examples of a problem, the dual point that was used)."""
    sums = _log_sums if problem.log else _hinge_sums
    risk, size, kept, gain, spread, g = sums(problem, w, point)
    # The planes of a log-loss are those of the risk's own sum: their sizes are counted with it.
    gain_size = 0.0 if problem.log else gain
    return Share(-g, (gain,), (gain_size,), (spread,), risk=(risk,), risk_size=(size,)).with_one_size(), kept


def _hinge_sums(
    problem: StructuredProblem, w: np.ndarray, point: DualPoint | None
) -> tuple[float, float, Any, float, float, np.ndarray]:
    """(risk, its size, the dual point as used, sum p a L, its spread, sum p a f psi)."""
    model = problem.model
    labels = np.zeros(int(problem.first[-1]), dtype=np.int32)
    risk, size, bad = problem.run(
        structured_primal_pass, problem.weights, w, model.workspace_size, problem.first, labels
    )
    if bad >= 0:
        raise bad_example(problem, int(bad), w)
    if isinstance(point, Marginals) and problem.compiled:
        return risk, size, *weigh_marginals(problem, point)
    if isinstance(point, Marginals):  # The labels of a custom model, which are checked like those of any pool.
        point = parts_of(model).pool(point)
    kept = normalised(point) if isinstance(point, Pool) else pool_of(model.sizes, [labels], np.ones(1))
    if problem.own:
        risk = max(risk, _held_to_known_labels(problem, w, labels, kept))
    g = np.zeros(problem.d)
    gain, spread = problem.run(structured_pool_pass, problem.weights, *kept, np.zeros(problem.d), g)
    return risk, size, kept, gain, spread, g


@kernel
def structured_known_pass(model, p, w, room, first, best, start, weights, offsets, labels):
    """The first example of which a label of the pool has a larger plane at w than the oracle's, `best`; -1 if there is none."""
    S = np.empty(room)
    for i in range(p.size):
        part_scores(model, w, i, S)
        y = best[first[i] : first[i] + label_size(model, i)]
        cost = label_cost(model, i, y)
        rest = plane_factor(model, cost) * label_margin(model, w, S, i, y)
        for k in range(start[i], start[i + 1]):
            z = labels[offsets[k] : offsets[k + 1]]
            other = label_cost(model, i, z)
            margin = plane_factor(model, other) * label_margin(model, w, S, i, z)
            if weights[k] > 0.0 and other + margin > cost + rest + KNOWN * (other + abs(margin) + cost + abs(rest)):
                return i
    return -1


def _held_to_known_labels(problem: StructuredProblem, w: np.ndarray, labels: np.ndarray, pool: Pool) -> float:
    """A lower bound of the risk of a custom model; InputError if its oracle is declared exact and has missed a label."""
    model, exact = problem.model, getattr(problem.model, "exact", True)
    if not problem.compiled:
        model.require_sound(w, labels, pool.labels[pool.weights > 0.0])
        return 0.0 if exact else model.best_known(w, problem.weights)
    arguments = (problem.weights, w, model.workspace_size, problem.first, labels)
    bad = problem.run(structured_known_pass, *arguments, *pool) if exact else -1
    if bad >= 0:
        raise InputError(
            f"example {bad}: the max-oracle of {type(problem.loss).__name__} returned a label that is worse than one that it "
            "found before, so it is not exact. No certificate can be given"
        )
    return 0.0


def _log_sums(
    problem: StructuredProblem, w: np.ndarray, point: DualPoint | None
) -> tuple[float, float, Any, float, float, np.ndarray]:
    """(risk, sizes of all terms, the dual point as used, the constant of its plane, its spread, its slope)."""
    room = problem.model.workspace_size
    mixture, risk = point if isinstance(point, Gibbs) else Gibbs(np.ones(1), w[None]), None
    weights = usable_weights(mixture.weights, nonnegative=True)  # The rest of the weight belongs to the plane 0.
    if weights is None:
        mixture, weights = Gibbs(np.ones(1), w[None]), np.ones(1)

    def plane(at: np.ndarray) -> tuple[np.ndarray, float, float]:
        nonlocal risk
        value, size, slope = _log_plane(problem, at, room)
        risk = value if np.array_equal(at, w) else risk
        return slope, value - float(slope @ at), size + float(np.abs(slope) @ np.abs(at))

    g, constant, sizes = mixed_plane(weights, mixture.coefs, plane, problem.d)
    if risk is None:
        risk, size, _ = _log_plane(problem, w, room)
        sizes += size
    spread = float(np.linalg.norm(g)) * np.log2(2.0 + problem.n)
    return risk, sizes, mixture._replace(weights=weights), constant, spread, g


def _log_plane(problem: StructuredProblem, w: np.ndarray, room: int) -> tuple[float, float, np.ndarray]:
    slope = np.zeros(problem.d)
    w = np.ascontiguousarray(w, dtype=np.float64)
    value, size, bad = problem.run(structured_log_pass, problem.weights, w, room, slope)
    if bad >= 0:
        raise bad_example(problem, int(bad), w)
    return value, size, slope


def normalised(pool: Pool) -> Pool:
    """The pool with weights at least 0 that sum to at most 1 per example."""
    weights = np.maximum(pool.weights, 0.0)
    total = np.add.reduceat(np.append(weights, 0.0), pool.start[:-1]) if weights.size else np.zeros(pool.start.size - 1)
    total[np.diff(pool.start) == 0] = 0.0
    return pool._replace(weights=weights / np.repeat(np.maximum(total, 1.0), np.diff(pool.start)))


@kernel
def structured_ascend(model, p, strength, room, fresh, w, scratch, start, weights, offsets, labels):
    """A Frank-Wolfe step for every example towards the best label at w = -sum p a f psi / strength; that label goes to place
    `fresh` of the example's pool."""
    S = np.empty(room)
    for i in range(p.size):
        a, b = start[i], start[i] + fresh
        y = labels[offsets[b] : offsets[b + 1]]
        part_scores(model, w, i, S)
        best_label(model, w, S, i, y)
        slope = 0.0
        for k in range(a, b + 1):
            z = labels[offsets[k] : offsets[k + 1]]
            cost, c = label_cost(model, i, z), (1.0 if k == b else -weights[k])
            f = plane_factor(model, cost)
            slope += c * (cost + f * label_margin(model, w, S, i, z))
            add_label(model, i, z, c * f, scratch)
        curvature = 0.0
        for k in range(a, b + 1):
            curvature += pop_square_norm(model, i, labels[offsets[k] : offsets[k + 1]], scratch) * p[i] / strength
        if not slope > 0.0:
            continue
        step = 1.0 if slope >= curvature else slope / curvature
        for k in range(a, b + 1):
            z = labels[offsets[k] : offsets[k + 1]]
            c = step * (1.0 if k == b else -weights[k])
            weights[k] += c
            add_label(model, i, z, -c * p[i] / strength * plane_factor(model, label_cost(model, i, z)), w)


def own_point(problem: StructuredProblem, w: np.ndarray, b: float = 0.0) -> Any:
    """None, which stands for the plane at w."""
    return None


def best_pool(problem: StructuredProblem, w: np.ndarray, b: float = 0.0) -> Any:
    """A dual point with a high D at moderate cost, from coefficients alone: for L2 by rounds of steps."""
    if problem.log or not isinstance(problem.regularizer, L2) or problem.regularizer.weights is not None:
        return None
    sizes, strength = problem.model.sizes, problem.regularizer.alpha
    pool = empty_pool(np.asarray(sizes), np.full(problem.n, ROUNDS))
    at, scratch = np.zeros(problem.d), np.zeros(problem.d)
    for k in range(ROUNDS):
        arguments = (problem.weights, strength, problem.model.workspace_size, k, at, scratch)
        problem.run(structured_ascend, *arguments, *pool)
    return pool


def accept_point(problem: StructuredProblem, point: DualPoint | None) -> Any:
    """A user's dual point, checked."""
    if problem.log:
        return Gibbs(*accept_planes(point, (problem.d,), "coefs"))
    if isinstance(point, Marginals):
        return accept_marginals(problem, point)
    if not isinstance(point, Pool):
        raise InputError("the dual point of a structured hinge loss is a fenchel.structured.Pool: labels with weights")
    if not fits(point, problem.model):
        raise InputError(
            "the pool does not match the problem: it is for other examples, or has labels that the model does not know"
        )
    return point


CERTIFIER = Certifier(structured_certificate, own_point, best_pool, accept_point)
