"""Online classifiers: Perceptron, three forms of Winnow, p-norm algorithm."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from fenchel.data.accept import accept_matrix
from fenchel.errors import InputError, UnknownNameError
from fenchel.estimators.base import SolvingEstimator
from fenchel.estimators.parameters import documented, keep
from fenchel.kernels.online_epoch import TIE, online_epoch, weights_of
from fenchel.mirror_maps.coordinatewise import Identity
from fenchel.mirror_maps.entropic import BalancedWinnow, Winnow
from fenchel.mirror_maps.q_norm import Power
from fenchel.models.base import feature_names_of, plain_entries
from fenchel.models.online import OnlineModel
from fenchel.regularizers.prior import checked_prior

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import MatrixLike

PLAIN = (bool, int, float, str, np.ndarray, type(None))  # what a file can hold of the parameters
POSITIVE = ("winnow", "normalised_winnow")
ALGORITHMS = ("perceptron", *POSITIVE, "balanced_winnow", "p_norm")


@documented({})
class OnlineClassifier(ClassifierMixin, SolvingEstimator[OnlineModel]):
    """On every mistake, y_i <x_i, w> <= 0: v <- v + eta y_i x_i, with w = grad h(v); two classes, or one against the rest.

    A score within 1e-9 of 0, relative to sum_j |x_ij w_j| (for "balanced_winnow" with the weights of both signs), is 0 up to
    rounding: it counts as 0, hence as a mistake, and `predict` returns classes_[0]. Winnow with proportional weights,
    normalised or not, therefore makes the same mistakes.

    ====================  ===============================  =====================================================
    algorithm             w                                its large-margin batch version: `DualAscent`, hinge and
    ====================  ===============================  =====================================================
    "perceptron"          v                                `L2(alpha)`
    "winnow"              prior e^v                        `UnnormalisedEntropy(alpha, prior)`
    "normalised_winnow"   prior e^v, scaled to sum total   `Entropy(alpha, prior, total)`
    "balanced_winnow"     prior (e^v - e^-v)               `BalancedEntropy(alpha, prior, total)`
    "p_norm"              grad of |v|_p^2 / 2              `QNorm(alpha, q)`, 1/p + 1/q = 1
    ====================  ===============================  =====================================================

    The batch version is `fenchel.solve(Problem(X, y, "hinge", regularizer), solver="dual_ascent")`: the same update of v, made
    for margins below 1 instead of mistakes, and reversed when a row no longer needs it.

    Parameters
    ----------
    algorithm : see the table.
    eta : learning rate. The mistakes of "perceptron" and "p_norm" do not depend on it.
    p : parameter of "p_norm", at least 2; about 2 ln d behaves like Winnow, 2 is the Perceptron.
    prior : the weights of Winnow at v = 0, one number or one per feature; None means 1/d each ("balanced_winnow":
        1/(2d) for either sign), times the total if there is one.
    total : the sum of the weights of "normalised_winnow" (None: 1), or of both signs in "balanced_winnow" (None: they are
        not normalised; the mistakes are the same).
    threshold : the threshold on the score for "winnow" and "normalised_winnow", whose weights and features are nonnegative.
        None means the mean score of the first rows, at the prior.
    fit_intercept : for the other three algorithms: a constant feature 1, treated like any other. The two forms of Winnow with
        positive weights have the threshold instead.
    average : use the mean of the weight vectors after each row instead of the last one. It costs O(d) for every mistake.
    epochs : passes of `fit` over the rows; it ends earlier after a pass without mistakes, unless `average`.
    shuffle, random_state : whether `fit` visits the rows in a new random order in every pass. `partial_fit` does not shuffle.

    Attributes
    ----------
    classes_, coef_, intercept_ : as in `Classifier`.
    mistakes_ : number of mistakes since the first row; an array with one entry per class if there are more than two.
    n_seen_ : number of rows seen, repetitions included.
    threshold_ : the threshold (0 for algorithms without one).

    Examples
    --------
    >>> import numpy as np, fenchel
    >>> X = np.random.default_rng(0).integers(0, 2, (200, 40)).astype(float)
    >>> y = np.where(X[:, :3].sum(axis=1) >= 2, 1, -1)
    >>> winnow = OnlineClassifier("balanced_winnow", eta=0.1, epochs=50).fit(X, y)
    >>> winnow.score(X, y) > 0.95
    True
    >>> batch = fenchel.Problem(np.c_[X, np.ones(200)], y, "hinge", fenchel.regularizers.BalancedEntropy(0.01))
    >>> fenchel.solve(batch, solver="dual_ascent").status.name
    'CERTIFIED'
    """

    def __init__(
        self, algorithm="perceptron", eta=1.0, p=4.0, prior=None, total=None, threshold=None, fit_intercept=True,
        average=False, epochs=10, shuffle=True, random_state=0,
    ):  # fmt: skip
        keep(self, locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.algorithm in POSITIVE
        tags.classifier_tags.poor_score = (
            self.algorithm in POSITIVE
        )  # positive weights cannot separate all pairs of classes
        return tags

    def fit(self, X: MatrixLike, y: ArrayLike) -> Self:
        """Fit from the prior, with `epochs` passes over the rows."""
        self._check_parameters()
        X, labels = self._training_rows(X, y=y)
        check_classification_targets(labels)
        self._begin(X, np.unique(labels))
        rng = check_random_state(self.random_state)
        for _ in range(self.epochs):
            order = rng.permutation(X.shape[0]) if self.shuffle else np.arange(X.shape[0])
            if self._walk(X, labels, order) == 0 and not self.average:
                break
        return self._finish()

    def partial_fit(self, X: MatrixLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Continue from the last call with one pass over the rows, in order. The first call needs all labels as `classes`."""
        self._check_parameters()
        first = not hasattr(self, "classes_")
        if not first and not hasattr(self, "_v"):
            raise InputError("the learner was loaded from a file that has only its weights: call fit to start again")
        X, labels = self._training_rows(X, y=y, reset=first)
        check_classification_targets(labels)
        if first:
            if classes is None:
                raise InputError("classes is missing: the first call of partial_fit needs all labels")
            self._begin(X, np.unique(classes))
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise InputError(f"classes={classes!r} differs from the labels of the first call, {self.classes_.tolist()}")
        unknown = np.setdiff1d(labels, self.classes_)
        if unknown.size:
            raise InputError(
                f"y contains the label {unknown.tolist()[0]!r}, which is not one of classes={self.classes_.tolist()}"
            )
        self._walk(X, labels, np.arange(X.shape[0]))
        return self._finish()

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Scores: shape (n,) for two classes (positive means classes_[1]), (n, k) for k; 0 if they are 0 up to rounding."""
        scores = self._raw_scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _scores_of(self, X: np.ndarray | sp.csr_matrix) -> np.ndarray:
        scores = super()._scores_of(X)
        sizes = np.asarray(abs(X) @ np.abs(self.coef_).T) + np.abs(self.intercept_)
        scores[np.abs(scores) <= TIE * sizes] = 0.0
        return scores

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The label with the highest score."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    _model_class = OnlineModel

    def _to_model(self) -> OnlineModel:
        """The weights and, as plain data, the learner, which can be trained further after loading."""
        one, intercepts = self.coef_.shape[0] == 1, np.asarray(self.intercept_)
        return OnlineModel(
            coef=np.array(self.coef_[0] if one else self.coef_),
            intercept=float(intercepts[0]) if one else intercepts.copy(),
            labels=plain_entries(self.classes_) or (),
            algorithm=str(self.algorithm),
            mistakes=tuple(np.atleast_1d(self.mistakes_).tolist()),
            seen=int(self.n_seen_),
            feature_names=feature_names_of(self),
            learner=self._learner(),
        )

    def _learner(self) -> dict[str, Any] | None:
        """Parameters and state as what a file can hold; a generator of random numbers is left out."""
        if not hasattr(self, "_v"):
            return None
        given = {name: value for name, value in self.get_params().items() if name != "algorithm"}
        plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
        kept = {name: checked_prior(value) if name == "prior" else value for name, value in plain.items()}
        state = {"v": self._v.copy()} | ({"sums": self._sum.copy()} if self.average else {})
        return {name: value for name, value in kept.items() if isinstance(value, PLAIN)} | state

    @classmethod
    def _is_own(cls, model: OnlineModel) -> bool:
        return True

    @classmethod
    def _parameters_of(cls, model: OnlineModel) -> dict[str, Any]:
        known = set(cls._get_param_names()) - {"algorithm"}
        kept = {name: value for name, value in (model.learner or {}).items() if name in known}
        return {"algorithm": model.algorithm, **kept}

    def _restore(self, model: OnlineModel) -> None:
        self._restore_names(model.feature_names, model.d)
        self.coef_, self.intercept_ = np.atleast_2d(model.coef).copy(), np.atleast_1d(model.intercept).astype(float)
        self.classes_, self.n_seen_ = np.array(model.labels), model.seen
        self.threshold_ = float(-self.intercept_[0]) if model.algorithm in POSITIVE else 0.0
        self.mistakes_ = model.mistakes[0] if len(model.mistakes) == 1 else np.array(model.mistakes)
        if model.learner is not None:
            self._check_parameters()
            self._v = model.learner["v"].copy()
            self._sum = np.array(model.learner.get("sums", np.zeros_like(self._v)))
            self._mistakes = np.array(model.mistakes, dtype=np.int64)
            self._constant = self._v.shape[1] > model.d
            self._transfer = self._make_transfer(model.d, self._v.shape[1])

    def _check_parameters(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise UnknownNameError("algorithm", self.algorithm, ALGORITHMS)
        rules = [
            ("eta", 0.0, True),
            ("total", 0.0, self.total is not None),
            ("p", 2.0 - 1e-15, self.algorithm == "p_norm"),
        ]
        for name, least, applies in rules:
            value = getattr(self, name)
            if applies and not (isinstance(value, Real) and least < float(value) < np.inf):
                bound = "at least 2" if name == "p" else "greater than 0"
                raise InputError(f"{name} must be a finite number, {bound}, got {value!r}")
        if self.threshold is not None and not (isinstance(self.threshold, Real) and np.isfinite(float(self.threshold))):
            raise InputError(f"threshold must be None or a finite number, got {self.threshold!r}")
        if not isinstance(self.epochs, Integral) or self.epochs < 1:
            raise InputError(f"epochs must be an integer of at least 1, got {self.epochs!r}")

    def _begin(self, X: Any, classes: np.ndarray) -> None:
        """Reset the state to that before the first row."""
        if classes.size < 2:
            raise InputError(
                f"OnlineClassifier can't train when only one class is present: every row is of class "
                f"{classes.tolist()[0]!r}; it needs samples of at least 2 classes"
            )
        self._constant = bool(self.fit_intercept) and self.algorithm not in POSITIVE
        problems, d = (1 if classes.size == 2 else classes.size), X.shape[1] + self._constant
        self._v, self._sum = np.zeros((problems, d)), np.zeros((problems, d))
        self._mistakes = np.zeros(problems, dtype=np.int64)
        self._transfer = self._make_transfer(X.shape[1], d)
        self.n_seen_ = 0
        self.threshold_ = self._first_threshold(X)
        self.classes_ = classes

    def _make_transfer(self, features: int, d: int) -> Any:
        if self.algorithm == "perceptron":
            return Identity()
        if self.algorithm == "p_norm":
            return Power(np.zeros(3), float(self.p), 1.0)
        signs = 2 if self.algorithm == "balanced_winnow" else 1
        total = self.total if self.total is not None or self.algorithm != "normalised_winnow" else 1.0
        total = 0.0 if self.algorithm == "winnow" or total is None else float(total)
        prior = self._prior(features, d, (total or 1.0) / (signs * d))
        terms = [np.empty(d) for _ in range(signs)]
        kind: Any = BalancedWinnow if signs == 2 else Winnow
        return kind(*terms, np.log(prior), np.zeros(3), np.zeros(1), total)

    def _prior(self, features: int, d: int, default: float) -> np.ndarray:
        prior = checked_prior(self.prior)
        if not isinstance(prior, np.ndarray):
            return np.full(d, default if prior is None else prior)
        if prior.size != features:
            raise InputError(f"prior has {prior.size} entries but there are {features} features; give one per feature")
        return np.concatenate([prior, np.full(d - features, prior.mean())])

    def _first_threshold(self, X: np.ndarray | sp.csr_matrix) -> float:
        if self.algorithm not in POSITIVE:
            return 0.0
        if self.threshold is not None:
            return float(self.threshold)
        w = np.zeros(self._v.shape[1])
        weights_of(self._transfer, self._v[0], w)
        return float(np.mean(X @ w))

    def _walk(self, X: np.ndarray | sp.csr_matrix, y: np.ndarray, order: np.ndarray) -> int:
        """Make one pass and return the number of mistakes."""
        if self.algorithm in POSITIVE:
            require_no_negative(X, self.algorithm)
        if self._constant:
            ones = np.ones((X.shape[0], 1), dtype=X.dtype)
            X = sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])
        rows, order = accept_matrix(X)[1], order.astype(np.uint64)
        positives = self.classes_[1:] if self.classes_.size == 2 else self.classes_
        made = np.array([
            online_epoch(
                rows, np.where(y == label, 1.0, -1.0), self._transfer, order, self.threshold_, float(self.eta),
                bool(self.average), self._v[k], self._sum[k],
            )
            for k, label in enumerate(positives)
        ])  # fmt: skip
        self._mistakes = self._mistakes + made
        self.n_seen_ += order.size
        return int(made.sum())

    def _finish(self) -> OnlineClassifier:
        """Weights and counts from the state."""
        weights = self._sum / self.n_seen_ if self.average else np.zeros_like(self._v)
        if not self.average:
            for v, w in zip(self._v, weights, strict=True):
                weights_of(self._transfer, v, w)
                if isinstance(self._transfer, BalancedWinnow):  # e^v - e^-v, if it is 0 up to rounding
                    up, down = self._transfer.up, self._transfer.down
                    w[np.abs(up - down) <= TIE * (up + down)] = 0.0
        if not np.isfinite(weights).all():
            raise InputError(f"the weights have overflowed with eta={self.eta!r}: lower eta or scale the features")
        self.coef_ = weights[:, : weights.shape[1] - self._constant].copy()
        self.intercept_ = weights[:, -1].copy() if self._constant else np.full(weights.shape[0], -self.threshold_)
        self.mistakes_ = int(self._mistakes[0]) if self._mistakes.size == 1 else self._mistakes.copy()
        return self


def require_no_negative(X: Any, algorithm: str) -> None:
    """Raise InputError at the first negative entry."""
    values = X.data if sp.issparse(X) else X.ravel()
    if not (values < 0.0).any():
        return
    place = int(np.argmax(values < 0.0))
    if sp.issparse(X):
        row, column = int(np.searchsorted(X.indptr, place, side="right")) - 1, int(X.indices[place])
    else:
        row, column = divmod(place, X.shape[1])
    raise InputError(
        f"Negative values in data passed to OnlineClassifier: X[{row}, {column}] is {float(values[place])!r}, but "
        f"{algorithm!r} needs nonnegative features; use algorithm='balanced_winnow', or shift the features"
    )
