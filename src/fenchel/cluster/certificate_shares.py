"""A block's share of a certificate, computed on its worker from the definitions: trusted code.

The passes are those of the judges of the families. Floating-point sums of single numbers are not added up here: each block's
goes out as it is, in a tuple of its own (tuples are put together where arrays are added), so that they are rounded once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.certificates import structured as examples
from fenchel.certificates import vector as vectors
from fenchel.certificates.passes import clip_pass
from fenchel.certificates.scalar import all_sums, combined
from fenchel.oracles.scalar import Kept
from fenchel.structured import Gibbs
from fenchel.structured.pool import pool_of


class Share(NamedTuple):
    """What a block adds: to P its risk, to D its gain, and v; and sizes that their rounding is proportional to."""

    v: np.ndarray
    risk: tuple[float, ...]
    gain: tuple[float, ...]
    size: tuple[float, ...]
    spread: tuple[float, ...]
    balance: np.ndarray  # sum p u


def dual_of(holder: Any, point: Any) -> np.ndarray:
    """The block's share of a dual point, not yet feasible."""
    if isinstance(point, Kept):
        return holder.kept[point.name].before
    return sum(weight * holder.oracle.plane_dual(recipe) for weight, recipe in point.parts)


def clipped(holder: Any, point: Any, keep_ends: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(u in the domain, the ends between which it may be moved)."""
    problem = holder.problem
    u, low, high = np.empty(problem.n), np.empty(problem.n), np.empty(problem.n)
    clip_pass(problem.compiled_loss, problem.y, dual_of(holder, point), low, high, u)
    if keep_ends:  # a row at the end of its domain is usually there for a reason
        at_end = (u <= low) | (u >= high)
        low, high = np.where(at_end, u, low), np.where(at_end, u, high)
    return u, low, high


def balance_sums(holder: Any, point: Any, keep_ends: bool, shift: float) -> tuple[float, float, float, float, float]:
    """(sum p u', the weight of the rows that can still move, sum p low, sum p high, sum p |u|) for u' = u + shift, clipped."""
    p = holder.problem.weights
    u, low, high = clipped(holder, point, keep_ends)
    moved = np.minimum(np.maximum(u + shift, low), high)
    free = (low < u + shift) & (u + shift < high)
    with np.errstate(invalid="ignore"):
        ends = (float(p @ low), float(p @ high))
    return float(p @ moved), float(p @ free), *ends, float(p @ np.abs(u))


def rows_share(holder: Any, w: np.ndarray, b: float, point: Any, shift: tuple[bool, float], scale: float) -> Share:
    """The share of a block of rows with one score each."""
    problem = holder.problem
    u, low, high = clipped(holder, point, shift[0])
    u = scale * np.minimum(np.maximum(u + shift[1], low), high)
    sums = all_sums(problem, w, b, u)
    total, magnitude, imbalance = sums.conjugates
    sizes = sums.magnitude + magnitude + sums.through
    return Share(sums.v, (sums.risk,), (-total,), (sizes,), (sums.spread,), np.array([imbalance]))


def vector_rest(holder: Any, point: Any) -> tuple[np.ndarray]:
    """(sum p u,), every u in the domain."""
    return (holder.problem.weights @ _in_domain(holder, point),)


def _in_domain(holder: Any, point: Any) -> np.ndarray:
    problem, U = holder.problem, np.array(dual_of(holder, point), dtype=np.float64)
    vectors.vector_domain_pass(problem.compiled_loss, problem.y, U)
    return U


def vector_share(holder: Any, w: np.ndarray, point: Any, balance: Any, scale: float) -> Share:
    """The share of a block of rows with several scores each."""
    problem, U = holder.problem, _in_domain(holder, point)
    if isinstance(balance, np.ndarray):
        U = U - balance
    elif balance is not None:
        share, towards = balance
        U = (1.0 - share) * U + share * towards[problem.y]
    U = scale * U
    risk, magnitude, Z, size = vectors.primal_sums(problem, w)
    V, spread = vectors.combined(problem, U)
    total, dual_magnitude = vectors.conjugates(problem, U)
    steep: Any = problem.loss.largest_slope()
    if not np.isfinite(steep):
        G = np.empty(problem.dual_shape)
        vectors.vector_slopes_pass(problem.compiled_loss, problem.y, Z, G)
        steep = np.linalg.norm(G, axis=1) + np.linalg.norm(U, axis=1)
    sizes = magnitude + dual_magnitude + float(np.sum(problem.weights * steep * size))
    return Share(V.ravel(), (risk,), (-total,), (sizes,), (spread,), problem.weights @ U)


def example_share(holder: Any, w: np.ndarray, point: Any) -> Share:
    """The share of a block of structured examples."""
    problem = holder.problem
    own: Any
    if problem.log:
        weights, recipes = zip(*point.parts, strict=True)
        own = Gibbs(np.array(weights), np.array([recipe.coef for recipe in recipes]))
    else:
        labels = [holder.oracle.labels_at(recipe.coef)[2] for _, recipe in point.parts]
        own = pool_of(problem.model.sizes, labels, np.array([weight for weight, _ in point.parts]))
    risk, gain, g, sizes, spread = examples.sums(problem, w, own)
    return Share(-g, (risk,), (gain,), (sizes,), (spread,), np.zeros(1))


def set_scores(holder: Any, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(scores of the block's rows, the sizes that their rounding is proportional to)."""
    from fenchel.certificates.measure import scores_of

    return scores_of(holder.problem, w)


def set_combined(holder: Any, g: np.ndarray) -> tuple[np.ndarray, float]:
    """(-sum g x, the size that its rounding is proportional to)."""
    return combined(holder.problem, np.ones(holder.problem.n), g)
