"""The certificate of a problem whose loss is a measure of all scores, recomputed from the definitions: trusted code.

A measure M is convex in the scores, so for any scores z_k with slopes g_k there, M(z) >= M(z_k) + <g_k, z - z_k>.
With weights a_k that sum to 1 (or to less, if M is never negative: the rest is the plane 0), g = sum a_k g_k and
c = sum a_k (M(z_k) - <g_k, z_k>): M(X w) >= c + <X'g, w>, and

    D = c - R*(-X'g) <= P(w') for every w'

Values and slopes are recomputed here from the scores of the mixture, which may be any; the passes are defined in this file.
For a custom measure the tangents are compared with the values at all these scores, at those of w and around them: there is an
error if a tangent is above a value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fenchel.certificates.assemble import Share, assemble, none_like
from fenchel.certificates.mixtures import accept_mixture, mixed_plane, usable_mixture, usable_weights
from fenchel.certificates.scalar import Certifier, combined
from fenchel.compile.dispatch import is_ours
from fenchel.compile.kernel import kernel
from fenchel.data.row_blocks import map_row_blocks
from fenchel.data.rows import sized_dot
from fenchel.errors import InputError
from fenchel.measures.check import around, first_below, tangent
from fenchel.problems.measure import Mixture, SetProblem
from fenchel.result import Certificate

LOOKED_AROUND = 4  # maximum number of score vectors around which a custom measure is checked


@kernel(fastmath=True)
def set_scores_pass(rows, w, z, size):
    """z_i = <x_i, w>, and size_i = sum_j |x_ij w_j|."""
    for i in range(np.uint64(z.size)):
        z[i], size[i] = sized_dot(rows, i, w)


def plane_at(problem: SetProblem, z: np.ndarray) -> tuple[float, np.ndarray, float]:
    """(value of the measure at scores z, slopes, constant of the plane)."""
    slope = np.empty(problem.n)
    value = float(problem.loss.value_and_slope(z, problem.prepared, slope))
    return value, slope, value - float(slope @ z)


def require_tangents(problem: SetProblem, scores: Sequence[np.ndarray]) -> None:
    """Raise InputError if a tangent of a custom measure at some of these scores lies above its value at others."""
    if is_ours(type(problem.loss)) or not all(np.isfinite(z).all() for z in scores):
        return
    rng = np.random.default_rng(0)
    points = [*scores, *around(scores[0], rng), *(x for z in scores[1:LOOKED_AROUND] for x in around(z, rng))]
    tangents = [tangent(problem.loss, z, problem.prepared) for z in points]
    name = type(problem.loss).__name__
    if (wrong := first_below(tangents)) is not None:
        k, other = (tangents[place] for place in wrong)
        raise InputError(
            f"measure {name} is not convex, or its slope is not a subgradient: its value {other.value:.6g} at scores that "
            "the solve "
            f"evaluated lies below the tangent, {k.value + float(k.slope @ (other.z - k.z)):.6g}, of others. No certificate "
            "can be given; fenchel.measures.check(measure, y, groups) lists what is wrong"
        )
    least = min((at for at in tangents if at.value == at.value), key=lambda at: at.value, default=tangents[0])
    if problem.loss.nonnegative and least.value < -1e-9 * (1.0 + float(np.abs(least.slope) @ np.abs(least.z))):
        raise InputError(
            f"measure {name} is declared nonnegative, but its value at scores that the solve evaluated is "
            f"{least.value:.6g}: no certificate can be given"
        )


def set_certificate(
    problem: SetProblem,
    w: np.ndarray,
    b: float,
    mixture: Any,
    scores: Callable[..., tuple[np.ndarray, np.ndarray]] | None = None,
    combine: Callable[..., tuple[np.ndarray, float]] = combined,
) -> tuple[Certificate, Mixture]:
    """(certificate, mixture with the weights used) for given coefficients and a given dual point.

    `scores` and `combine` ask for the rows' share where they lie elsewhere.
    """
    z, size = (scores or scores_of)(problem, w)
    value, slope, _ = plane_at(problem, z)
    require_tangents(problem, [z, *(mixture.scores if isinstance(mixture, Mixture) else [])])
    magnitude = abs(value) + float(np.abs(slope) @ size)
    kept = usable_mixture(mixture, z, problem.loss.nonnegative)

    def plane(at_scores: np.ndarray) -> tuple[np.ndarray, float, float]:
        at, slope, constant = plane_at(problem, at_scores)
        return slope, constant, abs(at) + float(np.abs(slope) @ np.abs(at_scores))

    g, c, sizes = mixed_plane(*kept, plane, problem.n)
    v, spread = combine(problem, np.ones(problem.n), g)
    share = Share(v, (c,), (sizes,), (spread,), risk=(value,), risk_size=(magnitude,))
    return assembled(problem, w, share), kept


def assembled(problem: SetProblem, w: np.ndarray, share: Share) -> Certificate:
    """The certificate from the shares of all rows."""

    def scaled(scale: float) -> Share:
        """The mixture with the plane 0, which is a lower bound of a nonnegative measure."""
        return share.scaled(scale) if problem.loss.nonnegative else none_like(share)

    logarithm = 1.0 + np.log2(problem.n)  # Sums over sorted scores may have as many terms as there are scores.
    return assemble(problem, w, share, scaled, depth=logarithm)[0]


def queries_share(problem: SetProblem, w: np.ndarray, weights: np.ndarray, coefs: Sequence[np.ndarray]) -> Share:
    """What a block that holds its queries whole adds to the certificate of all of them: its share of the value at w, and of the
    planes at some coefficients, mixed with these weights."""
    queries, loss = problem.whole_queries(0, problem.n), problem.loss

    def plane(z: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, float, float, float]:
        slope = np.empty(problem.n)
        value = queries.value_and_slope(loss, z, slope)
        return slope, value - float(slope @ z), abs(value) + float(np.abs(slope) @ size), value

    *_, magnitude, value = plane(*scores_of(problem, w))
    usable = usable_weights(weights, loss.nonnegative)
    usable, coefs = (np.ones(1), [w]) if usable is None else (usable, coefs)
    found = (scores_of(problem, coef)[0] for coef in coefs)
    g, c, sizes = mixed_plane(usable, found, lambda z: plane(z, np.abs(z))[:3], problem.n)
    v, spread = combined(problem, np.ones(problem.n), g)
    return Share(v, (c,), (sizes,), (spread,), risk=(value,), risk_size=(magnitude,))


def slopes_mixture(
    problem: SetProblem,
    w: np.ndarray,
    b: float = 0.0,
    scores: Callable[..., tuple[np.ndarray, np.ndarray]] | None = None,
) -> Mixture:
    """The mixture of the plane at w alone."""
    return Mixture(np.ones(1), (scores or scores_of)(problem, w)[0][None])


def scores_of(problem: SetProblem, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(scores, the sizes that their rounding is proportional to)."""
    z, size, w = np.empty(problem.n), np.empty(problem.n), np.ascontiguousarray(w, dtype=np.float64)
    for _ in map_row_blocks(problem.rows, problem.n, lambda span, rows: set_scores_pass(rows, w, z[span], size[span])):
        pass
    return z, size


CERTIFIER = Certifier(set_certificate, slopes_mixture, slopes_mixture, accept_mixture)
