"""Ranking that optimises its evaluation measure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from fenchel import metrics
from fenchel.errors import InputError
from fenchel.estimators.measured import MeasureEstimator, measure_of
from fenchel.estimators.parameters import SOLVE_ATTRIBUTES, documented, keep
from fenchel.measures import (
    ERU,
    MRR,
    NDCG,
    AreaPairs,
    BreakEven,
    MAPPairs,
    Measure,
    MRRPairs,
    NDCGPairs,
    PrecisionAtK,
    RecallAtK,
    ROCArea,
    WinnerTakesAll,
)  # fmt: skip
from fenchel.measures.queries import split
from fenchel.regularizers import DEFAULT_ALPHA, L2

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import MatrixLike

NAMES = [
    "area_pairs", "break_even", "eru", "map_pairs", "mrr", "mrr_pairs", "ndcg", "ndcg_pairs", "precision_at_k", "recall_at_k",
    "roc_area", "winner_takes_all",
]  # fmt: skip
# The default alpha of L2, relative to the sum of the features' variances: the smallest power of 10^0.5 whose mean NDCG@10 on
# held-out queries is within a tenth of a point of the best, on MQ2008 and LightGBM's ranking example (3 times 5 folds).
STRENGTH = 10.0**-2.5


@documented(SOLVE_ATTRIBUTES)
class Ranker(MeasureEstimator):
    """min over w of mean over queries of loss(scores of the query's rows, their relevances) + R(w), scores <x, w>.

    The default loss is a sum over pairs of documents of different relevance, weighted by the change of NDCG when they are
    exchanged. ndcg, mrr, ... are convex upper bounds of 1 - NDCG, 1 - MRR, ... of a query; with noisy relevances they can be so
    loose that w = 0 is optimal, which the certificate then proves. Queries for which the measure is undefined (no relevant
    document, or only one relevance) are excluded from the mean. There is no sample_weight, because the loss is a function of
    whole queries. For measures that are sums over pairs, queries can have weights.

    Parameters
    ----------
    measure : ndcg_pairs, map_pairs, mrr_pairs, area_pairs, ndcg, mrr, winner_takes_all, roc_area, break_even, or an object of
        `fenchel.measures`: NDCGPairs(10), PrecisionAtK(5), ERU(neutral, half_life), ... Except for NDCG, winner_takes_all and
        ERU, a row is relevant if y > 0.
    alpha : strength of a regularizer given by name. If neither alpha nor C is given, it is 10^-2.5 times the sum of the
        variances of the features for l2 (which does not depend on their units), and 1e-4 for the others.
    C : alternative to alpha: alpha = 1 / (C n). Give only one of them.
    tol : the relative gap (P - D) / |P| that the certificate must show. 1e-3 is far below the difference between the bound
        and the measure.
    warm_start : start from the previous fit's coefficients.
    random_state : seed of a named solver that shuffles rows.

    Attributes
    ----------
    coef_ : shape (d,). There is no intercept, since it would not change the ranking.
    dual_point_ : the mixture of score vectors whose cutting planes give the certificate's dual value.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(100, 3)), np.repeat(np.arange(20), 5)
    >>> y = np.digitize(X @ [1.0, -1.0, 0.5], [0.5, 1.5])
    >>> model = Ranker().fit(X, y, qid=qid)
    >>> model.status_.name, bool(model.score(X, y, qid=qid) > 0.95)
    ('CERTIFIED', True)
    """

    def __init__(
        self, measure="ndcg_pairs", regularizer="l2", alpha=None, C=None, l1_ratio=0.5, tol=1e-3, solver="auto", max_iter=None,
        max_time=None, warm_start=False, random_state=None, n_jobs=None, verbose=0, checkpoint=None, engine=None,
        standardize=False,
    ):  # fmt: skip
        keep(self, locals())

    def fit(
        self, X: MatrixLike, y: ArrayLike, qid: ArrayLike | None = None, query_weight: ArrayLike | None = None
    ) -> Self:
        """Fit to rows X, their relevances y and the query of each row, which need not be sorted.

        query_weight has an entry per row, equal within a query; only measures that are sums over pairs support it.
        """
        measure = measure_of(self.measure, NAMES, "ranking")
        X, relevances = self._training_rows(X, y=y, y_numeric=True)
        make = self._set_problem(
            X, targets(measure, relevances), measure, accept_queries(qid, X.shape[0]), query_weight
        )
        (result,) = self._fit_problems([make], [self._set_start(X.shape[1])])
        self._keep_set(result, result.coef.copy())
        self.intercept_ = 0.0
        return self

    def _regularizer_for(self, X: Any) -> Any:
        if self.alpha is None and self.C is None and isinstance(self.regularizer, str) and self.regularizer == "l2":
            if self.standardize:
                return self._standardized(L2(STRENGTH * X.shape[1]), X)
            return L2(STRENGTH * total_variance(X) or DEFAULT_ALPHA)
        return super()._regularizer_for(X)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """<x, w>: rows with higher scores are ranked first."""
        return self._raw_scores(X)

    def score(self, X: MatrixLike, y: ArrayLike, qid: ArrayLike | None = None) -> float:
        """The measure itself (not its bound) of the predicted scores, a mean over queries; the higher, the better.

        Tied scores count as the mean over their orders. For a custom measure it is 1 - its loss.
        """
        z = self.predict(X)
        queries = accept_queries(qid, z.size)
        return metric(measure_of(self.measure, NAMES, "ranking"), np.asarray(y, dtype=float), z, queries)


def total_variance(X: Any) -> float:
    """The sum of the variances of the columns.

    >>> total_variance(np.array([[0.0, 1.0], [2.0, 1.0]]))
    1.0
    """
    means = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    if sp.issparse(X):
        values = X.data.astype(np.float64) - means[X.indices]
        stored = np.bincount(X.indices, minlength=X.shape[1])
        return float((values @ values + (X.shape[0] - stored) @ means**2) / X.shape[0])
    return float(X.var(axis=0, dtype=np.float64).sum())


def accept_queries(qid: Any, n: int) -> np.ndarray:
    """The query of every row."""
    if qid is None:
        raise InputError(
            "qid is missing: pass the query of every row, qid=... (all equal if there is only one query). In cross-validation: "
            "sklearn.set_config(enable_metadata_routing=True), set_fit_request(qid=True) and set_score_request(qid=True)"
        )
    found = np.asarray(qid)
    if found.shape != (n,):
        raise InputError(f"qid must have one entry per row of X ({n}), got shape {found.shape}")
    return found


def targets(measure: Measure, y: np.ndarray) -> np.ndarray:
    """Relevances in the form of the measure: -1 and +1 for the ROC area."""
    y = np.asarray(y, dtype=float)
    return np.where(y > 0.0, 1.0, -1.0) if isinstance(measure, ROCArea | AreaPairs) else y


def metric(measure: Measure, y: np.ndarray, z: np.ndarray, qid: np.ndarray) -> float:
    """The evaluation measure that the loss bounds, as a mean over queries.

    >>> metric(PrecisionAtK(1), np.array([1.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0]), np.array([1, 1, 2]))
    0.5
    """
    match measure:
        case NDCG() | NDCGPairs():
            return metrics.ndcg(y, z, groups=qid, k=measure.k)
        case MRR() | MRRPairs():
            return metrics.mrr(y, z, groups=qid)
        case MAPPairs():
            return metrics.mean_average_precision(y, z, groups=qid)
        case ERU():
            return metrics.eru(y, z, groups=qid, neutral=measure.neutral, half_life=measure.half_life)
        case PrecisionAtK() | BreakEven() | ROCArea() | AreaPairs() | WinnerTakesAll():
            return _mean_over_queries(measure, y, z, qid)
        case _:
            return 1.0 - measure.evaluate(z, targets(measure, y), qid)[0]


def _mean_over_queries(measure: Measure, y: np.ndarray, z: np.ndarray, qid: np.ndarray) -> float:
    queries = split(y.size, qid)
    parts = [queries.rows[a:b] for a, b in zip(queries.first, queries.last, strict=True)]
    found = [_of_query(measure, y[rows], z[rows]) for rows in parts]
    known = [value for value in found if value is not None]
    if not known:
        raise InputError("the measure is not defined for any query, so there is nothing to rank")
    return float(np.mean(known))


def _of_query(measure: Measure, y: np.ndarray, z: np.ndarray) -> float | None:
    """The measure of one query; None if it is not defined."""
    relevant = y == y.max() if isinstance(measure, WinnerTakesAll) else y > 0.0
    count = int(relevant.sum())
    if count == 0:
        return None
    if isinstance(measure, ROCArea | AreaPairs):
        return None if count == y.size else float(roc_auc_score(relevant, z))
    if isinstance(measure, WinnerTakesAll):
        return _found(relevant, z, 1)
    if isinstance(measure, BreakEven):
        return _found(relevant, z, count) / count
    k = min(measure.k, y.size)  # type: ignore[attr-defined]
    return _found(relevant, z, k) / (count if isinstance(measure, RecallAtK) else min(k, count))


def _found(relevant: np.ndarray, z: np.ndarray, k: int) -> float:
    """The expected number of relevant rows among the k highest scores, over the orders of ties."""
    last = np.sort(z)[-k]
    above, tied = z > last, z == last
    return float(relevant[above].sum() + (k - above.sum()) * relevant[tied].mean())
