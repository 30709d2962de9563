"""The interface of a solver: a frozen dataclass whose `iterates` is a generator without tolerance test, clock or output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from fenchel.result import Iterate

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


class Needs(NamedTuple):
    """The requirements of a solver on a problem, as data; `fenchel.selection.requirements` defines their meaning."""

    loss: tuple[str, ...] = ()
    regularizer: tuple[str, ...] = ()
    problem: tuple[str, ...] = ()


class Start(NamedTuple):
    """The starting point: coefficients, intercept and, for dual solvers, dual variables (None: unknown).

    `memory` is the `memory` of an earlier iterate of the same solver, which continues from it: its first iterate is that one.
    `tol` is the requested relative gap. A solver may use it to plan its evaluations; the loop decides whether it is reached.
    """

    coef: np.ndarray
    intercept: float = 0.0
    dual_point: Any = None
    memory: dict[str, Any] | None = None
    tol: float = 1e-6


# One score per row; several scores; a loss of all scores together; structured outputs (maximum, or logarithm of a sum)
EVERY_KIND = ("scalar", "vector", "set", "structured", "structured log")


@dataclass(frozen=True)
class Solver:
    """Base of all solvers. Parameters are the dataclass's fields."""

    needs: ClassVar[Needs] = Needs()
    # Kinds of problems; "free vector": several scores with free intercepts; "own vector": several scores with a custom loss.
    kinds: ClassVar[tuple[str, ...]] = ("scalar",)
    cost: ClassVar[str]  # the cost of an iteration, in words
    convergence: ClassVar[str]  # the known rate of convergence, in words, without constants that depend on the data
    waits: ClassVar[int] = 100  # iterations without progress after which a solve counts as stalled, at least
    # If the gap does not halve in so many iterations, `auto` tries the next solver (0: never).
    halves: ClassVar[int] = 0
    rebuilds: ClassVar[bool] = False  # whether dual points are computed by repeating the run, at the same cost
    # The kinds of problems for which it needs only sums over rows, so that the rows may be on a cluster.
    remote: ClassVar[tuple[str, ...]] = ()
    # Why it needs the rows in this process for the other kinds.
    local_reason: ClassVar[str] = "the method reads them one by one"
    sparse_duals: ClassVar[bool] = False  # whether it accepts a CSR matrix as the dual point to start from
    nonconvex: ClassVar[bool] = (
        False  # whether it is for regularizers that are not convex; the others assume that they are
    )
    slow: ClassVar[bool] = False  # a baseline whose rate does not reach small gaps in reasonable time

    # The growth of the segments of a solve with checkpoints: 2 where a restart loses much.
    segment_growth: ClassVar[float] = 1.5

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        """Yield iterates forever, or until the method cannot improve any more."""
        raise NotImplementedError("abstract: a solver defines iterates(oracle, start)")
