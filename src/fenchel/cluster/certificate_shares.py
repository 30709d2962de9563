"""A block's share of a certificate, computed on its worker from the definitions: trusted code.

The passes are those of the judges of the families. Floating-point sums of single numbers are not added up here: each block's
goes out as it is, in a tuple of its own (tuples are put together where arrays are added), so that they are rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.certificates import scalar as scalars
from fenchel.certificates import structured as examples
from fenchel.certificates import vector as vectors
from fenchel.certificates.assemble import Share
from fenchel.certificates.passes import clip_pass, move_pass, reach_pass, shift_pass
from fenchel.oracles.scalar import Kept, Mixed

if TYPE_CHECKING:
    from fenchel.cluster.holder import Holder


def dual_of(holder: Holder, point: Mixed | Kept) -> np.ndarray:
    """The block's share of a dual point, not yet feasible."""
    if isinstance(point, Kept):
        return holder.oracle.local_dual_before(point.name)
    return holder.oracle.mix(point.parts)


def clipped(holder: Holder, point: Mixed | Kept) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(u in the domain, the ends between which it may be moved)."""
    problem = holder.problem
    u, low, high = np.empty(problem.n), np.empty(problem.n), np.empty(problem.n)
    clip_pass(problem.compiled_loss, problem.y, dual_of(holder, point), low, high, u)
    return u, low, high


def balance_sums(
    holder: Holder, point: Mixed | Kept, keep_ends: bool, shift: float
) -> tuple[float, float, float, float, float]:
    """(sum p u' and its derivative in the shift, for u' = u + shift, clipped; sum p |u|, the least and largest sum p u')."""
    u, p = clipped(holder, point), holder.problem.weights
    return *shift_pass(*u, p, shift, keep_ends), *reach_pass(*u, p, keep_ends)


def rows_share(
    holder: Holder, w: np.ndarray, b: float, point: Mixed | Kept, shift: tuple[bool, float], scale: float
) -> Share:
    """The share of a block of rows with one score each."""
    u, low, high = clipped(holder, point)
    move_pass(u, low, high, shift[1], shift[0], u)
    return scalars.share_of(holder.problem, w, b, scale * u).with_one_size()


def vector_rest(holder: Holder, point: Mixed | Kept) -> tuple[np.ndarray]:
    """(sum p u,), every u in the domain."""
    return (holder.problem.weights @ _in_domain(holder, point),)


def _in_domain(holder: Holder, point: Mixed | Kept) -> np.ndarray:
    problem, U = holder.problem, np.array(dual_of(holder, point), dtype=np.float64)
    vectors.vector_domain_pass(problem.compiled_loss, problem.y, U)
    return U


def vector_share(holder: Holder, w: np.ndarray, point: Mixed | Kept, balance: Any, scale: float) -> Share:
    """The share of a block of rows with several scores each."""
    problem, U = holder.problem, _in_domain(holder, point)
    U = U if balance is None else vectors.balanced(U, balance, problem.y)
    return vectors.share_of(problem, w, scale * U)[0].with_one_size()


def example_share(holder: Holder, w: np.ndarray, point: Mixed) -> Share:
    """The share of a block of structured examples."""
    return examples.share_of(holder.problem, w, holder.oracle.mix(point.parts))[0]


def queries_share(holder: Holder, w: np.ndarray, point: Mixed) -> Share:
    """The share of a block of rows that holds its queries whole."""
    from fenchel.certificates import measure

    weights, coefs = np.array([weight for weight, _ in point.parts]), [recipe.coef for _, recipe in point.parts]
    return measure.queries_share(holder.problem, w, weights, coefs)


def set_scores(holder: Holder, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(scores of the block's rows, the sizes that their rounding is proportional to)."""
    from fenchel.certificates.measure import scores_of

    return scores_of(holder.problem, w)


def set_combined(holder: Holder, g: np.ndarray) -> tuple[np.ndarray, float]:
    """(-sum g x, the size that its rounding is proportional to)."""
    return scalars.combined(holder.problem, np.ones(holder.problem.n), g)


QUESTIONS: dict[str, Callable[..., Any]] = {
    question.__name__: question
    for question in (
        balance_sums, rows_share, vector_rest, vector_share, example_share, queries_share, set_scores, set_combined,
    )
}  # fmt: skip
