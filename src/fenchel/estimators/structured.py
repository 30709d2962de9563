"""What the estimators of structured outputs share."""

from __future__ import annotations

from typing import Any

from fenchel.certificates.structured import accept_point
from fenchel.errors import InputError
from fenchel.estimators.base import LinearEstimator, accept_weights, total_weight
from fenchel.estimators.saving import Saving
from fenchel.problems.scalar import Problem


class StructuredEstimator(Saving, LinearEstimator):
    """Examples, labels and a model of `fenchel.structured` to fitted attributes."""

    def _fit_structured(self, examples: Any, labels: Any, n: int, model: Any, sample_weight: Any, same: bool) -> Any:
        """Solve, and return the Result; `same`: whether an earlier fit's coefficients, if they are as many, mean the same."""
        weights = accept_weights(sample_weight, n)
        regularizer = self._regularizer(total_weight(weights, n))
        problem = Problem(examples, labels, loss=model, regularizer=regularizer, sample_weight=weights)
        (result,) = self._fit_problems([lambda: problem], [self._structured_start(problem) if same else None])
        self.coef_ = result.coef.copy()
        self._keep_facts(result)
        self.regularizer_ = problem.regularizer
        self._keep_reports([result])
        return result

    def _structured_start(self, problem: Any) -> tuple[Any, ...] | None:
        """The previous fit; with its dual point, if that is one of these examples."""
        if not self.warm_start or not hasattr(self, "coef_") or self.coef_.size != problem.d:
            return None
        try:
            return self.coef_, 0.0, accept_point(problem, self.dual_point_)
        except InputError:
            return (self.coef_,)
