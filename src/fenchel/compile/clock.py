"""The time spent compiling kernels, and a clock that excludes it.

A kernel is compiled at its first call, in the middle of a solve; one that another process has compiled is read from disk
instead, which takes some milliseconds and counts as well. Compilations may be nested (kernels that call kernels) and threads
wait for each other to compile, but every second is counted once. The count belongs to the process: concurrent solves share it.

Meanwhile Python's collection of reference cycles pauses: it took an eighth of the time of a compilation.
"""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

log = logging.getLogger("fenchel")


SERIES_SECONDS = 10.0  # kernels that are compiled within so many seconds of each other are announced once


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
        self._announced = -1.0
        self._collects = True
        self._compiling = False
        self.watchers: list[Callable[[str], object]] = []  # called with the name of a kernel before it is compiled

    def __enter__(self) -> CompileClock:
        with self._lock:
            if self._inside == 0:
                self._began = time.perf_counter()
                self._collects = gc.isenabled()
                gc.disable()
            self._inside += 1
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                if self._collects:
                    gc.collect(1)  # in the time of the compilation, not of what comes after it
                    gc.enable()
                now = time.perf_counter()
                self._seconds += now - self._began
                if self._compiling:
                    self._announced, self._compiling = now, False

    def announce(self, kernel: str) -> None:
        """Say that a kernel is going to be compiled: to the watchers, and in the log before the first one of a series."""
        with self._lock:
            now = time.perf_counter()
            first = self._announced < 0.0 or now - self._announced > SERIES_SECONDS
            self._announced, self._compiling = now, True
        if first:
            log.info("compiling kernels for this kind of fit, once on this machine (beforehand: fenchel warm-up)")
        log.debug("compiling %s", kernel)
        for watcher in tuple(self.watchers):
            watcher(kernel)

    def count(self) -> None:
        """Count one more compiled kernel."""
        with self._lock:
            self._kernels += 1

    def compiling(self) -> bool:
        """Whether a kernel is being compiled now, as opposed to read from disk or run."""
        return self._compiling

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
