"""Bundle methods for regularized risk minimization (BMRM).

Problem      min over w of F(w) + R(w), F the risk with the intercept minimised out
Update       F is bounded below by cutting planes <a_j, w> + c_j found at earlier points; the next w minimises their
             maximum plus R. In the dual: max over the simplex of c'a - R*(-A a), and w = grad R*(-A a).
             L1: R* is an indicator, and the bare method zig-zags more the more features there are. The next w then
             minimises the model plus mu/2 |w - centre|^2 (centre: the best point), and a linear program bounds below.
Certificate  a combines the dual variables of the planes; they are rebuilt from the points where the planes were found
Reference    Teo et al. (2007); Smola, Vishwanathan and Le (2007); ls-bmrm is Frank-Wolfe with line search on the dual
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fenchel.oracle import Oracle, PlaneRecipe
from fenchel.result import Iterate
from fenchel.solvers.base import EVERY_KIND, Needs, Solver, Start
from fenchel.solvers.bundle_model import L1Master, Planes, SmoothMaster
from fenchel.solvers.frank_wolfe import FrankWolfe
from fenchel.solvers.tangents import Tangents


@dataclass(frozen=True)
class Bundle(Solver):
    """Cutting planes for every loss and every regularizer.

    Parameters
    ----------
    line_search : keep a single aggregated plane and step by exact line search (ls-bmrm): O(d) per iteration, slower.
    patience : iterations after which a plane without weight is dropped.

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="hinge", regularizer="l1", alpha=0.1)
    >>> fenchel.solve(problem, solver=Bundle()).status.name
    'CERTIFIED'
    """

    line_search: bool = False
    patience: int = 10
    cost: ClassVar[str] = "one pass over the data and a small quadratic program that grows with the iterations"
    convergence: ClassVar[str] = (
        "gap O(1/(alpha iterations)) for strongly convex penalties; geometric if the loss is differentiable, too"
    )
    kinds: ClassVar[tuple[str, ...]] = EVERY_KIND
    needs: ClassVar[Needs] = Needs()

    @property
    def rebuilds(self) -> bool:  # type: ignore[override]
        """With line search the dual point is made as `FrankWolfe` makes it."""
        return self.line_search

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        problem = oracle.problem
        if self.line_search and hasattr(problem.regularizer, "primal_from_dual"):
            yield from FrankWolfe().iterates(oracle, start)
            return
        planes = Planes(problem.d, lowest_risk(oracle))
        smooth = hasattr(problem.regularizer, "primal_from_dual")
        master = SmoothMaster(problem.regularizer) if smooth else L1Master(problem.regularizer)
        tangents = Tangents(oracle)
        w, b = start.coef, start.intercept
        best, dual, point = np.inf, -np.inf, None
        while True:
            plane = tangents.plane(w, b)
            b = plane.intercept
            primal = plane.value + problem.regularizer.value(w)
            best = min(best, primal)
            yield Iterate(w, b, primal, dual, point)
            planes.add(plane)
            gap = best - dual if np.isfinite(dual) else abs(best)
            w, weights, bound = master.next(planes, w, primal, gap)
            if bound > dual:
                dual, point = bound, rebuild(oracle, planes, weights)
            planes.drop(self.patience)


def lowest_risk(oracle: Oracle) -> float:
    """A bound that the risk never goes below: 0 for losses that say so, else -sum p loss*(0), which may be -inf."""
    problem = oracle.problem
    return 0.0 if getattr(problem.loss, "nonnegative", False) else -oracle.conjugates(np.zeros(problem.dual_shape))


def rebuild(oracle: Oracle, planes: Planes, weights: np.ndarray) -> Callable[[], np.ndarray]:
    """A function that makes the dual point of these weights when it is asked for (one half pass per active plane)."""
    parts: list[tuple[float, PlaneRecipe]] = [
        (float(a), recipe) for a, recipe in zip(weights, planes.recipes, strict=True) if a > 0.0 and recipe is not None
    ]
    return lambda: oracle.mix(parts)
