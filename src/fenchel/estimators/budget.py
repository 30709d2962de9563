"""A time limit shared by several solves, and the effect of Ctrl-C on those that have not started."""

from __future__ import annotations

from typing import Any

from fenchel.compile.clock import CLOCK
from fenchel.result import Result, Status

SHORTEST = 1e-9  # seconds: a limit must be positive even if no time is left


class Budget:
    """Limits for each of `parts` solves: an equal share of the remaining time.

    After an interrupted solve the others get no iterations: they return their starting point with its certificate.

    >>> budget = Budget(2, max_iter=7, max_time=None)
    >>> budget.next()
    {'max_iter': 7, 'max_time': None}
    """

    def __init__(self, parts: int, max_iter: int | None, max_time: float | None):
        self.parts, self.max_iter, self.max_time = parts, max_iter, max_time
        self.began = CLOCK.other_time()

    def next(self) -> dict[str, Any]:
        share = self.max_time
        if isinstance(share, (int, float)) and share > 0:  # `solve` rejects anything else
            share = max((share - (CLOCK.other_time() - self.began)) / self.parts, SHORTEST)
        self.parts -= 1
        return {"max_iter": self.max_iter, "max_time": share}

    def note(self, result: Result) -> Result:
        """Note how a solve ended, before the next one starts."""
        if result.status is Status.INTERRUPTED:
            self.max_iter = 0
        return result
