"""Whether a solver still makes progress, and whether another one would be there sooner."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fenchel.solvers.base import Solver

STALL_CHECKS = 15  # evaluations of the gap, among the iterations without progress, before a solve counts as stalled
STALL_FACTOR = 0.95
# A primal value that falls by this fraction is progress too, also if the gap does not show it: dual points can lag far behind.
PRIMAL_PROGRESS = 1e-5
# It must also be this fraction of the gap: steps that would take hundreds of times as long are left to the next solver.
PRIMAL_PROGRESS_PER_GAP = 1e-2
SILENT_PRIMAL_PROGRESS = 1e-9  # the same for a solver that claims no dual values
# Of the passes that the next solver would need: what a solver may take before it must look like ending sooner.
TRIAL = 0.3
KEPT = ("began", "primal", "dual", "evaluated", "progress", "halved")  # of a pace, in a checkpoint


class Pace:
    """The values that one solver claims, over its iterations and passes.

    `allowed` are the passes that the next solver would need (infinite: not known); `last`: there is no next one.
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
        self.halved = (iteration, math.inf)  # iteration and gap when it had halved last
        self.gaps: list[tuple[float, float]] = []  # passes used so far, gap

    def alone(self) -> None:
        """There is no next solver: this one is never too slow."""
        self.halves, self.allowed = 0, math.inf

    def kept(self) -> dict[str, Any]:
        """What `recall` needs."""
        return {name: getattr(self, name) for name in KEPT} | {"gaps": np.array(self.gaps).reshape(-1, 2)}

    def recall(self, kept: dict[str, Any]) -> None:
        """Go on as the pace that `kept` came from."""
        for name in KEPT:
            setattr(self, name, kept[name])
        self.gaps = [(passes, gap) for passes, gap in kept["gaps"].tolist()]

    def record(self, iteration: int, passes: float, primal: float, dual: float) -> None:
        """An iterate's values."""
        self.evaluated += 1
        self.primal = min(self.primal, primal)
        self.dual = max(self.dual, dual) if dual == dual else self.dual
        gap = self.primal - self.dual
        self.gaps.append((passes - self.began, gap))
        if gap <= 0.5 * self.halved[1]:
            self.halved = (iteration, gap)

    def stalled(self, iteration: int) -> bool:
        """No progress of the gap or of the primal value over many iterations: as many as the solver asks for, or half as many
        as were made before."""
        if not math.isfinite(self.primal):
            return False
        claims = math.isfinite(self.dual)
        gap = max(self.primal - self.dual, 0.0) if claims else math.inf
        where, evaluated, level, primal = self.progress
        least = (PRIMAL_PROGRESS if claims else SILENT_PRIMAL_PROGRESS) * abs(self.primal)
        least = max(least, PRIMAL_PROGRESS_PER_GAP * gap) if claims else least
        falls = (
            self.primal >= self.dual and self.primal < primal - least
        )  # Dual values above it are false: so much rounding.
        if gap < STALL_FACTOR * level or falls:
            self.progress = (iteration, self.evaluated, gap, self.primal)
            return False
        enough = self.evaluated - evaluated > STALL_CHECKS
        return enough and iteration - where > max(self.waits, where // 2)

    def rests(self) -> bool:
        """No progress over the last evaluations, few though they may be: as `stalled` saw it."""
        return self.evaluated - self.progress[1] > STALL_CHECKS

    def too_slow(self, iteration: int, goal: float) -> bool:
        """Whether the gap has not halved for long, or the solver, going on as it did in the second half of its passes,
        would reach the goal later than the next one."""
        if self.halves and iteration - self.halved[0] > self.halves and math.isfinite(self.halved[1]):
            return True
        if not self.gaps or self.gaps[-1][0] <= TRIAL * self.allowed:
            return False
        used, gap = self.gaps[-1]
        earlier = next(g for passes, g in reversed(self.gaps) if passes <= 0.5 * used or passes == self.gaps[0][0])
        if not (gap > goal > 0.0 and 0.0 < earlier < math.inf):  # a gap below 0 is rounding
            return False
        rest = 0.5 * used * math.log(gap / goal) / max(math.log(earlier / gap), 1e-12)
        return rest > (self.allowed if used <= self.allowed else TRIAL * self.allowed)
