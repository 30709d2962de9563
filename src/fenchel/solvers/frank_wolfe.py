"""Frank-Wolfe on the dual, a whole pass at a time (LSFW, StdFW; ls-bmrm in the language of bundle methods).

Problem      max over u of D(u) = -sum p loss*(u) - R*(-g), g = sum p u x: for every loss, with R strongly convex
Update       u <- (1 - t) u + t u', u' the slopes at w = grad R*(-g): the point at which the linearised dual is largest.
             "line_search": the best t in [0, 1] for the bound below (the exact line search where loss* is linear between u
             and u', as for losses that are maxima of affine functions); "schedule": t = 2 / (k + 1)
             Only g and one number are kept, c = sum p (<u, z'> - loss*): never u itself, which may be as large as X
Certificate  D >= c - R*(-g), which never falls with line search; P - that bound is the Frank-Wolfe gap. When a certificate
             is due, u is made by repeating the steps from the start
Reference    Tajima et al. (2020), Algorithm 1; Teo et al. (2010) for ls-bmrm; Lacoste-Julien et al. (2013)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from fenchel.errors import InputError
from fenchel.oracle import Plane
from fenchel.regularizers import L2
from fenchel.result import Iterate
from fenchel.solvers.base import EVERY_KIND, Needs, Solver, Start
from fenchel.solvers.tangents import Tangents

STEPS = ("line_search", "schedule")


@dataclass(frozen=True)
class FrankWolfe(Solver):
    """The whole dual moves towards the slopes at w; step is "line_search" (LSFW) or "schedule" (StdFW).

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="hinge", alpha=0.1)
    >>> fenchel.solve(problem, solver=FrankWolfe(), tol=1e-3).status.name
    'CERTIFIED'
    """

    step: str = "line_search"
    slow: ClassVar[bool] = True
    rebuilds: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = EVERY_KIND
    waits: ClassVar[int] = 2000
    needs: ClassVar[Needs] = Needs(regularizer=("strongly_convex",))

    def __post_init__(self) -> None:
        if self.step not in STEPS:
            raise InputError(f"step must be one of {', '.join(map(repr, STEPS))}, got {self.step!r}")

    def iterates(self, oracle: Any, start: Start) -> Iterator[Iterate]:
        regularizer = oracle.problem.regularizer
        taken: list[float] = []

        def choose(a: np.ndarray, c: float, plane: Plane) -> float:
            k = len(taken)
            t = 1.0 if k == 0 else 2.0 / (k + 2.0) if self.step == "schedule" else best_step(regularizer, a, c, plane)
            taken.append(t)
            return t

        for w, a, c, plane in walk(oracle, start, choose):
            dual = c - regularizer.conjugate(-a) if taken else -np.inf
            point = repeat(oracle, start, tuple(taken)) if taken else None
            yield Iterate(w, plane.intercept, plane.value + regularizer.value(w), dual, point)


def walk(
    oracle: Any, start: Start, choose: Callable[[np.ndarray, float, Plane], float]
) -> Iterator[tuple[np.ndarray, np.ndarray, float, Plane]]:
    """(w, g, c, plane at w), for ever, with steps as `choose` says; the first one must be 1."""
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


def repeat(oracle: Any, start: Start, taken: tuple[float, ...]) -> Callable[[], Any]:
    """A function that makes the dual point after these steps, by taking them again."""
    weights = np.array(taken)
    weights[:-1] *= np.cumprod(1.0 - weights[:0:-1])[::-1]

    def make() -> Any:
        steps = iter(taken)
        points = islice(walk(oracle, start, lambda a, c, plane: next(steps)), len(taken))
        return oracle.mix((float(t), plane.recipe) for t, (*_, plane) in zip(weights, points, strict=True))

    return make


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
