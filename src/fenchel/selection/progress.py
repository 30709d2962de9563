"""Whether a solver still makes progress, and whether another one would reach the tolerance sooner."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fenchel.solvers.base import Solver

STALL_CHECKS = 15  # evaluations of the gap, among the iterations without progress, before a solve counts as stalled
STALL_FACTOR = 0.95
# A decrease of the primal value by this fraction is progress, even if the gap does not decrease: dual points can lag behind.
PRIMAL_PROGRESS = 1e-5
# It must also be this fraction of the gap: otherwise hundreds of times as many steps would be needed to close it.
PRIMAL_PROGRESS_PER_GAP = 1e-2
SILENT_PRIMAL_PROGRESS = 1e-9  # the same for a solver that reports no dual values
# The fraction of the next solver's estimated passes after which a solver is compared with that estimate.
TRIAL = 0.3
KEPT = ("began", "primal", "dual", "evaluated", "progress", "halved")  # the attributes that a checkpoint stores


class Pace:
    """The progress of one solver: the primal and dual values that it reports, by iterations and passes.

    `allowed` is the estimated number of passes of the next solver (infinite if unknown); `last` means that there is none.
    """

    def __init__(self, solver: Solver, iteration: int, passes: float, allowed: float, last: bool = False):
        self.waits, self.halves, self.allowed = solver.waits, solver.halves, allowed
        if last:
            self.alone()
        self.began = passes
        self.primal, self.dual = math.inf, -math.inf
        self.evaluated = 0
        self.progress = (
            iteration,
            0,
            math.inf,
            math.inf,
        )  # iteration, evaluations, gap, primal value at the last progress
        self.halved = (iteration, math.inf)  # iteration and gap when the gap last halved
        self.gaps: list[tuple[float, float]] = []  # passes used so far, gap

    def alone(self) -> None:
        """Note that there is no next solver, so that this one is never too slow."""
        self.halves, self.allowed = 0, math.inf

    def kept(self) -> dict[str, Any]:
        """The state for a checkpoint, which `recall` restores."""
        return {name: getattr(self, name) for name in KEPT} | {"gaps": np.array(self.gaps).reshape(-1, 2)}

    def recall(self, kept: dict[str, Any]) -> None:
        """Restore the state that `kept` returned."""
        for name in KEPT:
            setattr(self, name, kept[name])
        self.gaps = [(passes, gap) for passes, gap in kept["gaps"].tolist()]

    def record(self, iteration: int, passes: float, primal: float, dual: float) -> None:
        """Record the values of an iterate."""
        self.evaluated += 1
        self.primal = min(self.primal, primal)
        self.dual = max(self.dual, dual) if dual == dual else self.dual
        gap = self.primal - self.dual
        self.gaps.append((passes - self.began, gap))
        if gap <= 0.5 * self.halved[1]:
            self.halved = (iteration, gap)

    def stalled(self, iteration: int) -> bool:
        """Whether neither the gap nor the primal value has improved for many iterations: at least as many as the solver asks
        for, and half as many as were made before."""
        if not math.isfinite(self.primal):
            return False
        claims = math.isfinite(self.dual)
        gap = max(self.primal - self.dual, 0.0) if claims else math.inf
        where, evaluated, level, primal = self.progress
        least = (PRIMAL_PROGRESS if claims else SILENT_PRIMAL_PROGRESS) * abs(self.primal)
        least = max(least, PRIMAL_PROGRESS_PER_GAP * gap) if claims else least
        # A primal value below the dual one is an effect of rounding.
        falls = self.primal >= self.dual and self.primal < primal - least
        if gap < STALL_FACTOR * level or falls:
            self.progress = (iteration, self.evaluated, gap, self.primal)
            return False
        enough = self.evaluated - evaluated > STALL_CHECKS
        return enough and iteration - where > max(self.waits, where // 2)

    def rests(self) -> bool:
        """Whether the last evaluations brought no progress in the sense of `stalled`, which waits for more iterations."""
        return self.evaluated - self.progress[1] > STALL_CHECKS

    def too_slow(self, iteration: int, goal: float) -> bool:
        """Whether the gap has not halved for a long time, or the solver, at the rate of the second half of its passes, would
        reach the goal later than the next one."""
        if self.halves and iteration - self.halved[0] > self.halves and math.isfinite(self.halved[1]):
            return True
        if not self.gaps or self.gaps[-1][0] <= TRIAL * self.allowed:
            return False
        used, gap = self.gaps[-1]
        earlier = next(g for passes, g in reversed(self.gaps) if passes <= 0.5 * used or passes == self.gaps[0][0])
        if not (gap > goal > 0.0 and 0.0 < earlier < math.inf):  # a negative gap is an effect of rounding
            return False
        remaining = 0.5 * used * math.log(gap / goal) / max(math.log(earlier / gap), 1e-12)
        return remaining > (self.allowed if used <= self.allowed else TRIAL * self.allowed)
