"""What came back from a worker, looked at before it is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fenchel.cluster.holder import aligned

Shapes = tuple[tuple[int, ...], ...] | None


def aligned_answer(answer: dict) -> dict:
    """With arrays at proper addresses."""
    return {key: aligned(value) for key, value in answer.items()}


def wrong_form(answer: Any, blocks: Sequence[int], shapes: Shapes, summed: bool) -> str:
    """What is wrong with an answer before its numbers are looked at: every block must be in it once, whole.

    >>> wrong_form({(0, 2): (1.0,)}, [0, 1], ((),), True), wrong_form({(0, 2): (1.0,)}, [0], ((),), True)
    ('', 'for blocks [0, 1] instead of [0]')
    """
    there = sorted(k for a, b in answer for k in range(a, b)) if summed else sorted(answer)
    if there != sorted(blocks):
        return f"for blocks {there} instead of {list(blocks)}"
    if shapes is None:
        return ""
    if not summed:  # a shape for every block, of the first axis
        short = [k for k in blocks if np.shape(answer[k])[:1] != shapes[k]]
        return (
            f"with {np.shape(answer[short[0]])} numbers for block {short[0]} of {shapes[short[0]][0]} rows"
            if short
            else ""
        )
    odd = [terms for terms in answer.values() if tuple(np.shape(term) for term in terms) != shapes]
    return f"with shapes {[np.shape(term) for term in odd[0]]} instead of {list(shapes)}" if odd else ""


def has_nan(answer: dict) -> bool:
    """Whether some number of an answer is NaN: sums, or the numbers of a block's rows.

    >>> has_nan({(0, 1): (1.0, np.array([2.0, np.nan]))}), has_nan({0: np.array([2.0, 3.0])})
    (True, False)
    """
    terms = (part for found in answer.values() for part in (found if isinstance(found, tuple) else (found,)))
    return any(np.isnan(part).any() for part in terms)
