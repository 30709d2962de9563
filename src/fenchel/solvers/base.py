"""What a solver is: a frozen dataclass whose `iterates` is a generator that knows no tolerance, clock or printing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from fenchel.result import Iterate

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


class Needs(NamedTuple):
    """What a solver asks of a problem, as data; `fenchel.selection.requirements` knows what the words mean."""

    loss: tuple[str, ...] = ()
    regularizer: tuple[str, ...] = ()
    problem: tuple[str, ...] = ()


class Start(NamedTuple):
    """Where to begin: coefficients, intercept and, for dual solvers, dual variables (None: not known).

    `memory` is what an earlier iterate of the same solver said it needs to go on: its first iterate is then that one again.
    `tol` is the relative gap that is asked for: a solver may plan by it when to look; whether it is reached is not its to say.
    """

    coef: np.ndarray
    intercept: float = 0.0
    dual_point: Any = None
    memory: dict[str, Any] | None = None
    tol: float = 1e-6


# One score per row, several of them, a loss of all scores together, of structured outputs (maximum, or log of a sum)
EVERY_KIND = ("scalar", "vector", "set", "structured", "structured log")


@dataclass(frozen=True)
class Solver:
    """Base of all solvers. Parameters are the dataclass's fields."""

    needs: ClassVar[Needs] = Needs()
    kinds: ClassVar[tuple[str, ...]] = (
        "scalar",
    )  # of problems; "free vector" is a vector of scores with free intercepts, "own vector" one whose loss is the user's own
    cost: ClassVar[str]  # of one iteration, in words
    convergence: ClassVar[str]  # at which it is known to converge, in words; constants that depend on the data left out
    waits: ClassVar[int] = 100  # iterations without progress after which a solve counts as stalled, at least
    halves: ClassVar[int] = (
        0  # iterations in which its gap halves, or `auto` goes on to the next solver (0: any number)
    )
    rebuilds: ClassVar[bool] = False  # its dual points are made by repeating the run, and cost as much
    remote: ClassVar[tuple[str, ...]] = ()  # kinds of problems of which it asks for sums only: rows may be on a cluster
    at_home: ClassVar[str] = "the method looks at them one by one"  # why it needs the rows here, where it is not remote
    sparse_duals: ClassVar[bool] = False  # it may be given a dual point to start from as a CSR matrix
    slow: ClassVar[bool] = False  # a baseline whose rate does not reach small gaps in reasonable time

    segment_growth: ClassVar[float] = 1.5  # of a solve with checkpoints; 2 where a restart loses much

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        """Yield iterates for ever (or until the method has nothing more to give)."""
        raise NotImplementedError("abstract: a solver defines iterates(oracle, start)")
