"""A prediction of the optimum without some rows, for losses of two linear pieces: hinge, absolute, quantile and novelty.

At the optimum some rows have their score at the breakpoint of their loss and u inside its domain; all others have u at an
end. As long as these sets stay as they are, the u at the breakpoints and the intercept solve a linear system,

    <x_j, w> + b + offset_j = breakpoint_j for these rows,  w = -M^-1 sum p u x,  sum p u = 0.

While the weights of the rows to be left out fall to 0, p u, w and b are linear functions of them, until a u at a breakpoint
comes to an end of its domain or another score to its breakpoint. The sets then change by that row, and the path goes on to the
end.
Nothing rests on the prediction: a certificate of the problem without the rows says how good it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.certificates.passes import clip_pass
from fenchel.losses import Absolute, Hinge, Novelty, Quantile
from fenchel.proofs.removal import is_quadratic_at_zero
from fenchel.proofs.settings import Settings
from fenchel.proofs.spaces import space_of
from fenchel.regularizers.metric import DiagonalMetric

if TYPE_CHECKING:
    from fenchel.result import Result

SOLVED = 1e-9  # residual of a linear system, relative to its right-hand side
INSIDE = 1e-6  # of the width of a dual domain: closer to an end counts as there

# The score at which the slope of a loss jumps.
BREAKPOINTS: dict[type, Callable[[Any, np.ndarray], np.ndarray]] = {
    Absolute: lambda loss, y: y,
    Hinge: lambda loss, y: loss.margin * y,
    Novelty: lambda loss, y: np.ones(y.size),
    Quantile: lambda loss, y: y,
}


class Predicted(NamedTuple):
    """Coefficients, intercept and dual point."""

    coef: np.ndarray
    intercept: float
    u: np.ndarray


class _State(NamedTuple):
    """p u of the rows at breakpoints, coefficients, intercept, and the scores less the breakpoints."""

    q: np.ndarray
    w: np.ndarray
    b: float
    off: np.ndarray


def _first(now: np.ndarray, later: np.ndarray) -> tuple[float, int]:
    """(the share of the way from `now` to `later` at which the first entry becomes negative, its place), or (1, -1)."""
    falls = later < 0.0
    if not falls.any():
        return 1.0, -1
    start = np.maximum(now, 0.0)
    with np.errstate(invalid="ignore"):
        shares = np.where(falls, start / (start - later), np.inf)
    place = int(np.argmin(shares))
    return min(float(shares[place]), 1.0), place


class BreakpointSteps:
    """The solution of all rows, from which those without some rows are predicted."""

    def __init__(self, result: Result, tuning: Settings):
        problem: Any = result.problem
        self.problem, self.tuning = problem, tuning
        self.low, self.high, self.u = (np.empty(problem.n) for _ in range(3))
        clip_pass(problem.compiled_loss, problem.y, np.asarray(result.dual_point), self.low, self.high, self.u)
        room = INSIDE * (self.high - self.low)
        self.m = np.asarray(space_of(problem).metric.m)  # type: ignore[union-attr]
        self.inside = (self.u > self.low + room) & (self.u < self.high - room)
        self.u = np.where(self.inside, self.u, np.where(self.u - self.low < self.high - self.u, self.low, self.high))
        self.below = self.u <= self.low  # the slope at scores below the breakpoint is the lower end
        self.breakpoints = BREAKPOINTS[type(problem.loss)](problem.loss, problem.y) - problem.offset

    def predict(self, reduced: Any) -> Predicted | None:
        """The solution of a problem without some of the rows, whose weights are 0; None if the path to it is too long."""
        X = self.problem.X
        # With the plain convention the objective is divided by the sum of the weights: undo that.
        end = reduced.weights * float(np.max(self.m / reduced.regularizer.metric(reduced.d).m))
        free, u, t = self.inside.copy(), self.u.copy(), 0.0
        below, switched = self.below.copy(), -1
        for _ in range(self.tuning.max_breakpoint_events):
            if np.count_nonzero(free) > self.tuning.max_breakpoints:
                return None
            at = np.flatnonzero(free)
            rows = X[at].toarray() if sp.issparse(X) else np.asarray(X[at], dtype=np.float64)
            ends = self._at(rows, at, free, u, np.column_stack([self._weights(t, end), end]))
            last = ends[1]
            change, row, leaves = self._first_event(ends, [self._weights(t, end), end], at, free, below, switched)
            if change >= 1.0:
                u[at] = np.clip(
                    np.divide(last.q, end[at], out=np.zeros(at.size), where=end[at] > 0.0), self.low[at], self.high[at]
                )
                return Predicted(last.w, last.b, u)
            t, switched = t + change * (1.0 - t), row
            free[row] = not leaves
            if leaves:
                place = int(np.searchsorted(at, row))
                q = ends[0].q[place] + change * (last.q[place] - ends[0].q[place])
                p = float(self._weights(t, end)[row])
                to_low = abs(q - p * self.low[row]) <= abs(q - p * self.high[row])
                u[row], below[row] = (self.low[row] if to_low else self.high[row]), to_low
        return None

    def _weights(self, t: float, end: np.ndarray) -> np.ndarray:
        """Those on the way from all rows (t = 0) to the end (t = 1)."""
        return (1.0 - t) * self.problem.weights + t * end

    def _at(self, rows: np.ndarray, at: np.ndarray, free: np.ndarray, u: np.ndarray, p: np.ndarray) -> list[_State]:
        """The solutions for the weights in each column of p, with these rows at breakpoints."""
        X, fixed = self.problem.X, np.where(free, 0.0, u)[:, None] * p
        v = -np.asarray(X.T @ fixed)
        q, b = self._solved(rows, self.breakpoints[at][:, None] - (rows / self.m) @ v, -fixed.sum(axis=0))
        w = (v - rows.T @ q) / self.m[:, None]
        off = np.asarray(X @ w) + b - self.breakpoints[:, None]
        return [_State(q[:, k], w[:, k], float(b[k]), off[:, k]) for k in range(p.shape[1])]

    def _first_event(
        self,
        ends: list[_State],
        weights: list[np.ndarray],
        at: np.ndarray,
        free: np.ndarray,
        below: np.ndarray,
        switched: int,
    ) -> tuple[float, int, bool]:
        """(share of the way to the first row whose set changes, the row, whether it leaves its breakpoint); 1 if none."""
        side = np.where(below, -1.0, 1.0)
        room = [side * state.off for state in ends]  # at least 0 for the rows beside their breakpoints
        for part in room:
            part[free] = np.inf
            if switched >= 0:  # it is at its breakpoint still, up to rounding
                part[switched] = np.inf
        share, row = _first(*room)
        to_low, to_high = (
            [sign * (state.q - p[at] * end[at]) for state, p in zip(ends, weights, strict=True)]
            for sign, end in ((1.0, self.low), (-1.0, self.high))
        )
        for part in (*to_low, *to_high):
            part[at == switched] = np.inf
        for pair in (to_low, to_high):
            if at.size and (found := _first(*pair))[0] < share:
                share, row = found[0], int(at[found[1]])
        return share, row, bool(row >= 0 and free[row])

    def _solved(self, rows: np.ndarray, breakpoints: np.ndarray, balance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(p u of the rows, intercepts): -rows M^-1 rows' q + b = breakpoints, and sum q = balance if b is free."""
        size, free = breakpoints.shape[0], self.problem.fit_intercept
        system = np.zeros((size + free, size + free))
        system[:size, :size] = -(rows / self.m) @ rows.T
        if free:
            system[:size, size] = system[size, :size] = 1.0
        right = np.vstack([breakpoints, balance]) if free else breakpoints
        try:
            found = np.linalg.solve(system, right)
        except np.linalg.LinAlgError:
            found = np.full(right.shape, np.nan)
        if not np.abs(system @ found - right).max(initial=0.0) <= SOLVED * np.abs(right).max(initial=0.0):
            found = np.linalg.lstsq(system, right, rcond=None)[
                0
            ]  # more rows at breakpoints than coefficients, or equal rows
        return found[:size], found[size] if free else np.zeros(right.shape[1])


def breakpoint_steps(result: Result, tuning: Settings) -> BreakpointSteps | None:
    """Predictions for a result; None if its loss or its regularizer is not of this kind."""
    problem: Any = result.problem
    if not problem.is_scalar or type(problem.loss) not in BREAKPOINTS or result.dual_point is None:
        return None
    metric = space_of(problem).metric
    if not isinstance(metric, DiagonalMetric) or not (metric.m > 0.0).all() or not is_quadratic_at_zero(problem):
        return None
    return BreakpointSteps(result, tuning)
