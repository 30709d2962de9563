"""Which coefficients of the exact optimum are zero, and the signs of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.certificates import scalar, vector
from fenchel.certificates.assemble import SAFETY
from fenchel.errors import InputError
from fenchel.proofs.ball import ball
from fenchel.proofs.spaces import BLOCK, EPS, space_of
from fenchel.regularizers import L1, ElasticNet
from fenchel.regularizers.nonconvex import Nonconvex

if TYPE_CHECKING:
    from fenchel.result import Result

WIDENING = 1.0 + 1e-9  # for the rounding of the lengths of columns


class Support(NamedTuple):
    """What is proven of each coefficient of every optimum: boolean arrays of the shape of `Result.coef`.

    `zero`, `positive` and `negative` are proofs; `open` is the rest.
    """

    zero: np.ndarray
    positive: np.ndarray
    negative: np.ndarray

    @property
    def open(self) -> np.ndarray:
        """Coefficients of which neither is proven."""
        return ~(self.zero | self.positive | self.negative)


def support(result: Result) -> Support:
    """The coefficients whose sign, or that they are zero, is proven for the exact optimum.

    A sign is proven where `result.ball()` lies on one side of 0, for strongly convex regularizers. With L1 or ElasticNet and a
    loss whose slopes are beta-Lipschitz, w*_j = 0 is proven where

        |v_j| + sqrt(2 beta gap sum_i p_i x_ij^2) < alpha c_j r,

    because the dual is strongly concave. With L0, MCP and SCAD, which are not convex, w*_j = 0 is proven where the lower bound
    of all coefficients with w_j != 0 is above the objective, and a sign where that of all others is; the bound is D plus the
    change of R*(v_j). It is a statement about the optimum of this training problem.

    Reference: Ndiaye, Fercoq, Gramfort and Salmon (JMLR 2017), gap-safe rules.

    >>> import fenchel
    >>> X = [[1.0, 0.1], [2.0, -0.1], [3.0, 0.1]]
    >>> problem = fenchel.Problem(X, [1.0, 2.0, 3.0], loss="squared", regularizer="elastic_net", alpha=0.5)
    >>> found = fenchel.solve(problem, tol=1e-8).support()
    >>> found.zero.tolist(), found.positive.tolist()
    ([False, True], [True, False])
    """
    problem = result.problem
    if problem.is_kernel or problem.is_structured:
        raise InputError(
            "the support is that of coefficients of features: kernel machines and structured outputs have none"
        )
    coef = np.asarray(result.coef)
    if isinstance(problem.regularizer, Nonconvex):
        return _without_convexity(result, problem.regularizer)
    zero, positive, negative = (np.zeros(coef.shape, dtype=bool) for _ in range(3))
    if space_of(problem).metric is not None:
        region = ball(result)
        width = region.half_widths + 4.0 * EPS * np.abs(region.center)
        positive, negative = region.center > width, region.center < -width
    thresholds = _thresholds(problem)
    if thresholds is not None:
        zero = _proven_zeros(result, thresholds)
    return Support(zero, positive & ~zero, negative & ~zero)


def _without_convexity(result: Result, penalty: Nonconvex) -> Support:
    """Where the dual value of the problem without w_j = 0, or with it and the other sign alone, exceeds the objective."""
    problem, gap = result.problem, max(result.certificate.gap, 0.0) + result.certificate.floor
    if result.dual_point is None or not np.isfinite(gap):
        return Support(*(np.zeros(np.shape(result.coef), dtype=bool) for _ in range(3)))
    v, spread = scalar.combined(problem, problem.weights, np.asarray(result.dual_point))
    proven = penalty.proven(v, SAFETY * EPS * spread)
    has_sign = proven.without_sign > gap
    return Support(proven.without_zero > gap, has_sign & (v > 0.0), has_sign & (v < 0.0))


def _thresholds(problem: Any) -> np.ndarray | None:
    """alpha c_j r, at which the derivative of R is zero or not; None if the regularizer or the loss has no such rule."""
    given = problem.given if problem.is_vector else problem.regularizer
    smoothness = None if problem.is_measure else problem.smoothness
    if type(given) not in (L1, ElasticNet) or smoothness is None or not np.isfinite(smoothness) or problem.remote:
        return None
    features = problem.features if problem.is_vector else problem.d
    weights = 1.0 if given.weights is None else given.weights
    return np.broadcast_to(given.alpha * getattr(given, "l1_ratio", 1.0) * weights, (features,))


def _proven_zeros(result: Result, thresholds: np.ndarray) -> np.ndarray:
    problem: Any = result.problem
    gap = max(result.certificate.gap, 0.0) + result.certificate.floor
    if result.dual_point is None or not np.isfinite(gap) or getattr(problem, "own", False):
        return np.zeros(np.shape(result.coef), dtype=bool)
    if problem.is_vector:
        v, spread = vector.combined(problem, result.dual_point)
        v = v.T
    else:
        v, spread = scalar.combined(problem, problem.weights, result.dual_point)
    lengths = _column_lengths(problem.X, problem.weights) * WIDENING
    assert problem.smoothness is not None
    move = np.sqrt(2.0 * problem.smoothness * gap) * lengths
    return np.abs(v) + move + SAFETY * EPS * spread < thresholds


def _column_lengths(X: Any, p: np.ndarray) -> np.ndarray:
    """sqrt(sum_i p_i x_ij^2)."""
    total = np.zeros(X.shape[1])
    for a in range(0, X.shape[0], BLOCK):
        part = X[a : a + BLOCK].astype(np.float64)
        squares = part.multiply(part).tocsr() if sp.issparse(part) else np.square(part)
        total += squares.T @ p[a : a + BLOCK]
    return np.sqrt(total)
