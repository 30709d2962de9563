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
from typing import Any, ClassVar

import numpy as np

from fenchel.oracle import Oracle, Plane, PlaneRecipe
from fenchel.regularizers import L2
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.bundle_model import L1Master, Planes, SmoothMaster

REACH = 2.0  # how far from the best scores tangents of an exponentially growing loss are taken


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
    needs: ClassVar[Needs] = Needs()

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        problem = oracle.problem
        if self.line_search and hasattr(problem.regularizer, "primal_from_dual"):
            yield from line_search(oracle, start)
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
    return 0.0 if getattr(problem.loss, "nonnegative", False) else -oracle.conjugates(np.zeros(problem.n))


class Tangents:
    """Planes at asked-for points; for exponentially growing losses the tangents stay near the best point so far."""

    def __init__(self, oracle: Oracle):
        self.oracle = oracle
        self.capped = getattr(oracle.problem.loss, "grows_exponentially", False)
        self.centre: tuple[np.ndarray, float] | None = None
        self.best = np.inf

    def plane(self, w: np.ndarray, b: float) -> Plane:
        plane = self.oracle.plane(w, b, self.centre if self.capped else None, REACH if self.capped else np.inf)
        if not np.isfinite(plane.constant) and self.centre is not None:
            self.capped = True
            plane = self.oracle.plane(w, b, self.centre, REACH)
        primal = plane.value + self.oracle.problem.regularizer.value(w)
        if primal < self.best:
            self.best, self.centre = primal, (w, plane.intercept)
        return plane


def rebuild(oracle: Oracle, planes: Planes, weights: np.ndarray) -> Callable[[], np.ndarray]:
    """A function that makes the dual point of these weights when it is asked for (one half pass per active plane)."""
    parts: list[tuple[float, PlaneRecipe]] = [
        (float(a), recipe) for a, recipe in zip(weights, planes.recipes, strict=True) if a > 0.0 and recipe is not None
    ]

    def make() -> np.ndarray:
        u = np.zeros(oracle.problem.n)
        for a, recipe in parts:
            u += a * oracle.plane_dual(recipe)
        return u

    return make


def line_search(oracle: Oracle, start: Start) -> Iterator[Iterate]:
    """ls-bmrm: one aggregated plane <a, w> + c with its dual variables, moved towards each new plane as far as pays."""
    regularizer, tangents = oracle.problem.regularizer, Tangents(oracle)
    w, b = start.coef, start.intercept
    plane = tangents.plane(w, b)
    a, c, u = plane.gradient, plane.constant, oracle.plane_dual(plane.recipe)
    yield Iterate(w, plane.intercept, plane.value + regularizer.value(w), c - regularizer.conjugate(-a), u)
    while True:
        w = regularizer.primal_from_dual(-a)
        plane = tangents.plane(w, plane.intercept)
        dual = c - regularizer.conjugate(-a)
        yield Iterate(w, plane.intercept, plane.value + regularizer.value(w), dual, u)
        step = best_step(regularizer, a, c, plane)
        a = (1.0 - step) * a + step * plane.gradient
        c = (1.0 - step) * c + step * plane.constant
        u = (1.0 - step) * u + step * oracle.plane_dual(plane.recipe)


def best_step(regularizer: Any, a: np.ndarray, c: float, plane: Plane) -> float:
    """argmax over t in [0, 1] of c + t (c' - c) - R*(-(a + t (a' - a))): closed form for L2, else bisection."""
    rise, turn = plane.constant - c, plane.gradient - a
    if isinstance(regularizer, L2):
        curve = float(turn @ turn)
        slope = regularizer.alpha * rise - float(a @ turn)
        return min(max(slope / curve, 0.0), 1.0) if curve > 0.0 else float(slope > 0.0)
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        slope = rise + float(turn @ regularizer.primal_from_dual(-(a + middle * turn)))
        low, high = (middle, high) if slope > 0.0 else (low, middle)
    return 0.5 * (low + high)
