"""Linear regression with alpha chosen by cross-validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fenchel.estimators.cross_validated import CV_ATTRIBUTES, CV_PARAMETERS, CrossValidated
from fenchel.estimators.parameters import SOLVE_ATTRIBUTES, documented, keep
from fenchel.estimators.regressor import Regressor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import MatrixLike


@documented(CV_ATTRIBUTES | SOLVE_ATTRIBUTES, CV_PARAMETERS)
class RegressorCV(CrossValidated, Regressor):
    """A `Regressor` whose alpha maximises (1/K) sum_k score(w_k(alpha), fold k), the mean score of held-out rows, where
    w_k(alpha) is fitted without fold k.

    The strengths of a fold are solved along one path, each from the solution of the previous one and each with its
    certificate. The scores are those of GridSearchCV with the same folds, in less time. Losses, predictions and the other
    parameters are those of `Regressor`.

    Parameters
    ----------
    loss, quantile, epsilon, delta : as in `Regressor`.

    Attributes
    ----------
    coef_, intercept_, dual_coef_ : as in `Regressor`, of the fit of all rows with `alpha_`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RegressorCV("huber", delta=50.0, regularizer="l1", cv=10).fit(X, y)
    >>> model.alphas_.shape, bool(model.best_score_ > 0.4), model.status_.name
    ((20,), True, 'CERTIFIED')
    """

    _single = Regressor

    def __init__(
        self, loss="squared", quantile=None, epsilon=None, delta=None, regularizer="l2", alphas=20, alpha_min_ratio=1e-5,
        cv=None, scoring=None, rule="best", refit=True, l1_ratio=0.5, fit_intercept=True, tol=1e-6, solver="auto",
        max_iter=None, max_time=None, random_state=None, n_jobs=None, verbose=0, engine=None, standardize=False,
        certified=False, slack=0.01,
    ):  # fmt: skip
        keep(self, locals())

    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None, offset: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Choose alpha and fit all rows X with targets y; `groups` go to the splitter of `cv`."""
        return self._fit_cv(X, y, groups, sample_weight=sample_weight, offset=offset)

    def _held_out_model(self, rows: dict[str, np.ndarray]) -> Any:
        return _HeldOut(self._make_single(), rows["offset"]) if "offset" in rows else self._make_single()


class _HeldOut(Regressor):
    """A regressor for rows whose offsets it knows, because scorers do not pass them on."""

    def __init__(self, single: Regressor, known: np.ndarray):
        super().__init__(**single.get_params(deep=False))
        self.known = known

    def predict(self, X: MatrixLike, offset: ArrayLike | None = None) -> np.ndarray:
        return super().predict(X, offset=self.known)
