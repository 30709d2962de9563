"""One time limit shared by several solves, and what Ctrl-C means for those that have not begun."""

from __future__ import annotations

from typing import Any

from fenchel.compile.clock import CLOCK
from fenchel.result import Result, Status

SHORTEST = 1e-9  # seconds: a limit must be positive even when the time is already gone


class Budget:
    """Limits for the next of `parts` solves: an equal share of the time that is left.

    After an interrupted solve the others get no iterations: they return their starting point with its true certificate.

    >>> budget = Budget(2, max_iter=7, max_time=None)
    >>> budget.next()
    {'max_iter': 7, 'max_time': None}
    """

    def __init__(self, parts: int, max_iter: int | None, max_time: float | None):
        self.parts, self.max_iter, self.max_time = parts, max_iter, max_time
        self.began = CLOCK.other_time()

    def next(self) -> dict[str, Any]:
        share = self.max_time
        if isinstance(share, (int, float)) and share > 0:  # anything else is for `solve` to refuse
            share = max((share - (CLOCK.other_time() - self.began)) / self.parts, SHORTEST)
        self.parts -= 1
        return {"max_iter": self.max_iter, "max_time": share}

    def note(self, result: Result) -> Result:
        """Look at how a solve ended, before the next one."""
        if result.status is Status.INTERRUPTED:
            self.max_iter = 0
        return result
