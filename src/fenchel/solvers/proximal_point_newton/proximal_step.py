"""One proximal point step, in its dual variables, and Newton steps on it.

The step from (w0, b0, z0), in the variables in which the rows are centred if the intercept is free:

    min over w, b, z of F(z) + R(w) + sum_j (w - w0)_j^2 / (2 step_w_j) + |b - b0|^2 / (2 step_b)
                        + sum_i p_i |z - z0|_i^2 / (2 gamma)  with z = Xc w + b + offset

Its dual is smooth and concave in u, with derivative p (Xc w(u) + b(u) + offset - z(u)):

    w(u) = prox of R at w0 - step_w Xc'(p u),   b(u) = b0 - step_b sum p u,   z(u) = prox of gamma loss at z0 + gamma u.

With several scores per row, z_i, u_i and b are vectors.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.solvers.proximal_point_newton.dual_line import DualLine
from fenchel.solvers.proximal_point_newton.newton_system import Metric
from fenchel.solvers.proximal_point_newton.prox_operator import ProxOperator


class Centre(NamedTuple):
    """Where a proximal step begins; b is the intercept for centred rows."""

    w: np.ndarray
    b: Any
    z: np.ndarray


class ProximalStep:
    """A proximal step at dual variables u; `g` is Xc'(p u) and `s` is sum p u."""

    def __init__(self, rows: Any, operator: ProxOperator, u: np.ndarray):
        self.rows, self.problem, self.operator = rows, rows.problem, operator
        self.u = u
        self.refresh()

    def begin(self, centre: Centre, metric: Metric) -> None:
        """Start the step from a centre, at the present u."""
        self.centre, self.metric = centre, metric
        self.u0 = self.u.copy()
        self.evaluate()

    def refresh(self) -> None:
        """Recompute the sums over rows, whose updates accumulate rounding errors."""
        self.g, self.s = self.rows.combine(self.u)

    def primal_at(self, g: np.ndarray, s: Any) -> tuple[np.ndarray, np.ndarray, Any]:
        """(the argument of the prox, w, b)."""
        x = self.centre.w - self.metric.step_w * g
        return x, self.operator.prox(x, self.metric.step_w), self.centre.b - self.metric.step_b * s

    def evaluate(self) -> None:
        """w, b, z and the residual r at u: one half of a pass."""
        self.x, self.w, self.b = self.primal_at(self.g, self.s)
        self.z = self.rows.evaluate(self.centre.z, self.metric.gamma, self.u)
        self.scores = self.rows.scores(self.w, self.b)
        self.r = self.scores - self.z - self.metric.sigma * (self.u - self.u0)
        self.value: float | None = None

    def value_at(self, du: np.ndarray, dg: np.ndarray, ds: Any) -> float:
        """Minus the dual value at u; known if u is where the last search ended."""
        if self.value is None:
            self.value = self.along(du, dg, ds, 0.0)[0]
        return self.value

    def along(self, du: np.ndarray, dg: np.ndarray, ds: Any, t: float) -> tuple[float, float]:
        """Minus the dual value at u + t du, and its derivative in t."""
        metric, centre, rows = self.metric, self.centre, self.rows
        g, s = self.g + t * dg, self.s + t * ds
        _, w, b = self.primal_at(g, s)
        move = w - centre.w
        value, slope = rows.along(metric, centre.z, self.u0, self.u, du, t)
        value += rows.regularizer.value(w) + float(g @ w) + 0.5 * float(np.sum(move * move / metric.step_w))
        slope += float(dg @ w)
        if metric.step_b > 0.0:
            value += float(np.sum(b * s + 0.5 * np.square(b - centre.b) / metric.step_b))
            slope += float(np.sum(b * ds))
        return -value, -slope

    def error(self) -> float:
        """The residual, weighted by p."""
        return float(np.sqrt(self.rows.inner(self.r, self.r)))

    def size(self) -> float:
        """The scores and gamma u, weighted by p: what rounding errors of the residual are proportional to."""
        inner = self.rows.inner
        return float(np.sqrt(inner(self.z, self.z)) + self.metric.gamma * np.sqrt(inner(self.u, self.u)))

    def change(self) -> float:
        """How far the step has moved (w, z), in the metric of scores."""
        metric, centre, inner = self.metric, self.centre, self.rows.inner
        move, scores, turn = self.w - centre.w, self.z - centre.z, self.u - self.u0
        moved = metric.gamma * float(np.sum(move * move / metric.step_w)) + inner(scores, scores)
        return float(np.sqrt(moved + metric.gamma * metric.sigma * inner(turn, turn)))

    def newton(self) -> bool:
        """A Newton step; False if there is none that improves the dual value."""
        M = self.operator.jacobian(self.x, self.metric.step_w, self.w)
        du = self.rows.solve(self.metric, M, self.r)
        if du is None:
            return False
        dg, ds = self.rows.combine(du)
        decrement = self.rows.inner(self.r, du)
        if not decrement > 0.0:
            return False
        t, value = DualLine(self, du, dg, ds, decrement).search()
        if not t > 0.0:
            return False
        self.u, self.g, self.s = self.u + t * du, self.g + t * dg, self.s + t * ds
        self.evaluate()
        self.value = value
        return True
