"""The count of passes over the data, and the operations that visit rows and count themselves.

A pass reads all stored values of X for products in both directions: X w, the scores, and X'u, a sum of rows. So

    passes = sum over visits of (values visited / stored values of X) * (directions used / 2),

where a visit to some rows counts rows / n. The fused gradient is one pass, scores alone or a sum of rows alone are half of
one, and an epoch of dual steps, which takes a score and adds a row for each row visited, is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from fenchel.data.row_blocks import slices


class PassCount:
    """The passes of an oracle. Only this class implements the rule above: callers report what they visited."""

    problem: Any
    engine: Any
    passes: float

    def count(self, fraction: float = 1.0, directions: int = 2) -> None:
        """Count a visit to this fraction of the stored values, with products in so many directions."""
        self.passes += 0.5 * directions * fraction

    def count_rows(self, rows: float) -> None:
        """Count visits to so many rows, a row as often as it was visited, with products in both directions."""
        self.count(rows / self.problem.n)

    def count_sample(self, sample: PassCount, rows: int) -> None:
        """Count the passes over a sample of so many rows as visits to these rows; the sample's own count begins anew."""
        self.count_rows(sample.passes * rows)
        sample.passes = 0.0

    def visits(self, order: np.ndarray, values: float, multiple: int = 1) -> Iterator[np.ndarray]:
        """The rows of an epoch in slices (`data.row_blocks.slices`), counted when the first one is taken."""
        self.count_rows(order.size)
        yield from slices(order, values, multiple)

    def sum_blocks(
        self, work: Callable[..., Any], blocks: Sequence[Any], fraction: float = 1.0, directions: int = 2
    ) -> Any:
        """The sums of work(block) over blocks that hold this fraction of the stored values."""
        self.count(fraction, directions)
        return self.engine.sum(work, blocks)

    def map_blocks(
        self, work: Callable[..., Any], blocks: Sequence[Any], fraction: float = 1.0, directions: int = 2
    ) -> Any:
        """work(block) for every block, the blocks holding this fraction of the stored values."""
        self.count(fraction, directions)
        return self.engine.map(work, blocks)
