"""The prox of R0 on a polyhedron, by semismooth Newton on its multipliers.

    min over x of step R0(x) + 1/2 |x - t|^2  with lower <= A x <= upper

has the dual  min over y of e(t - A'y) + S(y),  with e the convex function whose gradient is x(t) = prox of step R0 at t, and
S(y) = sum_i upper_i y_i if y_i > 0, lower_i y_i if y_i < 0. Proximal steps in y and in z = A x make it smooth and strongly
convex: a step minimises

    e(t - A'y) + sum_i max over z_i in [lower_i, upper_i] of y_i z_i - (z_i - c_i)^2 / (2 gamma) + delta/2 |y - y0|^2,

whose gradient is z(y) - A x + delta (y - y0) with z(y) = clip(c + gamma y, lower, upper). gamma grows and delta falls from step
to step. After each, the rows that z(y) finds at an end of their interval are tried as the active ones: Newton's method for
A x = end on these alone, which ends with the accuracy of floats if they are the right ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.regularizers.constraint_rows import Rows
from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.regularizers.numerics import Vector, quiet

EPS = 2.0**-52
MAX_PROXIMAL_STEPS = 30
MAX_NEWTON_STEPS = 50
MAX_TRIALS = 40  # of a line search
FIRST_GAMMA, GAMMA_GROWTH, MAX_GAMMA = 10.0, 10.0, 1e10
FIRST_DELTA, DELTA_FALL, MIN_DELTA = 1e-3, 0.1, 1e-12
ENOUGH = 16.0  # roundings of the residual of a row
STEEP = 0.3  # fraction of the slope that a full Newton step may leave
MAX_POLISHES = 6  # Newton steps for the active rows
FIRST_STEPS, STAGE_STEPS = 4, 4  # proximal steps before t is reduced, and with each reduced t
SMALLEST_SHARE, SHARE_GROWTH = 1e-12, 4.0
MAX_CORRECTIONS, CORRECTED, SHORTEST = 6, 16.0 * EPS, 2.0**-100
RIDGE = 1e-14  # relative, of a Newton matrix that is singular


class Point(NamedTuple):
    """The minimiser x, its multipliers y, and whether the conditions of optimality hold up to rounding."""

    x: Vector
    y: Vector
    solved: bool
    error: float


class Search:
    """The minimisation for one t and one step."""

    def __init__(self, regularizer: Any, rows: Rows, t: Vector, step: float):
        self.regularizer, self.rows, self.t, self.step = regularizer, rows, t, step

    def at(self, y: Vector) -> tuple[Vector, Vector, Vector]:
        """(argument of the prox, x, A x)."""
        argument = self.t - self.rows.At @ y
        if not np.isfinite(argument).all():
            return argument, np.full(argument.size, np.nan), np.full(y.size, np.nan)
        x = np.asarray(self.regularizer.prox(argument, self.step), dtype=np.float64)
        return argument, x, x @ self.rows.At

    def noise(self, argument: Vector, y: Vector) -> float:
        """The rounding error of A x."""
        size = float(np.max(np.abs(argument))) + float(np.max(np.abs(self.t)))
        return ENOUGH * EPS * (size + float(np.max(np.abs(y), initial=0.0)))

    def jacobian(self, argument: Vector) -> ProxJacobian:
        return self.regularizer.prox_jacobian(argument, self.step)

    def residual(self, y: Vector, Ax: Vector) -> float:
        """How far y and x are from optimality."""
        return float(np.max(np.abs(Ax - np.clip(Ax + y, self.rows.lower, self.rows.upper)), initial=0.0))

    def solve(self, y: Vector, max_steps: int = MAX_PROXIMAL_STEPS) -> Point:
        """Proximal steps, until the residual is rounding."""
        lower, upper = self.rows.lower, self.rows.upper
        argument, x, Ax = self.at(y)
        best = (self.residual(y, Ax), x, y)
        gamma, delta, c = FIRST_GAMMA, FIRST_DELTA, np.clip(Ax, lower, upper)
        for _ in range(max_steps):
            if best[0] <= self.noise(argument, best[2]):
                break
            y = self.proximal_step(y, c, gamma, delta)
            c = np.clip(c + gamma * y, lower, upper)
            at_end = np.where(c >= upper, 1, 0) - np.where(c <= lower, 1, 0)
            at_end[lower == upper] = 2
            for candidate in (y, self.polished(y, at_end)):
                argument, x, Ax = self.at(candidate)
                error = self.residual(candidate, Ax)
                if error < best[0]:
                    best = (error, x, candidate)
            if not np.isfinite(y).all():
                break
            gamma = min(gamma * GAMMA_GROWTH, MAX_GAMMA)
            delta = max(delta * DELTA_FALL, MIN_DELTA)
        argument = self.t - self.rows.At @ best[2]
        return Point(best[1], best[2], best[0] <= 100.0 * self.noise(argument, best[2]), best[0])

    def proximal_step(self, y: Vector, c: Vector, gamma: float, delta: float) -> Vector:
        """The minimiser of the smoothed function around (y, c)."""
        y0 = y
        argument, g, inside = self.gradient(y, y0, c, gamma, delta)
        for _ in range(MAX_NEWTON_STEPS):
            if float(np.max(np.abs(g), initial=0.0)) <= self.noise(argument, y):
                break
            if not np.isfinite(g).all():
                break
            H = self.rows.At.T @ (self.jacobian(argument) @ self.rows.At)
            H.flat[:: H.shape[0] + 1] += np.where(inside, gamma, 0.0) + delta
            d = -solved(H, g)
            slope = float(g @ d)
            if not slope < 0.0:
                break
            low, high, length, end = 0.0, np.inf, 1.0, slope
            for _ in range(MAX_TRIALS):
                found = self.gradient(y + length * d, y0, c, gamma, delta)
                end = float(found[1] @ d)
                if abs(end) <= -STEEP * slope:
                    break
                low, high = (length, high) if end < 0.0 else (low, length)
                length = 2.0 * length if high == np.inf else 0.5 * (low + high)
            y = y + length * d
            argument, g, inside = found
        return y

    def gradient(self, y: Vector, y0: Vector, c: Vector, gamma: float, delta: float) -> tuple[Vector, ...]:
        """(argument of the prox, gradient, which z are inside their interval)."""
        argument, _, Ax = self.at(y)
        free = c + gamma * y
        z = np.clip(free, self.rows.lower, self.rows.upper)
        return argument, z - Ax + delta * (y - y0), z == free

    def polished(self, y: Vector, at_end: Vector) -> Vector:
        """Multipliers for which the rows at an end of their interval stay there, those of the other rows being 0."""
        active = np.flatnonzero(at_end)
        out = np.zeros(y.size)
        if active.size == 0:
            return out
        end = np.where(at_end > 0, self.rows.upper, self.rows.lower)[active]
        out[active] = y[active]
        for _ in range(MAX_POLISHES):
            argument, _, Ax = self.at(out)
            left = Ax[active] - end
            if not np.isfinite(left).all() or float(np.max(np.abs(left))) <= self.noise(argument, out) / ENOUGH:
                break
            A = self.rows.At[:, active]
            H = A.T @ (self.jacobian(argument) @ A)
            out[active] += solved(H, left)
            if not np.isfinite(out).all():
                return y
        return out


def constrained_prox(regularizer: Any, rows: Rows, t: Vector, step: float, y: Vector) -> Point:
    """The prox of R0 at t on the polyhedron, from the multipliers y.

    Where R0 is not curved and t is far away, the dual is nearly piecewise linear. If Newton steps fail for that reason, t and
    the step are reduced, which is the same problem with a larger square: its multipliers, enlarged, are the next start.
    """
    found = Search(regularizer, rows, t, step).solve(y, FIRST_STEPS)
    size = float(np.max(np.abs(t)))
    if found.solved or not 0.0 < size < np.inf or not np.isfinite(found.x).all():
        return found
    share = min(1.0, max(float(np.max(np.abs(found.x))) / size, SMALLEST_SHARE))
    y = np.zeros(y.size)
    while share < 1.0:
        y = Search(regularizer, rows, share * t, share * step).solve(share * y, STAGE_STEPS).y / share
        share *= SHARE_GROWTH
    again = Search(regularizer, rows, t, step).solve(y)
    return again if again.solved or again.error < found.error else found


def corrected(regularizer: Any, rows: Rows, t: Vector, step: float, point: Point) -> Vector:
    """x, moved into the constraints: rounding errors of x are those of t, which may be much larger than x.

    Each correction is the shortest one in the directions in which x can move, in the metric of the Jacobian.
    """
    x, ends_equal = point.x, rows.lower == rows.upper
    J = None
    for _ in range(MAX_CORRECTIONS):
        Ax, size = x @ rows.At, np.abs(x) @ np.abs(rows.At)
        nearest = np.clip(Ax, rows.lower, rows.upper)
        if np.all(np.abs(nearest - Ax) <= CORRECTED * (size + np.abs(nearest))) or not np.isfinite(Ax).all():
            break
        J = regularizer.prox_jacobian(t - rows.At @ point.y, step) if J is None else J
        active = np.flatnonzero((point.y != 0.0) | ends_equal | (nearest != Ax))
        towards = np.where(point.y > 0.0, rows.upper, np.where(point.y < 0.0, rows.lower, nearest))[active]
        JA = J @ rows.At[:, active]
        move = solved(rows.At[:, active].T @ JA, towards - Ax[active])
        if not np.isfinite(move).all():
            break
        x = np.asarray(regularizer.prox(x + JA @ move, SHORTEST / regularizer.alpha), dtype=np.float64)
    return x


@quiet
def solved(H: Vector, g: Vector) -> Vector:
    """H^-1 g by Cholesky; of least length where H is singular."""
    from scipy.linalg.lapack import dposv

    _, x, failed = dposv(H, g, lower=1)
    if failed or not np.isfinite(x).all():
        if not np.isfinite(H).all() or not np.isfinite(g).all():
            return np.full(g.size, np.nan)
        x = np.linalg.lstsq(H, g, rcond=RIDGE)[0]
    return np.asarray(x)
