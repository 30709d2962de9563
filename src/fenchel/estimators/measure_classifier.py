"""Classification that optimises its evaluation measure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from fenchel.errors import InputError
from fenchel.estimators.cuts import best_threshold
from fenchel.estimators.measured import MeasureEstimator, measure_of
from fenchel.estimators.parameters import SOLVE_ATTRIBUTES, documented, keep
from fenchel.measures import Ordinal
from fenchel.models.model import Model

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import MatrixLike

NAMES = ["area_pairs", "break_even", "f_beta", "precision_at_k", "recall_at_k", "roc_area"]


@documented(SOLVE_ATTRIBUTES)
class MeasureClassifier(ClassifierMixin, MeasureEstimator):
    """min over w of measure(X w, y) + R(w), y_i in {-1, +1}: two labels, the larger one (in sorted order) is +1.

    The measure is a convex upper bound of 1 - ROC area, 1 - F_beta, ... of all scores together. There is no sample_weight,
    because the measure is not a sum over rows ("the top k rows" has no meaning for half a row). To give a row weight 2,
    repeat it.

    Labels are predicted by a threshold that is not part of the problem: the best one for the measure among all thresholds
    between the scores of the training rows (the lowest if several are equally good). F_beta is optimised for the predicted
    labels; for precision_at_k and recall_at_k, k training rows are predicted positive, and for break_even as many as are
    positive; for roc_area the threshold maximises balanced accuracy, (recall + specificity) / 2.

    For F1 a hinge whose threshold is moved to the best one on the training scores is as good: on a9a, w8a and ijcnn1 the test
    F1 differ by less than their standard error (`experiments/README.md`). The ROC area and precision at k gain where classes
    are imbalanced.

    Parameters
    ----------
    measure : roc_area, area_pairs (squared margins of the same pairs), f_beta (or f1), break_even, or an object of
        `fenchel.measures`: FBeta(2.0), PrecisionAtK(50), ...
    C : alternative to alpha: alpha = 1 / (C n). Give only one of them.
    warm_start : start from the previous fit's coefficients.
    random_state : seed of a named solver that shuffles rows.

    Attributes
    ----------
    classes_ : the two labels, sorted.
    coef_ : shape (1, d).
    threshold_, intercept_ : rows with <x, w> above threshold_ are predicted classes_[1]; intercept_ is [-threshold_].
    dual_point_ : the mixture of score vectors whose cutting planes give the certificate's dual value.
    objective_, dual_objective_, dual_gap_ : P, D and P - D at w.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import f1_score
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MeasureClassifier("f1", alpha=1e-3).fit(scale(X), y)
    >>> model.status_.name, bool(f1_score(y, model.predict(scale(X))) > 0.97)
    ('CERTIFIED', True)
    """

    _is_stacked = True

    def __init__(
        self, measure="roc_area", regularizer="l2", alpha=None, C=None, l1_ratio=0.5, tol=1e-6, solver="auto",
        max_iter=None, max_time=None, warm_start=False, random_state=None, n_jobs=None, verbose=0, checkpoint=None, engine=None,
        standardize=False,
    ):  # fmt: skip
        keep(self, locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: MatrixLike, y: ArrayLike) -> Self:
        """Fit to rows X (dense, sparse or a data frame) and two labels y."""
        measure = measure_of(self.measure, NAMES, "classification")
        X, y = self._training_rows(X, y=y)
        check_classification_targets(y)
        classes = np.unique(y)
        if classes.size < 2:
            raise InputError(
                f"MeasureClassifier can't train when only one class is present: every row is of class "
                f"{classes.tolist()[0]!r}; it needs samples of 2 classes"
            )
        if classes.size > 2:
            raise InputError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}: y has {classes.size} labels"
            )
        positive = y == classes[1]
        make = self._set_problem(X, np.where(positive, 1.0, -1.0), measure)
        (result,) = self._fit_problems([make], [self._set_start(X.shape[1])])
        self._keep_set(result, result.coef[None].copy())
        self.classes_, self.intercept_ = classes, np.zeros(1)
        self.threshold_ = best_threshold(measure, self._scores_of(X)[:, 0], positive)
        self.intercept_ = np.array([-self.threshold_])
        return self

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """<x, w> - threshold_: positive means classes_[1]."""
        return self._raw_scores(X)[:, 0]

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The label."""
        above = self.decision_function(X) > 0.0
        return self.classes_[above.astype(int)]

    def _thresholds(self) -> tuple[float, ...]:
        return (float(self.threshold_),)

    @classmethod
    def _is_own_loss(cls, model: Model) -> bool:
        return model.is_measure and model.thresholds is not None and not isinstance(model.loss, Ordinal)

    def _restore(self, model: Model) -> None:
        super()._restore(model)
        (self.threshold_,) = model.thresholds or (0.0,)
        self.intercept_ = np.array([-self.threshold_])
