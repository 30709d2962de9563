"""The certificate of data on a cluster: P and D recomputed from the definitions, each block's share where it lies.

What travels is the sum of each worker's shares (`certificate_shares.py`), whose passes are those of the certificate at home;
a dual point is a recipe (`Mixed`), from which each block makes its own share. With a free intercept the shift that balances
it is found by some rounds of sums.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.certificates.assemble import Share, assemble
from fenchel.certificates.measure import assembled, set_certificate, slopes_mixture
from fenchel.certificates.mixtures import accept_mixture
from fenchel.certificates.passes import EPS
from fenchel.certificates.scalar import Certifier, shift_to_balance
from fenchel.certificates.structured import rounding_depth
from fenchel.certificates.vector import balance_of
from fenchel.errors import InputError
from fenchel.oracles.scalar import Kept, Mixed, PlaneRecipe
from fenchel.oracles.structured import LabelRecipe
from fenchel.problems.measure import Mixture
from fenchel.problems.scalar import Problem
from fenchel.regularizers.base import Regularizer
from fenchel.result import Certificate

if TYPE_CHECKING:
    from fenchel.cluster.problem import ExamplesOnCluster, RowsOnCluster, ScoresOnCluster, SetOnCluster
    from fenchel.cluster.team import Team


def slopes_at(problem: Problem, w: np.ndarray, b: float = 0.0) -> Mixed:
    """The slopes of all losses at (w, b)."""
    return Mixed(((1.0, PlaneRecipe(np.array(w), b, b, 0.0, None, np.inf)),))


def labels_at(problem: Problem, w: np.ndarray, b: float = 0.0) -> Mixed:
    """The best labels of all examples at w."""
    return Mixed(((1.0, LabelRecipe(np.array(w), None)),))


def accept(problem: Problem, point: Mixed | Kept) -> Any:
    """A user's dual point: only recipes can be certified where the data are."""
    if not isinstance(point, (Mixed, Kept)):
        raise InputError(
            "the dual point of data on a cluster is that of a Result; leave it out to use the slopes at coef"
        )
    return point


def rows_certificate(problem: RowsOnCluster, w: np.ndarray, b: float, point: Mixed | Kept) -> tuple[Certificate, Any]:
    """(certificate, dual point) of losses of one score per row."""
    team = problem.team()
    shift = balancing_shift(team, point) if problem.fit_intercept else (False, 0.0)
    ask = lambda scale: Share(*team.sum("rows_share", w, b, point, shift, scale))  # noqa: E731
    return _certificate(problem, w, abs(b), ask), point


def vectors_certificate(
    problem: ScoresOnCluster, w: np.ndarray, b: float, point: Mixed | Kept
) -> tuple[Certificate, Any]:
    """(certificate, dual point) of losses of several scores per row."""
    team, balance = problem.team(), None
    if problem.free:
        (rest,) = team.sum("vector_rest", point)
        balance = balance_of(problem, rest)
    b = float(np.abs(w[problem.features * problem.outputs :]).sum())
    penalised = w[: problem.features * problem.outputs]
    ask = lambda scale: Share(*team.sum("vector_share", w, point, balance, scale))  # noqa: E731
    return _certificate(problem, penalised, b, ask, problem.penalty), point


def examples_certificate(
    problem: ExamplesOnCluster, w: np.ndarray, b: float, point: Mixed | Kept
) -> tuple[Certificate, Any]:
    """(certificate, dual point) of structured examples: what a scale takes away goes to the gold labels."""
    share = Share(*problem.team().sum("example_share", w, point))
    return assemble(problem, w, share, depth=rounding_depth(problem))[0], point


def sets_certificate(problem: SetOnCluster, w: np.ndarray, b: float, point: Mixed | Kept) -> tuple[Certificate, Any]:
    """(certificate, mixture) of a measure: scores come from the blocks, and v is their sum."""
    if not isinstance(point, Mixed):
        return set_certificate(problem, w, b, point, set_scores, set_combined)
    return assembled(problem, w, Share(*problem.team().sum("queries_share", w, point))), point


def set_slopes_at(problem: SetOnCluster, w: np.ndarray, b: float = 0.0) -> Mixed | Mixture:
    """The plane at w."""
    return slopes_at(problem, w) if problem.is_by_query else slopes_mixture(problem, w, b, set_scores)


def accept_for_set(problem: SetOnCluster, point: Any) -> Mixed | Mixture:
    """A user's dual point: scores can be certified where these may be brought here."""
    return accept(problem, point) if problem.is_by_query else accept_mixture(problem, point)


def set_scores(problem: SetOnCluster, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found = problem.team().each("set_scores", np.ascontiguousarray(w, dtype=np.float64))
    return np.concatenate([z for z, _ in found]), np.concatenate([size for _, size in found])


def set_combined(problem: SetOnCluster, p: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, float]:
    edges = np.cumsum([0, *problem.sizes])
    shares = [(g[a:b],) for a, b in pairwise(edges)]
    v, spread = problem.team().sum("set_combined", shares=shares)
    return v, spread


def _certificate(
    problem: Problem, w: np.ndarray, b: float, ask: Callable[[float], Share], penalty: Regularizer | None = None
) -> Certificate:
    """From the shares of all blocks, asked for with a scale of the dual point; w are the variables that R is of."""
    share = ask(1.0)
    scaled = lambda scale: ask(scale)._replace(v=scale * share.v)  # noqa: E731  of which R* is known to be finite
    return assemble(problem, w, share, scaled, b, penalty=penalty)[0]


def balancing_shift(team: Team, point: Mixed | Kept) -> tuple[bool, float]:
    """(whether rows at the ends of their domains stay there, the shift of the others) that makes sum p u = 0.

    With a round of sums for every step; what they leave is in the floor.
    """
    for keep_ends in (True, False):
        ask = partial(team.sum, "balance_sums", point, keep_ends)
        *first, size, least, most = ask(0.0)
        sums = lambda shift, ask=ask, first=first: ask(shift)[:2] if shift else first  # noqa: E731
        shift = shift_to_balance(sums, size, least, most, enough=4.0 * EPS)
        if shift is not None:
            return keep_ends, shift
    raise InputError("no dual point is balanced: the loss has no minimum over the intercept; use fit_intercept=False")


ROWS = Certifier(rows_certificate, slopes_at, slopes_at, accept)
VECTORS = Certifier(vectors_certificate, slopes_at, slopes_at, accept)
EXAMPLES = Certifier(examples_certificate, labels_at, labels_at, accept)
SETS = Certifier(sets_certificate, set_slopes_at, set_slopes_at, accept_for_set)
