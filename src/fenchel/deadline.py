"""A limit of time that long work looks at: between the compiled calls of a thread, and of the threads that help it.

`until(left)` sets the limit for what is done inside it; `check()` raises `OutOfTime` once nothing is left. Every call of a
kernel checks, before and after (`compile/kernel.py`), so that whatever walks rows can be broken off without a clock. A
call is kept short: rows come in blocks and visits in slices. Plain Python that may take long without a kernel calls `check`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

_HERE = threading.local()
SHORTEST = 1e-3  # seconds until the next look, where the limit turned out to be later than thought


class OutOfTime(Exception):
    """The limit has passed: the work under way is to be given up."""


class Limit:
    """`left()` tells how many seconds are left; it is asked again when they should have passed."""

    __slots__ = ("at", "left")

    def __init__(self, left: Callable[[], float]):
        self.left, self.at = left, 0.0

    def check(self) -> None:
        """Raise OutOfTime if nothing is left."""
        now = time.perf_counter()
        if now >= self.at:
            left = self.left()
            if left <= 0.0:
                raise OutOfTime
            self.at = now + max(left, SHORTEST)


def current() -> Limit | None:
    """The limit of this thread, if there is one."""
    return getattr(_HERE, "limit", None)


def check() -> None:
    """Raise OutOfTime if this thread has a limit that has passed."""
    limit = getattr(_HERE, "limit", None)
    if limit is not None:
        limit.check()


@contextmanager
def held(limit: Limit | None) -> Iterator[None]:
    """With this limit (None: without any); also in a thread that helps the one it was set in."""
    before = current()
    _HERE.limit = limit
    try:
        yield
    finally:
        _HERE.limit = before


def until(left: Callable[[], float]) -> AbstractContextManager[None]:
    """A limit for what is done inside: as long as `left()`, the seconds that remain, is above 0.

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
