"""The certificate of a problem whose loss is a measure of all scores, recomputed from the definitions: trusted code.

A measure M is convex in the scores, so at any point w_k with scores z_k and slopes g_k, M(z) >= M(z_k) + <g_k, z - z_k>.
With weights a_k that sum to 1, g = sum a_k g_k and c = sum a_k (M(z_k) - <g_k, z_k>): M(X w) >= c + <X'g, w>, and

    D = c - R*(-X'g) <= P(w') for every w'

Scores, values and slopes are recomputed here from the points of the mixture by passes of this file's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.certify import CHUNK, EPS, SAFETY, Judge, blur, combine_pass
from fenchel.data.rows import sized_dot
from fenchel.errors import InputError
from fenchel.jit import kernel
from fenchel.result import Certificate
from fenchel.set_problem import Mixture


@kernel
def set_scores_pass(rows, w, z, size):
    """z_i = <x_i, w>, and size_i = sum_j |x_ij w_j|."""
    for i in range(np.uint64(z.size)):
        z[i], size[i] = sized_dot(rows, i, w)


def plane_at(problem: Any, w: np.ndarray) -> tuple[float, np.ndarray, float, float]:
    """(value of the measure, slopes, constant of the plane, what their rounding is proportional to)."""
    z, size, slope = np.empty(problem.n), np.empty(problem.n), np.empty(problem.n)
    set_scores_pass(problem.rows, np.ascontiguousarray(w), z, size)
    value = float(problem.loss.value_and_slope(z, problem.prepared, slope))
    return value, slope, value - float(slope @ z), abs(value) + float(np.abs(slope) @ size)


def accept_mixture(problem: Any, dual_point: Any) -> Mixture:
    """A user's dual point, checked."""
    try:
        weights, points = (np.asarray(part, dtype=np.float64) for part in dual_point)
    except (TypeError, ValueError):
        raise InputError(
            "the dual point of a measure is (weights, points), one row of coefficients per weight"
        ) from None
    if points.shape != (weights.size, problem.d) or weights.ndim != 1:
        raise InputError(f"the points of a mixture must have shape ({weights.size}, {problem.d}), got {points.shape}")
    if not (np.isfinite(points).all() and np.isfinite(weights).all()):
        raise InputError("the dual point contains NaN or infinity")
    if weights.min() < 0.0 or not weights.sum() > 0.0:
        raise InputError("the weights of a mixture must be at least 0 and not all 0")
    return Mixture(weights, points)


def set_certificate(problem: Any, w: np.ndarray, b: float, mixture: Any) -> tuple[Certificate, Mixture]:
    """(certificate, mixture with weights that sum to 1) for given coefficients and a given dual point."""
    if not isinstance(mixture, Mixture):
        mixture = slopes_mixture(problem, w)
    value, _, _, magnitude = plane_at(problem, w)
    regularizer = problem.regularizer
    regular = regularizer.value(w)
    weights = mixture.weights / mixture.weights.sum()
    g, c, sizes = np.zeros(problem.n), 0.0, 0.0
    for weight, point in zip(weights, mixture.points, strict=True):
        _, slope, constant, size = plane_at(problem, point)
        g += weight * slope
        c += weight * constant
        sizes += weight * size
    v, part = np.empty(problem.d), np.zeros(problem.d)
    chunk = max(CHUNK, int(problem.d * problem.n / (problem.X.size if problem.X.size else 1)))
    spread = combine_pass(problem.rows, np.ones(problem.n), g, chunk, part, v)
    scale = regularizer.dual_scale(v)
    if scale < 1.0:  # mixed with the plane 0, which bounds a measure that is never negative
        c = scale * c if problem.loss.nonnegative else -np.inf
        v *= scale
    conjugate = regularizer.conjugate(v)
    primal, dual = value + regular, c - conjugate
    terms = magnitude + sizes + abs(regular) + abs(conjugate)
    logarithm = 1.0 + np.log2(problem.n)  # sums over sorted scores run over all of them
    floor = SAFETY * EPS * logarithm * terms + SAFETY * blur(regularizer, v, EPS * spread, sizes)
    primal, dual = (primal if primal == primal else np.inf), (dual if dual == dual else -np.inf)
    kept = Mixture(weights, mixture.points)
    return Certificate(float(primal), float(dual), problem.basis, float(floor) if np.isfinite(floor) else np.inf), kept


def slopes_mixture(problem: Any, w: np.ndarray, b: float = 0.0) -> Mixture:
    """The plane at w alone."""
    return Mixture(np.ones(1), np.array(w, dtype=np.float64)[None])


JUDGE = Judge(set_certificate, slopes_mixture, slopes_mixture, accept_mixture)
