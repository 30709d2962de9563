"""The base of the estimators of linear models: from Results to fitted attributes, and from these to a model and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from fenchel.estimators.base import SolvingEstimator
from fenchel.estimators.saving import keep_reports, work_of
from fenchel.models.base import feature_names_of, plain_entries
from fenchel.models.model import Model
from fenchel.models.scored import facts_of
from fenchel.multiclass import is_vector_loss
from fenchel.result import Result


class LinearEstimator(SolvingEstimator[Model]):
    """An estimator of a linear model; a subclass defines loss, targets and predictions."""

    _model_class = Model
    _is_stacked: ClassVar[bool] = False  # whether coef_ has a row per problem even if there is only one

    def _warm(self, k: int, d: int) -> tuple[Any, ...] | None:
        """The starting point of row k of coef_: with warm_start the previous fit, if it has the same shape."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        coef, b, u = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_), np.atleast_2d(self.dual_coef_)
        return (coef[k], b[k], u[k]) if coef.shape[1] == d and k < coef.shape[0] else None

    def _keep(self, results: Sequence[Result]) -> None:
        """Set the fitted attributes, with a list entry per problem if there are several."""
        stack = self._is_stacked
        coef = np.array([result.coef for result in results])
        intercept = np.array([result.intercept for result in results])
        dual = np.array([_dual(result) for result in results])
        self.coef_ = coef if stack else coef[0]
        self.intercept_ = intercept if stack else float(intercept[0])
        self.dual_coef_ = dual if stack else dual[0]
        self.regularizer_ = results[0].problem.regularizer
        self._keep_reports(results)

    def _keep_reports(self, results: Sequence[Result]) -> None:
        """Set the attributes of the solves, which hold no reference to the data."""
        self._facts, self._work = facts_of(results, read_data=False), work_of(results)
        keep_reports(self, results)

    def _to_model(self) -> Any:
        facts = self._facts
        coef, intercept = np.asarray(self.coef_), np.asarray(self.intercept_, dtype=float)
        if coef.ndim == 2 and len(facts["certificates"]) == 1 and not is_vector_loss(facts["loss"]):
            coef, intercept = coef[0], intercept.reshape(-1)[0]
        return Model(
            coef=np.array(coef),
            intercept=np.array(intercept) if intercept.ndim else float(intercept) if facts["fit_intercept"] else 0.0,
            labels=plain_entries(getattr(self, "classes_", None)),
            dual_points=self._dual_points(),
            feature_names=feature_names_of(self),
            thresholds=self._thresholds(),
            **facts,
        )

    def _thresholds(self) -> tuple[float, ...] | None:
        """The thresholds between the scores of adjacent labels."""
        return None

    def _dual_points(self) -> Any:
        """The dual points of the certificates in the form of a model; None if there are none."""
        u: Any = self.dual_coef_
        if is_vector_loss(self._facts["loss"]):
            u = u.T.tocsr() if sp.issparse(u) else np.ascontiguousarray(u.T)
        elif u.ndim == 2 and len(self._facts["certificates"]) == 1:
            u = u[0]
        return u if np.isfinite(u.data if sp.issparse(u) else u).all() else None

    @classmethod
    def _is_own(cls, model: Model) -> bool:
        return model.constant is None and cls._is_own_loss(model)

    @classmethod
    def _is_own_loss(cls, model: Model) -> bool:
        """Whether loss, labels and thresholds of the model can come from this estimator."""
        raise NotImplementedError("abstract: an estimator defines which models it can load")

    @classmethod
    def _parameters_of(cls, model: Model) -> dict[str, Any]:
        return {"regularizer": model.regularizer, "tol": model.tol}

    def _restore(self, model: Model) -> None:
        self._restore_reports(model)
        self._restore_names(model.feature_names, model.d)
        stack = self._is_stacked and model.coef.ndim == 1
        self.coef_ = model.coef[None].copy() if stack else model.coef.copy()
        self.intercept_ = np.atleast_1d(model.intercept).astype(float) if stack or model.k > 1 else model.intercept
        self.regularizer_ = model.regularizer
        if model.labels is not None:
            self.classes_ = np.array(model.labels)
        self._restore_dual(model)

    def _restore_dual(self, model: Model) -> None:
        u: Any = model.dual_points
        if u is None:
            u = np.full((model.n, model.k) if model.is_vector else (*model.coef.shape[:-1], model.n), np.nan)
        if model.is_vector:
            u = u.T.tocsr() if sp.issparse(u) else np.ascontiguousarray(u.T)
        self.dual_coef_ = u[None] if self._is_stacked and u.ndim == 1 else u


def _dual(result: Result) -> np.ndarray:
    return np.full(result.problem.n, np.nan) if result.dual_point is None else np.asarray(result.dual_point)
