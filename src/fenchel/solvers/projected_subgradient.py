"""Projected subgradient descent (PG, the batch form of Pegasos).

Problem      min over w of F(w) + alpha/2 |w|^2, F the risk with the intercept minimised out
Update       w <- w - s/alpha (a + alpha w), a a subgradient of F at w, with the step s = 2 / (t + 1) or s = 1 / t; then w
             is scaled into the ball alpha |w|^2 <= F(0), which contains the optimum for a nonnegative loss:
             alpha/2 |w*|^2 <= P* = D* <= F(0) - alpha/2 |w*|^2
Certificate  free: w = -sum p u x / alpha for an average u of the slopes, hence feasible; scaling w scales u towards 0,
             which is feasible too. (The steps are those of the Frank-Wolfe method for the dual problem)
Reference    Shor (1985); Shalev-Shwartz et al. (2011) for 1 / t and the ball; Lacoste-Julien, Schmidt and Bach (2012) for
             2 / (t + 1), whose average forgets the first steps
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fenchel.errors import InputError
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


def increasing_average(t: int) -> float:
    """The step for which the average weighs the slopes of step t by t."""
    return 2.0 / (t + 1.0)


def plain_average(t: int) -> float:
    """The step for which the average weighs all slopes alike."""
    return 1.0 / t


SCHEDULES: dict[str, Callable[[int], float]] = {"2/(t+1)": increasing_average, "1/t": plain_average}


@dataclass(frozen=True)
class ProjectedSubgradient(Solver):
    """The simplest baseline, for every loss with bounded slopes, with L2; one pass over the data per iteration.

    schedule is the weight of the newest slopes in step t = 1, 2, ...: "2/(t+1)" (gap O(1 / (alpha t))), or "1/t", the
    plain average of Pegasos and PG (O(log t / (alpha t))).

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1.0, 2.5, 0.0], loss="absolute", alpha=0.1)
    >>> fenchel.solve(problem, solver=ProjectedSubgradient(), tol=1e-2).status.name
    'CERTIFIED'
    """

    schedule: str = "2/(t+1)"
    local_reason = "the method needs the rows in this process: it averages the slopes of each"
    cost = "one pass over the data"
    convergence = "suboptimality O(1/(alpha iterations))"
    slow = True
    kinds = ("scalar", "vector")
    waits = 2000
    segment_growth = 2.0
    needs = Needs(loss=("bounded_slopes",), regularizer=("l2",))

    def __post_init__(self) -> None:
        if self.schedule not in SCHEDULES:
            raise InputError(f"schedule must be one of {', '.join(map(repr, SCHEDULES))}, got {self.schedule!r}")

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        problem, regularizer, schedule = oracle.problem, oracle.problem.regularizer, SCHEDULES[self.schedule]
        alpha = regularizer.alpha
        w, b, t = start.coef, start.intercept, 0
        u = oracle.feasible(start.dual_point)
        a = oracle.combine(u)
        radius = np.inf
        if getattr(problem.loss, "nonnegative", False):
            radius = np.sqrt(oracle.plane(np.zeros(problem.d), b, None, np.inf).value / alpha)
        while True:
            plane, slopes = oracle.plane_and_dual(w, b)
            b = plane.intercept
            dual = -oracle.conjugates(u) - regularizer.conjugate(-a)
            yield Iterate(w, b, plane.value + regularizer.value(w), dual, u)
            t += 1
            step = schedule(t)
            u = (1.0 - step) * u + step * slopes
            a = (1.0 - step) * a + step * plane.gradient
            w = -a / alpha
            length = float(np.linalg.norm(w))
            if length > radius:
                u, a, w = (radius / length) * u, (radius / length) * a, (radius / length) * w
