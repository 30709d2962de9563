"""Ordinal regression, for labels with an order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from fenchel.errors import InputError
from fenchel.estimators.cuts import best_thresholds, labels_at, level_costs
from fenchel.estimators.levels import level_order, levelled
from fenchel.estimators.measured import MeasureEstimator
from fenchel.estimators.parameters import SOLVE_ATTRIBUTES, documented, keep
from fenchel.measures import Ordinal
from fenchel.models.model import Model

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import MatrixLike


@documented(SOLVE_ATTRIBUTES)
class OrdinalClassifier(ClassifierMixin, MeasureEstimator):
    """min over w of 1/M sum over pairs y_i < y_j of cost[y_i, y_j] max(0, 1 - <x_j - x_i, w>) + R(w), M such pairs.

    The labels have an order: that of numbers, that of an ordered Categorical of pandas or an Enum of polars, or that of
    `levels`. Words without an order are an error. A score <x, w> is learned that puts rows in that order. Then thresholds
    between the levels are chosen to minimise the mean of cost[y_i, predicted_i] on the training rows (exactly, by dynamic
    programming). There is no sample_weight, because the loss is a sum over pairs of rows. To weight levels, use `cost`; to
    give a row weight 2, in all of its pairs and for the thresholds, repeat it.

    Parameters
    ----------
    cost : K x K matrix, cost[a, b] is the cost of predicting level b for a, in the order of classes_; nonnegative, 0 on the
        diagonal. Pairs use the part above the diagonal, thresholds the whole matrix. None: every pair costs 1 and the
        thresholds minimise the mean of |a - b|.
    levels : the labels from lowest to highest, which need not all occur in y; None: those of y, in their own order.
    C : alternative to alpha: alpha = 1 / (C n). Give only one of them.
    warm_start : start from the previous fit's coefficients.
    random_state : seed of a named solver that shuffles rows.

    Attributes
    ----------
    classes_ : the K levels, from lowest to highest.
    coef_ : shape (d,).
    thresholds_ : shape (K - 1,), ascending; the predicted level is the number of thresholds below the score.
    dual_point_ : the mixture of score vectors whose cutting planes give the certificate's dual value.
    objective_, dual_objective_, dual_gap_ : P, D and P - D at w.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = np.digitize(X @ [1.0, -1.0, 0.5], [-1.0, 0.0, 1.0])
    >>> model = OrdinalClassifier().fit(X, y)
    >>> model.status_.name, model.thresholds_.size, bool(np.abs(model.predict(X) - y).mean() < 0.05)
    ('CERTIFIED', 3, True)
    >>> words = np.array(["low", "fair", "good", "top"])[y]
    >>> model = OrdinalClassifier(levels=["low", "fair", "good", "top"]).fit(X, words)
    >>> bool((model.predict(X) == words).mean() > 0.95)
    True
    """

    def __init__(
        self, cost=None, levels=None, regularizer="l2", alpha=None, C=None, l1_ratio=0.5, tol=1e-6, solver="auto",
        max_iter=None, max_time=None, warm_start=False, random_state=None, n_jobs=None, verbose=0, checkpoint=None, engine=None,
        standardize=False,
    ):  # fmt: skip
        keep(self, locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # it is not for classes without an order
        return tags

    def fit(self, X: MatrixLike, y: ArrayLike) -> Self:
        """Fit to rows X (dense, sparse or a data frame) and levels y: numbers, or labels whose order is known."""
        measure = Ordinal(self.cost)
        order = level_order(y, self.levels)
        X, labels = self._training_rows(X, y=y)
        check_classification_targets(labels)
        classes, level = levelled(labels, order)
        present = np.unique(level)
        if present.size < 2:
            raise InputError(
                f"OrdinalClassifier can't train when only one class is present: every row is of class "
                f"{classes.tolist()[present[0]]!r}; it needs samples of at least 2 levels"
            )
        if measure.cost is not None and len(measure.cost) != classes.size:
            raise InputError(
                f"cost is for {len(measure.cost)} levels, but {'y' if order is None else 'levels'} has {classes.size}; name "
                "them all with levels=[...] if some of them are not in y"
            )
        make = self._set_problem(X, level.astype(float), measure)
        (result,) = self._fit_problems([make], [self._set_start(X.shape[1])])
        self._keep_set(result, result.coef.copy())
        self.classes_, self.intercept_ = classes, 0.0
        self.thresholds_ = best_thresholds(self._scores_of(X), level, level_costs(measure, classes.size))
        return self

    def latent_scores(self, X: MatrixLike) -> np.ndarray:
        """<x, w>: the higher, the higher the level."""
        return self._raw_scores(X)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The level whose thresholds enclose the score."""
        scores = self._raw_scores(X)
        return self.classes_[labels_at(self.thresholds_, scores)]

    def _thresholds(self) -> tuple[float, ...]:
        return tuple(self.thresholds_.tolist())

    @classmethod
    def _is_own_loss(cls, model: Model) -> bool:
        return isinstance(model.loss, Ordinal) and model.thresholds is not None

    @classmethod
    def _measure_parameters(cls, measure: Any, labels: tuple[Any, ...] | None) -> dict[str, Any]:
        return {"cost": measure.cost, "levels": list(labels or ())}

    def _restore(self, model: Model) -> None:
        super()._restore(model)
        self.thresholds_ = np.array(model.thresholds)
