"""Time limits for long computations, checked between the compiled calls of a thread and of its helper threads.

`until(left)` sets a limit for a `with` block; `check()` raises `OutOfTime` once no time is left. Every call of a kernel checks
before and after (`compile/kernel.py`), so that loops over rows can be interrupted without looking at a clock. Calls are kept
short: rows come in blocks and visits in slices. Long-running plain Python that calls no kernel calls `check` itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

SHORTEST = 1e-3  # minimum number of seconds until `left()` is called again


class OutOfTime(Exception):
    """The time limit has passed: the current computation is aborted."""


class Limit:
    """`left()` returns the remaining seconds; it is called again when they should have passed."""

    __slots__ = ("at", "left")

    def __init__(self, left: Callable[[], float]):
        self.left, self.at = left, 0.0

    def check(self) -> None:
        """Raise OutOfTime if no time is left."""
        now = time.perf_counter()
        if now >= self.at:
            left = self.left()
            if left <= 0.0:
                raise OutOfTime
            self.at = now + max(left, SHORTEST)

    def changed(self) -> None:
        """Call `left()` again at the next check, because less time may be left than it returned."""
        self.at = 0.0


class _Here(threading.local):
    """The limit of the thread that reads it."""

    limit: Limit | None = None


_HERE = _Here()


def current() -> Limit | None:
    """The limit of this thread, if there is one."""
    return _HERE.limit


def check() -> None:
    """Raise OutOfTime if this thread has a limit that has passed."""
    limit = _HERE.limit
    if limit is not None:
        limit.check()


@contextmanager
def held(limit: Limit | None) -> Iterator[None]:
    """A `with` block with this limit (None: no limit); also used in the helper threads of the thread that set it."""
    before = current()
    _HERE.limit = limit
    try:
        yield
    finally:
        _HERE.limit = before


def until(left: Callable[[], float]) -> AbstractContextManager[None]:
    """A `with` block with a time limit: it is aborted when `left()`, the remaining seconds, is no longer above 0.

    >>> import time
    >>> end = time.perf_counter() + 0.01
    >>> try:
    ...     with until(lambda: end - time.perf_counter()):
    ...         while True:
    ...             check()
    ... except OutOfTime:
    ...     print("out of time")
    out of time
    """
    return held(Limit(left))
