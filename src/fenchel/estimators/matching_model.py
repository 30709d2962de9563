"""Bipartite matchings learned from examples."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fenchel.errors import InputError
from fenchel.estimators.structured import StructuredEstimator
from fenchel.structured import Matching


class MatchingModel(StructuredEstimator):
    """min over w of (1/n) sum_i max over matchings y of [cost(y) + <w, phi(x_i, y) - phi(x_i, y_i)>] + R(w)

    phi(x, y) is the sum of the features of the matched edges; the cost counts wrong edges. The prediction is the matching with
    the largest total score: an assignment problem. Word alignment, ranking by assignment, pairing of records.

    Parameters
    ----------
    partial : whether rows and columns may stay alone; otherwise matchings have min(rows, columns) edges.
    false_positive, false_negative : costs of an edge too many and of a gold edge that is missing.
    regularizer : a name (l2, l1, elastic_net, ...) or an object of `fenchel.regularizers`, which carries its own alpha.
    alpha : strength of a regularizer given by name; 1e-4 when neither alpha nor C is given.
    C : the other way to say it: alpha = 1 / (C n). Not both.
    l1_ratio : for regularizer="elastic_net" only.
    tol : the relative gap (P - D) / |P| that the certificate must show.
    solver : "auto", a name or a solver object.
    max_iter, max_time : limits; None means none. max_time is in seconds.
    warm_start : start from the previous fit.
    random_state : seed of a solver that shuffles, when it is named.
    n_jobs : threads, None meaning 1 and -1 all cores. The result does not depend on it.
    verbose : 1 logs progress about once a second, 2 every iteration, to the logger "fenchel.estimators" at level INFO.
    checkpoint : None, a path or a `fenchel.Checkpoint`: where the fit keeps its state. A fit of the same data that was cut off
        goes on from it, to the same bits.
    engine : where the rows live, as in `fenchel.solve`; None means this machine, with n_jobs threads.

    Attributes
    ----------
    coef_ : weights of the edge features.
    dual_point_ : matchings with weights, of the certificate's dual value.
    objective_, dual_objective_, dual_gap_ : P, D and P - D.
    certificate_, status_, converged_, solver_, history_, n_iter_ : of the solve.
    regularizer_ : the regularizer that was used, with its alpha.
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
        self.partial = partial
        self.false_positive = false_positive
        self.false_negative = false_negative
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

    @staticmethod
    def _parameters_of(model: Any) -> dict[str, Any]:
        return vars(model.loss)

    def _restore_own(self, model: Any) -> None:
        self.n_features_in_ = self.coef_.size

    def _model(self) -> Matching:
        return Matching(bool(self.partial), float(self.false_positive), float(self.false_negative))
