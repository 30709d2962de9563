"""The prox of a regularizer with an element of its generalised Jacobian.

prox(x) = argmin over w of R(w) + sum_j (w_j - x_j)^2 / (2 step_j). Its Jacobian is diagonal if R is a sum of functions of one
coefficient each; otherwise it is a symmetric matrix with eigenvalues in [0, 1].
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.solvers.proximal_point_newton.settings import SETTINGS


class ProxOperator:
    """The prox of one regularizer, in a metric."""

    def __init__(self, regularizer: Any, d: int):
        self.regularizer = regularizer
        self.diagonal = is_separable(regularizer, d)

    def metric(self, variances: np.ndarray) -> Any:
        """1 / variance of each column, or of all together if the prox takes one step only; the inverse of the curvature."""
        if not self.regularizer.separable:
            return 1.0 / float(variances.mean())
        return 1.0 / variances

    def prox(self, x: np.ndarray, step: Any) -> np.ndarray:
        return np.asarray(self.regularizer.prox(x, step), dtype=np.float64)

    def jacobian(self, x: np.ndarray, step: Any, w: np.ndarray) -> ProxJacobian:
        """An element of the generalised Jacobian at x, of which w is the prox."""
        if hasattr(self.regularizer, "prox_jacobian"):
            return self.regularizer.prox_jacobian(x, step)
        if self.diagonal:
            h = difference_length(x, w)
            return ProxJacobian(np.clip((self.prox(x + h, step) - w) / h, 0.0, 1.0))
        h = difference_length(x, w).max()
        J = np.column_stack([(self.prox(x + h * e, step) - w) / h for e in np.eye(x.size)])
        values, vectors = np.linalg.eigh(0.5 * (J + J.T))
        return ProxJacobian(np.zeros(x.size), sp.csc_array(vectors), np.clip(values, 0.0, 1.0))


def difference_length(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Over which a prox is differenced, for each coefficient."""
    largest = float(np.max(np.abs(x), initial=0.0)) + float(np.max(np.abs(w), initial=0.0))
    return SETTINGS.difference_length_ratio * (np.abs(x) + 1e-3 * largest + 1e-300)


def is_separable(regularizer: Any, d: int) -> bool:
    """Whether a change of some coefficients leaves the prox of the others as it was, tried at a few points."""
    if regularizer.separable or d == 1:
        return True
    rng = np.random.default_rng(0)
    start = np.asarray(regularizer.start(d), dtype=np.float64)
    step = 1.0 / regularizer.alpha
    for scale in (0.1, 1.0, 10.0):
        x = start + scale * rng.standard_normal(d)
        chosen = np.arange(d) % 2 == 0
        moved = np.where(chosen, x + scale * rng.standard_normal(d), x)
        if not np.array_equal(regularizer.prox(x, step)[~chosen], regularizer.prox(moved, step)[~chosen]):
            return False
    return True


def has_jacobian(regularizer: Any, d: int) -> bool:
    """Whether the Jacobian of the prox can be formed: it is diagonal, or there are few features."""
    return hasattr(regularizer, "prox") and (d <= SETTINGS.max_coupled_features or is_separable(regularizer, d))
