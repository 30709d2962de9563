"""The smoothed problem of a proximal point step in the dual, at one point, and Newton steps on it.

phi(w, b) = sum p phi_i + R(w) with the smoothed losses of `kernels/envelope.py`. Some rows may be left out: those whose loss
is linear around their scores, which enter as a fixed linear function of (w, b).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.solvers.dual_estimates import dual_estimate
from fenchel.solvers.newton_line_search.search import Line, newton_step
from fenchel.solvers.semismooth_newton.smoothed_rows import RowState, smoothed_sums

FLAT = 0.3  # of the first derivative along a step: where the full step is good enough
SHORT = 0.05  # share of a full step that counts as little
MOST_SHORT, GROWTH = 5, 4.0  # such steps in a row after which gamma grows, and by how much


class Linear(NamedTuple):
    """constant + <gradient, w> + slope b: the losses of rows left out, and the sums of their u."""

    constant: float
    gradient: np.ndarray
    slope: float


class Claim(NamedTuple):
    """Values at a point; gap = inner + residual, what Newton steps and what a smaller gamma can take away."""

    primal: float
    dual: float
    residual: float
    share: float  # of t / p by which u must fall to be balanced, if the intercept is free

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    @property
    def inner(self) -> float:
        return self.gap - self.residual


class SmoothedProblem:
    """A point (w, b), the state of rows there, and the sums over them; `g` is sum p u x over all rows."""

    def __init__(self, oracle: Any, w: np.ndarray, b: float, gamma: float, u0: np.ndarray):
        self.oracle, self.w, self.b, self.gamma = oracle, w, b, gamma
        self.regularizer = oracle.problem.regularizer
        self.d, self.free = oracle.problem.d, bool(oracle.problem.fit_intercept)
        self.curvature = self.regularizer.hessian(self.d)
        self.rows = RowState(u0, np.zeros(u0.size))
        self.fixed = Linear(0.0, np.zeros(self.d), 0.0)
        self.g, self.border = np.zeros(self.d), np.zeros(self.d if self.free else 0)
        self.short = 0  # steps in a row of which little was left
        self.known: Any = None  # (w, R, its gradient)
        self.moved = np.inf  # mean change of the scores in the last full step
        self.travelled = 0.0  # ... in all steps together
        self.searched = True  # whether the last step was cut or stretched
        self.look()

    def look(self, fresh: bool = True) -> None:
        """Everything at (w, b) and gamma."""
        self.sums = smoothed_sums(self.oracle, self.w, self.b, self.gamma, self.rows, self.g, self.border, fresh)

    def refresh(self) -> None:
        """The sum of u x without the rounding of many changes."""
        self.g = self.oracle.combine(self.rows.u) + self.fixed.gradient

    def recentre(self, gamma: float) -> None:
        """The next proximal point step."""
        self.rows.u0[:] = self.rows.u
        self.gamma = gamma
        self.look(fresh=False)

    def widen(self) -> None:
        """More smoothing, if steps have come to little again and again: too few rows have curvature."""
        if self.short >= MOST_SHORT and self.gamma > 0.0:
            self.gamma, self.short = GROWTH * self.gamma, 0
            self.look(fresh=False)

    def left_out(self) -> float:
        """The losses of the rows left out."""
        return self.fixed.constant + float(self.fixed.gradient @ self.w) + self.fixed.slope * self.b

    def regular(self) -> tuple[float, np.ndarray]:
        """R and its gradient at w."""
        if self.known is None or self.known[0] is not self.w:
            self.known = (self.w, self.regularizer.value(self.w), self.regularizer.gradient(self.w))
        return self.known[1], self.known[2]

    def value(self) -> float:
        return self.sums.value + self.left_out() + self.regular()[0]

    def slopes(self) -> float:
        """sum p u: the derivative in b."""
        return self.sums.slopes + self.fixed.slope

    def claim(self) -> Claim:
        """P and D here. loss*(u) = u x - loss(x), so the loss part of D is the risk, less <u, z>, less the residual."""
        risk, r = self.sums.risk + self.left_out(), self.slopes()
        primal, losses = risk + self.regular()[0], risk - self.sums.residual
        if not self.free or self.sums.total_curvature <= 0.0:
            return Claim(primal, dual_estimate(self.oracle, self.w, self.b, losses, self.g, r), self.sums.residual, 0.0)
        # u is balanced by the rows with curvature, in proportion: where the loss is nonsmooth, loss* is linear there.
        share = r / self.sums.total_curvature
        g = self.g - share * self.border
        losses += share * self.sums.breakpoints - float(self.w @ self.g) - self.b * r
        return Claim(primal, losses - self.regularizer.conjugate(-g), self.sums.residual, share)

    def direction(self) -> tuple[np.ndarray, float, float] | None:
        """(dw, db, squared Newton decrement); None if numbers overflow."""
        gradient = self.g + self.regular()[1]
        if self.free:
            gradient = np.append(gradient, self.slopes())
        step = newton_step(self.hessian, gradient)
        if step is None:
            return None
        return step[: self.d], float(step[self.d]) if self.free else 0.0, float(-(gradient @ step))

    def hessian(self) -> np.ndarray:
        """The second derivative on and above the diagonal."""
        d, H = self.d, self.oracle.upper_gram(self.rows.t)
        H += self.curvature
        if self.free:
            whole = np.empty((d + 1, d + 1))
            whole[:d, :d], whole[:d, d] = H, self.border
            whole[d, d] = self.sums.total_curvature if self.sums.total_curvature > 0.0 else 1.0
            return whole
        return H

    def step(self) -> bool | None:
        """A Newton step; False if none goes down, None if numbers overflow.

        The full step is tried with a whole look, unless the last one was too long: then stored scores decide first.
        """
        found = self.direction()
        if found is None:
            return None
        dw, db, decrement = found
        if not decrement > 0.0:
            return False
        line = Line(self, dw, db, decrement)
        if self.searched:
            line.dz = self.oracle.scores(dw) - self.oracle.problem.offset + db
            t = 1.0 if line.good(*line.at(1.0)[:2], FLAT) else line.search()
        else:
            self.w, self.b, self.rows.z = line.w + dw, line.b + db, np.empty(line.z.size)
            self.look()
            line.dz = self.rows.z - line.z
            t = 1.0
            if not line.good(self.value(), self.slope_along(dw, db), FLAT):
                t = line.search()
        if self.searched or t != 1.0:
            self.go(line, t)
        self.searched = t != 1.0
        self.short = self.short + 1 if t < SHORT else 0
        self.moved = float(np.abs(line.dz).mean())
        self.travelled += t * self.moved
        return t > 0.0

    def go(self, line: Line, t: float) -> None:
        """To a point of the line."""
        self.w, self.b, self.rows.z = line.w + t * line.dw, line.b + t * line.db, line.z + t * line.dz
        self.look(fresh=False)

    def back_towards(self, w: np.ndarray, b: float, z: np.ndarray) -> None:
        """The best point between (w, b), whose scores are z, and here."""
        line = Line(self, self.w - w, self.b - b, np.inf)
        if self.slope_along(line.dw, line.db) <= 0.0:
            return
        line.w, line.b, line.z, line.dz = w, b, z, self.rows.z - z
        line.begin, slope, _ = line.at(0.0)
        line.decrement = -slope
        self.go(line, line.search() if slope < 0.0 else 0.0)

    def slope_along(self, dw: np.ndarray, db: float) -> float:
        """The derivative of phi along a direction, here."""
        return float((self.g + self.regular()[1]) @ dw) + self.slopes() * db
