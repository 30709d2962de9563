"""Frank-Wolfe on the dual, in full passes (LSFW, StdFW; known as ls-bmrm among bundle methods).

Problem      max over u of D(u) = -sum p loss*(u) - R*(-g), g = sum p u x: for every loss, with R strongly convex
Update       u <- (1 - t) u + t u', u' the slopes at w = grad R*(-g): the maximiser of D with R* linearised.
             "line_search": the best t in [0, 1] for the bound below (the exact line search where loss* is linear between u
             and u', as for losses that are maxima of affine functions); "schedule": t = 2 / (k + 1)
             Only g and one number are stored, c = sum p (<u, z'> - loss*): never u itself, which may be as large as X
             For `Moreau` losses of several scores u is stored and the line search is that of D itself, with the square of u.
             direction "vertices": u' are slopes of the inner loss, at z - gamma u (the square is linearised, too)
Certificate  D >= c - R*(-g), which never falls with line search; P - that bound is the Frank-Wolfe gap. For a
             certificate u is materialized by repeating the steps from the start
Reference    Tajima et al. (2020), Algorithm 1, which has "vertices", with gamma alpha added to the scores and gamma as the
             factor of the square; Bach (2015) for "slopes"; Teo et al. (2010) for ls-bmrm; Lacoste-Julien et al. (2013)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fenchel.errors import InputError
from fenchel.multiclass.moreau import MoreauVector
from fenchel.oracles.scalar import Plane
from fenchel.regularizers import L2
from fenchel.result import Iterate
from fenchel.solvers.base import EVERY_KIND, Needs, Solver, Start
from fenchel.solvers.frank_wolfe.cutting_planes import Tangents
from fenchel.solvers.frank_wolfe.settings import SETTINGS
from fenchel.solvers.frank_wolfe.smoothed import smoothed_iterates

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle
    from fenchel.oracles.vector import VectorOracle

STEPS, DIRECTIONS = ("line_search", "schedule"), ("slopes", "vertices")


@dataclass(frozen=True)
class FrankWolfe(Solver):
    """Steps of the whole dual point towards the slopes at w; step is "line_search" (LSFW) or "schedule" (StdFW).

    direction matters for `Moreau` losses of several scores only: "slopes" of the envelope, or "vertices", slopes of the
    inner loss, which is the published method and slower.

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="hinge", alpha=0.1)
    >>> fenchel.solve(problem, solver=FrankWolfe(), tol=1e-3).status.name
    'CERTIFIED'
    """

    step: str = "line_search"
    direction: str = "slopes"
    remote = ("scalar", "set", "structured", "structured log")
    local_reason = (
        "with several scores per row, the method keeps the dual variables of all rows in this process where the loss is a "
        "Moreau envelope"
    )
    cost = "one pass over the data"
    convergence = "gap O(1/(alpha iterations))"
    slow = True
    rebuilds = True
    kinds = EVERY_KIND
    waits = 2000
    segment_growth = 2.0
    needs = Needs(regularizer=("strongly_convex", "primal_from_dual"))

    def __post_init__(self) -> None:
        if self.step not in STEPS:
            raise InputError(f"step must be one of {', '.join(map(repr, STEPS))}, got {self.step!r}")
        if self.direction not in DIRECTIONS:
            raise InputError(f"direction must be one of {', '.join(map(repr, DIRECTIONS))}, got {self.direction!r}")

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        regularizer = oracle.problem.regularizer

        def size(k: int, a: np.ndarray, turn: np.ndarray, rise: float, curvature: float = 0.0) -> float:
            return 2.0 / (k + 2.0) if self.step == "schedule" else best_step(regularizer, a, turn, rise, curvature)

        if isinstance(oracle.problem.loss, MoreauVector):
            yield from smoothed_iterates(cast("VectorOracle", oracle), start, self.direction, size)
        taken: list[float] = []

        def choose(a: np.ndarray, c: float, plane: Plane) -> float:
            k = len(taken)
            taken.append(1.0 if k == 0 else size(k, a, plane.gradient - a, plane.constant - c))
            return taken[-1]

        for w, a, c, plane in visit(oracle, start, choose):
            dual = c - regularizer.conjugate(-a) if taken else -np.inf
            point = repeat(oracle, start, tuple(taken)) if taken else None
            yield Iterate(w, plane.intercept, plane.value + regularizer.value(w), dual, point)


def visit(
    oracle: Oracle, start: Start, choose: Callable[[np.ndarray, float, Plane], float]
) -> Iterator[tuple[np.ndarray, np.ndarray, float, Plane]]:
    """The points (w, g, c, plane at w), without end, with the steps that `choose` gives; the first step must be 1."""
    regularizer, tangents = oracle.problem.regularizer, Tangents(oracle)
    w, b = start.coef.copy(), start.intercept
    a, c = np.zeros(w.size), 0.0
    while True:
        plane = tangents.plane(w, b)
        b = plane.intercept
        yield w, a, c, plane
        t = choose(a, c, plane)
        a = (1.0 - t) * a + t * plane.gradient
        c = (1.0 - t) * c + t * plane.constant
        w = regularizer.primal_from_dual(-a)


def repeat(oracle: Oracle, start: Start, taken: tuple[float, ...]) -> Callable[[], Any]:
    """A function that materializes the dual point after these steps, by taking them again."""
    weights = np.array(taken)
    weights[:-1] *= np.cumprod(1.0 - weights[:0:-1])[::-1]

    def materialize() -> Any:
        steps = iter(taken)
        points = islice(visit(oracle, start, lambda a, c, plane: next(steps)), len(taken))
        return oracle.mix((float(t), plane.recipe) for t, (*_, plane) in zip(weights, points, strict=True))

    return materialize


def best_step(regularizer: Any, a: np.ndarray, turn: np.ndarray, rise: float, curvature: float = 0.0) -> float:
    """argmax over t in [0, 1] of t rise - t^2 curvature / 2 - R*(-(a + t turn)): closed form for L2, else the root of its
    slope."""
    if type(regularizer) is L2 and regularizer.weights is None:
        curve = float(turn @ turn) + regularizer.alpha * curvature
        slope = regularizer.alpha * rise - float(a @ turn)
        return min(max(slope / curve, 0.0), 1.0) if curve > 0.0 else float(slope > 0.0)
    from scipy.optimize import brentq

    def slope_at(t: float) -> float:
        return rise - t * curvature + float(turn @ regularizer.primal_from_dual(-(a + t * turn)))

    if not slope_at(0.0) > 0.0:
        return 0.0
    return 1.0 if slope_at(1.0) >= 0.0 else brentq(slope_at, 0.0, 1.0, xtol=SETTINGS.line_search_tolerance)
