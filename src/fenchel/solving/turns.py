"""Where a solver was when another one took over, so that it can go on from there if it has another turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from fenchel.result import Iterate
    from fenchel.solvers.base import Solver, Start

# A solver goes on from where it was, unless the solvers in between have reduced the gap to this fraction: it then starts from
# their best point.
BETTER_START = 0.5


class Pause(NamedTuple):
    """The `memory` of a solver's last iterate, and the gap when another solver took over."""

    memory: dict[str, Any]
    gap: float


class Turns:
    """The pauses of the solvers of one solve. With checkpoints there are none: a resumed solve must make the same steps, and
    the file holds the state of the running solver alone."""

    def __init__(self, allowed: bool):
        self.allowed, self.pauses = allowed, dict[type, Pause]()

    def pause(self, solver: Solver, latest: Iterate | None, gap: float) -> None:
        """Remember where the solver was."""
        if self.allowed and latest is not None and latest.memory is not None:
            self.pauses[type(solver)] = Pause(latest.memory(), gap)

    def start(self, solver: Solver, begin: Start, gap: float) -> Start:
        """Where the solver begins its turn: `begin`, or where it was."""
        pause = self.pauses.pop(type(solver), None)
        if pause is None or gap <= BETTER_START * pause.gap:
            return begin
        return begin._replace(memory=pause.memory)
