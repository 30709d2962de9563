"""skglm, celer and glum."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from benchmarks.entrants.base import SMALL_D, Answer, Entrant, quietly, sklearn_answer
from benchmarks.tasks import Task


class Skglm(Entrant):
    """Working sets with Anderson acceleration or prox-Newton."""

    name = "skglm"
    module = "skglm"
    kinds: ClassVar = (
        ("logistic", "l1"), ("squared", "elastic_net"), ("squared", "l1"), ("squared", "nonnegative"),
        ("squared", "group_lasso"), ("huber", "l2"),
    )  # fmt: skip

    def handles(self, task: Task) -> bool:
        return (task.loss, task.penalty) in self.kinds and task.weights is None

    def fit(self, task: Task, tol: float) -> Answer:
        import skglm
        from skglm.datafits import Huber
        from skglm.penalties import L1_plus_L2
        from skglm.solvers import AndersonCD

        if task.loss == "huber":
            solver = AndersonCD(max_iter=1000, tol=tol, fit_intercept=task.fit_intercept, ws_strategy="fixpoint")
            model = skglm.GeneralizedLinearEstimator(
                Huber(task.parameters["delta"]), L1_plus_L2(task.alpha, 0.0), solver
            )
        elif task.loss == "logistic":
            model = skglm.SparseLogisticRegression(alpha=task.alpha, tol=tol, fit_intercept=task.fit_intercept)
        elif task.penalty == "group_lasso":
            weights = np.ones(task.groups[-1] + 1)
            model = skglm.GroupLasso(
                groups=np.bincount(task.groups).tolist(),
                alpha=task.alpha,
                weights=weights,
                tol=tol,
                fit_intercept=task.fit_intercept,
            )
        elif task.penalty in ("l1", "nonnegative"):
            positive = task.penalty == "nonnegative"
            model = skglm.Lasso(alpha=task.alpha, tol=tol, positive=positive, fit_intercept=task.fit_intercept)
        else:
            model = skglm.ElasticNet(
                alpha=task.alpha, l1_ratio=task.l1_ratio, tol=tol, fit_intercept=task.fit_intercept
            )
        return sklearn_answer(quietly(model.fit, task.X, task.y))


class Celer(Entrant):
    name = "celer"
    module = "celer"

    def handles(self, task: Task) -> bool:
        if task.weights is not None:
            return False
        l1_logistic = task.loss == "logistic" and task.penalty == "l1" and not task.fit_intercept
        return l1_logistic or (task.loss == "squared" and task.penalty != "l2")

    def fit(self, task: Task, tol: float) -> Answer:
        import celer

        if task.loss == "logistic":
            model = celer.LogisticRegression(C=task.C, tol=tol)
        elif task.penalty == "group_lasso":
            model = celer.GroupLasso(
                groups=np.bincount(task.groups).tolist(), alpha=task.alpha, tol=tol, fit_intercept=task.fit_intercept
            )
        elif task.penalty in ("l1", "nonnegative"):
            positive = task.penalty == "nonnegative"
            model = celer.Lasso(alpha=task.alpha, tol=tol, positive=positive, fit_intercept=task.fit_intercept)
        else:
            model = celer.ElasticNet(
                alpha=task.alpha, l1_ratio=task.l1_ratio, fit_intercept=task.fit_intercept, tol=tol
            )
        return sklearn_answer(quietly(model.fit, task.X, task.y))


class Glum(Entrant):
    """Iteratively reweighted least squares, for Poisson, logistic and least squares."""

    name = "glum"
    module = "glum"
    families: ClassVar = {"poisson": "poisson", "logistic": "binomial", "squared": "normal"}

    def handles(self, task: Task) -> bool:
        return task.loss in self.families and task.penalty != "group_lasso" and task.X.shape[1] <= SMALL_D

    def fit(self, task: Task, tol: float) -> Answer:
        from glum import GeneralizedLinearRegressor as Model

        y = 0.5 * (task.y + 1.0) if task.loss == "logistic" else task.y
        model = Model(
            family=self.families[task.loss], alpha=task.alpha, l1_ratio=task.l1_ratio, gradient_tol=tol, max_iter=1000,
            fit_intercept=task.fit_intercept,
            lower_bounds=np.zeros(task.X.shape[1]) if task.penalty == "nonnegative" else None,
        )  # fmt: skip
        return sklearn_answer(quietly(model.fit, task.X, y, sample_weight=task.weights))
