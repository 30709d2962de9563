"""Bipartite matchings learned from examples."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fenchel.errors import InputError
from fenchel.estimators.parameters import SOLVE_ATTRIBUTES, documented, keep
from fenchel.estimators.structured import StructuredEstimator
from fenchel.structured import Matching


@documented(SOLVE_ATTRIBUTES)
class MatchingModel(StructuredEstimator):
    """min over w of (1/n) sum_i max over matchings y of [cost(y) + <w, phi(x_i, y) - phi(x_i, y_i)>] + R(w)

    phi(x, y) is the sum of the features of the matched edges; the cost counts wrong edges. The prediction is the matching with
    the largest total score: an assignment problem. Word alignment, ranking by assignment, pairing of records.

    Parameters
    ----------
    partial : whether rows and columns may stay alone; otherwise matchings have min(rows, columns) edges.
    false_positive, false_negative : costs of an edge too many and of a gold edge that is missing.
    C : the other way to say it: alpha = 1 / (C n). Not both.
    warm_start : start from the previous fit.
    random_state : seed of a solver that shuffles, when it is named.

    Attributes
    ----------
    coef_ : weights of the edge features.
    dual_point_ : matchings with weights, of the certificate's dual value.
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
        verbose=0, checkpoint=None, engine=None,
    ):  # fmt: skip
        keep(self, locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.target_tags.required = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Fit to a list of examples (rows, columns, features) and their matchings.

        A matching is the column of each row, -1 for none, or a 0/1 matrix.
        """
        examples, labels = list(X), list(y)
        result = self._fit_structured(examples, labels, len(examples), self._model(), sample_weight, same=True)
        self.n_features_in_ = result.coef.size
        return self

    def predict(self, X):
        """The column of each row, -1 for none: an array per example."""
        check_is_fitted(self)
        model = self._model()
        return [model.predict(self.coef_, x) for x in X]

    def score(self, X, y):
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
        return Matching(bool(self.partial), float(self.false_positive), float(self.false_negative))
