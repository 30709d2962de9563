"""Classification and regression with a kernel, each with a certificate."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import KERNEL_PARAMS
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fenchel import losses, multiclass
from fenchel.data.accept import accept_matrix, accept_vector
from fenchel.data.dual_matrix import dense
from fenchel.errors import InputError, UnknownNameError
from fenchel.estimators.base import accept_weights, total_weight
from fenchel.estimators.budget import Budget
from fenchel.estimators.callbacks import CallbackSupportMixin, Tasks, with_callbacks
from fenchel.estimators.class_weight import weighted_classes
from fenchel.estimators.classifier import JOINT_NAMES, NAMES
from fenchel.estimators.parameters import KERNEL_ATTRIBUTES, documented, keep
from fenchel.estimators.plain_state import PlainState
from fenchel.estimators.probability import has_probability, probabilities
from fenchel.estimators.regressor import NAMES as REGRESSION_NAMES
from fenchel.estimators.saving import Saving, keep_reports, work_of
from fenchel.kernel_methods import KernelProblem, solve_kernel
from fenchel.kernel_methods.problem import make_gram
from fenchel.kernel_methods.scores import kernel_scores
from fenchel.losses.task import innermost, response_of
from fenchel.models.base import feature_names_of, plain_entries
from fenchel.models.kernel import KernelModel
from fenchel.models.parts import class_scores, classes_known, has_several_targets
from fenchel.models.scored import facts_of
from fenchel.regularizers import DEFAULT_ALPHA
from fenchel.result import Result

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import MatrixLike
    from fenchel.losses.protocol import FullLoss
    from fenchel.problems.kinds_of_loss import AnyLoss


class KernelEstimator(Saving[KernelModel], PlainState, CallbackSupportMixin, BaseEstimator):
    """The base of both estimators; a subclass defines targets and predictions."""

    loss: Any
    kernel: Any
    gamma: Any
    degree: float
    coef0: float
    kernel_params: dict[str, Any] | None
    alpha: float | None
    C: float | None
    fit_intercept: bool
    tol: float
    cache_size: float
    max_iter: int | None
    max_time: float | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed()
        tags.input_tags.sparse = not self._precomputed()
        return tags

    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _rows(self, X: ArrayLike | sp.csr_matrix, **with_y: Any) -> Any:
        found = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", ensure_all_finite=False, **with_y
        )
        return (accept_matrix(found[0])[0], found[1]) if "y" in with_y else accept_matrix(found)[0]

    def _strength(self, weights: np.ndarray | None, n: int) -> float:
        if self.alpha is not None and self.C is not None:
            raise InputError(f"give alpha or C, not both (alpha = 1 / (C * n)): got {self.alpha=}, {self.C=}")
        if self.C is None:
            return DEFAULT_ALPHA if self.alpha is None else self.alpha
        if not 0.0 < float(self.C) < np.inf:
            raise InputError(f"C must be > 0 and finite, got {self.C!r}")
        return 1.0 / (float(self.C) * total_weight(weights, n))

    def _fit(self, X: Any, targets: Sequence[np.ndarray], loss: FullLoss, weights: np.ndarray | None) -> None:
        """Solve one problem per vector of targets; all share the cached columns of K."""
        params, results = self._solve_all(X, targets, loss, weights)
        self._warn(results)
        self._keep(X, params, results)

    @with_callbacks
    def _solve_all(
        self, X: np.ndarray | sp.csr_matrix, targets: Sequence[np.ndarray], loss: AnyLoss, weights: np.ndarray | None
    ) -> tuple[dict[str, Any], list[Result]]:
        """(the kernel's parameters, the results); scikit-learn's callbacks are called for every solve and iteration."""
        params = kernel_params(self, X, weights)
        gram = make_gram(X, self.kernel, params, self.cache_size)
        strength = self._strength(weights, X.shape[0])
        budget = Budget(len(targets), self.max_iter, self.max_time)
        results, tasks = [], Tasks(self, len(targets))
        for y in targets:
            problem = KernelProblem(
                None, y, loss=loss, alpha=strength, fit_intercept=self.fit_intercept, sample_weight=weights,
                kernel=self.kernel, kernel_params=params, gram=gram,
            )  # fmt: skip
            with tasks.solve(problem, None) as told:
                results.append(budget.note(solve_kernel(problem, tol=self.tol, callback=told, **budget.next())))
        tasks.close()
        return params, results

    def _keep(self, X: np.ndarray | sp.csr_matrix, params: dict[str, Any], results: list[Result]) -> None:
        joint = bool(results[0].problem.is_vector)
        coef = results[0].coef if joint else np.array([result.coef for result in results])
        self.support_ = np.flatnonzero(coef.any(axis=0))
        self.dual_coef_ = np.ascontiguousarray(coef[:, self.support_])
        self.intercept_ = np.array(results[0].intercept if joint else [result.intercept for result in results])
        points = [result.dual_point for result in results]
        if joint and points[0] is not None:
            points = list(np.ascontiguousarray(np.asarray(dense(points[0])).T))
        self.dual_point_ = np.array([np.full(X.shape[0], np.nan) if u is None else u for u in points])
        self.support_vectors_ = None if self._precomputed() else X[self.support_]
        self.kernel_params_, self.alpha_ = params, results[0].problem.regularizer.alpha
        self._facts, self._work = facts_of(results), work_of(results)
        keep_reports(self, results)

    def _warn(self, results: list[Result]) -> None:
        bad = [result for result in results if not result.converged]
        if bad:
            worst = max(bad, key=lambda result: result.certificate.relative_gap)
            warnings.warn(
                f"{type(self).__name__} did not reach its tolerance in {len(bad)} of {len(results)} problems: certified "
                f"relative gap {worst.certificate.relative_gap:.3g}, target tol={self.tol:.3g}, status "
                f"{worst.status.name}. {worst.advice}",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _scores(self, X: ArrayLike | sp.csr_matrix) -> np.ndarray:
        """f(x) + b for every row and every problem: shape (n, k)."""
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        return kernel_scores(
            self.kernel, self.kernel_params_, X, self.support_vectors_, self.support_, self.dual_coef_, self.intercept_
        )

    _model_class = KernelModel

    def _to_model(self) -> KernelModel:
        """Raise InputError for a callable kernel, which cannot be saved."""
        one = self.dual_coef_.shape[0] == 1
        points = self.dual_point_[0] if one else self.dual_point_
        if multiclass.is_vector_loss(self._facts["loss"]):
            points = np.ascontiguousarray(points.T)  # as the certificate takes it
        return KernelModel(
            coef=np.array(self.dual_coef_[0] if one else self.dual_coef_),
            intercept=float(self.intercept_[0]) if one else np.array(self.intercept_),
            support=self.support_,
            vectors=self.support_vectors_,
            kernel=self.kernel,
            kernel_params=self.kernel_params_,
            labels=plain_entries(getattr(self, "classes_", None)),
            dual_points=points if np.isfinite(points).all() else None,
            feature_names=feature_names_of(self),
            **self._facts,
        )

    @classmethod
    def _is_own(cls, model: KernelModel) -> bool:
        return (model.labels is not None) == issubclass(cls, ClassifierMixin)

    @classmethod
    def _parameters_of(cls, model: KernelModel) -> dict[str, Any]:
        return {
            "loss": model.loss, "kernel": model.kernel, "kernel_params": model.kernel_params,
            "alpha": model.regularizer.alpha, "fit_intercept": model.fit_intercept, "tol": model.tol,
        }  # fmt: skip

    def _restore(self, model: KernelModel) -> None:
        self._restore_reports(model)
        self._restore_names(model.feature_names, model.d)
        self.support_, self.support_vectors_ = model.support, model.vectors
        self.dual_coef_, self.intercept_ = (
            np.atleast_2d(model.coef).copy(),
            np.atleast_1d(model.intercept).astype(float),
        )
        points = model.dual_points
        points = points.T if model.is_vector and points is not None else points
        self.dual_point_ = np.full((model.k, model.n), np.nan) if points is None else np.atleast_2d(points)
        self.kernel_params_, self.alpha_ = model.kernel_params, model.regularizer.alpha
        if model.labels is not None:
            self.classes_ = np.array(model.labels)


def kernel_params(
    estimator: BaseEstimator, X: np.ndarray | sp.csr_matrix, weights: np.ndarray | None
) -> dict[str, Any]:
    """gamma, degree and coef0 if the kernel has them, overridden by kernel_params."""
    own = KERNEL_PARAMS.get(estimator.kernel, ()) if isinstance(estimator.kernel, str) else ()
    found = {name: getattr(estimator, name) for name in ("gamma", "degree", "coef0") if name in own}
    found |= dict(estimator.kernel_params or {})
    if isinstance(found.get("gamma"), str):
        found["gamma"] = automatic_gamma(found["gamma"], X, weights)
    return found


def automatic_gamma(how: str, X: Any, weights: np.ndarray | None) -> float:
    """1 / (d var(X)) for "scale", 1 / d for "auto"; the variance is weighted by sample weights."""
    if how not in ("scale", "auto"):
        raise InputError(f"gamma must be 'scale', 'auto' or a number, got {how!r}")
    d = X.shape[1]
    if how == "auto":
        return 1.0 / d
    p = np.ones(X.shape[0]) if weights is None else weights / weights.max()
    squares = X.multiply(X) if sp.issparse(X) else np.square(X, dtype=np.float64)
    total = d * p.sum()
    mean = float(p @ np.asarray(X.sum(axis=1), dtype=float).ravel()) / total
    variance = float(p @ np.asarray(squares.sum(axis=1), dtype=float).ravel()) / total - mean * mean
    # A Python float, so that NumPy computes in the precision of the rows, as with a model that was loaded from a file.
    return float(1.0 / (d * variance)) if variance > 1e-14 * mean * mean else 1.0


@documented(KERNEL_ATTRIBUTES)
class KernelClassifier(ClassifierMixin, KernelEstimator):
    """min over f, b of (1/S) sum_i s_i loss(f(x_i) + b, y_i) + alpha/2 |f|^2, f in the space of a kernel.

    Two labels are mapped to -1 and +1 (the larger one); with more, one problem is solved for each class against the rest. With
    loss="hinge" and C this is scikit-learn's `SVC` for two classes: alpha = 1 / (C * sum of weights). A loss of several scores
    is one problem for all classes, with an f for each; it is solved with a factor of the whole Gram matrix.

    Parameters
    ----------
    loss : a name or object of a margin loss, as in `fenchel.Classifier`, or for all classes together max_hinge, softmax or an
        object of `fenchel.multiclass`. Of these, the hierarchical losses need fit_intercept=False.
    alpha, C : the strength of the regularizer (default alpha=1e-4), or C instead.
    class_weight : None, a dict or "balanced"; multiplies sample_weight.

    Attributes
    ----------
    classes_ : the labels, sorted.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> model = KernelClassifier(C=1.0, gamma=1.0).fit(X, y)
    >>> model.status_.name, bool(model.score(X, y) > 0.95), model.support_.size < 100
    ('CERTIFIED', True, True)
    >>> KernelClassifier("softmax", C=1.0, gamma=1.0).fit(X[:, :1], y).predict_proba(X[:2, :1]).shape
    (2, 2)
    """

    def __init__(
        self, loss="hinge", kernel="rbf", gamma="scale", degree=3, coef0=0.0, kernel_params=None, alpha=None, C=None,
        fit_intercept=True, tol=1e-6, cache_size=200.0, max_iter=None, max_time=None, class_weight=None,
    ):  # fmt: skip
        keep(self, locals())

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to rows X (or a Gram matrix) and labels y."""
        if isinstance(self.loss, str) and self.loss not in [*NAMES, *multiclass.LOSSES]:
            raise UnknownNameError("loss for classification", self.loss, [*NAMES, *JOINT_NAMES])
        X, labels = self._rows(X, y=y)
        check_classification_targets(labels)
        weights = accept_weights(sample_weight, X.shape[0])
        weights, classes = weighted_classes(self, labels, weights)
        if self._is_joint():
            loss = self._joint_loss(classes)
            targets = [np.minimum(np.searchsorted(classes, labels), classes.size - 1)]
        else:
            loss, positives = self.loss, classes[1:] if classes.size == 2 else classes
            targets = [np.where(labels == label, 1.0, -1.0) for label in positives]
        self._fit(X, targets, loss, weights)
        self.classes_ = classes
        return self

    def _is_joint(self) -> bool:
        return multiclass.is_vector_loss(self.loss)

    def _joint_loss(self, classes: np.ndarray) -> Any:
        """The loss of several scores, which must be for these classes."""
        loss = multiclass.make(self.loss)
        if has_several_targets(loss):
            raise InputError(f"loss {type(loss).__name__} is for regression with several targets, not for classes")
        if (known := classes_known(loss)) not in (None, classes.size):
            raise InputError(f"loss {type(loss).__name__} is for {known} classes, but y has {classes.size}")
        return loss

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Scores f(x) + b: shape (n,) for two classes (positive means classes_[1]), (n, k) for k.

        With a loss of several scores and two classes, it is the difference of the two scores.
        """
        scores = self._scores(X)
        if self._is_joint():
            scores = class_scores(multiclass.make(self.loss), scores)
            return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The label with the highest score."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    @available_if(has_probability)
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """P(class | x), for losses that define it (logistic, softmax); one-vs-rest, normalised, for logistic with k > 2."""
        if self._is_joint():
            return multiclass.make(self.loss).probability(self._scores(X))
        return probabilities(self.loss, self.decision_function(X))


@documented(KERNEL_ATTRIBUTES)
class KernelRegressor(RegressorMixin, KernelEstimator):
    """min over f, b of (1/S) sum_i s_i loss(f(x_i) + b, y_i) + alpha/2 |f|^2, f in the space of a kernel.

    loss="epsilon_insensitive" with C is scikit-learn's `SVR`; loss="squared" is kernel ridge regression with an intercept.

    Parameters
    ----------
    loss : squared, absolute, quantile, epsilon_insensitive, huber, poisson (predictions are then exp(score)), or an
        object of `fenchel.losses`, such as EpsilonInsensitive(0.1).
    alpha, C : the strength of the regularizer (default alpha=1e-4), or C instead.

    Attributes
    ----------
    dual_coef_, intercept_ : shapes (1, n_support) and (1,): f(x) = sum_j dual_coef_j k(x_j, x).
    dual_point_ : the u of the certificate, shape (1, n).
    certificate_, status_, n_iter_ : those of the solve.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> model = KernelRegressor(loss="huber", alpha=1e-3, gamma=1.0).fit(X, np.sin(X[:, 0]))
    >>> model.status_.name, bool(model.score(X, np.sin(X[:, 0])) > 0.99)
    ('CERTIFIED', True)
    """

    def __init__(
        self, loss="squared", kernel="rbf", gamma="scale", degree=3, coef0=0.0, kernel_params=None, alpha=None, C=None,
        fit_intercept=True, tol=1e-6, cache_size=200.0, max_iter=None, max_time=None,
    ):  # fmt: skip
        keep(self, locals())

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to rows X (or a Gram matrix) and targets y."""
        if isinstance(self.loss, str) and self.loss not in REGRESSION_NAMES:
            raise UnknownNameError("loss for regression", self.loss, REGRESSION_NAMES)
        X, y = self._rows(X, y=y, y_numeric=True)
        y = accept_vector(y, X.shape[0], "y")
        self._fit(X, [y], self.loss, accept_weights(sample_weight, X.shape[0]))
        return self

    def predict(self, X: MatrixLike) -> np.ndarray:
        """f(x) + b; for the Poisson loss the mean exp(f(x) + b)."""
        scores = self._scores(X)[:, 0]
        if response_of(innermost(losses.make(self.loss))) != "exp":
            return scores
        with np.errstate(over="ignore"):
            return np.exp(scores)
