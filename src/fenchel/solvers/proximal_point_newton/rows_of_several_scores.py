"""What a proximal step asks of the rows, for losses of several scores; as `rows_of_one_score.py`.

Scores and dual variables have a row per row of X, w is W feature by feature; b and s are vectors, 0 without free intercepts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.solvers.centred_variables import column_variances
from fenchel.solvers.proximal_point_newton.newton_system import Metric
from fenchel.solvers.proximal_point_newton.score_curvature import curvature_at
from fenchel.solvers.proximal_point_newton.score_duals import ScoreDuals
from fenchel.solvers.proximal_point_newton.score_system import ScoreSystem
from fenchel.solvers.proximal_point_newton.settings import SETTINGS


class RowsOfSeveralScores:
    """The rows of a problem of several scores per row."""

    def __init__(self, oracle: Any):
        self.oracle, self.problem = oracle, oracle.problem
        problem = self.problem
        self.free, self.shape = problem.free, problem.dual_shape
        self.d = problem.features * problem.outputs
        self.regularizer = problem.penalty
        self.mean = oracle.mean_row if self.free else np.zeros(problem.features)
        self.first_step_rows = SETTINGS.first_step_score_rows
        self.step_ratio = min(float(problem.n), SETTINGS.score_step_ratio)
        self.system = ScoreSystem(oracle, self.mean)
        self.duals = ScoreDuals(oracle.engine, problem.compiled_loss, problem.y, problem.weights)

    def variances(self) -> np.ndarray:
        """Of the column of every coefficient."""
        return np.repeat(column_variances(self.oracle, self.mean), self.problem.outputs)

    def split(self, coef: np.ndarray, intercept: float) -> tuple[np.ndarray, Any]:
        """(w, b) from the variables of an iterate."""
        coef = self.oracle.centred(coef)
        return coef[: self.d].copy(), coef[self.d :].copy() if self.free else np.zeros(self.problem.outputs)

    def join(self, w: np.ndarray, b: Any) -> tuple[np.ndarray, float]:
        """The variables of an iterate from (w, b)."""
        return self.oracle.uncentred(np.append(w, b)) if self.free else w, 0.0

    def scores(self, w: np.ndarray, b: Any) -> np.ndarray:
        """The scores of all rows: half of a pass."""
        return self.oracle.score_matrix(self.join(w, b)[0])

    def combine(self, u: np.ndarray) -> tuple[np.ndarray, Any]:
        """(sum p x u' over centred rows, sum p u)."""
        g = self.oracle.combine(u)
        if not self.free:
            return g, np.zeros(self.problem.outputs)
        g = self.oracle.centred_gradient(g)
        return g[: self.d], g[self.d :]

    def inner(self, a: np.ndarray, b: np.ndarray) -> float:
        """sum p <a, b>."""
        return self.duals.inner(a, b)

    def evaluate(self, centre: np.ndarray, gamma: float, u: np.ndarray) -> np.ndarray:
        """z at u; the slopes there are kept."""
        self.T = centre + gamma * u
        self.slopes = self.duals.remembered(self.T, gamma)
        return centre - gamma * (self.slopes - u)

    def along(
        self, metric: Metric, centre: np.ndarray, u0: np.ndarray, u: np.ndarray, du: np.ndarray, t: float
    ) -> tuple[float, float]:
        """(the sum of the rows' parts at u + t du, less the squared distance to u0, and its derivative in t)."""
        return self.duals.along(metric, centre, u0, u, du, t)

    def solve(self, metric: Metric, M: ProxJacobian, r: np.ndarray) -> Any:
        """The Newton direction where it was evaluated last, None if there is none."""
        curvature = curvature_at(self.problem, self.duals, metric.gamma, metric.sigma, self.T, self.slopes)
        return self.system.solve(metric, M, curvature, r)

    def risk(self, scores: np.ndarray, b: Any, best: bool) -> tuple[float, Any]:
        """(sum p loss at these scores, b)."""
        return self.duals.values(scores), b

    def linear(self, some: np.ndarray, gamma: float, z: np.ndarray) -> float:
        """sum p trace(D) / m over some rows at u = 0 and scores z."""
        duals = ScoreDuals(self.oracle.engine, self.duals.loss, self.duals.y[some], self.duals.p[some])
        J = duals.jacobians(z, gamma, duals.prox(z, gamma))
        return float(duals.p @ (1.0 - np.einsum("icc->i", J) / self.shape[1]))

    def without_ties(self, z: np.ndarray, size: float) -> np.ndarray:
        """Scores spread by about `size`, instead of z: equal scores have curvature at any step where a loss sorts them, and
        those of a good start so little that steps would be too long."""
        return size * np.random.default_rng(0).standard_normal(z.shape)

    def target_size(self, some: np.ndarray) -> float:
        """How large the scores are that the targets of some rows ask for: margins of classes are 1."""
        return float(np.abs(self.problem.y[some]).mean()) if self.problem.several_targets else 1.0
