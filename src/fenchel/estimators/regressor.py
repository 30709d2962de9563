"""Linear regression with a certificate."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import RegressorMixin, clone
from sklearn.metrics import d2_tweedie_score, r2_score

from fenchel import losses
from fenchel.data.accept import accept_vector
from fenchel.errors import InputError, UnknownNameError
from fenchel.estimators.base import Along, accept_weights, total_weight
from fenchel.estimators.callbacks import View
from fenchel.estimators.linear import LinearEstimator
from fenchel.estimators.parameters import SOLVE_ATTRIBUTES, documented, keep
from fenchel.estimators.path import Path, at_strengths, path
from fenchel.losses.task import task_of
from fenchel.models.model import Model
from fenchel.problems.scalar import Problem

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import MatrixLike

NAMES = ["absolute", "epsilon_insensitive", "huber", "poisson", "quantile", "squared"]
# The estimator's parameter -> (the loss it belongs to, its name there).
SHAPES = {
    "quantile": ("quantile", "tau"),
    "epsilon": ("epsilon_insensitive", "epsilon"),
    "delta": ("huber", "delta"),
}


@documented(SOLVE_ATTRIBUTES)
class Regressor(RegressorMixin, LinearEstimator):
    """min over w, b of (1/S) sum_i s_i loss(<x_i, w> + b + offset_i, y_i) + R(w), with S = sum_i s_i.

    Parameters
    ----------
    loss : squared, absolute, quantile, epsilon_insensitive, huber, poisson, or a loss object.
    quantile : the quantile to predict with loss="quantile" (0.5).
    epsilon : half the width of the tube of loss="epsilon_insensitive" (0.1).
    delta : residual at which loss="huber" changes from quadratic to linear (1.0).
    tol : the relative gap (P - D) / |P| that the certificate must show. The default 1e-6, as in `fenchel.solve`, is
        far below the statistical error, but makes fits reproducible.

    Attributes
    ----------
    coef_, intercept_, dual_coef_ : shape (d,), a number, shape (n,). dual_coef_ holds the u_i of the certificate.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Regressor(loss="quantile", quantile=0.9, alpha=1e-3).fit(X, y)
    >>> model.status_.name, round(float((y <= model.predict(X)).mean()), 1)
    ('CERTIFIED', 0.9)
    """

    def __init__(
        self, loss="squared", quantile=None, epsilon=None, delta=None, regularizer="l2", alpha=None, C=None,
        l1_ratio=0.5, fit_intercept=True, tol=1e-6, solver="auto", max_iter=None, max_time=None, warm_start=False,
        random_state=None, n_jobs=None, verbose=0, checkpoint=None, engine=None, standardize=False,
    ):  # fmt: skip
        keep(self, locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self._log_link()
        return tags

    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None, offset: ArrayLike | None = None
    ) -> Self:
        """Fit to rows X and targets y; `offset` is a fixed part of the score, such as log exposure."""
        X, y, weights, offset = self._data(X, y, sample_weight, offset)
        regularizer = self._standardized(self._regularizer(total_weight(weights, X.shape[0])), X, weights)
        make = self._problem(X, y, weights, offset, regularizer)
        view = View(X, y, lambda w, b: {"coef_": w, "intercept_": float(b)}) if offset is None else None
        results = self._fit_problems([make], [self._warm(0, X.shape[1])], view)
        self._keep(results)
        return self

    def path(self, X, y, alphas, sample_weight=None, offset=None) -> Path:
        """Solutions for every strength in `alphas`, with warm starts: a `fenchel.Path`.

        The estimator's own alpha and C are ignored, and the estimator is not modified.

        >>> Regressor().path([[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0], [1.0, 0.1])
        Path(2 strengths, alpha 0.1 to 1; 2 certified)
        """
        model = clone(self)
        make = model._along(X, y, sample_weight, offset).makes[0]
        found = path(make, alphas, max_iter=self.max_iter, max_time=self.max_time, **model._options())
        self._warn(found)
        return found

    def _along(self, X, y, sample_weight=None, offset=None) -> Along:
        """The problems of every strength, and how a result fits the estimator."""
        X, y, weights, offset = self._data(X, y, sample_weight, offset)
        penalty = self._standardized(self._with_strength(1.0), X, weights)
        make = lambda regularizer: self._problem(X, y, weights, offset, regularizer)()  # noqa: E731
        return Along([at_strengths(make(penalty), penalty, make)], lambda results, alpha: self._keep(results))

    def _data(self, X, y, sample_weight, offset) -> tuple[Any, ...]:
        X, y = self._training_rows(X, y=y, y_numeric=True)
        offset = None if offset is None else accept_vector(offset, X.shape[0], "offset")
        return X, y, accept_weights(sample_weight, X.shape[0]), offset

    def _problem(self, X, y, weights, offset, regularizer) -> Callable[[], Problem]:
        loss = self._loss()
        return lambda: Problem(
            X, y, loss=loss, regularizer=regularizer, fit_intercept=self.fit_intercept, sample_weight=weights,
            offset=offset,
        )  # fmt: skip

    def _loss(self) -> Any:
        """The loss object, with quantile, epsilon or delta."""
        given = {name: value for name in SHAPES if (value := getattr(self, name)) is not None}
        for name in given:
            if not (isinstance(self.loss, str) and self.loss == SHAPES[name][0]):
                raise InputError(f"{name}={given[name]!r} is for loss={SHAPES[name][0]!r}, but loss is {self.loss!r}")
        if not isinstance(self.loss, str):
            return losses.make(self.loss)
        if self.loss not in NAMES:
            raise UnknownNameError("loss for regression", self.loss, NAMES)
        return losses.make(losses.LOSSES[self.loss](**{SHAPES[name][1]: value for name, value in given.items()}))

    @classmethod
    def _is_own_loss(cls, model: Model) -> bool:
        return model.labels is None and model.family == "scalar" and task_of(model.loss) != "novelty"

    @classmethod
    def _parameters_of(cls, model: Model) -> dict[str, Any]:
        return {"loss": model.loss, "fit_intercept": model.fit_intercept} | super()._parameters_of(model)

    def _log_link(self) -> bool:
        loss = self.loss
        while isinstance(loss, losses.Moreau):
            loss = loss.loss
        return isinstance(loss, losses.Poisson) or (isinstance(loss, str) and loss == "poisson")

    def predict(self, X: MatrixLike, offset: ArrayLike | None = None) -> np.ndarray:
        """<x, w> + b + offset; for the Poisson loss the mean exp(<x, w> + b + offset)."""
        scores = self._raw_scores(X)
        if offset is not None:
            scores = scores + accept_vector(offset, scores.shape[0], "offset")
        if not self._log_link():
            return scores
        with np.errstate(over="ignore"):
            return np.exp(scores)

    def score(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None, offset: ArrayLike | None = None
    ) -> float:
        """R^2 of the predictions; for the Poisson loss D^2, the fraction of deviance explained."""
        predicted = self.predict(X, offset=offset)
        if not self._log_link():
            return r2_score(y, predicted, sample_weight=sample_weight)
        mean = np.maximum(predicted, np.finfo(float).tiny)  # the deviance contains the logarithm of the mean
        return d2_tweedie_score(y, mean, sample_weight=sample_weight, power=1)
