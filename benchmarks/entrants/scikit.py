"""scikit-learn's solvers."""

from __future__ import annotations

from typing import ClassVar

from benchmarks.entrants.base import SMALL_D, Answer, Entrant, quietly, sklearn_answer
from benchmarks.tasks import L1_RATIO, Task


class LinearSVC(Entrant):
    """liblinear's dual coordinate descent as scikit-learn ships it; its intercept is regularised, so it takes none."""

    name = "sklearn LinearSVC"
    module = "sklearn"
    tolerances = (1.0, 3e-1, 1e-1, 3e-2, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
    dual = True
    factors: ClassVar[dict[str, float]] = {"hinge": 1.0, "squared_hinge": 0.5}

    def handles(self, task: Task) -> bool:
        return task.loss in self.factors and task.is_plain and not task.fit_intercept

    def fit(self, task: Task, tol: float) -> Answer:
        from sklearn.svm import LinearSVC as Model

        C = self.factors[task.loss] * task.C
        model = Model(loss=task.loss, C=C, fit_intercept=False, dual=self.dual, tol=tol, max_iter=100_000)
        return sklearn_answer(quietly(model.fit, task.X, task.y))


class LinearSVCPrimal(LinearSVC):
    name = "sklearn LinearSVC primal"
    dual = False
    factors: ClassVar = {"squared_hinge": 0.5}


class LinearSVR(Entrant):
    name = "sklearn LinearSVR"
    module = "sklearn"
    tolerances = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)

    def handles(self, task: Task) -> bool:
        return task.loss == "epsilon_insensitive" and task.is_plain and not task.fit_intercept

    def fit(self, task: Task, tol: float) -> Answer:
        from sklearn.svm import LinearSVR as Model

        model = Model(C=task.C, fit_intercept=False, dual=True, tol=tol, max_iter=100_000, **task.parameters)
        return sklearn_answer(quietly(model.fit, task.X, task.y))


class LogisticRegression(Entrant):
    module = "sklearn"
    solver: ClassVar[str]
    max_iter = 10_000
    penalties: ClassVar[tuple[str, ...]] = ("l2",)

    def handles(self, task: Task) -> bool:
        return task.loss == "logistic" and task.weights is None and task.penalty in self.penalties

    def fit(self, task: Task, tol: float) -> Answer:
        from sklearn.linear_model import LogisticRegression as Model

        model = Model(
            C=task.C, l1_ratio=task.l1_ratio, fit_intercept=task.fit_intercept, solver=self.solver, tol=tol,
            max_iter=self.max_iter,
        )  # fmt: skip
        return sklearn_answer(quietly(model.fit, task.X, task.y))


class LBFGS(LogisticRegression):
    name = "sklearn lbfgs"
    solver = "lbfgs"


class NewtonCholesky(LogisticRegression):
    name = "sklearn newton-cholesky"
    solver = "newton-cholesky"

    def handles(self, task: Task) -> bool:
        return super().handles(task) and task.X.shape[1] <= SMALL_D


class NewtonCG(LogisticRegression):
    name = "sklearn newton-cg"
    solver = "newton-cg"


class Saga(LogisticRegression):
    name = "sklearn saga"
    solver = "saga"
    max_iter = 300  # each costs about as much as a pass of the others; it is known to be slow here
    penalties: ClassVar = ("l2", "l1")


class SklearnLiblinear(LogisticRegression):
    name = "sklearn liblinear"
    solver = "liblinear"
    penalties: ClassVar = ("l2", "l1")

    def handles(self, task: Task) -> bool:
        return super().handles(task) and not task.fit_intercept  # its intercept is regularised


class CoordinateDescent(Entrant):
    name = "sklearn ElasticNet"
    module = "sklearn"

    def handles(self, task: Task) -> bool:
        return task.loss == "squared" and task.penalty in L1_RATIO and task.penalty != "l2" and task.weights is None

    def fit(self, task: Task, tol: float) -> Answer:
        from sklearn.linear_model import ElasticNet as Model

        model = Model(
            alpha=task.alpha, l1_ratio=task.l1_ratio, fit_intercept=task.fit_intercept, tol=tol, max_iter=100_000,
            positive=task.penalty == "nonnegative",
        )  # fmt: skip
        return sklearn_answer(quietly(model.fit, task.X, task.y))


class LinearSVCL1(Entrant):
    """liblinear's coordinate descent for L1 as scikit-learn ships it."""

    name = "sklearn LinearSVC L1"
    module = "sklearn"

    def handles(self, task: Task) -> bool:
        plain = task.weights is None and not task.fit_intercept
        return (task.loss, task.penalty) == ("squared_hinge", "l1") and plain

    def fit(self, task: Task, tol: float) -> Answer:
        from sklearn.svm import LinearSVC as Model

        model = Model(penalty="l1", C=0.5 * task.C, fit_intercept=False, dual=False, tol=tol, max_iter=100_000)
        return sklearn_answer(quietly(model.fit, task.X, task.y))


class QuantileHiGHS(Entrant):
    """A linear program, solved by HiGHS to its own tolerance."""

    name = "sklearn QuantileRegressor"
    module = "sklearn"
    tolerances = (1e-7,)

    def handles(self, task: Task) -> bool:
        return (task.loss, task.penalty) == ("quantile", "l1") and task.weights is None

    def fit(self, task: Task, tol: float) -> Answer:
        from sklearn.linear_model import QuantileRegressor as Model

        model = Model(quantile=task.parameters["tau"], alpha=task.alpha, fit_intercept=task.fit_intercept)
        return sklearn_answer(quietly(model.fit, task.X, task.y))


class PoissonRegressor(Entrant):
    module = "sklearn"
    solver: ClassVar[str]

    def handles(self, task: Task) -> bool:
        return task.loss == "poisson" and task.penalty == "l2"

    def fit(self, task: Task, tol: float) -> Answer:
        from sklearn.linear_model import PoissonRegressor as Model

        model = Model(alpha=task.alpha, fit_intercept=task.fit_intercept, solver=self.solver, tol=tol, max_iter=10_000)
        return sklearn_answer(quietly(model.fit, task.X, task.y, sample_weight=task.weights))


class PoissonLBFGS(PoissonRegressor):
    name = "sklearn Poisson lbfgs"
    solver = "lbfgs"


class PoissonNewton(PoissonRegressor):
    name = "sklearn Poisson newton"
    solver = "newton-cholesky"
