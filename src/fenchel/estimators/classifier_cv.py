"""Linear classification with alpha chosen by cross-validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from fenchel.estimators.classifier import Classifier
from fenchel.estimators.cross_validated import CV_ATTRIBUTES, CV_PARAMETERS, CrossValidated
from fenchel.estimators.parameters import SOLVE_ATTRIBUTES, documented, keep

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import MatrixLike


@documented(CV_ATTRIBUTES | SOLVE_ATTRIBUTES, CV_PARAMETERS)
class ClassifierCV(CrossValidated, Classifier):
    """A `Classifier` whose alpha maximises (1/K) sum_k score(w_k(alpha), fold k), the mean score of held-out rows, where
    w_k(alpha) is fitted without fold k.

    The strengths of a fold are solved along one path, each from the solution of the previous one and each with its
    certificate. The scores are those of GridSearchCV with the same folds, in less time. Losses, predictions and the other
    parameters are those of `Classifier`.

    Parameters
    ----------
    loss, classes, class_weight : as in `Classifier`.
    fit_intercept : True, False or "auto", as in `Classifier`.

    Attributes
    ----------
    classes_, coef_, intercept_, dual_coef_ : as in `Classifier`, of the fit of all rows with `alpha_`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ClassifierCV("logistic", rule="one_se").fit(scale(X), y)
    >>> model.alpha_ >= model.alpha_best_, model.best_score_ > 0.97, model.status_.name
    (True, True, 'CERTIFIED')
    """

    _single = Classifier

    def __init__(
        self, loss="hinge", regularizer="l2", alphas=20, alpha_min_ratio=1e-5, cv=None, scoring=None, rule="best",
        refit=True, l1_ratio=0.5, fit_intercept="auto", tol=1e-6, solver="auto", max_iter=None, max_time=None,
        class_weight=None, random_state=None, n_jobs=None, verbose=0, engine=None, classes=None, standardize=False,
        certified=False, slack=0.01,
    ):  # fmt: skip
        keep(self, locals())

    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Choose alpha and fit all rows X with labels y; `groups` go to the splitter of `cv`."""
        return self._fit_cv(X, y, groups, sample_weight=sample_weight)
