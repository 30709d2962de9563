"""The base of the estimators that optimise a measure of all scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel import measures
from fenchel.errors import InputError, UnknownNameError
from fenchel.estimators.linear import LinearEstimator
from fenchel.measures import Measure
from fenchel.models.model import Model
from fenchel.problems.measure import Mixture
from fenchel.problems.scalar import Problem
from fenchel.result import Result

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import ArrayLike

ALIASES = {"f1": "f_beta"}


def measure_of(spec: Any, names: list[str], what: str) -> Measure:
    """The measure from a name or an object; a built-in one must be one of `names`.

    >>> measure_of("f1", ["f_beta", "roc_area"], "classification")
    FBeta(beta=1.0, scale=None)
    """
    name = ALIASES.get(spec, spec) if isinstance(spec, str) else spec
    if isinstance(name, str) and name not in names:
        raise UnknownNameError(f"measure for {what}", name, names)
    measure = measures.make(name)
    own = next((key for key, kind in measures.MEASURES.items() if kind is type(measure)), None)
    if own is not None and own not in names:
        raise InputError(f"measure {own!r} is not for {what}; available: {', '.join(names)}")
    return measure


class MeasureEstimator(LinearEstimator):
    """An estimator that fits coefficients to a measure; the problem has no free intercept."""

    def _set_problem(
        self,
        X: np.ndarray | sp.csr_matrix,
        y: np.ndarray,
        measure: Measure,
        groups: np.ndarray | None = None,
        weights: ArrayLike | None = None,
    ) -> Callable[[], Problem]:
        regularizer = self._regularizer_for(X)
        return lambda: Problem(X, y, loss=measure, regularizer=regularizer, groups=groups, sample_weight=weights)

    def _regularizer_for(self, X: np.ndarray | sp.csr_matrix) -> Any:
        """The regularizer given by the parameters for rows X."""
        return self._standardized(self._regularizer(float(X.shape[0])), X)

    def _set_start(self, d: int) -> tuple[Any, ...] | None:
        """The coefficients of the previous fit with warm_start, if they have the same shape."""
        if not self.warm_start or getattr(self, "coef_", np.empty(0)).size != d:
            return None
        return (np.ravel(self.coef_),)

    def _keep_set(self, result: Result, coef: np.ndarray) -> None:
        """Set the fitted attributes except the intercept."""
        self.coef_ = coef
        self.dual_point_ = result.dual_point
        self.regularizer_ = result.problem.regularizer
        self._keep_reports([result])

    def _dual_points(self) -> Any:
        point = self.dual_point_
        return None if point is None else np.column_stack([point.weights, point.scores])

    @classmethod
    def _is_own_loss(cls, model: Model) -> bool:
        return model.is_ranking

    @classmethod
    def _parameters_of(cls, model: Model) -> dict[str, Any]:
        return cls._measure_parameters(model.loss, model.labels) | super()._parameters_of(model)

    @classmethod
    def _measure_parameters(cls, measure: Measure, labels: tuple[Any, ...] | None) -> dict[str, Any]:
        """The parameters of the estimator that follow from the measure."""
        return {"measure": measure}

    def _restore_dual(self, model: Model) -> None:
        points = model.dual_points
        self.dual_point_ = None if points is None else Mixture(points[:, 0].copy(), points[:, 1:].copy())
