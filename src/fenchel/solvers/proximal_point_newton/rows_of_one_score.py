"""What a proximal step asks of the rows, for losses of one score: centred rows if the intercept is free.

`rows_of_several_scores.py` answers the same for several. Scores, dual variables and residuals are arrays of the shape `shape`,
intercepts b and sums s of dual variables numbers or vectors; b is always that of centred rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.engines.local import spans
from fenchel.kernels.proximal_rows import linear_weight, proximal_along, proximal_rows
from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.solvers.centred_variables import column_variances
from fenchel.solvers.proximal_point_newton.newton_system import Metric, NewtonSystem
from fenchel.solvers.proximal_point_newton.settings import SETTINGS


class RowsOfOneScore:
    """The rows of a problem of one score per row."""

    def __init__(self, oracle: Any):
        self.oracle, self.problem = oracle, oracle.problem
        problem = self.problem
        self.free, self.shape, self.d = bool(problem.fit_intercept), (problem.n,), problem.d
        self.regularizer = problem.regularizer
        self.mean = oracle.means[0] if self.free else np.zeros(problem.d)
        self.first_step_rows = SETTINGS.first_step_rows
        self.step_ratio = SETTINGS.sorted_step_ratio if problem.regularizer.sorts else float(problem.n)
        self.system = NewtonSystem(oracle, self.mean)
        self.slopes, self.z, self.rate = np.empty(problem.n), np.empty(problem.n), np.empty(problem.n)

    def variances(self) -> np.ndarray:
        """Of every column."""
        return column_variances(self.oracle, self.mean)

    def split(self, coef: np.ndarray, intercept: float) -> tuple[np.ndarray, Any]:
        """(w, b) from the variables of an iterate."""
        return coef.copy(), intercept + float(self.mean @ coef) if self.free else 0.0

    def join(self, w: np.ndarray, b: Any) -> tuple[np.ndarray, float]:
        """The variables of an iterate from (w, b)."""
        return w, b - float(self.mean @ w) if self.free else 0.0

    def scores(self, w: np.ndarray, b: Any) -> np.ndarray:
        """The scores of all rows: half of a pass."""
        return self.oracle.scores(w) + self.join(w, b)[1]

    def combine(self, u: np.ndarray) -> tuple[np.ndarray, Any]:
        """(sum p x u over centred rows, sum p u)."""
        s = float(self.problem.weights @ u)
        return self.oracle.combine(u) - s * self.mean, s

    def inner(self, a: np.ndarray, b: np.ndarray) -> float:
        """sum p a b."""
        return float(self.problem.weights @ (a * b))

    def evaluate(self, centre: np.ndarray, gamma: float, u: np.ndarray) -> np.ndarray:
        """z at u; the slopes and rates there are kept."""
        problem, self.z = self.problem, np.empty(self.shape)

        def work(at: slice) -> None:
            proximal_rows(
                problem.compiled_loss, problem.y[at], problem.weights[at], gamma, centre[at], u[at], self.slopes[at],
                self.z[at], self.rate[at],
            )  # fmt: skip

        self.oracle.engine.map(work, spans(problem.n))
        return self.z

    def along(
        self, metric: Metric, centre: np.ndarray, u0: np.ndarray, u: np.ndarray, du: np.ndarray, t: float
    ) -> tuple[float, float]:
        """(the sum of the rows' parts at u + t du, less the squared distance to u0, and its derivative in t)."""
        problem = self.problem

        def work(at: slice) -> tuple[float, float]:
            return proximal_along(
                problem.compiled_loss, problem.y[at], problem.weights[at], problem.offset[at], metric.gamma,
                metric.sigma, centre[at], u0[at], u[at], du[at], t,
            )  # fmt: skip

        return self.oracle.engine.sum(work, spans(problem.n))

    def solve(self, metric: Metric, M: ProxJacobian, r: np.ndarray) -> Any:
        """The Newton direction where it was evaluated last, None if there is none."""
        return self.system.solve(metric, M, self.rate, r)

    def risk(self, scores: np.ndarray, b: Any, best: bool) -> tuple[float, Any]:
        """(sum p loss at these scores, b); with the best intercept in the place of b if `best`."""
        shift = 0.0
        if best and self.free:
            shift = self.oracle.best_intercept(scores, 0.0)
        return self.oracle.losses_at(scores, shift)[0], b + shift

    def linear(self, some: np.ndarray, gamma: float, z: np.ndarray) -> float:
        """sum p D over some rows at u = 0 and scores z."""
        problem = self.problem
        return linear_weight(problem.compiled_loss, problem.y[some], problem.weights[some], gamma, z)

    def without_ties(self, z: np.ndarray, size: float) -> np.ndarray:
        """Scores without ties among those of a row: there is one only."""
        return z

    def target_size(self, some: np.ndarray) -> float:
        """How large the scores are that the targets of some rows ask for."""
        return float(np.abs(self.problem.y[some]).mean())
