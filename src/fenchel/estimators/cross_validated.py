"""What the estimators that choose alpha by cross-validation have in common."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing

from fenchel.errors import InputError
from fenchel.estimators.base import Along, accept_weights
from fenchel.estimators.certified_choice import Band, CertifiedSearch, HeldOutFold
from fenchel.estimators.cross_validation import Fold, FoldScores, choose, fold_scores
from fenchel.estimators.held_out_errors import OF_CLASSES, OF_NUMBERS, error_of
from fenchel.estimators.linear import LinearEstimator
from fenchel.estimators.path import accept_alphas
from fenchel.estimators.strength_grid import data_grid
from fenchel.proofs.held_out import HeldOutScores

if TYPE_CHECKING:
    from fenchel.models.model import Model
    from fenchel.result import Result

RULES = ("best", "one_se")
CV_PARAMETERS = {
    "alphas": """strengths to try: their number (they are then spaced evenly in log alpha, from the smallest alpha at which the
        penalty leaves almost nothing of the features, within 1 % of the optimum, downwards), or a list.""",
    "alpha_min_ratio": "the smallest strength divided by the largest, where `alphas` is a number.",
    "cv": """as in scikit-learn: None or a number of folds (5; stratified for classes), a splitter, or an iterable of (train,
        test) indices.""",
    "scoring": """a scorer of scikit-learn: a name, or a function (estimator, X, y) -> number, higher is better. None: the
        estimator's own `score`. Held-out rows count with their sample_weight, which a function must then take.""",
    "rule": """which alpha to choose: "best", that with the highest mean score, of equal ones the first, or "one_se", the
        largest one whose mean is within one standard error of it.""",
    "refit": "whether to fit all rows with the chosen alpha; without, there is no `predict`.",
    "certified": """whether to bound the CV error for every alpha in a range, `alphas=(low, high)` or that of the data, until no
        alpha in it can be better than `alpha_` by more than `slack`. For a loss of one score per row or class and a strongly
        convex regularizer (L2, elastic_net, ...); scoring may be accuracy, neg_log_loss (two classes), r2,
        neg_mean_squared_error or neg_mean_absolute_error. Costs many solves on few rows: see the how-to page.""",
    "slack": "relative to `cv_error_`, with certified=True.",
    "max_iter, max_time": "limits; None means none. max_iter is for each solve, max_time for the whole fit, in seconds.",
}
CV_ATTRIBUTES = {
    "alpha_, alpha_best_, alpha_one_se_": 'the chosen strength, and those of rule="best" and rule="one_se".',
    "alphas_": "the strengths that were tried.",
    "best_index_, best_score_": "the place of `alpha_` in `alphas_`, and its mean score.",
    "cv_results_": """a dict of arrays with the keys of scikit-learn's GridSearchCV (mean_test_score, std_test_score,
        split0_test_score, param_alpha, rank_test_score, ...), se_test_score, the standard error of the mean, and
        max_relative_gap, the largest certified gap of the folds' solves.""",
    "cv_error_, cv_error_lower_bound_, cv_band_": """with certified=True: the exact solutions of the folds at `alpha_` have a CV
        error of at most `cv_error_`, and at no alpha in the range is it below `cv_error_lower_bound_`; a `Band` with the bounds
        between neighbouring strengths. The error is 1 - accuracy, 1 - R^2, or minus another score.""",
    "n_splits_, scorer_": "the number of folds; the scorer.",
}
PROVEN = ("cv_error_", "cv_error_lower_bound_", "cv_band_")
SEARCH = (
    "alphas_",
    "alpha_best_",
    "alpha_one_se_",
    "best_index_",
    "best_score_",
    "cv_results_",
    "n_splits_",
    "scorer_",
)


class CrossValidated(LinearEstimator):
    """Mixin: `fit` chooses alpha by cross-validation along warm paths. It precedes the estimator of one alpha."""

    _single: ClassVar[type[LinearEstimator]]  # the estimator of one alpha
    alpha = C = checkpoint = None
    warm_start = False
    alphas: Any
    alpha_min_ratio: float
    cv: Any
    scoring: Any
    rule: str
    refit: bool
    certified: bool
    slack: float

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def _fit_cv(self, X: Any, y: Any, groups: Any, **rows: Any) -> Self:
        """Choose alpha, and fit all rows with it; `rows` are vectors with an entry per row, or None."""
        if self.rule not in RULES:
            raise InputError(f"rule must be one of {', '.join(map(repr, RULES))}, got {self.rule!r}")
        along = self._along(X, y, **rows)
        X, y = self._training_rows(X, y=y, y_numeric=not is_classifier(self))
        rows["sample_weight"] = accept_weights(rows["sample_weight"], len(y))
        rows = {name: np.asarray(values) for name, values in rows.items() if values is not None}
        folds = check_cv(self.cv, y, classifier=is_classifier(self))
        splits = list(folds.split(X, y, groups))
        self._single_model = self._make_single()
        self.scorer_ = self._scorer("sample_weight" in rows)
        self.n_splits_ = len(splits)
        self.alphas_ = (
            self._certified_alpha(X, y, rows, splits, along) if self.certified else self._strengths(along.makes)
        )
        self._choose(self._scores([self._fold(X, y, rows, *split) for split in splits]))
        if self.refit:
            makes = [partial(make, self.alpha_) for make in along.makes]
            along.keep(self._fit_problems(makes, [None] * len(makes)), self.alpha_)
        return self

    def _strengths(self, makes: Any) -> np.ndarray:
        """The strengths to try."""
        if not isinstance(self.alphas, Integral) or isinstance(self.alphas, bool):
            return accept_alphas(self.alphas)
        if self.alphas < 1:
            raise InputError(f"alphas must be a list of strengths or their number, at least 1, got {self.alphas!r}")
        if not 0.0 < self.alpha_min_ratio < 1.0:
            raise InputError(f"alpha_min_ratio must be between 0 and 1, got {self.alpha_min_ratio!r}")
        return data_grid(makes, int(self.alphas), float(self.alpha_min_ratio))

    def _make_single(self) -> Any:
        """The estimator of one alpha with the same parameters."""
        own = self.get_params(deep=False)
        return self._single(**{name: own[name] for name in self._single().get_params(deep=False) if name in own})

    def _scorer(self, weighted: bool) -> Callable[..., float]:
        """The scorer; an error if it ignores the weights that were given."""
        if isinstance(self.scoring, (list, tuple, set, dict)):
            raise InputError(f"scoring must be one score, by which alpha is chosen, got {self.scoring!r}")
        scorer = check_scoring(self._single_model, self.scoring)
        if weighted:
            parameters = inspect.signature(getattr(scorer, "_score_func", scorer)).parameters.values()
            if not any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters):
                raise InputError(
                    f"scoring={self.scoring!r} does not take sample_weight, so held-out rows would all count the same: pass "
                    "a function (estimator, X, y, sample_weight=None) -> number"
                )
        return scorer

    def _fold(self, X: Any, y: np.ndarray, rows: dict[str, np.ndarray], train: Any, test: Any) -> Fold:
        """The fold with those rows held out."""
        model = self._held_out_model({name: values[test] for name, values in rows.items()})
        kept = {name: values[train] for name, values in rows.items()}
        try:
            along = model._along(_safe_indexing(X, train), y[train], **kept)
        except InputError as error:
            raise InputError(
                f"one of the folds leaves {len(y[train])} of {len(y)} rows to train on, which cannot be fitted: {error}. Use "
                "fewer folds, or a cv that keeps some rows of every class in each"
            ) from error
        held, truth = _safe_indexing(X, test), y[test]
        weights = _held_out_weights({name: values[test] for name, values in rows.items()})

        def score(results: list[Result], alpha: float) -> float:
            along.keep(results, alpha)
            if self.scoring is None:  # without checks that take longer than the rest
                if "_new_rows" not in vars(model):
                    rows_of_fold = model._new_rows(held)
                    model._new_rows = lambda X: rows_of_fold
                if is_classifier(self):
                    return float(np.average(model.predict(held) == truth, weights=weights))
                if truth.size > 1 and not model._log_link():
                    return r_squared(truth, model.predict(held), weights)
            return self.scorer_(model, held, truth, **({} if weights is None else {"sample_weight": weights}))

        return Fold(along.makes, score)

    def _certified_alpha(
        self, X: Any, y: np.ndarray, rows: dict[str, np.ndarray], splits: Any, along: Along
    ) -> np.ndarray:
        """The strength whose CV error is proven to be the smallest of a range, up to the slack."""
        if self.rule != "best" or not 0.0 < self.slack < 1.0:
            raise InputError(
                f"certified=True needs rule='best' and a slack between 0 and 1, got {self.rule=}, {self.slack=}"
            )
        grid = self._strengths(along.makes)
        if not isinstance(self.alphas, Integral) and not (grid.size == 2 and grid[0] < grid[1]):
            raise InputError(
                f"with certified=True, alphas must be a range (low, high), or a number, got {self.alphas!r}"
            )
        name = self._error_name(along)
        folds = [self._held_out_fold(X, y, rows, name, *split) for split in splits]
        options = self._options() | {"max_iter": self.max_iter}
        search = CertifiedSearch(folds, float(self.slack), self.max_time, options)
        search.run(float(grid.min()), float(grid.max()))
        self.cv_error_, self.cv_error_lower_bound_ = search.best.bounds.high, search.lower_bound
        self.cv_band_: Band = search.band()
        if not search.certified:
            warnings.warn(
                f"{type(self).__name__} has not proven its choice up to slack={self.slack:g}: CV error {self.cv_error_:.6g}, "
                f"lower bound {self.cv_error_lower_bound_:.6g} after {len(search.nodes)} strengths. Give more max_time, or a "
                "larger slack",
                ConvergenceWarning,
                stacklevel=4,
            )
        return np.array([search.best.alpha])

    def _error_name(self, along: Along) -> str:
        """The name of the score whose error is bounded."""
        known = OF_CLASSES if is_classifier(self) else OF_NUMBERS
        name = known[0] if self.scoring is None else self.scoring
        if name not in known or (name == "neg_log_loss" and len(along.makes) > 1):
            raise InputError(
                f"certified=True knows bounds for scoring={', '.join(map(repr, known))}, got {self.scoring!r}"
            )
        if getattr(self, "_log_link", bool)():
            raise InputError(
                "certified=True does not know bounds for predictions with a logarithmic link: use a list of alphas"
            )
        return str(name)

    def _held_out_fold(
        self, X: Any, y: Any, rows: dict[str, np.ndarray], error: str, train: Any, test: Any
    ) -> HeldOutFold:
        """The fold with those rows held out, for bounds."""
        along = self._make_single()._along(
            _safe_indexing(X, train), y[train], **{name: values[train] for name, values in rows.items()}
        )
        held = {name: values[test] for name, values in rows.items()}
        scores = [HeldOutScores(make, _safe_indexing(X, test), held.get("offset")) for make in along.makes]
        weights = _held_out_weights(held)
        return HeldOutFold(along.makes, scores, error_of(error, y[test], weights, along.classes))

    def _held_out_model(self, rows: dict[str, np.ndarray]) -> Any:
        """A model to fit without a fold, which predicts the rows of the fold."""
        return self._make_single()

    def _scores(self, folds: list[Fold]) -> FoldScores:
        """The scores of all folds; max_time is shared with the fit of all rows."""
        seconds = self.max_time if self.max_time is None else self.max_time * len(folds) / (len(folds) + 1)
        options = self._options() | {"max_iter": self.max_iter, "max_time": seconds}
        found = fold_scores(folds, len(folds), self.alphas_, **options)
        if found.unsolved:
            self._warn_of(found.worst, f" in {found.unsolved} of {found.scores.size} fits of folds, at worst")
        return found

    def _choose(self, found: FoldScores) -> None:
        """Set the strengths and the attributes of the search."""
        best, one_se = choose(self.alphas_.tolist(), found.mean.tolist(), found.standard_error.tolist())
        self.best_index_ = best if self.rule == "best" else one_se
        self.alpha_best_, self.alpha_one_se_ = float(self.alphas_[best]), float(self.alphas_[one_se])
        self.alpha_ = float(self.alphas_[self.best_index_])
        self.best_score_, self.cv_results_ = float(found.mean[self.best_index_]), found.results()

    @classmethod
    def _parameters_of(cls, model: Model) -> dict[str, Any]:
        """Those of the model; the strengths are its own one."""
        return super()._parameters_of(model) | {"alphas": [model.regularizer.alpha]}

    def _restore(self, model: Model) -> None:
        """A file holds the model, not the search: its attributes are None."""
        super()._restore(model)
        self.alpha_ = float(model.regularizer.alpha)
        for name in (*SEARCH, *PROVEN):
            setattr(self, name, None)


def _held_out_weights(held: dict[str, np.ndarray]) -> np.ndarray | None:
    """The weights of held-out rows, not all 0."""
    weights = held.get("sample_weight")
    if weights is not None and not weights.any():
        raise InputError("the rows of a fold all have weight 0, so that there is nothing to score: use other folds")
    return weights


def r_squared(y: np.ndarray, predicted: np.ndarray, weights: np.ndarray | None) -> float:
    """1 - sum w (y - f)^2 / sum w (y - mean)^2, as `sklearn.metrics.r2_score`: 1 or 0 if all y are equal.

    >>> r_squared(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]), None)
    0.5
    """
    p = np.ones(y.size) if weights is None else weights
    residual, total = float(p @ (y - predicted) ** 2), float(p @ (y - np.average(y, weights=weights)) ** 2)
    if total == 0.0:
        return float(residual == 0.0)
    return 1.0 - residual / total
