"""Apply a function to blocks of rows, a few at a time on several threads; results come in the order of the blocks.

The block boundaries depend on the data only, so sums over blocks do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from fenchel.data.accept import block, size
from fenchel.data.mapped import release
from fenchel.data.threads import cores, map_in_threads

if TYPE_CHECKING:
    from fenchel.data.types import Rows

VALUES = 1 << 18  # approximate number of stored values in a block: some tenths of a millisecond of work
MIN_RANGE_ROWS = 1 << 15  # for work on one number per row: some hundredths of a millisecond
MAX_POWER_OF_TWO_BLOCKS = 32  # up to so many, the number of blocks is rounded up to a power of two
# Approximate number of stored values that one compiled call processes: it takes some tenths of a second, and only between
# calls can the work be interrupted.
MAX_CALL_VALUES = 1 << 24
BLOCKS_AHEAD = 2  # blocks per thread that are computed before the first of their results is used
THREADS: ContextVar[int | None] = ContextVar("threads", default=None)


@contextmanager
def limit_threads(threads: int | None) -> Iterator[None]:
    """Within the `with` block, use at most so many threads (None: as many as there are cores)."""
    token = THREADS.set(threads)
    try:
        yield
    finally:
        THREADS.reset(token)


def map_row_blocks(
    rows: Rows, n: int, work: Callable[[slice, Any], Any], least: int = 0, values: int = VALUES
) -> Iterator[Any]:
    """work(row numbers, those rows) for every block, in order; blocks mapped from disk are released afterwards.

    A block has about `values` stored values, and at least `least`, for work with a fixed cost per block.

    >>> import numpy as np
    >>> from fenchel.data.accept import accept_matrix
    >>> rows = accept_matrix(np.ones((5, 2)))[1]
    >>> list(map_row_blocks(rows, 5, lambda span, part: (span.start, span.stop), values=4))
    [(0, 2), (2, 4), (4, 5)]
    """
    wanted = max(-(-size(rows) // max(values, least)), 1)
    count = (
        1 << (wanted - 1).bit_length() if wanted <= MAX_POWER_OF_TWO_BLOCKS else wanted
    )  # to balance 2, 4, ... threads
    step = max(-(-n // count), 1)

    def one(a: int) -> Any:
        span = slice(a, min(a + step, n))
        part = block(rows, span.start, span.stop)
        result = work(span, part)
        release(part)
        return result

    yield from _in_order(one, range(0, n, step))


def slices(order: Any, values: float, multiple: int = 1) -> Iterator[Any]:
    """`order` in slices for one compiled call each; `values` is the work per entry of `order`, in stored values.

    >>> import numpy as np
    >>> [part.size for part in slices(np.arange(10), MAX_CALL_VALUES / 4)]
    [4, 4, 2]
    """
    step = max(int(MAX_CALL_VALUES / max(values, 1.0)) // multiple, 1) * multiple
    for a in range(0, len(order), step):
        yield order[a : a + step]


def map_row_ranges(n: int, work: Callable[[slice], Any]) -> Iterator[Any]:
    """work(row numbers) for ranges of n rows, in order, for work that needs only vectors of n numbers.

    >>> list(map_row_ranges(100_000, lambda span: (span.start, span.stop)))
    [(0, 33334), (33334, 66668), (66668, 100000)]
    >>> list(map_row_ranges(0, lambda span: span))
    []
    """
    step = max(-(-n // max(n // MIN_RANGE_ROWS, 1)), 1)
    yield from _in_order(lambda a: work(slice(a, min(a + step, n))), range(0, n, step))


def _in_order(one: Callable[[int], Any], starts: range) -> Iterator[Any]:
    threads = min(THREADS.get() or cores(), len(starts))
    if threads <= 1:
        yield from map(one, starts)
        return
    for k in range(0, len(starts), BLOCKS_AHEAD * threads):  # a few at a time, so that results do not accumulate
        yield from map_in_threads(one, starts[k : k + BLOCKS_AHEAD * threads], threads)
