"""Who takes part: one small class each, `fit(task, tol) -> (coef, intercept)`.

An entrant says what it can solve (`handles`), which tolerances it is to be tried with, loosest first, and what it needs
to be installed (`module`). What it claims about its accuracy is never asked. Time includes everything that a user who
holds a CSR matrix would wait for: conversions, the solve, and for Fenchel the certificate.
"""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any, ClassVar

import numpy as np

from benchmarks.tasks import Task

Answer = tuple[np.ndarray, float]
SMALL_D = 5000  # newton-cholesky holds d x d numbers


class Entrant:
    """Base of all entrants."""

    name: ClassVar[str]
    module: ClassVar[str]
    tolerances: ClassVar[tuple[float, ...]] = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)

    @classmethod
    def installed(cls) -> bool:
        return importlib.util.find_spec(cls.module) is not None

    def handles(self, task: Task) -> bool:
        raise NotImplementedError("abstract: an entrant defines handles(task)")

    def fit(self, task: Task, tol: float) -> Answer:
        raise NotImplementedError("abstract: an entrant defines fit(task, tol)")


class Fenchel(Entrant):
    """Stops on the certified relative gap; its tolerance is the target itself, and it is counted at no other."""

    name = "fenchel"
    module = "fenchel"
    tolerances = (1e-3, 1e-6)

    def handles(self, task: Task) -> bool:
        return True

    def solve(self, task: Task, tol: float, max_time: float | None = None) -> Any:
        import fenchel

        problem = fenchel.Problem(
            task.X, task.y, loss=task.loss, regularizer="l2", alpha=task.alpha, fit_intercept=task.fit_intercept
        )
        return fenchel.solve(problem, tol=tol, max_time=max_time)

    def fit(self, task: Task, tol: float) -> Answer:
        result = self.solve(task, tol)
        if not result.converged:
            raise RuntimeError(f"no certificate: {result}")
        return result.coef, result.intercept


class LinearSVC(Entrant):
    name = "sklearn LinearSVC"
    module = "sklearn"
    tolerances = (1.0, 3e-1, 1e-1, 3e-2, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
    losses: ClassVar[dict[str, tuple[str, float]]] = {"hinge": ("hinge", 1.0), "squared_hinge": ("squared_hinge", 0.5)}

    def handles(self, task: Task) -> bool:
        return task.loss in self.losses and not task.fit_intercept  # its intercept is regularised

    def fit(self, task: Task, tol: float) -> Answer:
        from sklearn.svm import LinearSVC as Model

        loss, factor = self.losses[task.loss]
        model = Model(loss=loss, C=factor * task.C, fit_intercept=False, dual=True, tol=tol, max_iter=100_000)
        return sklearn_answer(quietly(model.fit, task.X, task.y))


class LogisticRegression(Entrant):
    module = "sklearn"
    solver: ClassVar[str]
    max_iter = 10_000

    def handles(self, task: Task) -> bool:
        return task.loss == "logistic"

    def fit(self, task: Task, tol: float) -> Answer:
        from sklearn.linear_model import LogisticRegression as Model

        model = Model(C=task.C, fit_intercept=task.fit_intercept, solver=self.solver, tol=tol, max_iter=self.max_iter)
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


class SklearnLiblinear(LogisticRegression):
    name = "sklearn liblinear"
    solver = "liblinear"

    def handles(self, task: Task) -> bool:
        return super().handles(task) and not task.fit_intercept  # its intercept is regularised


class Liblinear(Entrant):
    """liblinear's own package; `-s` by loss, conversion to its row format included."""

    module = "liblinear"
    tolerances = (10.0, 1.0, 3e-1, 1e-1, 3e-2, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
    kinds: ClassVar[dict[str, tuple[int, float]]]

    def handles(self, task: Task) -> bool:
        return task.loss in self.kinds and not task.fit_intercept

    def fit(self, task: Task, tol: float) -> Answer:
        from liblinear.liblinearutil import train

        kind, factor = self.kinds[task.loss]
        model = train(task.y, task.X, f"-s {kind} -c {factor * task.C!r} -e {tol!r} -q")
        w = np.ctypeslib.as_array(model.w, (task.X.shape[1],)).copy()
        return (w if model.get_labels()[0] > 0 else -w), 0.0


class LiblinearDual(Liblinear):
    name = "liblinear dual"
    kinds: ClassVar = {"hinge": (3, 1.0), "squared_hinge": (1, 0.5), "logistic": (7, 1.0)}


class LiblinearPrimal(Liblinear):
    name = "liblinear primal"
    kinds: ClassVar = {"squared_hinge": (2, 0.5), "logistic": (0, 1.0)}


class Cyanure(Entrant):
    """Has no hinge. Its tolerance is a relative duality gap."""

    name = "cyanure"
    module = "cyanure"
    losses: ClassVar[dict[str, str]] = {"logistic": "logistic"}

    def handles(self, task: Task) -> bool:
        return task.loss in self.losses

    def fit(self, task: Task, tol: float) -> Answer:
        from cyanure.estimators import Classifier as Model

        model = Model(
            loss=self.losses[task.loss], penalty="l2", lambda_1=task.alpha, fit_intercept=task.fit_intercept,
            tol=tol, max_iter=1000, verbose=False,
        )  # fmt: skip
        return sklearn_answer(quietly(model.fit, task.X, task.y))


class ReHLine(Entrant):
    name = "rehline"
    module = "rehline"

    def handles(self, task: Task) -> bool:
        return task.loss == "hinge" and not task.fit_intercept

    def fit(self, task: Task, tol: float) -> Answer:
        from rehline import plqERM_Ridge

        model = plqERM_Ridge(loss={"name": "svm"}, C=task.C, tol=tol, max_iter=100_000)
        return sklearn_answer(quietly(model.fit, task.X, task.y))


ENTRANTS: list[type[Entrant]] = [
    Fenchel, LinearSVC, LBFGS, NewtonCholesky, NewtonCG, Saga, SklearnLiblinear, LiblinearDual, LiblinearPrimal,
    Cyanure, ReHLine,
]  # fmt: skip


def sklearn_answer(model: Any) -> Answer:
    return np.ravel(model.coef_), float(np.ravel(getattr(model, "intercept_", 0.0))[0])


def quietly(function: Any, *arguments: Any) -> Any:
    """A warning that a limit was met is no news here: whether the answer is good is computed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments)
