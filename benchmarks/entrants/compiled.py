"""liblinear, cyanure, ReHLine and Snap ML."""

from __future__ import annotations

import importlib
from typing import ClassVar

import numpy as np

from benchmarks.entrants.base import Answer, Entrant, quietly, sklearn_answer
from benchmarks.tasks import Task


class Liblinear(Entrant):
    """liblinear's own package; `-s` by (penalty, loss), conversion to its row format included."""

    module = "liblinear"
    tolerances = (10.0, 1.0, 3e-1, 1e-1, 3e-2, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
    kinds: ClassVar[dict[tuple[str, str], tuple[int, float]]]

    def handles(self, task: Task) -> bool:
        return (task.penalty, task.loss) in self.kinds and not task.fit_intercept and task.weights is None

    def fit(self, task: Task, tol: float) -> Answer:
        from liblinear.liblinearutil import train

        kind, factor = self.kinds[task.penalty, task.loss]
        extra = f" -p {task.parameters['epsilon']!r}" if "epsilon" in task.parameters else ""
        model = train(task.y, task.X, f"-s {kind} -c {factor * task.C!r} -e {tol!r}{extra} -q")
        w = np.ctypeslib.as_array(model.w, (task.X.shape[1],)).copy()
        return (w if extra or model.get_labels()[0] > 0 else -w), 0.0


class LiblinearDual(Liblinear):
    name = "liblinear dual"
    kinds: ClassVar = {
        ("l2", "hinge"): (3, 1.0),
        ("l2", "squared_hinge"): (1, 0.5),
        ("l2", "logistic"): (7, 1.0),
        ("l2", "epsilon_insensitive"): (13, 1.0),
    }


class LiblinearPrimal(Liblinear):
    name = "liblinear primal"
    kinds: ClassVar = {
        ("l2", "squared_hinge"): (2, 0.5),
        ("l2", "logistic"): (0, 1.0),
        ("l1", "logistic"): (6, 1.0),
        ("l1", "squared_hinge"): (5, 0.5),
    }


class Cyanure(Entrant):
    """Has no hinge. Its tolerance is a relative duality gap."""

    name = "cyanure"
    module = "cyanure"
    margin: ClassVar[dict[str, str]] = {"logistic": "logistic", "squared_hinge": "sqhinge"}

    def handles(self, task: Task) -> bool:
        known = (task.loss in self.margin or task.loss == "squared") and task.penalty in ("l2", "l1", "elastic_net")
        return known and task.weights is None

    def fit(self, task: Task, tol: float) -> Answer:
        from cyanure.estimators import Classifier, Regression

        strengths = {
            "l2": {"lambda_1": task.alpha},
            "l1": {"lambda_1": task.alpha},
            "elastic_net": {"lambda_1": task.alpha * task.l1_ratio, "lambda_2": task.alpha * (1.0 - task.l1_ratio)},
        }[task.penalty]
        kind = {"loss": self.margin[task.loss]} if task.loss in self.margin else {}
        model = (Classifier if kind else Regression)(
            penalty=task.penalty.replace("_", ""), fit_intercept=task.fit_intercept, tol=tol, max_iter=1000,
            verbose=False, **strengths, **kind,
        )  # fmt: skip
        return sklearn_answer(quietly(model.fit, task.X, task.y))


class ReHLine(Entrant):
    name = "rehline"
    module = "rehline"

    def handles(self, task: Task) -> bool:
        known = ("hinge", "quantile", "epsilon_insensitive", "huber")
        return task.loss in known and task.is_plain and not task.fit_intercept

    def fit(self, task: Task, tol: float) -> Answer:
        from rehline import plqERM_Ridge

        loss = {
            "hinge": lambda: {"name": "svm"},
            "quantile": lambda tau: {"name": "QR", "qt": tau},
            "epsilon_insensitive": lambda epsilon: {"name": "svr", "epsilon": epsilon},
            "huber": lambda delta: {"name": "huber", "tau": delta},
        }[task.loss](**task.parameters)  # type: ignore[operator]
        model = plqERM_Ridge(loss=loss, C=task.C, tol=tol, max_iter=100_000)
        return sklearn_answer(quietly(model.fit, task.X, task.y))


class Snap(Entrant):
    """Snap ML on the processor, all threads."""

    name = "snapml"
    module = "snapml"
    tolerances = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)

    def handles(self, task: Task) -> bool:
        return task.loss in ("hinge", "squared_hinge", "logistic") and task.is_plain and not task.fit_intercept

    def fit(self, task: Task, tol: float) -> Answer:
        snapml = quietly(importlib.import_module, "snapml")
        strength = task.alpha * task.X.shape[0]
        if task.loss == "logistic":
            model = snapml.LogisticRegression(regularizer=strength, tol=tol, n_jobs=2, max_iter=10_000)
        else:
            factor = 2.0 if task.loss == "squared_hinge" else 1.0
            model = snapml.SupportVectorMachine(
                loss=task.loss, regularizer=factor * strength, tol=tol, n_jobs=2, max_iter=10_000
            )
        return sklearn_answer(quietly(model.fit, task.X, task.y))
