"""Multi-label classification with pairwise terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from fenchel.data.accept import accept_matrix
from fenchel.errors import InputError
from fenchel.estimators.parameters import SOLVE_ATTRIBUTES, documented, keep
from fenchel.estimators.structured import StructuredEstimator
from fenchel.models.structured import StructuredModel
from fenchel.structured import PairwiseLabels

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import MatrixLike


def _has_probabilities(self: Any) -> bool:
    if self.loss != "log":
        raise AttributeError(f'loss={self.loss!r} has no probabilities: use MultiLabelClassifier(loss="log")')
    return True


@documented(SOLVE_ATTRIBUTES)
class MultiLabelClassifier(StructuredEstimator):
    """min over w of (1/n) sum_i loss(x_i, y_i) + R(w), where a set y of m labels has the score

        sum_j y_j (<x, W[:, j]> + bias_j) + sum over pairs j < k of y_j y_k pairs_jk

    and the loss is max over sets of errors(y) + score(y) - score(gold) ("hinge"), or log sum over sets of
    exp(score(y) - score(gold)) ("log"). The prediction is the set with the largest score, found exactly.

    Y is a 0/1 matrix with a column per label, dense or sparse (scikit-learn's MultiLabelBinarizer converts sets to it).

    Parameters
    ----------
    loss : "hinge" or "log" (which sums over all 2^m sets: up to 20 labels).
    beta : 0 (margin rescaling): the hinge is as above; 1 (slack rescaling): the largest errors(y) (1 + score(y) - score(gold));
        in general the score is multiplied by errors(y)^beta.
    C : alternative to alpha: alpha = 1 / (C n). Give only one of them.
    normalise : whether errors(y) is the fraction of wrong labels instead of their number.
    nodes : limit of the branch-and-bound search for the best set, per example; P is then an upper bound. None: no limit.
    warm_start : start from the previous fit.
    random_state : seed of a named solver that shuffles.

    Attributes
    ----------
    emissions_, bias_, pairs_ : (features, m), (m,) and the symmetric (m, m) matrix of pair weights.
    coef_ : all coefficients, flat, in the layout of `fenchel.structured.PairwiseLabels`.
    dual_point_ : the point at which the certificate's dual value is evaluated: label sets with weights (hinge), or scores of
        distributions (log).
    n_labels_, n_features_in_, feature_names_in_ : those of the training data.

    Examples
    --------
    >>> X, Y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[1, 0], [0, 1], [1, 1]]
    >>> model = MultiLabelClassifier(alpha=0.01).fit(X, Y)
    >>> model.predict(X).tolist(), model.status_.name
    ([[1, 0], [0, 1], [1, 1]], 'CERTIFIED')
    """

    def __init__(
        self, loss="hinge", regularizer="l2", alpha=None, C=None, l1_ratio=0.5, normalise=False, nodes=None, tol=1e-3,
        solver="auto", max_iter=None, max_time=None, warm_start=False, random_state=None, n_jobs=None,
        verbose=0, checkpoint=None, engine=None, beta=0.0,
    ):  # fmt: skip
        keep(self, locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags

    def fit(self, X: MatrixLike, Y: MatrixLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to rows and their 0/1 matrix of labels."""
        labels = Y.toarray() if isinstance(Y, (sp.sparray, sp.spmatrix)) else np.asarray(Y)
        if labels.ndim != 2:
            raise InputError(f"Y must be a 0/1 matrix with a column per label, got {labels.ndim} dimension(s)")
        X, labels = self._training_rows(X, y=labels, multi_output=True)
        result = self._fit_structured(X, labels, X.shape[0], self._model(), sample_weight, same=True)
        self._name_parts(result.coef, int(labels.shape[1]))
        return self

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The 0/1 matrix of the label sets with the largest scores."""
        model, rows = self._model(), self._test_rows(X)
        return np.array([model.predict(self.coef_, rows[i]) for i in range(rows.shape[0])]).reshape(-1, self.n_labels_)

    @available_if(_has_probabilities)
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """The probability of each label, (n, m)."""
        model, rows = self._model(), self._test_rows(X)
        return np.array([model.marginals(self.coef_, rows[i]) for i in range(rows.shape[0])]).reshape(
            -1, self.n_labels_
        )

    def score(self, X: MatrixLike, Y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Subset accuracy: the fraction of rows whose whole label set is correct, as in scikit-learn."""
        return accuracy_score(Y, self.predict(X), sample_weight=sample_weight)

    def _name_parts(self, coef: np.ndarray, m: int) -> None:
        self.n_labels_ = m
        at = self.n_features_in_ * m
        self.emissions_ = coef[:at].reshape(-1, m).copy()
        self.bias_ = coef[at : at + m].copy()
        self.pairs_ = np.zeros((m, m))
        self.pairs_[np.triu_indices(m, 1)] = coef[at + m :]
        self.pairs_ += self.pairs_.T

    _saved_as = PairwiseLabels

    def _about(self) -> dict[str, Any]:
        return {"attributes": getattr(self, "feature_names_in_", None)}

    def _restore(self, model: StructuredModel) -> None:
        super()._restore(model)
        self._restore_names(model.attributes, model.shape.features)
        self._name_parts(model.coef, model.shape.classes)

    def _test_rows(self, X: ArrayLike | sp.csr_matrix) -> Any:
        check_is_fitted(self)
        checked = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False, reset=False
        )
        return accept_matrix(checked)[0]

    def _model(self) -> PairwiseLabels:
        return PairwiseLabels(self.loss, bool(self.normalise), self.nodes, float(self.beta))
