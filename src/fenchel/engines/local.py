"""The engine of one machine: row blocks over threads.

The block boundaries depend on the data only, never on the number of threads, and block results are added in a fixed order
(`summation_tree.py`): results are bit-identical on one core and on many, and for data in memory and on disk.
Rows that are mapped from disk are prefetched a block ahead and released after use.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fenchel.data.accept import block, size
from fenchel.data.csr import CSR
from fenchel.data.mapped import fetch, is_mapped, release
from fenchel.data.threads import cores, map_in_threads
from fenchel.data.types import Rows
from fenchel.engines.summation_tree import added
from fenchel.errors import InputError
from fenchel.problems.some_rows import RowProblem, SomeRows

SMALLEST_BLOCK = 1 << 17  # stored values: some tenths of a millisecond of work, well above the overhead of a task
SMALLEST_SPAN = 1 << 14  # rows, for work on vectors: some tenths of a millisecond
MOST_BLOCKS = 32  # unless blocks would be larger than LARGEST_BLOCK
LARGEST_BLOCK = 1 << 22  # stored values; of data on disk, only a few such blocks are in memory at a time


class Block(NamedTuple):
    """Rows start..stop of a problem, as views."""

    rows: Any
    y: np.ndarray
    p: np.ndarray
    offset: np.ndarray
    start: int
    stop: int
    mapped: bool = False  # from disk


def cut(rows: Rows, n: int, d: int) -> list[int]:
    """The row numbers of the block boundaries, for blocks with equal numbers of stored values.

    A block holds at least 2 d values, so that the partial gradients stay small beside the data. A small number of blocks is a
    power of two, so that 2, 4, 8, ... threads have equal work.
    """
    stored = size(rows)
    most = max(MOST_BLOCKS, stored // LARGEST_BLOCK)
    wanted = int(max(stored // max(SMALLEST_BLOCK, 4 * d), 1))
    count = int(min(1 << round(math.log2(wanted)), most, n))
    sparse = isinstance(rows, CSR)
    if (
        sparse and n > 1 and stored >= max(SMALLEST_BLOCK, 4 * d)
    ):  # a sparse value takes several times as long as a dense one
        count = max(count, 2)
    if count == 1:
        return [0, n]
    if isinstance(rows, CSR):
        goals = np.linspace(int(rows.indptr[0]), int(rows.indptr[-1]), count + 1)[1:-1]
        inner = np.searchsorted(rows.indptr, goals.astype(rows.indptr.dtype))
    else:
        inner = np.linspace(0, n, count + 1)[1:-1].astype(int)
    return sorted({0, n, *(int(i) for i in inner)})


def spans(n: int) -> list[slice]:
    """Ranges of row numbers, for work on vectors of length n without the rows themselves."""
    count = max(min(n // SMALLEST_SPAN, MOST_BLOCKS), 1)
    return [slice(n * k // count, n * (k + 1) // count) for k in range(count)]


def _streamed(function: Callable[..., Any], blocks: list[Block], ahead: int) -> Callable[..., Any]:
    """The function with prefetching: the rows of a block are read ahead of time, and released after it."""
    following = {id(block): after for block, after in zip(blocks, blocks[ahead:], strict=False)}

    def streamed(block: Block, *arguments: Any) -> Any:
        if id(block) in following:
            fetch(following[id(block)].rows)
        result = function(block, *arguments)
        release(block.rows)
        return result

    return streamed


@dataclass(frozen=True)
class Local:
    """Threads of this process: as many as there are cores (`threads=None`), or a given number.

    `cut` are the row numbers of the block boundaries, from 0 to n; None chooses them by the size of the data. With the same
    boundaries, all engines give bit-identical results.

    >>> Local(threads=2)
    Local(threads=2, cut=None)
    """

    threads: int | None = None
    cut: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.threads is not None and (not isinstance(self.threads, int) or self.threads < 1):
            raise InputError(f"threads must be None or an integer of at least 1, got {self.threads!r}")
        if self.cut is not None and (len(self.cut) < 2 or any(a >= b for a, b in pairwise(self.cut))):
            raise InputError(f"cut must be increasing row numbers from 0 to n, got {self.cut!r}")

    def blocks(self, problem: Any) -> list[Block]:
        """The blocks of rows; their boundaries do not depend on the number of threads."""
        if hasattr(problem, "cut"):  # examples that are not rows
            return problem.cut(self.cut)
        y, p, offset, mapped = problem.y, problem.weights, problem.offset, is_mapped(problem.rows)
        return [
            Block(block(problem.rows, a, b), y[a:b], p[a:b], offset[a:b], a, b, mapped)
            for a, b in pairwise(self.edges(problem))
        ]

    def edges(self, problem: RowProblem) -> Sequence[int]:
        """The block boundaries of a problem."""
        if isinstance(problem, SomeRows):  # the engine's own cut is of all rows, not of these
            return cut(problem.rows, problem.n, problem.d) if problem.edges is None else problem.edges
        if self.cut is None:
            return problem.at_query_starts(cut(problem.rows, problem.n, problem.d))
        if self.cut[0] != 0 or self.cut[-1] != problem.n:
            raise InputError(
                f"cut must go from 0 to the number of rows, {problem.n}; got {self.cut[0]} to {self.cut[-1]}"
            )
        return self.cut

    def map(self, function: Callable[..., Any], blocks: list[Any], *arguments: Any) -> list[Any]:
        """function(block, *arguments) for every block, results in block order."""
        threads = self.threads or cores()
        if blocks and getattr(blocks[0], "mapped", False):
            function = _streamed(function, blocks, min(threads, len(blocks)))
        return map_in_threads(function, blocks, threads, *arguments)

    def sum(self, function: Callable[..., tuple], blocks: list[Any], *arguments: Any) -> tuple:
        """The sum of the results of all blocks, term by term, in the order of `summation_tree.py`."""
        return added(self.map(function, blocks, *arguments))
