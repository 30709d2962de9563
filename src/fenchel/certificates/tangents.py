"""The certificate of a custom loss of several scores, recomputed from `value` and `slopes` alone: trusted code.

The risk F(Z) = sum_i p_i loss(z_i, y_i) is convex in the scores, so with slopes U_k at scores Z_k, weights a_k that sum to 1
(or to less, if the loss is never negative: the rest is the plane 0), U = sum_k a_k U_k and c = sum_k a_k (F(Z_k) - <U_k, Z_k>),

    D = c - R*(-sum_i p_i x_i u_i') <= P(W') for every W'

This requires that the tangents lie below the loss. They are compared with its values, row by row, at the scores of all other
Z_k and of W, and at scores around each of them: if one lies above, there is no certificate, but an error that names the row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.certificates.assemble import Share, assemble
from fenchel.certificates.mixtures import accept_mixture, mixed_plane, usable_mixture
from fenchel.certificates.passes import EPS, UNEVEN
from fenchel.certificates.scalar import Certifier
from fenchel.certificates.vector import combined, primal_sums
from fenchel.compile.kernel import kernel
from fenchel.data.sums import add
from fenchel.errors import InputError
from fenchel.multiclass.protocol import slopes, value
from fenchel.problems.measure import Mixture
from fenchel.problems.vector import VectorProblem
from fenchel.result import Certificate

AROUND = 8  # directions in which tangents are compared with values, in addition to the axes
NEARBY = 7  # number of distances, from 2**-12 to 2**12 times the score
MOST_AXES = 8
HALVINGS = 60


@kernel
def tangent_pass(loss, y, p, Z, F, U):
    """F_i = loss(z_i), U_i = its slopes; returns (sum p F, sum p (F - <u, z>), the sum of the magnitudes of its terms)."""
    total, correction, constant, lost, magnitude = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(p.size):
        F[i] = value(loss, Z[i], y[i])
        slopes(loss, Z[i], y[i], U[i])
        if p[i] > 0.0:
            product, size = 0.0, abs(F[i])
            for j in range(Z.shape[1]):
                product += U[i, j] * Z[i, j]
                size += abs(U[i, j] * Z[i, j])
            total, correction = add(total, correction, p[i] * F[i])
            constant, lost = add(constant, lost, p[i] * (F[i] - product))
            magnitude += p[i] * size
    return total + correction, constant + lost, magnitude


@kernel
def above_pass(p, F, U, Z, G, X, noise, blur):
    """The first row whose tangent at Z (value F, slopes U) lies above its value G at X; n if there is none."""
    for i in range(p.size):
        if p[i] > 0.0 and G[i] == -np.inf:
            return i
        if p[i] > 0.0 and np.isfinite(G[i]):
            rise, away, size = 0.0, 0.0, abs(F[i]) + abs(G[i])
            for j in range(Z.shape[1]):
                rise += U[i, j] * (X[i, j] - Z[i, j])
                size += abs(U[i, j] * (X[i, j] - Z[i, j]))
                away += abs(X[i, j] - Z[i, j])
            if not G[i] >= F[i] + rise - UNEVEN * size - 64.0 * EPS * (noise[i] + blur[i] * away):
                return i
    return p.size


@kernel
def around_pass(loss, y, p, F, U, Z, directions, noise, blur, x):
    """The first row whose tangent at Z lies above its value at a score around Z, which is left in x; n if there is none."""
    m = Z.shape[1]
    for i in range(p.size):
        if p[i] > 0.0:
            largest = 1.0
            for j in range(m):
                largest = max(largest, abs(Z[i, j]))
            for k in range(directions.shape[0]):
                for e in range(NEARBY):
                    step = largest * 2.0 ** (4 * e - 12)
                    rise, away, size = 0.0, 0.0, 0.0
                    for j in range(m):
                        x[j] = Z[i, j] + step * directions[k, j]
                        rise += U[i, j] * (x[j] - Z[i, j])
                        size += abs(U[i, j] * (x[j] - Z[i, j]))
                        away += abs(x[j] - Z[i, j])
                    there = value(loss, x, y[i])
                    size += abs(there) + abs(F[i])
                    if there == -np.inf or there < F[i] + rise - UNEVEN * size - 64.0 * EPS * (
                        noise[i] + blur[i] * away
                    ):
                        return i
    return p.size


class Tangents:
    """The tangents of a problem's loss at matrices of scores, stored so that each can be compared with all others."""

    def __init__(self, problem: VectorProblem):
        self.problem = problem
        self.kept: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        rng, m = np.random.default_rng(0), problem.outputs
        axes = np.eye(m)[rng.permutation(m)[:MOST_AXES]]
        some = rng.standard_normal((AROUND // 2, m))
        half = np.vstack([axes, some / np.abs(some).max(axis=1, keepdims=True)])
        self.directions = np.vstack([half, -half])
        F, U = np.empty(problem.n), np.empty(problem.dual_shape)
        tangent_pass(problem.compiled_loss, problem.y, problem.weights, np.zeros(problem.dual_shape), F, U)
        # The magnitudes to which the rounding errors of values and slopes are proportional
        self.noise, self.blur = np.nan_to_num(np.abs(F)), np.nan_to_num(np.abs(U).max(axis=1))

    def at(self, Z: np.ndarray) -> tuple[float, np.ndarray, float, float]:
        """(risk, slopes, constant of the plane, the size of its terms) at scores Z; InputError if a tangent is above the
        loss."""
        problem, F, U = self.problem, np.empty(self.problem.n), np.empty(self.problem.dual_shape)
        loss, y, p = problem.compiled_loss, problem.y, problem.weights
        risk, constant, size = tangent_pass(loss, y, p, Z, F, U)
        x = np.empty(problem.outputs)
        sizes = self.noise, self.blur
        if (row := around_pass(loss, y, p, F, U, Z, self.directions, *sizes, x)) < problem.n:
            raise self.fault(row, Z[row], x)
        if getattr(problem.loss, "nonnegative", False) and (F[p > 0.0] < -UNEVEN * (1.0 + self.noise[p > 0.0])).any():
            raise InputError(
                f"loss {type(problem.loss).__name__} is declared nonnegative, but its value is {F[p > 0.0].min():.6g} "
                "in a row: no certificate can be given"
            )
        for G, V, X in self.kept:
            if (row := above_pass(p, F, U, Z, G, X, *sizes)) < problem.n:
                raise self.fault(row, Z[row], X[row])
            if (row := above_pass(p, G, V, X, F, Z, *sizes)) < problem.n:
                raise self.fault(row, X[row], Z[row])
        self.kept.append((F, U, Z))
        return risk, U, constant, size

    def fault(self, row: int, z: np.ndarray, x: np.ndarray) -> InputError:
        name = type(self.problem.loss).__name__
        return InputError(
            f"loss {name} is not convex, or its slopes are not a subgradient: for row {row}, y={self.problem.y[row]}, the "
            "value at "
            f"z={np.array2string(x, precision=6)} lies below the tangent at z={np.array2string(z, precision=6)}. No "
            "certificate can "
            f"be given; fenchel.multiclass.check(loss, outputs={self.problem.outputs}) lists what is wrong"
        )


def tangent_certificate(problem: VectorProblem, w: np.ndarray, b: float, mixture: Any) -> tuple[Certificate, Mixture]:
    """(certificate, mixture with the weights used) for given variables and a given dual point."""
    risk, magnitude, Z, size = primal_sums(problem, w)
    if not np.isfinite(Z).all():
        return Certificate(np.inf, -np.inf, problem.basis, np.inf), Mixture(
            np.ones(1), np.zeros((1, *problem.dual_shape))
        )
    tangents = Tangents(problem)
    _, steep, _, _ = tangents.at(Z)
    nonnegative = getattr(problem.loss, "nonnegative", False)
    kept = usable_mixture(mixture, Z, nonnegative)
    U, c, sizes = mixed_plane(*kept, lambda scores: tangents.at(scores)[1:], problem.dual_shape)
    V, spread = combined(problem, U)
    v = V.ravel()
    with np.errstate(over="ignore", invalid="ignore"):
        through = float(problem.weights @ (np.linalg.norm(steep, axis=1) * size))
    share = Share(v, (c,), (sizes,), (spread,), risk=(risk,), risk_size=(magnitude,), score_size=(through,))

    def scaled(scale: float) -> Share:
        """The mixture with the plane 0, a lower bound of a nonnegative loss, or with a nearly constant plane."""
        return share.scaled(scale) if nonnegative else _into_domain(problem, tangents, share)

    return assemble(problem, w, share, scaled, penalty=problem.penalty)[0], kept


def _into_domain(problem: VectorProblem, tangents: Tangents, share: Share) -> Share:
    """The share of the plane, combined with as little as necessary of a nearly constant one, so that R* becomes finite."""
    conjugate, m, v, (c,) = problem.penalty.conjugate, problem.outputs, share.v, share.gain
    best, level = (-np.inf, v), [problem.y] if problem.several_targets else [
        t * (np.eye(m)[problem.y] - 1.0 / m) for t in (0.0, 10.0, 40.0, 1e3, 1e6)
    ]  # fmt: skip
    for Z in level:
        _, U, constant, _ = tangents.at(np.ascontiguousarray(Z, dtype=np.float64))
        other = combined(problem, U)[0].ravel()
        low, high = 0.0, 1.0
        if not (np.isfinite(other).all() and np.isfinite(conjugate(other))):
            continue
        for _ in range(HALVINGS):
            part = 0.5 * (low + high)
            inside = np.isfinite(conjugate((1.0 - part) * v + part * other))
            low, high = (low, part) if inside else (part, high)
        mixed = (1.0 - high) * v + high * other
        found = (1.0 - high) * c + high * constant, mixed
        if found[0] - conjugate(mixed) > best[0] - conjugate(best[1]):
            best = found
    return share._replace(gain=(best[0],), v=best[1])


def tangents_mixture(problem: VectorProblem, w: np.ndarray, b: float = 0.0) -> Mixture:
    """The mixture of the tangents at w alone."""
    return Mixture(np.ones(1), primal_sums(problem, w)[2][None])


CERTIFIER = Certifier(tangent_certificate, tangents_mixture, tangents_mixture, accept_mixture)
