"""Strengths to try, from the data: from the one at which the penalty leaves almost nothing of the features downwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fenchel.errors import InputError
from fenchel.proofs.strengths import Pair, relative
from fenchel.solving.solve import solve

EPS = 1e-2  # relative gap up to which the model without the penalised features counts as good as the best one
FACTOR = 1e2  # between strengths in the search for one at which they have no influence
TRIALS = 12  # strengths in that search
FARTHEST = 1e-12  # times the strength that was found is the smallest that is considered
TOL = 1e-6  # of its solves
ROUNDING = 8.0  # times the rounding floor: a gap that is none, where the losses can be 0 without the features


def largest_alpha(make: Callable[[float], Any]) -> float:
    """The smallest alpha at which the limit for alpha -> inf is still within 1 % of the optimum, by a certificate.

    For L1 and groups it is the smallest alpha with w = 0, up to the tolerance of a solve. `make` gives the problem of an alpha.

    >>> import fenchel
    >>> X, y = np.array([[1.0], [2.0], [-3.0]]), np.array([1.0, 1.0, -2.0])
    >>> found = largest_alpha(lambda alpha: fenchel.Problem(X, y, "squared", "l1", alpha))
    >>> bool(abs(found - abs(X.T @ y).max() / 3) < 1e-3 * found)
    True
    """
    alpha, pair = 1.0, None
    for _ in range(TRIALS):
        pair = Pair(solve(make(alpha), tol=TOL, start=None if pair is None else pair.result))
        high, low = pair.primal(alpha * FACTOR), pair.dual(alpha * FACTOR)
        if relative(high, low) <= EPS or high - low <= ROUNDING * pair.result.certificate.floor:
            limit = pair.reach(alpha * FARTHEST, EPS)
            return limit if limit > alpha * FARTHEST else 1.0  # no alpha has an influence on constant targets
        alpha *= FACTOR
    raise InputError("no alpha was found at which the penalty prevails: pass a list of alphas")


def data_grid(makes: Sequence[Callable[[float], Any]], count: int, ratio: float) -> np.ndarray:
    """`count` strengths, evenly spaced in log alpha, from the largest of the problems to `ratio` times that."""
    high = max(map(largest_alpha, makes))
    return np.geomspace(high, high * ratio, count) if count > 1 else np.array([high])
