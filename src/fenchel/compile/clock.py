"""How long kernels took to be compiled, and a clock that stands still meanwhile.

Compilation happens where a kernel is first called, in the midst of a solve; a kernel that another process has compiled is
read from disk instead, which takes some milliseconds and counts the same. Kernels that call kernels are compiled one inside
another, and threads wait for each other to compile: every second counts once. The count is of the process: two solves at
the same time share it.
"""

from __future__ import annotations

import threading
import time
from typing import NamedTuple


class Compiled(NamedTuple):
    """Seconds spent on kernels, and how many of them were compiled."""

    seconds: float
    kernels: int


class CompileClock:
    """A context manager around every compilation, which may be entered again within itself and from several threads.

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
        """One more kernel was compiled."""
        with self._lock:
            self._kernels += 1

    def read(self) -> Compiled:
        """All of this process until now, with a compilation that is under way."""
        with self._lock:
            running = time.perf_counter() - self._began if self._inside else 0.0
            return Compiled(self._seconds + running, self._kernels)

    def other_time(self) -> float:
        """Seconds as of `time.perf_counter`, without those spent on kernels: the clock of a solve."""
        with self._lock:
            return (self._began if self._inside else time.perf_counter()) - self._seconds


CLOCK = CompileClock()
