"""Copies of some rows of a problem: samples for the first steps, and the rows that a step still needs.

Distributed rows are copied where they are: each block keeps its own. With the same block boundaries, sums over a sample are
bit-identical to those in this process: if the engine has given boundaries, the sample is divided at the same rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.data.accept import read_only, take
from fenchel.data.mapped import is_mapped
from fenchel.engines.local import Local
from fenchel.oracles.blockwise import KeptBlocks
from fenchel.problems.some_rows import SomeRows

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle

MAX_DISTINCT_LENGTH = (1 << 16) - 1  # rows are ordered by the number of their entries up to this one: 16 bits


def some_rows(problem: Any, index: np.ndarray, scale: float, edges: tuple[int, ...] | None = None) -> SomeRows:
    """A copy of rows in this process, with weights multiplied by `scale`."""
    y, p, offset = map(read_only, (problem.y[index], scale * problem.weights[index], problem.offset[index]))
    shared = (index.size, problem.d, problem.compiled_loss, problem.regularizer, problem.fit_intercept, edges)
    return SomeRows(take(problem.rows, index), y, p, offset, *shared)


def in_order_of_length(rows: Any, index: np.ndarray) -> np.ndarray:
    """The same row numbers; sparse rows in memory are ordered by length, so that the processor predicts where each ends:
    mispredicted branches take a third of the time of short rows."""
    if not hasattr(rows, "indptr") or is_mapped(rows):
        return index
    lengths = rows.indptr[index + 1] - rows.indptr[index]
    key = np.minimum(lengths, MAX_DISTINCT_LENGTH).astype(np.uint16)
    return index[np.argsort(key, kind="stable")]  # A stable sort of 16-bit numbers counts, in O(m).


def sample_of(oracle: Oracle, index: np.ndarray) -> Oracle | None:
    """An oracle of rows with ascending numbers, their weights scaled to a sum of 1; None if they have no weight."""
    problem = oracle.problem
    if not problem.remote and getattr(oracle.engine, "cut", None) is None:
        index = in_order_of_length(problem.rows, index)
        total = float(problem.weights[index].sum())
        engine = Local() if oracle.remote else oracle.engine  # Rows that were sent to workers are in this process, too.
        return type(oracle)(some_rows(problem, index, 1.0 / total), engine) if total > 0.0 else None
    chosen = np.zeros(problem.n, dtype=bool)
    chosen[index] = True
    total = oracle.weight_of(chosen)
    if not total > 0.0:
        return None
    edges = np.searchsorted(index, oracle.edges)
    if problem.remote:
        kept = KeptBlocks(oracle.blocks, RowSample, chosen, 1.0 / total, rows=1, edges=edges)
        shared = (problem.compiled_loss, problem.regularizer, problem.fit_intercept)
        nothing: Any = None
        elsewhere = SomeRows(nothing, nothing, nothing, nothing, index.size, problem.d, *shared, remote=True)
        return type(oracle)(elsewhere, KeptElsewhere(kept))
    blocks = np.split(index, edges[1:-1])
    index = np.concatenate([in_order_of_length(problem.rows, block) for block in blocks])
    engine = Local(cut=oracle.engine.cut) if oracle.remote else oracle.engine
    return type(oracle)(some_rows(problem, index, 1.0 / total, tuple(edges.tolist())), engine)


class RowSample:
    """What a block elsewhere keeps of a sample: an oracle of those of its rows that are in it."""

    kind = "sample"

    @staticmethod
    def begin_in(oracle: Oracle, scale: float, chosen: np.ndarray) -> Oracle:
        """Copy them."""
        return oracle.take(in_order_of_length(oracle.problem.rows, np.flatnonzero(chosen)), scale)


class KeptElsewhere:
    """The engine of rows that blocks elsewhere keep."""

    remote = True
    cut = None

    def __init__(self, kept: KeptBlocks):
        self.kept = kept

    def blocks(self, problem: Any) -> KeptBlocks:
        """The blocks that keep them."""
        return self.kept
