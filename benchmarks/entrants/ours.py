"""Fenchel."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.entrants.base import Answer, Entrant
from benchmarks.tasks import Task


class Fenchel(Entrant):
    """Stops on the certified relative gap; its tolerance is the target itself, and it is counted at no other."""

    name = "fenchel"
    module = "fenchel"
    tolerances = (1e-3, 1e-6)

    def __init__(self, solver: str = "auto"):
        self.solver = solver

    def handles(self, task: Task) -> bool:
        return True

    def problem(self, task: Task) -> Any:
        import fenchel

        loss = fenchel.losses.LOSSES[task.loss](**task.parameters)
        regularizers = fenchel.regularizers
        penalty = {
            "l2": lambda: regularizers.L2(task.alpha),
            "l1": lambda: regularizers.L1(task.alpha),
            "nonnegative": lambda: regularizers.Bounded(regularizers.L1(task.alpha), lower=0.0),
            "group_lasso": lambda: regularizers.GroupLasso(task.alpha, task.groups, np.ones(task.groups[-1] + 1)),
            "elastic_net": lambda: regularizers.ElasticNet(task.alpha, l1_ratio=task.l1_ratio),
        }[task.penalty]()
        return fenchel.Problem(
            task.X, task.y, loss=loss, regularizer=penalty, fit_intercept=task.fit_intercept, sample_weight=task.weights
        )

    def solve(self, task: Task, tol: float, max_time: float | None = None) -> Any:
        import fenchel

        return fenchel.solve(self.problem(task), solver=self.solver, tol=tol, max_time=max_time)

    def fit(self, task: Task, tol: float) -> Answer:
        result = self.solve(task, tol)
        if not result.converged:
            raise RuntimeError(f"no certificate: {result}")
        return result.coef, result.intercept
