"""Bipartite matchings learned from examples."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fenchel.errors import InputError
from fenchel.estimators.parameters import SOLVE_ATTRIBUTES, documented, keep
from fenchel.estimators.structured import StructuredEstimator
from fenchel.structured import Matching

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@documented(SOLVE_ATTRIBUTES)
class MatchingModel(StructuredEstimator):
    """min over w of (1/n) sum_i max over matchings y of [cost(y) + <w, phi(x_i, y) - phi(x_i, y_i)>] + R(w)

    phi(x, y) is the sum of the features of the matched edges; the cost counts wrong edges. The prediction is the matching with
    the largest total score, an assignment problem. Applications are word alignment, ranking by assignment and record linkage.

    Parameters
    ----------
    partial : whether rows and columns may stay unmatched; otherwise matchings have min(rows, columns) edges.
    false_positive, false_negative : the costs of a wrong edge and of a missing gold edge.
    beta : 0 (margin rescaling): the loss is as above; 1 (slack rescaling): the largest cost(y) (1 + score(y) - score(gold)); in
        general the score is multiplied by cost(y)^beta.
    C : alternative to alpha: alpha = 1 / (C n). Give only one of them.
    warm_start : start from the previous fit.
    random_state : seed of a named solver that shuffles.

    Attributes
    ----------
    coef_ : weights of the edge features.
    dual_point_ : matchings with weights, at which the certificate's dual value is evaluated.
    n_features_in_ : features per edge.

    Examples
    --------
    >>> x = np.array([[[2.0, 1.0], [0.0, 1.0]], [[1.0, 1.0], [0.5, 1.0]]])
    >>> model = MatchingModel(alpha=0.1).fit([x], [[0, 1]])
    >>> model.predict([x])[0].tolist(), model.status_.name
    ([0, 1], 'CERTIFIED')
    """

    def __init__(
        self, partial=False, false_positive=1.0, false_negative=1.0, regularizer="l2", alpha=None, C=None, l1_ratio=0.5,
        tol=1e-3, solver="auto", max_iter=None, max_time=None, warm_start=False, random_state=None, n_jobs=None,
        verbose=0, checkpoint=None, engine=None, beta=0.0,
    ):  # fmt: skip
        keep(self, locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags

    def fit(self, X: Iterable[Any], y: Iterable[Any], sample_weight: ArrayLike | None = None) -> Self:
        """Fit to a list of examples (rows, columns, features) and their matchings.

        A matching is the column of each row, -1 for none, or a 0/1 matrix.
        """
        examples, labels = list(X), list(y)
        result = self._fit_structured(examples, labels, len(examples), self._model(), sample_weight, same=True)
        self.n_features_in_ = result.coef.size
        return self

    def predict(self, X: Iterable[Any]) -> list[Any]:
        """The column of each row, -1 for none: an array per example."""
        check_is_fitted(self)
        model = self._model()
        return [model.predict(self.coef_, x) for x in X]

    def score(self, X: Iterable[Any], y: Iterable[Any]) -> float:
        """F1 of the edges of all examples together."""
        found, labels = self.predict(X), list(y)
        if len(found) != len(labels):
            raise InputError(f"X has {len(found)} examples, y has {len(labels)}")
        hits = said = there = 0
        for i, (columns, label) in enumerate(zip(found, labels, strict=True)):
            gold = np.asarray(label)
            gold = np.where(gold.any(axis=1), gold.argmax(axis=1), -1) if gold.ndim == 2 else gold
            if gold.shape != columns.shape:
                raise InputError(f"the label of example {i} has {gold.size} rows, the example {columns.size}")
            hits += int(((columns == gold) & (gold >= 0)).sum())
            said += int((columns >= 0).sum())
            there += int((gold >= 0).sum())
        return 2.0 * hits / (said + there) if said + there else 1.0

    _saved_as = Matching

    def _model(self) -> Matching:
        return Matching(bool(self.partial), float(self.false_positive), float(self.false_negative), float(self.beta))
