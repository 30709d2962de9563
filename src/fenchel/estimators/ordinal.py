"""Ordinal regression: labels with an order."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from fenchel.errors import InputError
from fenchel.estimators.cuts import best_thresholds, labels_at, level_costs
from fenchel.estimators.levels import level_order, levelled
from fenchel.estimators.measured import MeasureEstimator
from fenchel.measures import Ordinal


class OrdinalClassifier(ClassifierMixin, MeasureEstimator):
    """min over w of 1/M sum over pairs y_i < y_j of cost[y_i, y_j] max(0, 1 - <x_j - x_i, w>) + R(w), M such pairs.

    The labels have an order: that of numbers, that of an ordered Categorical of pandas or an Enum of polars, or that of
    `levels`. Words without an order are refused. One score <x, w> is learnt that puts rows in that order; then thresholds
    between the levels are chosen, of all those between the scores of the training rows the ones with the least mean
    cost[y_i, predicted_i] (exactly, by dynamic programming). There is no sample_weight: the loss is a sum over pairs of rows,
    not over rows. To let levels count differently, use `cost`; to let a row count twice, in all of its pairs and for the
    thresholds, repeat it.

    Parameters
    ----------
    cost : K x K matrix, cost[a, b] what it costs to say level b for a, in the order of classes_, not negative, 0 on the
        diagonal. The pairs use the part above the diagonal, the thresholds all of it. None: every pair costs 1 and the
        thresholds minimise the mean of |a - b|.
    levels : the labels from lowest to highest, whether all of them occur in y or not; None: those of y, in their own order.
    regularizer : a name (l2, l1, elastic_net, ...) or an object of `fenchel.regularizers`, which carries its own alpha.
    alpha : strength of a regularizer given by name; 1e-4 when neither alpha nor C is given.
    C : the other way to say it: alpha = 1 / (C n). Not both.
    l1_ratio : for regularizer="elastic_net" only.
    tol : the relative gap (P - D) / |P| that the certificate must show.
    solver : "auto", a name or a solver object.
    max_iter, max_time : limits; None means none. max_time is in seconds.
    warm_start : start from the previous fit's coefficients.
    random_state : seed of a solver that shuffles rows, when it is named.
    n_jobs : threads, None meaning 1 and -1 all cores. The result does not depend on it.
    verbose : 1 logs progress about once a second, 2 every iteration, to the logger "fenchel.estimators" at level INFO.
    checkpoint : None, a path or a `fenchel.Checkpoint`: where the fit keeps its state. A fit of the same data that was cut off
        goes on from it, to the same bits.
    engine : where the rows live, as in `fenchel.solve`; None means this machine, with n_jobs threads.

    Attributes
    ----------
    classes_ : the K levels, from lowest to highest.
    coef_ : shape (d,).
    thresholds_ : shape (K - 1,), ascending; the level of a row is the number of thresholds that its score is above.
    dual_point_ : the mixture of score vectors whose cutting planes give the certificate's dual value.
    objective_, dual_objective_, dual_gap_ : P, D and P - D, of w.
    certificate_, status_, converged_, solver_, history_, n_iter_ : of the solve.
    regularizer_ : the regularizer that was used, with its alpha.
    n_features_in_, feature_names_in_ : as in scikit-learn.

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
    ):  # fmt: skip
        self.cost = cost
        self.levels = levels
        self.regularizer = regularizer
        self.alpha = alpha
        self.C = C
        self.l1_ratio = l1_ratio
        self.tol = tol
        self.solver = solver
        self.max_iter = max_iter
        self.max_time = max_time
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.engine = engine

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # classes without an order are not what it is for
        return tags

    def fit(self, X, y):
        """Fit to rows X (dense, sparse or a data frame) and levels y: numbers, or labels whose order is known."""
        measure = Ordinal(self.cost)
        order = level_order(y, self.levels)
        X, y = self._training_rows(X, y=y)
        check_classification_targets(y)
        classes, level = levelled(y, order)
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

    def latent_scores(self, X):
        """<x, w>: the higher, the higher the level."""
        return self._raw_scores(X)

    def predict(self, X):
        """The level between whose thresholds the score is."""
        scores = self._raw_scores(X)
        return self.classes_[labels_at(self.thresholds_, scores)]

    def _meaning(self) -> dict[str, Any]:
        return {"thresholds": self.thresholds_}
