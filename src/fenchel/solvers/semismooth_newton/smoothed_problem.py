"""The smoothed problem of a proximal point step in the dual, at one point, and Newton steps on it.

phi(w, b) = sum p phi_i + R(w) with the smoothed losses of `kernels/envelope.py`. Rows whose loss is linear
around their scores may be left out: they enter as a fixed linear function of (w, b).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.kernels.envelope import domain_excess
from fenchel.solvers.dual_estimates import dual_estimate
from fenchel.solvers.newton_line_search.search import Line, newton_step
from fenchel.solvers.semismooth_newton.settings import SETTINGS
from fenchel.solvers.semismooth_newton.smoothed_rows import RowState, smoothed_sums

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


class Linear(NamedTuple):
    """constant + <gradient, w> + slope b: the losses of rows left out, and the sums of their u."""

    constant: float
    gradient: np.ndarray
    slope: float


class Claim(NamedTuple):
    """Values at a point; gap = inner + residual, which are reduced by Newton steps and by a smaller gamma."""

    primal: float
    dual: float
    residual: float
    share: float  # The multiple of t / p by which u must be reduced for sum p u = 0, if the intercept is free.

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    @property
    def inner(self) -> float:
        return self.gap - self.residual


class SmoothedProblem:
    """A point (w, b), the state of rows there, and the sums over them; `g` is sum p u x over all rows."""

    def __init__(self, oracle: Oracle, w: np.ndarray, b: float, gamma: float, u0: np.ndarray, part: Any):
        self.oracle, self.w, self.b, self.gamma = oracle, w, b, gamma
        self.regularizer = oracle.problem.regularizer
        self.d, self.free = oracle.problem.d, bool(oracle.problem.fit_intercept)
        self.part = part
        self.rows = RowState(u0, np.zeros(u0.size))
        self.nothing = self.fixed = Linear(0.0, np.zeros(self.d), 0.0)
        self.g, self.border = np.zeros(self.d), np.zeros(self.d if self.free else 0)
        self.short_steps = 0  # The number of short steps in a row.
        self.regularizer_at: Any = None  # (w, R(w), its gradient), for the last w that was asked for.
        self.score_change = np.inf  # The mean change of the scores over the last full step.
        self.total_score_change = 0.0  # The sum of such changes over all steps, at the lengths taken.
        self.searched = True  # Whether the last full step was rejected, and a line search chose its length.
        self.evaluate()

    def evaluate(self, fresh: bool = True) -> None:
        """Sums, dual variables and curvatures at (w, b) and gamma; scores too, if `fresh`."""
        self.sums = smoothed_sums(self.oracle, self.w, self.b, self.gamma, self.rows, self.g, self.border, fresh)

    def refresh(self) -> None:
        """Recompute the sum of u x, whose updates accumulate rounding errors."""
        self.g = self.oracle.combine(self.rows.u) + self.fixed.gradient

    def recentre(self, gamma: float) -> None:
        """Begin the next proximal point step."""
        self.rows.u0[:] = self.rows.u
        self.gamma = gamma
        self.part.recentre(self.w, gamma)
        self.regularizer_at = None
        self.evaluate(fresh=False)

    def widen(self) -> None:
        """Increase the smoothing after several short steps in a row: too few rows have curvature."""
        if self.short_steps >= SETTINGS.max_short_steps and self.gamma > 0.0:
            self.gamma, self.short_steps = SETTINGS.gamma_growth * self.gamma, 0
            self.evaluate(fresh=False)

    def left_out(self) -> float:
        """The losses of the rows left out."""
        if self.fixed is self.nothing:
            return 0.0
        return self.fixed.constant + float(self.fixed.gradient @ self.w) + self.fixed.slope * self.b

    def regular(self) -> tuple[float, np.ndarray]:
        """The smoothed R and its gradient at w."""
        if self.regularizer_at is None or self.regularizer_at[0] is not self.w:
            self.regularizer_at = (self.w, *self.part.evaluate(self.w))
        return self.regularizer_at[1], self.regularizer_at[2]

    def value(self) -> float:
        return self.sums.value + self.left_out() + self.regular()[0]

    def slopes(self) -> float:
        """sum p u: the derivative in b."""
        return self.sums.slopes + self.fixed.slope

    def claim(self) -> Claim:
        """P and D here. loss*(u) = u x - loss(x), so the loss part of D is the risk, less <u, z>, less the residual."""
        risk, r = self.sums.risk + self.left_out(), self.slopes()
        primal, losses = risk + self.part.exact(self.w, self.regular()[0]), risk - self.sums.residual
        residual = self.sums.residual + self.part.residual(self.w)
        if not self.free or self.sums.total_curvature <= 0.0:
            return Claim(primal, dual_estimate(self.oracle, self.w, self.b, losses, self.g, r), residual, 0.0)
        # The rows with curvature balance u, in proportion to it: where the loss is nonsmooth, loss* is linear there.
        share = r / self.sums.total_curvature
        g = self.g - share * self.border
        losses += share * self.sums.breakpoints - float(self.w @ self.g) - self.b * r
        return Claim(primal, self.dual(losses, g), residual, share)

    def imbalance_cost(self, claim: Claim) -> float:
        """How much too high the claimed dual value may be because u, balanced as `claim` assumes, leaves the domain of loss*.

        What lies outside has to be balanced by other rows, each unit of it at the cost of about a score. While few rows have
        curvature, that may be more than the gap.
        """
        if not self.free:
            return 0.0
        problem, rows = self.oracle.problem, self.rows
        if self.sums.total_curvature <= 0.0:  # no row can make up for sum p u
            return 0.0 if abs(self.slopes()) <= SETTINGS.max_imbalance else np.inf
        excess = domain_excess(problem.compiled_loss, problem.y, problem.weights, rows.u, rows.t, claim.share)
        return excess * (abs(self.b) + float(np.abs(rows.z).mean())) if excess > 0.0 else 0.0

    def dual(self, losses: float, g: np.ndarray) -> float:
        """D, where sum p u x is g: scaled into the domain of R*, which costs at most that share of the losses."""
        scale = self.regularizer.dual_scale(-g)
        return scale * losses - self.regularizer.conjugate(-scale * g)

    def direction(self) -> tuple[np.ndarray, float, float] | None:
        """(dw, db, squared Newton decrement); None if the numbers overflow."""
        gradient = self.g + self.regular()[1]
        if self.free:
            gradient = np.append(gradient, self.slopes())
        step = newton_step(self.hessian(), gradient, self.hessian)
        if step is None:
            return None
        return step[: self.d], float(step[self.d]) if self.free else 0.0, float(-(gradient @ step))

    def hessian(self) -> np.ndarray:
        """The second derivative on and above the diagonal."""
        d, H = self.d, self.oracle.upper_gram(self.rows.t)
        H += self.part.hessian(self.w)
        if self.free:
            bordered = np.empty((d + 1, d + 1))
            bordered[:d, :d], bordered[:d, d] = H, self.border
            bordered[d, d] = self.sums.total_curvature if self.sums.total_curvature > 0.0 else 1.0
            return bordered
        return H

    def step(self) -> bool | None:
        """A Newton step; False if the direction does not descend, None if the numbers overflow.

        The full step is tried by a pass over the data, unless the last one was rejected: then stored scores decide first.
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
            t = 1.0 if line.acceptable(*line.at(1.0)[:2], SETTINGS.max_full_step_slope_ratio) else line.search()
        else:
            self.w, self.b, self.rows.z = line.w + dw, line.b + db, np.empty(line.z.size)
            self.evaluate()
            line.dz = self.rows.z - line.z
            t = 1.0
            if not line.acceptable(self.value(), self.slope_along(dw, db), SETTINGS.max_full_step_slope_ratio):
                t = line.search()
        if self.searched or t != 1.0:
            self.go(line, t)
        self.searched = t != 1.0
        self.short_steps = self.short_steps + 1 if t < SETTINGS.short_step else 0
        self.score_change = float(np.abs(line.dz).sum()) / line.dz.size
        self.total_score_change += t * self.score_change
        return t > 0.0

    def go(self, line: Line, t: float) -> None:
        """Move to a point of the line."""
        self.w, self.b, self.rows.z = line.w + t * line.dw, line.b + t * line.db, line.z + t * line.dz
        self.evaluate(fresh=t > SETTINGS.max_stored_step)  # a long step multiplies the rounding errors of dz

    def line_search_from(self, w: np.ndarray, b: float, z: np.ndarray) -> None:
        """Move to the best point between (w, b), whose scores are z, and the current one."""
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
