"""One proximal point step, in its dual variables, and Newton steps on it.

The step from (w0, b0, z0), in the variables in which the rows are centred if the intercept is free:

    min over w, b, z of F(z) + R(w) + sum_j (w - w0)_j^2 / (2 step_w_j) + (b - b0)^2 / (2 step_b)
                        + sum_i p_i (z - z0)_i^2 / (2 gamma)  with z = Xc w + b + offset

Its dual is smooth and concave in u, with derivative p (Xc w(u) + b(u) + offset - z(u)):

    w(u) = prox of R at w0 - step_w Xc'(p u),   b(u) = b0 - step_b sum p u,   z(u) = prox of gamma loss at z0 + gamma u.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.engines.local import spans
from fenchel.kernels.proximal_rows import proximal_along, proximal_rows
from fenchel.solvers.newton_line_search.search import Line
from fenchel.solvers.proximal_point_newton.newton_system import Metric, NewtonSystem
from fenchel.solvers.proximal_point_newton.prox_operator import ProxOperator
from fenchel.solvers.proximal_point_newton.settings import SETTINGS


class Centre(NamedTuple):
    """Where a proximal step begins; b is the intercept for centred rows."""

    w: np.ndarray
    b: float
    z: np.ndarray


class DualLine(Line):
    """Minus the dual value on u + t du, from stored sums: no pass over X."""

    def __init__(self, step: ProximalStep, du: np.ndarray, dg: np.ndarray, ds: float, decrement: float):
        self.step, self.du, self.dg, self.ds, self.decrement = step, du, dg, ds, decrement
        self.begin = self.at(0.0)[0]

    def at(self, t: float) -> tuple[float, float, float]:
        """The value and its derivatives in t."""
        return self.step.along(self.du, self.dg, self.ds, t)


class ProximalStep:
    """A proximal step at dual variables u; `g` is Xc'(p u) and `s` is sum p u."""

    def __init__(
        self, oracle: Any, operator: ProxOperator, system: NewtonSystem, mean: np.ndarray, u: np.ndarray, g: np.ndarray
    ):
        self.oracle, self.problem, self.operator, self.system, self.mean = (
            oracle,
            oracle.problem,
            operator,
            system,
            mean,
        )
        self.u, self.g, self.s = u, g, float(oracle.problem.weights @ u)
        n = oracle.problem.n
        self.slopes, self.z, self.rate = np.empty(n), np.empty(n), np.empty(n)

    def begin(self, centre: Centre, metric: Metric) -> None:
        """Start the step from a centre, at the present u."""
        self.centre, self.metric = centre, metric
        self.u0 = self.u.copy()
        self.evaluate()

    def refresh(self) -> None:
        """Recompute the sums over rows, whose updates accumulate rounding errors."""
        self.s = float(self.problem.weights @ self.u)
        self.g = self.oracle.combine(self.u) - self.s * self.mean

    def primal_at(self, g: np.ndarray, s: float) -> tuple[np.ndarray, np.ndarray, float]:
        """(the argument of the prox, w, b)."""
        x = self.centre.w - self.metric.step_w * g
        return x, self.operator.prox(x, self.metric.step_w), self.centre.b - self.metric.step_b * s

    def evaluate(self) -> None:
        """w, b, z and the residual r at u: one half of a pass."""
        problem = self.problem
        self.x, self.w, self.b = self.primal_at(self.g, self.s)

        def work(at: slice) -> None:
            proximal_rows(
                problem.compiled_loss, problem.y[at], problem.weights[at], self.metric.gamma, self.centre.z[at],
                self.u[at], self.slopes[at], self.z[at], self.rate[at],
            )  # fmt: skip

        self.oracle.engine.map(work, spans(problem.n))
        self.scores = self.oracle.scores(self.w) + self.intercept()
        self.r = self.scores - self.z - self.metric.sigma * (self.u - self.u0)

    def intercept(self) -> float:
        """The intercept for rows as they are."""
        return self.b - float(self.mean @ self.w) if self.problem.fit_intercept else 0.0

    def along(self, du: np.ndarray, dg: np.ndarray, ds: float, t: float) -> tuple[float, float, float]:
        """Minus the dual value at u + t du, and its derivatives in t."""
        problem, metric, centre = self.problem, self.metric, self.centre
        g, s = self.g + t * dg, self.s + t * ds
        x, w, b = self.primal_at(g, s)
        move = w - centre.w

        def work(at: slice) -> Any:
            return proximal_along(
                problem.compiled_loss, problem.y[at], problem.weights[at], problem.offset[at], metric.gamma,
                centre.z[at], self.u[at], du[at], t,
            )  # fmt: skip

        value, slope, second = self.oracle.engine.sum(work, spans(problem.n))
        p, turn = problem.weights, self.u - self.u0 + t * du
        value -= 0.5 * metric.sigma * float(p @ (turn * turn))
        slope -= metric.sigma * float(p @ (turn * du))
        second += metric.sigma * float(p @ (du * du))
        value += problem.regularizer.value(w) + float(g @ w) + 0.5 * float(np.sum(move * move / metric.step_w))
        slope += float(dg @ w)
        M = self.operator.jacobian(x, metric.step_w, w)
        second += float(np.sum(metric.step_w * dg * (M @ dg)))
        if metric.step_b > 0.0:
            value += b * s + 0.5 * (b - centre.b) ** 2 / metric.step_b
            slope += b * ds
            second += metric.step_b * ds * ds
        return -value, -slope, second

    def error(self) -> float:
        """The residual, weighted by p."""
        return float(np.sqrt(self.problem.weights @ (self.r * self.r)))

    def change(self) -> float:
        """How far the step has moved (w, z), in the metric of scores."""
        p, metric, centre = self.problem.weights, self.metric, self.centre
        move, scores = self.w - centre.w, self.z - centre.z
        turn = self.u - self.u0
        return float(
            np.sqrt(
                metric.gamma * np.sum(move * move / metric.step_w)
                + p @ (scores * scores)
                + metric.gamma * metric.sigma * (p @ (turn * turn))
            )
        )

    def newton(self) -> bool:
        """A Newton step; False if there is none that improves the dual value."""
        M = self.operator.jacobian(self.x, self.metric.step_w, self.w)
        du = self.system.solve(self.metric, M, self.rate, self.r)
        if du is None:
            return False
        p = self.problem.weights
        ds = float(p @ du)
        dg = self.oracle.combine(du) - ds * self.mean
        decrement = float(p @ (self.r * du))
        if not decrement > 0.0:
            return False
        line = DualLine(self, du, dg, ds, decrement)
        t = 1.0 if line.acceptable(*line.at(1.0)[:2], SETTINGS.max_full_step_slope_ratio) else line.search()
        if not t > 0.0:
            return False
        self.u, self.g, self.s = self.u + t * du, self.g + t * dg, self.s + t * ds
        self.evaluate()
        return True
