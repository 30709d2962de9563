"""Linear classification with a certificate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from fenchel import losses
from fenchel.errors import InputError, UnknownNameError
from fenchel.estimators.base import LinearEstimator, accept_weights, total_weight
from fenchel.estimators.path import Path, path
from fenchel.problem import Problem

NAMES = sorted({name for name, cls in losses.LOSSES.items() if "+1" in getattr(cls, "target_rule", "")} | {"squared"})


def _has_probability(estimator: Any) -> bool:
    loss = estimator.loss
    return hasattr(losses.LOSSES.get(loss) if isinstance(loss, str) else loss, "probability")


class Classifier(ClassifierMixin, LinearEstimator):
    """min over w, b of (1/S) sum_i s_i loss(<x_i, w> + b, y_i) + R(w), with S = sum_i s_i and y_i in {-1, +1}.

    The labels may be anything: of two, the larger one (in sorted order) is +1. With more than two classes, one such
    problem is solved for each class against the rest, and each has its certificate.

    Parameters
    ----------
    loss : a name (hinge, squared_hinge, power_hinge, smoothed_hinge, exponential, logistic, squared) or a loss object.
    regularizer : a name (l2, l1, elastic_net, ...) or an object of `fenchel.regularizers`, which carries its own alpha.
    alpha : strength of a regularizer given by name; 1e-4 when neither alpha nor C is given.
    C : the other way to say it: alpha = 1 / (C * sum of weights), class weights included. Not both.
    l1_ratio : for regularizer="elastic_net" only.
    fit_intercept : whether b is free. It is never regularised.
    tol : the relative gap (P - D) / |P| that the certificate must show. The default 1e-6, as in `fenchel.solve`, is
        far below the statistical error, but it makes fits reproducible: at that gap, repeating a row or weighting it
        give the same predictions. 1e-3 is enough for the accuracy of predictions alone, and quicker.
    solver : "auto", a name or a solver object.
    max_iter, max_time : limits; None means none. max_time is for the whole fit, in seconds.
    class_weight : None, a dict {label: weight} or "balanced" (S / (k * weight of the class)); multiplies sample_weight.
    warm_start : start from the previous fit's coefficients, intercept and dual variables.
    random_state : seed of a solver that shuffles rows, when it is named; "auto" uses fixed seeds. The certificate holds
        whatever the seed.
    n_jobs : threads, None meaning 1 and -1 all cores. The result does not depend on it.
    verbose : 1 logs progress about once a second, 2 every iteration, to the logger "fenchel.estimators" at level INFO.
        Nothing is ever printed.

    Attributes
    ----------
    classes_ : the labels, sorted; a label whose rows all have weight 0 does not count.
    coef_, intercept_, dual_coef_ : shapes (k, d), (k,) and (k, n); k = 1 for two classes. dual_coef_ holds the u_i of
        the certificate, a subgradient of loss i (NaN if no finite dual value is known).
    objective_, dual_objective_, dual_gap_ : P, D and P - D; arrays with one entry per class if there are several.
    certificate_, status_, solver_, history_ : of the solve; lists with one entry per class if there are several.
    n_iter_ : iterations; an array if there are several classes.
    converged_ : True if every certificate shows tol.
    regularizer_ : the regularizer that was used, with its alpha.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = Classifier(loss="logistic", alpha=1e-2).fit(scale(X), y)
    >>> model.status_.name, bool(model.dual_gap_ <= 1e-6 * model.objective_), bool(model.score(scale(X), y) > 0.97)
    ('CERTIFIED', True, True)
    """

    def __init__(
        self, loss="hinge", regularizer="l2", alpha=None, C=None, l1_ratio=0.5, fit_intercept=True, tol=1e-6,
        solver="auto", max_iter=None, max_time=None, class_weight=None, warm_start=False, random_state=None,
        n_jobs=None, verbose=0,
    ):  # fmt: skip
        self.loss = loss
        self.regularizer = regularizer
        self.alpha = alpha
        self.C = C
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.solver = solver
        self.max_iter = max_iter
        self.max_time = max_time
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None):
        """Fit to rows X (dense, sparse or a data frame) and labels y."""
        X, labels, weights, classes = self._data(X, y, sample_weight)
        regularizer = self._regularizer(total_weight(weights, X.shape[0]))
        positives = classes[1:] if classes.size == 2 else classes
        same = self.warm_start and np.array_equal(getattr(self, "classes_", ()), classes)
        starts = [self._warm(k, X.shape[1]) if same else None for k in range(positives.size)]
        problems = [self._problem(X, labels == label, weights, regularizer) for label in positives]
        results = self._fit_problems(problems, starts)
        self.classes_ = classes
        self._keep(results, stack=True)
        return self

    def path(self, X, y, alphas, sample_weight=None) -> Path:
        """Solutions for two classes and every strength in `alphas`, with warm starts: a `fenchel.Path`.

        The estimator's own alpha and C are not used, and it is not changed.

        >>> Classifier(loss="logistic").path([[0.0], [1.0], [2.0]], ["a", "a", "b"], [1.0, 0.1])
        Path(2 strengths, alpha 0.1 to 1; 2 certified)
        """
        model = clone(self)
        X, labels, weights, classes = model._data(X, y, sample_weight)
        if classes.size != 2:
            raise InputError(f"path is for two classes, y has {classes.size}: call it once per class against the rest")
        positive = labels == classes[1]
        found = path(
            lambda alpha: model._problem(X, positive, weights, model._with_strength(alpha))(), alphas,
            max_iter=self.max_iter, max_time=self.max_time, **model._options(),
        )  # fmt: skip
        self._warn(found)
        return found

    def _data(self, X, y, sample_weight) -> tuple[Any, np.ndarray, np.ndarray | None, np.ndarray]:
        """(X, y, weights with class weights in them, classes)."""
        X, y = self._training_rows(X, y=y)
        check_classification_targets(y)
        weights = accept_weights(sample_weight, X.shape[0])
        classes = np.unique(y if weights is None else y[weights > 0.0])
        if classes.size < 2:
            raise InputError(
                f"Classifier can't train when only one class is present: every row that counts is of class "
                f"{classes.tolist()[0]!r}; it needs samples of at least 2 classes"
            )
        return X, y, self._class_weighted(y, weights, classes), classes

    def _class_weighted(self, y, weights, classes) -> np.ndarray | None:
        if self.class_weight is None:
            return weights
        s = np.ones(y.shape[0]) if weights is None else weights
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            relative = s / s.max()
            sums = np.array([relative[y == label].sum() for label in classes])
            factors = relative.sum() / (classes.size * sums)  # by weight, so that weight k equals k repetitions
        else:
            counted = y[s > 0.0]
            factors = compute_class_weight(self.class_weight, classes=classes, y=counted)
        out = np.zeros(y.shape[0])
        for label, factor in zip(classes, factors, strict=True):
            np.multiply(s, factor, out=out, where=y == label)
        return out

    def _problem(self, X, positive, weights, regularizer) -> Callable[[], Problem]:
        loss = self.loss
        if isinstance(loss, str) and loss not in NAMES:
            raise UnknownNameError("loss for classification", loss, NAMES)
        return lambda: Problem(
            X, np.where(positive, 1.0, -1.0), loss=loss, regularizer=regularizer, fit_intercept=self.fit_intercept,
            sample_weight=weights,
        )  # fmt: skip

    def decision_function(self, X):
        """Scores <x, w> + b: shape (n,) for two classes (positive means classes_[1]), (n, k) for k."""
        scores = self._raw_scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X):
        """The label with the highest score."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    @available_if(_has_probability)
    def predict_proba(self, X):
        """P(class | x), shape (n, k), where the loss has a probability (logistic); normalised one-vs-rest for k > 2."""
        probability = losses.make(self.loss).probability(self.decision_function(X))
        if probability.ndim == 1:
            return np.column_stack([1.0 - probability, probability])
        total = probability.sum(axis=1, keepdims=True)
        even = np.full_like(
            probability, 1.0 / probability.shape[1]
        )  # every class underflowed: they are equally unlikely
        return np.divide(probability, total, out=even, where=total > 0.0)

    @available_if(_has_probability)
    def predict_log_proba(self, X):
        """log P(class | x)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
