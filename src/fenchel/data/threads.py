"""Work on several threads: the calling thread works too, and helper threads join in as soon as they wake up.

Waking a thread can take as long as a small block of rows. The caller therefore takes block after block itself and never waits
for a helper that has not started; a helper that comes too late finds nothing left. Kernels release the GIL, so threads suffice.
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
    """The number of cores that this process may use: in a container often fewer than the machine has.

    It is cached because asking the system takes longer than a pass over a small problem.
    """
    from joblib import cpu_count

    return cpu_count()


@contextmanager
def explain_thread_failure(threads: int) -> Iterator[None]:
    """Turn the RuntimeError of a thread that cannot be started, for lack of memory for its stack, into a clear MemoryError."""
    try:
        yield
    except RuntimeError as error:
        if "can't start new thread" not in str(error):
            raise
        raise MemoryError(
            f"there is not enough memory for the stacks of {threads} threads (usually 8 MB each): use fewer threads, as in "
            "solve(..., engine=fenchel.engines.Local(threads=1)) or n_jobs=1"
        ) from error


@cache
def _job_queue(count: int) -> SimpleQueue:
    """The job queue of `count` threads that live as long as the process."""
    jobs: SimpleQueue = SimpleQueue()
    for k in range(count):
        try:
            threading.Thread(target=_work, args=(jobs,), name=f"fenchel_{k}", daemon=True).start()
        except RuntimeError:
            for _ in range(k):
                jobs.put(None)
            raise
    return jobs


def _work(jobs: SimpleQueue) -> None:
    while (job := jobs.get()) is not None:
        job()
        del job  # release what the job refers to before waiting for the next one


if hasattr(os, "register_at_fork"):  # a forked child has none of the threads and must start its own
    os.register_at_fork(after_in_child=_job_queue.cache_clear)


def map_in_threads(function: Callable[..., Any], items: Sequence[Any], threads: int, *arguments: Any) -> list[Any]:
    """[function(item, *arguments) for item in items] on so many threads; of several exceptions, that of the first item is
    raised. The limit of time is checked before every item, because not all functions do: BLAS does not.

    >>> map_in_threads(abs, [-1, 2, -3], threads=2)
    [1, 2, 3]
    """
    threads, limit = min(threads, len(items)), deadline.current()
    results: list[Any] = []
    if threads <= 1:
        for item in items:
            if limit is not None:
                limit.check()
            results.append(function(item, *arguments))
        return results
    results = [None] * len(items)
    failures: dict[int, BaseException] = {}
    left = deque(range(len(items)))
    reports: SimpleQueue[int] = SimpleQueue()

    def take() -> int:
        """Process items until none is left; returns how many were processed, or skipped after an exception."""
        count = 0
        while left:
            try:
                k = left.popleft()
            except IndexError:
                break
            count += 1
            if failures and min(list(failures)) < k:
                continue  # the result will not be needed
            try:
                deadline.check()
                results[k] = function(items[k], *arguments)
            except BaseException as failure:
                failures[k] = failure
        return count

    def helped() -> int:
        with deadline.held(limit):
            return take()

    with explain_thread_failure(threads):
        jobs = _job_queue(threads - 1)
    for _ in range(threads - 1):
        jobs.put(lambda: reports.put(helped()))
    try:
        done = take()
        while done < len(items):  # wait for the items that helpers have started
            done += reports.get()
    finally:
        left.clear()  # also after Ctrl-C between two blocks
    if failures:
        raise failures[min(failures)]
    return results
