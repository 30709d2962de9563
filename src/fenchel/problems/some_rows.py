"""Some rows of a problem with one score per row, copied together."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fenchel.data.types import Rows
from fenchel.problems.scalar import Problem
from fenchel.regularizers.base import Regularizer


class SomeRows(NamedTuple):
    """Some rows of a problem, copied together: what an oracle asks of a problem."""

    rows: Rows
    y: np.ndarray
    weights: np.ndarray
    offset: np.ndarray
    n: int
    d: int
    compiled_loss: Any
    regularizer: Regularizer
    fit_intercept: bool
    edges: tuple[int, ...] | None = None  # where the blocks of all rows begin and end here; None: cut by their own size
    remote: bool = False  # copied where they were, in blocks elsewhere

    @property
    def is_structured(self) -> bool:
        """They are rows."""
        return False


RowProblem: TypeAlias = Problem | SomeRows
