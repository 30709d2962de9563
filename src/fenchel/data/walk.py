"""One block of rows after the other, a few at a time on several threads; results come in the order of the blocks.

The cut depends on the data only, so sums over blocks do not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from fenchel.data.accept import block, size
from fenchel.data.mapped import release

VALUES = 1 << 20  # stored values in a block, about: a millisecond or two of work
FEW = 32  # blocks
THREADS: ContextVar[int | None] = ContextVar("threads", default=None)


@cache
def cores() -> int:
    """How many this machine has. Asking the system takes longer than a pass over a small problem."""
    return os.cpu_count() or 1


@contextmanager
def at_most(threads: int | None) -> Iterator[None]:
    """Within the block, walks use so many threads (None: as many as there are cores)."""
    token = THREADS.set(threads)
    try:
        yield
    finally:
        THREADS.reset(token)


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


def walk(rows: Any, n: int, work: Callable[[slice, Any], Any], values: int = VALUES) -> Iterator[Any]:
    """work(row numbers, those rows) for every block, in order; blocks that are mapped from disk are then let go of.

    >>> import numpy as np
    >>> from fenchel.data.accept import accept_matrix
    >>> rows = accept_matrix(np.ones((5, 2)))[1]
    >>> list(walk(rows, 5, lambda span, part: (span.start, span.stop), values=4))
    [(0, 2), (2, 4), (4, 5)]
    """
    wanted = max(-(-size(rows) // values), 1)
    count = 1 << (wanted - 1).bit_length() if wanted <= FEW else wanted  # equal shares for 2, 4, ... threads
    step = max(-(-n // count), 1)

    def one(a: int) -> Any:
        span = slice(a, min(a + step, n))
        part = block(rows, span.start, span.stop)
        result = work(span, part)
        release(part)
        return result

    starts = range(0, n, step)
    threads = min(THREADS.get() or cores(), len(starts))
    return map(one, starts) if threads == 1 else _on_threads(one, starts, threads)


def _on_threads(one: Callable[[int], Any], starts: range, threads: int) -> Iterator[Any]:
    """Some blocks ahead of what was asked for, so that results do not pile up."""
    with ThreadPoolExecutor(threads, thread_name_prefix="fenchel-walk") as pool, room_for(threads):
        ahead: deque[Future] = deque()
        for a in starts:
            ahead.append(pool.submit(one, a))
            if len(ahead) > 2 * threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
