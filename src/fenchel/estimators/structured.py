"""The base of the estimators for structured outputs."""

from __future__ import annotations

from typing import Any, ClassVar

from fenchel.certificates.scalar import certifier_of
from fenchel.errors import InputError
from fenchel.estimators.base import SolvingEstimator, accept_weights, total_weight
from fenchel.estimators.saving import keep_reports, work_of
from fenchel.models.structured import StructuredModel, dual_point_of, entries_of, facts_of
from fenchel.problems.scalar import Problem


class StructuredEstimator(SolvingEstimator[StructuredModel]):
    """From examples, labels and a model of `fenchel.structured` to fitted attributes, and to a `fenchel.StructuredModel`."""

    _model_class = StructuredModel
    _saved_as: ClassVar[type]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _fit_structured(self, examples: Any, labels: Any, n: int, model: Any, sample_weight: Any, same: bool) -> Any:
        """Solve and return the Result; `same`: whether coefficients of an earlier fit, if as many, have the same meaning."""
        weights = accept_weights(sample_weight, n)
        regularizer = self._regularizer(total_weight(weights, n))
        problem = Problem(examples, labels, loss=model, regularizer=regularizer, sample_weight=weights)
        (result,) = self._fit_problems([lambda: problem], [self._structured_start(problem) if same else None])
        self.coef_ = result.coef.copy()
        self.dual_point_, self.regularizer_ = dual_point_of(result), problem.regularizer
        self._facts, self._work = facts_of(result), work_of([result])
        keep_reports(self, [result])
        return result

    def _structured_start(self, problem: Problem) -> tuple[Any, ...] | None:
        """The previous fit, with its dual point if that is for the same examples."""
        if not self.warm_start or not hasattr(self, "coef_") or self.coef_.size != problem.d:
            return None
        try:
            return self.coef_, 0.0, certifier_of(problem).accept_dual(problem, self.dual_point_)
        except InputError:
            return (self.coef_,)

    def _to_model(self) -> StructuredModel:
        about = entries_of(self._about())
        return StructuredModel(coef=self.coef_, dual_point=self.dual_point_, **self._facts, **about)

    def _about(self) -> dict[str, Any]:
        """Labels and attributes."""
        return {}

    @classmethod
    def _is_own(cls, model: StructuredModel) -> bool:
        return type(model.loss) is cls._saved_as

    @classmethod
    def _parameters_of(cls, model: StructuredModel) -> dict[str, Any]:
        return vars(model.loss) | {"regularizer": model.regularizer, "tol": model.tol}

    def _restore(self, model: StructuredModel) -> None:
        self._restore_reports(model)
        self._restore_names(None, model.shape.features)
        self.coef_, self.dual_point_, self.regularizer_ = model.coef.copy(), model.dual_point, model.regularizer
