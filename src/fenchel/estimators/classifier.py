"""Linear classification with a certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from fenchel import losses, multiclass
from fenchel.certificates.scalar import certifier_of
from fenchel.errors import InputError, UnknownNameError
from fenchel.estimators.base import Along, accept_weights, total_weight
from fenchel.estimators.callbacks import View
from fenchel.estimators.class_weight import weighted_classes
from fenchel.estimators.joint import JointEstimator, best, has_free_intercepts
from fenchel.estimators.parameters import SOLVE_ATTRIBUTES, documented, keep
from fenchel.estimators.path import Path, at_strengths, path
from fenchel.estimators.probability import has_probability, probabilities
from fenchel.models.certain import ends_of
from fenchel.models.model import Model
from fenchel.models.parts import class_scores, classes_known
from fenchel.problems.scalar import Problem
from fenchel.proofs.ball import ball_at

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import MatrixLike

NAMES = sorted({name for name, cls in losses.LOSSES.items() if getattr(cls, "task", None) == "binary"} | {"squared"})
JOINT_NAMES = ["max_hinge", "softmax"]  # losses without required parameters; the others are given as objects


@documented(SOLVE_ATTRIBUTES)
class Classifier(ClassifierMixin, JointEstimator):
    """min over w, b of (1/S) sum_i s_i loss(<x_i, w> + b, y_i) + R(w), with S = sum_i s_i and y_i in {-1, +1}.

    Labels may be of any type; with two classes, the larger label (in sorted order) is +1. With more than two classes, one
    such problem is solved for each class against the rest, each with its own certificate.

    With a loss of several scores (`fenchel.multiclass`) one problem is solved for all classes together, also for two:
    min over W, b of (1/S) sum_i s_i loss(W x_i + b, y_i) + R(W), y_i in 0 .. m - 1 the index of the label in classes_.

    Parameters
    ----------
    loss : a name (hinge, squared_hinge, power_hinge, smoothed_hinge, exponential, logistic, squared), a loss object, or
        for all classes together: max_hinge, softmax, or an object of `fenchel.multiclass`, such as TopK(5),
        CostHinge(cost), WeightedUsunier(rho), HierarchicalHinge(tree), or a `fenchel.losses.Moreau` of one. Rows and
        columns of a cost matrix, and leaves of a tree, are in the order of classes_, one for each.
    classes : the labels in the order of the cost matrix or tree. They need not all occur in y (in a fold of a
        cross-validation some may be missing). None: the labels of y, sorted.
    C : alternative to alpha: alpha = 1 / (C * sum of weights), class weights included. Give only one of them.
    fit_intercept : whether b is free. It is never regularised. "auto" is True for all losses of one score, for softmax, and
        for the Moreau envelopes of MaxHinge, CostHinge and the losses of sorted margins (TopK, Usunier, ...). These
        themselves support True, but the fit then takes longer. The hierarchical losses have no free intercepts: "auto" is
        False (intercept_ is 0), and True is an error. Centre the features, or append a constant column to X, whose
        coefficients are regularised like all others.
    tol : the relative gap (P - D) / |P| that the certificate must show. The default 1e-6, as in `fenchel.solve`, is
        far below the statistical error, but makes fits reproducible: repeating a row and doubling its weight then give
        the same predictions. 1e-3 is faster, and accurate enough for predictions.
    random_state : seed of a named solver that shuffles rows; "auto" uses fixed seeds. The certificate does not depend on
        the seed.
    verbose : 1 logs progress about once a second, 2 every iteration, to the logger "fenchel.estimators" at level INFO.
        Nothing is ever printed.
    checkpoint : None, a path or a `fenchel.Checkpoint`: the file for the state of the fit. An interrupted fit of the same data
        continues from it, with bit-identical results. If there are several problems, each has its own file: path.0, path.1, ...

    Attributes
    ----------
    classes_ : the labels, sorted, or `classes`; labels whose rows all have weight 0 are excluded.
    coef_, intercept_, dual_coef_ : shapes (k, d), (k,) and (k, n); k = 1 for two classes. dual_coef_ holds the u_i of
        the certificate, a subgradient of loss i (NaN if no finite dual value is known, or if a custom loss of several scores
        has tangents instead). With a loss of several scores k is the number of scores: of classes, also if there are two, or
        of the nodes below the root of a tree; if there are many, dual_coef_ may be a CSR matrix (`Result.dual_point`).
    objective_, dual_objective_, dual_gap_ : P, D and P - D; arrays with one entry per problem if there are several.
    certificate_, status_, solver_, history_ : those of the solve; lists with one entry per problem if there are several.
    n_iter_ : iterations; an array if there are several problems.
    converged_ : True if all problems are certified at tol.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = Classifier(loss="logistic", alpha=1e-2).fit(scale(X), y)
    >>> model.status_.name, bool(model.dual_gap_ <= 1e-6 * model.objective_), bool(model.score(scale(X), y) > 0.97)
    ('CERTIFIED', True, True)
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Classifier(loss="softmax", alpha=1e-2).fit(X, y)
    >>> model.coef_.shape, model.predict_top_k(X[:1], 2).tolist(), bool(model.score(X, y) > 0.95)
    ((3, 4), [[0, 1]], True)
    """

    _is_stacked = True

    def __init__(
        self, loss="hinge", regularizer="l2", alpha=None, C=None, l1_ratio=0.5, fit_intercept="auto", tol=1e-6,
        solver="auto", max_iter=None, max_time=None, class_weight=None, warm_start=False, random_state=None,
        n_jobs=None, verbose=0, checkpoint=None, engine=None, classes=None, standardize=False,
    ):  # fmt: skip
        keep(self, locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # without an intercept, classes in data that are not centred may be inseparable
        tags.classifier_tags.poor_score = not self._free() and self._is_joint()
        return tags

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to rows X (dense, sparse or a data frame) and labels y."""
        X, labels, weights, classes = self._data(X, y, sample_weight)
        regularizer = self._standardized(self._regularizer(total_weight(weights, X.shape[0])), X, weights)
        targets = self._targets(labels, classes)
        starts = self._starts(targets, classes, X.shape[1])
        problems = [self._problem(X, target, weights, regularizer) for target in targets]
        view = View(
            X, labels, lambda w, b: {"classes_": classes, "coef_": np.atleast_2d(w), "intercept_": np.atleast_1d(b)}
        )
        self._keep_classes(
            self._fit_problems(problems, starts, view if len(targets) == 1 else None), classes, regularizer
        )
        return self

    def _keep_classes(self, results, classes, regularizer) -> None:
        """Set the fitted attributes."""
        self.classes_ = classes
        if self._is_joint():
            self._keep_joint(results[0], regularizer)
        else:
            self._keep(results)

    def _along(self, X, y, sample_weight=None) -> Along:
        """The problems of every strength, one per class against the rest, and how their results fit the estimator."""
        X, labels, weights, classes = self._data(X, y, sample_weight)
        penalty = self._standardized(self._with_strength(1.0), X, weights)
        makes = [self._at_strengths(X, target, weights, penalty) for target in self._targets(labels, classes)]
        return Along(makes, lambda results, alpha: self._keep_classes(results, classes, penalty.scaled(alpha)), classes)

    def _at_strengths(self, X, target, weights, penalty) -> Callable[[float], Problem]:
        """A function alpha -> Problem."""
        make = lambda regularizer: self._problem(X, target, weights, regularizer)()  # noqa: E731
        return at_strengths(make(penalty), penalty, make)

    def path(self, X, y, alphas, sample_weight=None) -> Path:
        """Solutions for every strength in `alphas`, with warm starts: a `fenchel.Path`.

        For two classes, or for any number with a loss of several scores. The estimator's own alpha and C are ignored, and
        the estimator is not modified.

        >>> Classifier(loss="logistic").path([[0.0], [1.0], [2.0]], ["a", "a", "b"], [1.0, 0.1])
        Path(2 strengths, alpha 0.1 to 1; 2 certified)
        """
        model = clone(self)
        makes = model._along(X, y, sample_weight).makes
        if len(makes) > 1:
            raise InputError(f"path is for two classes, y has {len(makes)}: call it once per class against the rest")
        found = path(makes[0], alphas, max_iter=self.max_iter, max_time=self.max_time, **model._options())
        self._warn(found)
        return found

    def predict_certain(self, X: MatrixLike, training: tuple[Any, ...] | None = None) -> np.ndarray:
        """Whether the exact optimum of the training problem predicts the same class: a boolean per row; True is a proof.

        False means that it is not proven, not that the prediction is wrong. A free intercept is bounded by the training rows,
        which the estimator does not keep: pass them, `training=(X, y)` or `(X, y, sample_weight)` as in `fit`. The certificate
        is recomputed for these rows.

        >>> X, y = [[1.0], [2.0], [-1.0]], ["a", "a", "b"]
        >>> model = Classifier("logistic", alpha=0.1).fit(X, y)
        >>> model.predict_certain([[2.0], [0.5], [-2.0]], training=(X, y)).tolist()
        [True, True, True]
        """
        rows, model = self._new_rows(X), self.to_model()
        return (model if training is None else self._bounded_by(model, *training)).certain(rows)

    def _bounded_by(self, model: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """The model with the certificates, and with the intervals of intercepts, that the training rows prove."""
        X, labels, weights, classes = self._data(X, y, sample_weight)
        if not np.array_equal(classes, self.classes_):
            raise InputError(
                f"the training rows have the labels {classes.tolist()[:10]}, and the model {self.classes_.tolist()[:10]}"
            )
        if self._is_joint() or not model.fit_intercept:
            return model
        problems = [self._problem(X, t, weights, self.regularizer_)() for t in self._targets(labels, classes)]
        certifier, regions, certificates = certifier_of(problems[0]), [], []
        for problem, w, b, u in zip(problems, self.coef_, np.atleast_1d(self.intercept_), self.dual_coef_, strict=True):
            point = (
                u
                if u.shape == problem.dual_shape and np.isfinite(u).all()
                else certifier.best_dual_point(problem, w, b)
            )
            certificate, point = certifier.certificate(problem, w, float(b), point)
            certificates.append(certificate)
            regions.append(ball_at(problem, w, float(b), certificate, point))
        return replace(model, certificates=tuple(certificates), intercept_bounds=ends_of(regions))

    def _data(self, X, y, sample_weight) -> tuple[Any, np.ndarray, np.ndarray | None, np.ndarray]:
        """(X, y, weights with class weights in them, classes)."""
        X, y = self._training_rows(X, y=y)
        check_classification_targets(y)
        weights = accept_weights(sample_weight, X.shape[0])
        found, present = weighted_classes(self, y, weights)
        return X, y, found, self._all_classes(present)

    def _all_classes(self, present: np.ndarray) -> np.ndarray:
        """The labels of y, or the parameter `classes`."""
        if self.classes is None:
            return present
        if not self._is_joint() or classes_known(self._loss()) is None:
            raise InputError("classes is only for losses with a cost matrix or a tree of classes: remove it")
        named = np.asarray(self.classes)
        strange = [label for label in present.tolist() if label not in named.tolist()]
        if named.ndim != 1 or np.unique(named).size != named.size or strange:
            what = f"y has the label {strange[0]!r}, which is not among them" if strange else "a label occurs twice"
            raise InputError(f"classes must name all labels in the order of the cost matrix or the leaves: {what}")
        return named

    @classmethod
    def _is_own_loss(cls, model: Model) -> bool:
        return model.labels is not None and not model.is_measure

    @classmethod
    def _parameters_of(cls, model: Model) -> dict[str, Any]:
        named = model.is_vector and classes_known(model.loss) is not None
        classes = {"classes": list(model.labels or ())} if named else {}
        return {"loss": model.loss, "fit_intercept": model.fit_intercept} | classes | super()._parameters_of(model)

    def _is_joint(self) -> bool:
        return multiclass.is_vector_loss(self.loss)

    def _loss(self) -> Any:
        """The loss as given, or as an object if it is a function of several scores."""
        loss = self.loss
        if isinstance(loss, str) and loss not in [*NAMES, *multiclass.LOSSES]:
            raise UnknownNameError("loss for classification", loss, [*NAMES, *JOINT_NAMES])
        if not self._is_joint():
            return loss
        loss = multiclass.make(loss)
        if getattr(loss, "several_targets", False):
            raise InputError(f"loss {type(loss).__name__} is for regression with several targets, not for classes")
        return loss

    def _targets(self, labels, classes) -> list[np.ndarray]:
        """The targets of every problem: indices into `classes`, or -1 and +1."""
        loss = self._loss()
        if not self._is_joint():
            return [np.where(labels == label, 1.0, -1.0) for label in (classes[1:] if classes.size == 2 else classes)]
        known = classes_known(loss)
        if known is not None and known != classes.size:
            raise InputError(
                f"loss {type(loss).__name__} is for {known} classes, but {'y' if self.classes is None else 'classes'} has "
                f"{classes.size}: {classes.tolist()[:10]}; name them all with classes=[...] if some are not in y"
            )
        order = np.argsort(classes)
        place = order[np.minimum(np.searchsorted(classes[order], labels), classes.size - 1)]
        return [np.where(classes[place] == labels, place, 0)]  # labels without weight have no index

    def _starts(self, targets, classes, d) -> list[Any]:
        if not (self.warm_start and np.array_equal(getattr(self, "classes_", ()), classes)):
            return [None] * len(targets)
        if self._is_joint():
            return [self._joint_start(multiclass.outputs(self._loss(), targets[0]), d)]
        return [self._warm(k, d) for k in range(len(targets))]

    def _problem(self, X, target, weights, regularizer) -> Callable[[], Problem]:
        loss, free = self._loss(), self._free()
        return lambda: Problem(X, target, loss=loss, regularizer=regularizer, fit_intercept=free, sample_weight=weights)

    def _free(self) -> bool:
        """Whether intercepts are free."""
        free = self.fit_intercept
        if isinstance(free, str) and free != "auto":
            raise InputError(f'fit_intercept must be True, False or "auto", got {free!r}')
        return bool(free) if free != "auto" else not self._is_joint() or has_free_intercepts(self._loss())

    def _class_scores(self, X) -> np.ndarray:
        """(n, classes)."""
        scores = self._raw_scores(X)
        if self._is_joint():
            return class_scores(self._loss(), scores)
        return np.column_stack([-scores[:, 0], scores[:, 0]]) if scores.shape[1] == 1 else scores

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Scores: shape (n,) for two classes (positive means classes_[1]), (n, k) for k.

        They are <x, w> + b; with a loss of several scores and two classes, the difference of the two scores.
        """
        if not self._is_joint():
            scores = self._raw_scores(X)
            return scores[:, 0] if scores.shape[1] == 1 else scores
        scores = self._class_scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The label with the highest score."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def predict_top_k(self, X: MatrixLike, k: int) -> np.ndarray:
        """The labels with the k highest scores, best first: shape (n, k). The first one is that of `predict`."""
        found = best(self._class_scores(X), k)
        return self.classes_[found]

    @available_if(has_probability)
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """P(class | x), shape (n, k), for losses that define it: softmax, hierarchical softmax, logistic.

        With the logistic loss and more than two classes, the one-vs-rest probabilities are normalised.
        """
        if self._is_joint():
            return self._loss().probability(self._raw_scores(X))
        return probabilities(self.loss, self.decision_function(X))

    @available_if(has_probability)
    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """log P(class | x)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
