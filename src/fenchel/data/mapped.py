"""Memory-mapped rows: prefetch the next block while the current one is computed, and release blocks that are done.

A page of a mapped file counts as resident memory until it is released, even though the system could reclaim it at any time.
Nothing here changes a value, and arrays that are not mapped are left alone.
"""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGE = mmap.PAGESIZE
RUN = 1 << 10  # rows that are copied before the touched pages of a mapped file are released: each row may map 64 KB


def fetch(rows: Iterable[np.ndarray]) -> None:
    """Ask the operating system to prefetch these rows."""
    _advise(rows, "MADV_WILLNEED")


def release(rows: Iterable[np.ndarray]) -> None:
    """Tell the operating system that these rows are not needed for now; they stay in its page cache while memory allows."""
    _advise(rows, "MADV_DONTNEED")


def runs(rows: Iterable[np.ndarray], n: int) -> list[slice]:
    """The range 0 .. n of rows to copy, split so that pages can be released in between; in one piece for rows in memory.

    >>> runs((np.zeros(2000),), 1500)
    [slice(0, 1500, None)]
    """
    step = RUN if is_mapped(rows) else max(n, 1)
    return [slice(a, min(a + step, n)) for a in range(0, n, step)]


def is_mapped(rows: Iterable[np.ndarray]) -> bool:
    """True if any array of the rows lies in a mapped file."""
    return any(_map_of(array) is not None for array in rows)


def _advise(rows: Iterable[np.ndarray], advice: str) -> None:
    code = getattr(mmap, advice, None)
    if code is None:  # this operating system has no such advice
        return
    for array in rows:
        found = _map_of(array)
        if found is None or array.size == 0:
            continue
        where, start = found
        first = array.__array_interface__["data"][0] - start
        low = first // PAGE * PAGE
        high = min(-(-(first + array.nbytes) // PAGE) * PAGE, len(where))
        if high > low:
            where.madvise(code, low, high - low)


def _map_of(array: np.ndarray) -> tuple[mmap.mmap, int] | None:
    """(the memory map that contains the array, the address at which the map begins)."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if not isinstance(base, mmap.mmap):
        return None
    return base, np.frombuffer(base, dtype=np.uint8, count=1).__array_interface__["data"][0]
