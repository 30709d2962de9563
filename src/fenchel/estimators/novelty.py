"""Novelty detection by a half-space, with a certificate."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.base import OutlierMixin

from fenchel.errors import InputError
from fenchel.estimators.base import accept_weights, total_weight
from fenchel.estimators.linear import LinearEstimator
from fenchel.estimators.parameters import SOLVE_ATTRIBUTES, documented, keep
from fenchel.losses.task import task_of
from fenchel.models.model import Model
from fenchel.problems.scalar import Problem

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import MatrixLike


@documented(SOLVE_ATTRIBUTES)
class NoveltyDetector(OutlierMixin, LinearEstimator):
    """min over w of (1/S) sum_i s_i max(0, 1 - <x_i, w>) + R(w), with S = sum_i s_i.

    Rows with <x, w> below a threshold are novel. The threshold `offset_` is chosen so that the fraction `contamination` of the
    training rows (by weight) lies below it. There is no intercept, because with a free one w = 0 would be optimal.

    Parameters
    ----------
    contamination : the fraction of the training rows that is assumed to be novel, in (0, 0.5].
    tol : the relative gap (P - D) / |P| that the certificate must show. The default is smaller than for other estimators:
        rows whose score is exactly 1 at the optimum are often at the threshold, and only an accurate w keeps them tied.
    warm_start : start from the previous fit's coefficients and dual variables.

    Attributes
    ----------
    coef_, intercept_, dual_coef_ : shapes (1, d), (1,) (zero) and (1, n). dual_coef_ holds the u_i of the certificate.
    offset_ : the threshold; decision_function = score_samples - offset_.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(3.0, 1.0, (200, 2))
    >>> model = NoveltyDetector(contamination=0.05).fit(X)
    >>> model.status_.name, model.predict([[3.0, 3.0], [-3.0, -3.0]]).tolist(), int((model.predict(X) < 0).sum())
    ('CERTIFIED', [1, -1], 10)
    """

    _is_stacked = True

    def __init__(
        self, contamination=0.1, regularizer="l2", alpha=None, C=None, l1_ratio=0.5, tol=1e-8, solver="auto",
        max_iter=None, max_time=None, warm_start=False, random_state=None, n_jobs=None, verbose=0, checkpoint=None, engine=None,
        standardize=False,
    ):  # fmt: skip
        keep(self, locals())

    def fit(self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to rows X; y is not used."""
        share = self.contamination
        if not (isinstance(share, Real) and 0.0 < float(share) <= 0.5):
            raise InputError(f"contamination must be in (0, 0.5], got {share!r}")
        X = self._training_rows(X)
        weights = accept_weights(sample_weight, X.shape[0])
        regularizer = self._standardized(self._regularizer(total_weight(weights, X.shape[0])), X, weights)
        make = [lambda: Problem(X, loss="novelty", regularizer=regularizer, sample_weight=weights)]
        self._keep(self._fit_problems(make, [self._warm(0, X.shape[1])]))
        self.offset_ = threshold(self._scores_of(X)[:, 0], weights, float(share), self.tol)
        return self

    def score_samples(self, X: MatrixLike) -> np.ndarray:
        """<x, w>: the higher, the more normal."""
        return self._raw_scores(X)[:, 0]

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """score_samples(X) - offset_: negative means novel."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: MatrixLike) -> np.ndarray:
        """+1 for normal rows, -1 for novel ones."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)

    def score(self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """-mean max(0, 1 - <x, w>), the negative loss if all rows are normal: the higher, the better; y is not used."""
        loss = np.maximum(0.0, 1.0 - self.score_samples(X))
        return -float(np.average(loss, weights=accept_weights(sample_weight, loss.size)))

    def _thresholds(self) -> tuple[float, ...]:
        return (float(self.offset_),)

    @classmethod
    def _is_own_loss(cls, model: Model) -> bool:
        return task_of(model.loss) == "novelty"

    def _restore(self, model: Model) -> None:
        super()._restore(model)
        (self.offset_,) = model.thresholds or (1.0,)


def threshold(scores: np.ndarray, weights: np.ndarray | None, share: float, tol: float) -> float:
    """The lowest score with at least `share` of the weight strictly before it in sorted order, less tol of its size.

    Scores that differ by less are ties within the accuracy of the solution, and rows tied with the threshold are normal.

    >>> threshold(np.array([3.0, 1.0, 2.0, 4.0]), None, 0.25, 1e-9) < 2.0
    True
    """
    s = np.ones(scores.size) if weights is None else weights / weights.max()
    scores, s = scores[s > 0.0], s[s > 0.0]
    order = np.argsort(scores, kind="stable")
    sorted_scores, reach = scores[order], np.cumsum(s[order])
    before = np.concatenate([[0.0], reach[:-1]])
    reached = before >= share * reach[-1] * (1.0 - 1e-12)  # 0.1 * 300 may be more than 30
    first = sorted_scores[np.argmax(reached)] if reached.any() else sorted_scores[-1]
    return float(first - tol * abs(first))
