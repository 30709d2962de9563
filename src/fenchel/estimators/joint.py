"""The base of the estimators with a loss of several scores: one problem for all classes."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from fenchel.errors import InputError
from fenchel.estimators.linear import LinearEstimator
from fenchel.problems.measure import Mixture
from fenchel.result import Result

if TYPE_CHECKING:
    from fenchel.regularizers import Regularizer


def has_free_intercepts(loss: Any) -> bool:
    """Whether fit_intercept="auto" means free intercepts for this loss of several scores: for nonsmooth losses they are
    supported, but slow.

    >>> from fenchel import multiclass
    >>> has_free_intercepts(multiclass.Softmax()), has_free_intercepts(multiclass.MaxHinge())
    (True, False)
    """
    return getattr(loss, "free_intercepts", False) and loss.smoothness() is not None


def best(scores: np.ndarray, k: int) -> np.ndarray:
    """The indices of the k classes with the highest scores of every row, best first; ties are in the order of the classes.

    >>> best(np.array([[0.1, 0.7, 0.7], [0.5, 0.2, 0.3]]), 2)
    array([[1, 2],
           [0, 2]])
    """
    classes = scores.shape[1]
    if not (isinstance(k, Integral) and not isinstance(k, bool) and 1 <= int(k) <= classes):
        raise InputError(f"k must be an integer from 1 to {classes}, the number of classes, got {k!r}")
    return np.argsort(-scores, axis=1, kind="stable")[:, : int(k)]


class JointEstimator(LinearEstimator):
    """An estimator that fits all scores together; coef_ has a row for each."""

    def _joint_start(self, scores: int, d: int) -> tuple[Any, ...] | None:
        """The previous fit with warm_start, if it has the same shape."""
        if not self.warm_start or getattr(self, "coef_", np.empty(0)).shape != (scores, d):
            return None
        return self.coef_, self.intercept_, self.dual_coef_.T

    def _keep_joint(self, result: Result, regularizer: Regularizer) -> None:
        """Fitted attributes: coef_ (m, d), intercept_ (m,), dual_coef_ (m, n), sparse if the dual point is, and NaN if it is
        unknown or consists of the tangents of a custom loss, which have no u_i."""
        u: Any = result.dual_point
        u = np.full(result.problem.dual_shape, np.nan) if u is None or isinstance(u, Mixture) else u
        self.coef_, self.intercept_ = np.array(result.coef), np.array(result.intercept)
        self.dual_coef_ = u.T.tocsr() if sp.issparse(u) else np.ascontiguousarray(u.T)
        self.regularizer_ = regularizer
        self._keep_reports([result])
