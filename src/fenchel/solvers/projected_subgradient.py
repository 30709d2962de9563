"""Projected subgradient descent.

Problem      min over w of F(w) + alpha/2 |w|^2, F the risk with the intercept minimised out
Update       w <- w - s (a + alpha w), a a subgradient of F at w, s = 2 / (alpha (t + 1)); then w is scaled into the
             ball alpha/2 |w|^2 <= F(0), which holds the optimum of a loss that is never negative
Certificate  free: w = -sum p u x / alpha for the average u of the slopes, a convex combination, hence feasible
             (the steps are those of the Frank-Wolfe method for the dual problem)
Reference    Shor (1985); Lacoste-Julien, Schmidt and Bach (2012) for the step and the average
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start


@dataclass(frozen=True)
class ProjectedSubgradient(Solver):
    """The plainest baseline, for every loss with bounded slopes, with L2; gap O(1 / (alpha t)).

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1.0, 2.5, 0.0], loss="absolute", alpha=0.1)
    >>> fenchel.solve(problem, solver=ProjectedSubgradient(), tol=1e-2).status.name
    'CERTIFIED'
    """

    slow: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("scalar", "vector")
    waits: ClassVar[int] = 2000
    needs: ClassVar[Needs] = Needs(loss=("bounded_slopes",), regularizer=("l2",))

    def iterates(self, oracle: Any, start: Start) -> Iterator[Iterate]:
        problem, regularizer = oracle.problem, oracle.problem.regularizer
        alpha = regularizer.alpha
        w, b, t = start.coef, start.intercept, 0
        u = oracle.feasible(start.dual_point)
        a = oracle.combine(u)
        radius = np.inf
        if getattr(problem.loss, "nonnegative", False):
            radius = np.sqrt(2.0 * oracle.plane(np.zeros(problem.d), b, None, np.inf).value / alpha)
        while True:
            plane = oracle.plane(w, b, None, np.inf)
            b = plane.intercept
            dual = -oracle.conjugates(u) - regularizer.conjugate(-a)
            yield Iterate(w, b, plane.value + regularizer.value(w), dual, u)
            t += 1
            step = 2.0 / (t + 1)
            u = (1.0 - step) * u + step * oracle.plane_dual(plane.recipe)
            a = (1.0 - step) * a + step * plane.gradient
            w = -a / alpha
            length = float(np.linalg.norm(w))
            if length > radius:
                u, a, w = (radius / length) * u, (radius / length) * a, (radius / length) * w
