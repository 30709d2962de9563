"""HiGHS, on the hinge loss with L1 as a linear program."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from benchmarks.entrants.base import Answer, Entrant
from benchmarks.tasks import Task

TIME_LIMIT = 300.0  # seconds


class HiGHS(Entrant):
    """min over w = w+ - w-, b, slacks of the mean slack + alpha sum (w+ + w-), with y_i (x_i w + b) + slack_i >= 1."""

    name = "HiGHS"
    module = "scipy"
    tolerances = (1e-7,)

    def handles(self, task: Task) -> bool:
        return (task.loss, task.penalty) == ("hinge", "l1") and task.weights is None

    def fit(self, task: Task, tol: float) -> Answer:
        from scipy.optimize import linprog

        n, d = task.X.shape
        rows = sp.csr_matrix(sp.diags_array(task.y) @ task.X)
        labels = sp.csr_matrix(task.y[:, None] * float(task.fit_intercept))
        A = sp.hstack([-rows, rows, -labels, -sp.eye_array(n)], format="csc")
        cost = np.concatenate([np.full(2 * d, task.alpha), [0.0], np.full(n, 1.0 / n)])
        bounds = [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * n
        found = linprog(cost, A, -np.ones(n), bounds=bounds, method="highs", options={"time_limit": TIME_LIMIT})
        if found.x is None:
            raise RuntimeError(found.message)
        return found.x[:d] - found.x[d : 2 * d], float(found.x[2 * d])
