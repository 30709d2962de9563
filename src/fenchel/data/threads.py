"""Work on several threads: the caller does its share, and others help as soon as they are awake.

Waking a thread can take as long as a small block of rows. So nobody waits for one that has not begun: the caller takes block
after block itself, and a helper that comes too late finds nothing left. Kernels release the GIL, so threads are enough.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from queue import SimpleQueue
from typing import Any

from fenchel import deadline


@cache
def cores() -> int:
    """How many this machine has. Asking the system takes longer than a pass over a small problem."""
    return os.cpu_count() or 1


@contextmanager
def room_for(threads: int) -> Iterator[None]:
    """Where memory has no room for another thread's stack, a MemoryError says so."""
    try:
        yield
    except RuntimeError as error:
        if "can't start new thread" not in str(error):
            raise
        raise MemoryError(
            f"there is no room for the stacks of {threads} threads (usually 8 MB each): ask for fewer of them, as in "
            "solve(..., engine=fenchel.engines.Local(threads=1)) or n_jobs=1"
        ) from error


@cache
def _helpers(count: int) -> SimpleQueue:
    """Where so many threads wait for something to do, as long as the process lives."""
    jobs: SimpleQueue = SimpleQueue()
    for k in range(count):
        try:
            threading.Thread(target=_help, args=(jobs,), name=f"fenchel_{k}", daemon=True).start()
        except RuntimeError:
            for _ in range(k):
                jobs.put(None)
            raise
    return jobs


def _help(jobs: SimpleQueue) -> None:
    while (job := jobs.get()) is not None:
        job()
        del job  # and all that it holds, before this thread waits


if hasattr(os, "register_at_fork"):  # a forked child has no threads: it must make its own
    os.register_at_fork(after_in_child=_helpers.cache_clear)


def spread(function: Callable[[Any], Any], items: Sequence[Any], threads: int) -> list[Any]:
    """[function(item) for item in items] on so many threads; of several failures the first item's is raised.

    >>> spread(abs, [-1, 2, -3], threads=2)
    [1, 2, 3]
    """
    threads = min(threads, len(items))
    if threads <= 1:
        return [function(item) for item in items]
    results: list[Any] = [None] * len(items)
    failures: dict[int, BaseException] = {}
    left = deque(range(len(items)))
    reports: SimpleQueue[int] = SimpleQueue()

    def take() -> int:
        """Item after item until none is left; returns how many were done, or dropped after a failure."""
        count = 0
        while left:
            try:
                k = left.popleft()
            except IndexError:
                break
            count += 1
            if failures and min(list(failures)) < k:
                continue  # nobody will ask for it
            try:
                results[k] = function(items[k])
            except BaseException as failure:
                failures[k] = failure
        return count

    limit = deadline.current()

    def helped() -> int:
        with deadline.held(limit):
            return take()

    with room_for(threads):
        jobs = _helpers(threads - 1)
    for _ in range(threads - 1):
        jobs.put(lambda: reports.put(helped()))
    try:
        done = take()
        while done < len(items):  # the rest was begun by others
            done += reports.get()
    finally:
        left.clear()  # also after Ctrl-C between two blocks
    if failures:
        raise failures[min(failures)]
    return results
