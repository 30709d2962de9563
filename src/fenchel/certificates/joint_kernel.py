"""The certificate of a kernel problem whose loss is of several scores, or of all scores: trusted code.

Several scores   P(C) = sum_i p_i loss(z_i, y_i) + alpha/2 sum_c c'Kc over the rows c of C,  z_i = C K_i (+ b)
                 D(U) = -sum_i p_i loss*(u_i, y_i) - sum_c (p u_c)'K(p u_c) / (2 alpha), sum_i p_i u_i = 0 if b is free
All scores       P(c) = M(K c) + alpha/2 c'Kc
                 D = sum_k a_k (M(z_k) - <g_k, z_k>) - g'K g / (2 alpha),  g = sum_k a_k g_k, g_k a slope of M at z_k

As for kernels with losses of one score, K is evaluated again, block by block; the factor of K with which solvers compute is
not used. The coefficients are those that are shown to the user.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.certificates.assemble import Share, assemble, none_like
from fenchel.certificates.kernel import SquaredNorm, loss_pass, products, square
from fenchel.certificates.measure import plane_at, require_tangents, slopes_mixture
from fenchel.certificates.mixtures import accept_mixture, mixed_plane, usable_mixture
from fenchel.certificates.scalar import Certifier
from fenchel.certificates.vector import (
    best_dual_matrix,
    conjugates,
    feasible_or_zero,
    slopes_of,
    vector_slopes_at,
)
from fenchel.data.dual_matrix import accept_dual_matrix, dense
from fenchel.problems.measure import Mixture
from fenchel.result import Certificate

if TYPE_CHECKING:
    from fenchel.kernel_methods.joint import KernelMeasureProblem, KernelVectorProblem


def squares(products_of: np.ndarray, vectors: np.ndarray, sizes: np.ndarray) -> tuple[float, float]:
    """(the sum of a'Ka over the columns a, the magnitude of its rounding error)."""
    found = [square(products_of[:, k], vectors[:, k], sizes[:, k]) for k in range(vectors.shape[1])]
    return float(sum(norm for norm, _ in found)), float(sum(size for _, size in found))


def vector_kernel_certificate(problem: KernelVectorProblem, w: np.ndarray, b: float, U: Any) -> tuple[Certificate, Any]:
    """(certificate, feasible dual point) for a solver's variables and a given dual point."""
    coef, intercept = problem.present(w, b)
    point, usable = feasible_or_zero(problem, U)
    p, m, alpha = problem.weights, problem.outputs, problem.alpha
    dual = p[:, None] * np.asarray(dense(point))
    both, sizes = products(problem.gram, np.hstack([coef.T, dual]))
    norm, norm_size = squares(both[:, :m], coef.T, sizes[:, :m])
    dual_norm, dual_size = squares(both[:, m:], dual, sizes[:, m:])
    Z = np.ascontiguousarray(both[:, :m] + intercept)
    risk, magnitude = loss_pass(problem.compiled_loss, problem.y, p, Z)
    total, conjugate_size = conjugates(problem, point)
    steep: Any = problem.loss.largest_slope()
    if not np.isfinite(steep):
        steep = np.linalg.norm(slopes_of(problem, Z), axis=1) + np.linalg.norm(dense(point), axis=1)
    through = float(np.sum(p * steep * np.linalg.norm(sizes[:, :m] + np.abs(intercept), axis=1)))
    share = Share(
        dual.ravel(), (-total,), (conjugate_size + 0.5 * dual_size / alpha,),
        balance=p @ dense(point) if problem.free else np.zeros(1), risk=(risk,),
        risk_size=(magnitude + 0.5 * alpha * norm_size,), score_size=(through,),
    )  # fmt: skip
    penalty = SquaredNorm(0.5 * alpha * norm, 0.5 * dual_norm / alpha)
    share = share if usable else none_like(share)
    return assemble(problem, coef.ravel(), share, intercept=float(np.abs(intercept).sum()), penalty=penalty)[0], point


def measure_kernel_certificate(
    problem: KernelMeasureProblem, w: np.ndarray, b: float, mixture: Any
) -> tuple[Certificate, Mixture]:
    """(certificate, mixture with the weights used) for a solver's variables and a given dual point."""
    coef, alpha = problem.present(w, b)[0], problem.alpha
    found, sizes = products(problem.gram, coef[:, None])
    z, size = found[:, 0], sizes[:, 0]
    norm, norm_size = square(z, coef, size)
    risk, slope, _ = plane_at(problem, z)
    require_tangents(problem, [z, *(mixture.scores if isinstance(mixture, Mixture) else [])])
    kept = usable_mixture(mixture, z, problem.loss.nonnegative)

    def plane(at_scores: np.ndarray) -> tuple[np.ndarray, float, float]:
        at, slope, constant = plane_at(problem, at_scores)
        return slope, constant, abs(at) + float(np.abs(slope) @ np.abs(at_scores))

    g, c, plane_size = mixed_plane(*kept, plane, problem.n)
    Kg, g_sizes = products(problem.gram, g[:, None])
    dual_norm, dual_size = square(Kg[:, 0], g, g_sizes[:, 0])
    magnitude = abs(risk) + float(np.abs(slope) @ size)
    share = Share(
        g, (c,), (plane_size + 0.5 * dual_size / alpha,), risk=(risk,), risk_size=(magnitude + 0.5 * alpha * norm_size,)
    )
    penalty = SquaredNorm(0.5 * alpha * norm, 0.5 * dual_norm / alpha)
    depth = 1.0 + float(np.log2(problem.n))  # sums over sorted scores may have as many terms as there are scores
    return assemble(problem, coef, share, depth=depth, penalty=penalty)[0], kept


VECTORS = Certifier(vector_kernel_certificate, vector_slopes_at, best_dual_matrix, accept_dual_matrix)
MEASURES = Certifier(measure_kernel_certificate, slopes_mixture, slopes_mixture, accept_mixture)
