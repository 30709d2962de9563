"""What a block can be asked beyond what its oracle says. The first argument is the `Holder` on whose worker it runs.

Answers that are added up over blocks are tuples.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def combined(holder: Any, u: np.ndarray) -> tuple[np.ndarray]:
    """(sum p u x,)."""
    return (holder.oracle.combine(np.ascontiguousarray(u)),)


def grams(holder: Any, weights: np.ndarray) -> tuple[np.ndarray]:
    """(sum of weights x x', above the diagonal,)."""
    return (holder.oracle.upper_gram(np.ascontiguousarray(weights)),)


def risk_alone(holder: Any, w: np.ndarray) -> tuple[float, np.ndarray]:
    """(sum p loss, its gradient), where there is no intercept apart from the variables."""
    return holder.oracle.risk(w)[:2]


def labels(holder: Any, w: np.ndarray) -> np.ndarray:
    """The best labels of the block's examples, flat."""
    (block,), first = holder.oracle.blocks, holder.problem.first
    return holder.oracle.labels_at(w)[2][first[block.start] : first[block.stop]]


def size(holder: Any) -> int:
    """How many rows or examples."""
    (block,) = holder.oracle.blocks
    return block.stop - block.start
