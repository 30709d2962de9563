"""The time spent compiling kernels, and a clock that excludes it.

A kernel is compiled at its first call, in the middle of a solve; one that another process has compiled is read from disk
instead, which takes some milliseconds and counts as well. Compilations may be nested (kernels that call kernels) and threads
wait for each other to compile, but every second is counted once. The count belongs to the process: concurrent solves share it.
"""

from __future__ import annotations

import threading
import time
from typing import NamedTuple


class Compiled(NamedTuple):
    """Seconds spent compiling or loading kernels, and the number of kernels that were compiled."""

    seconds: float
    kernels: int


class CompileClock:
    """A re-entrant, thread-safe context manager around every compilation.

    >>> clock = CompileClock()
    >>> with clock, clock:
    ...     time.sleep(0.01)
    >>> 0.01 <= clock.read().seconds < 1.0
    True
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside, self._began, self._seconds, self._kernels = 0, 0.0, 0.0, 0

    def __enter__(self) -> CompileClock:
        with self._lock:
            if self._inside == 0:
                self._began = time.perf_counter()
            self._inside += 1
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._seconds += time.perf_counter() - self._began

    def count(self) -> None:
        """Count one more compiled kernel."""
        with self._lock:
            self._kernels += 1

    def read(self) -> Compiled:
        """The totals of this process so far, including a compilation in progress."""
        with self._lock:
            running = time.perf_counter() - self._began if self._inside else 0.0
            return Compiled(self._seconds + running, self._kernels)

    def other_time(self) -> float:
        """`time.perf_counter` minus the time spent on kernels: the clock of a solve."""
        with self._lock:
            return (self._began if self._inside else time.perf_counter()) - self._seconds


CLOCK = CompileClock()
