"""Bundle methods for regularized risk minimization (BMRM).

Problem      min over w of F(w) + R(w), F the risk with the intercept minimised out
Update       F is bounded below by cutting planes <a_j, w> + c_j found at earlier points; the next w minimises their
             maximum plus R. In the dual: max over the simplex of c'a - R*(-A a), and w = grad R*(-A a).
             While that does not close the gap quickly, the next w is where the model falls to a level, near the best point
             (`level.py`), for every R with a prox; the bound is as above. L1: R* is an indicator, and the maximum is that of
             a linear program, solved by a simplex method that goes on from its last basis. Other R without a gradient of R*:
             proximal points of the model, whose weights are scaled into the domain of R*.
             A user's own R without `primal_from_dual` and `prox`: differences are the gradient of R* if R* is finite
             everywhere, else R has cutting planes, too.
Certificate  a combines the dual variables of the planes; they are rebuilt from the points where the planes were found
Reference    Teo et al. (2007); Smola, Vishwanathan and Le (2007); Lemarechal, Nemirovskii and Nesterov (1995) for levels;
             ls-bmrm is Frank-Wolfe with line search on the dual
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fenchel.oracles.scalar import Oracle, Plane, PlaneRecipe
from fenchel.result import Iterate
from fenchel.solvers.base import EVERY_KIND, Needs, Solver, Start
from fenchel.solvers.bundle.masters import master_of
from fenchel.solvers.bundle.planes import Planes
from fenchel.solvers.frank_wolfe.cutting_planes import Tangents
from fenchel.solvers.frank_wolfe.solver import FrankWolfe

UNSAVED = (
    "oracle",
    "regularizer",
    "model",
    "rows",
)  # These attributes of planes, masters and tangents are not part of their state.


@dataclass(frozen=True)
class Bundle(Solver):
    """Cutting planes for every loss and every regularizer.

    Parameters
    ----------
    line_search : keep a single aggregated plane and step by exact line search (ls-bmrm): O(d) per iteration, slower. It needs
        w = grad R*(v), which L1 does not have: such regularizers are refused.
    patience : iterations after which a plane without weight is dropped; None: 30 if there are level steps, else 10.
    level : steps to a level of the model near the best point, where its minima do not close the gap quickly. False: to its
        minimum always, which is the method as it was published; with a small alpha it takes many times more iterations.
        Penalties that are known by their prox alone take level steps in any case.

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="hinge", regularizer="l1", alpha=0.1)
    >>> fenchel.solve(problem, solver=Bundle()).status.name
    'CERTIFIED'
    """

    line_search: bool = False
    patience: int | None = None
    level: bool = True
    cost = "one pass over the data and a small quadratic program that grows with the iterations"
    convergence = (
        "gap O(1/(alpha iterations)) for strongly convex penalties; geometric if the loss is differentiable, too"
    )
    kinds = (*EVERY_KIND, "own vector")
    needs = Needs(regularizer=("penalised",))
    remote = kinds

    def __post_init__(self) -> None:
        if self.line_search:
            object.__setattr__(self, "needs", Needs(regularizer=("primal_from_dual",)))

    @property
    def rebuilds(self) -> bool:  # type: ignore[override]
        """With line search the dual point is materialized as by `FrankWolfe`."""
        return self.line_search

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        problem = oracle.problem
        if self.line_search:
            yield from FrankWolfe().iterates(oracle, start)
            return
        master = master_of(problem.regularizer, problem.d, self.level)
        patience = master.patience if self.patience is None else self.patience
        tangents = Tangents(oracle)
        w, best, dual = start.coef, np.inf, -np.inf
        parts: list[tuple[float, PlaneRecipe]] | None = None
        if start.memory is None:
            planes = Planes(problem.d, lowest_risk(oracle))
            plane = tangents.plane(w, start.intercept)
        else:
            planes = Planes(problem.d, np.inf)
            plane, best, dual, parts = recall(start.memory, planes, master, *master.inner, tangents)
            planes.own()
        while True:
            primal = plane.value + problem.regularizer.value(w)
            best = min(best, primal)
            states = [snapshot(thing) for thing in (planes, master, *master.inner, tangents)]
            memory = partial(remember, plane, best, dual, parts, *states)
            point = None if parts is None else partial(oracle.mix, parts)
            yield Iterate(w, plane.intercept, primal, dual, point, memory)
            planes.add(plane)
            gap = best - dual if np.isfinite(dual) else abs(best)
            w, weights, bound = master.next(planes, w, primal, gap)
            if bound > dual:
                dual, parts = bound, active_planes(planes, weights)
            planes.drop(patience)
            plane = tangents.plane(w, plane.intercept)


def lowest_risk(oracle: Oracle) -> float:
    """A lower bound of the risk: 0 for losses that are declared nonnegative, else -sum p loss*(0), which may be -inf."""
    problem = oracle.problem
    return 0.0 if getattr(problem.loss, "nonnegative", False) else -oracle.conjugates(np.zeros(problem.dual_shape))


def active_planes(planes: Planes, weights: np.ndarray) -> list[tuple[float, PlaneRecipe]]:
    """The weights and recipes from which the dual point is materialized on demand (half a pass per active plane)."""
    return [
        (float(a), recipe) for a, recipe in zip(weights, planes.recipes, strict=True) if a > 0.0 and recipe is not None
    ]


def snapshot(thing: Any) -> dict[str, Any]:
    """The attributes that are state. They are replaced and never modified in place, so that the snapshot does not change."""
    return {name: list(v) if isinstance(v, list) else v for name, v in vars(thing).items() if name not in UNSAVED}


def remember(plane: Plane, best: float, dual: float, parts: Any, *snapshots: dict[str, Any]) -> dict[str, Any]:
    """For a checkpoint."""
    return {"plane": plane, "best": best, "dual": dual, "parts": parts, "model": snapshots}


def recall(memory: dict[str, Any], *things: Any) -> tuple[Plane, float, float, list[tuple[float, PlaneRecipe]] | None]:
    """(plane, best, dual, parts); the state of planes, master and tangents is restored."""
    for thing, values in zip(things, memory["model"], strict=True):
        vars(thing).update({name: list(v) if isinstance(v, list) else v for name, v in values.items()})
    parts = memory["parts"]
    return (
        Plane(*memory["plane"]), memory["best"], memory["dual"],
        None if parts is None else [(weight, recipe) for weight, recipe in parts],
    )  # fmt: skip
