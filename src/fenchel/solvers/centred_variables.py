"""Variables of the problem with centred features: a free intercept absorbs the means, so that X itself is not modified.

x = (w, b + <mean row, w>), and the same for the free intercepts of several scores. Steps in x do not depend on the means of the
features, and R, which ignores intercepts, is the same function of both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.solvers.proximal_gradient.settings import SETTINGS

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


def pack(oracle: Oracle, w: np.ndarray, b: float) -> np.ndarray:
    """x for (w, b)."""
    return np.append(oracle.centred(w), b + float(oracle.means[0] @ w) if oracle.problem.fit_intercept else 0.0)


def unpack(oracle: Oracle, x: np.ndarray) -> tuple[np.ndarray, float]:
    """(w, b) for x."""
    w = oracle.uncentred(x[:-1])
    return w, float(x[-1] - oracle.means[0] @ w) if oracle.problem.fit_intercept else 0.0


def packed_gradient(oracle: Oracle, g: np.ndarray, slopes: float) -> np.ndarray:
    """The gradient in x, from that in w and the derivative in b."""
    gradient = np.append(oracle.centred_gradient(g), 0.0)
    if oracle.problem.fit_intercept:
        gradient[:-1] -= slopes * oracle.means[0]
        gradient[-1] = slopes
    return gradient


def column_variances(oracle: Any, mean: np.ndarray) -> np.ndarray:
    """sum_i p_i (x_ij - mean_j)^2 for every column of X, > 0."""
    squares = oracle.column_squares()
    least = SETTINGS.min_variance_ratio * squares
    found = np.maximum(squares - mean * mean, least)
    return np.maximum(found, max(SETTINGS.min_variance_ratio * float(found.max()), 1e-300))


def scales(oracle: Any) -> np.ndarray | float:
    """A curvature for each variable of x, up to a common factor: the variance of its column, and 1 for intercepts.

    It is 1 for all if the prox takes a single step size only.
    """
    problem = oracle.problem
    if not problem.regularizer.separable:
        return 1.0
    if problem.is_scalar:
        free = problem.fit_intercept
        return np.append(column_variances(oracle, oracle.means[0] if free else np.zeros(problem.d)), 1.0)
    found = column_variances(oracle, oracle.mean_row if problem.free else np.zeros(problem.features))
    return np.append(np.repeat(np.append(found, np.ones(int(problem.free))), problem.outputs), 1.0)
