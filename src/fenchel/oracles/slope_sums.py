"""sum_i p_i slope(z_i + b, y_i) over some rows; those with the same slope at all remaining b are added only once."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.kernels.intercept import changing_rows, intercept_sums
from fenchel.kernels.vector_passes import changing_class_rows, class_intercept_sums
from fenchel.oracles.intercepts import Brackets


class SlopeSums:
    """The sums over the rows y, p with scores z, for `intercepts.NarrowingSums`.

    >>> from fenchel.losses import Hinge
    >>> sums = SlopeSums(Hinge(), np.ones(3), np.ones(3), np.array([0.0, 0.5, 4.0]))
    >>> total, size, rows = sums.at(np.array([0.25, 0.75]), ())
    >>> total.tolist(), rows
    ([-2.0, -1.0], 3.0)
    >>> total, size, rows = sums.at(np.array([0.6]), ((0.25, 0.75),))  # the nonsmooth point of one row is in between
    >>> total.tolist(), rows
    ([-1.0], 1.0)
    """

    def __init__(self, loss: Any, y: np.ndarray, p: np.ndarray, z: np.ndarray):
        self.loss = loss
        self.rows: tuple[np.ndarray, ...] = (y, p, z)
        self.total = self.size = 0.0  # the sums over the rows that were left out
        self.narrowed = 0  # the number of brackets so far

    def at(self, bs: np.ndarray, brackets: Brackets) -> tuple[np.ndarray, np.ndarray, float]:
        """(sum p slope, sum p |slope| for every intercept, number of rows that are evaluated), after these brackets."""
        for low, high in brackets[self.narrowed :]:
            self.narrow(low, high)
        self.narrowed = len(brackets)
        total, size, rows = np.full(bs.size, self.total), np.full(bs.size, self.size), self.rows[1].size
        if rows:
            self.add(bs, total, size)
        return total, size, float(rows)

    def narrow(self, low: float, high: float) -> None:
        """Leave out the rows whose slopes at low and high are equal."""
        index = np.empty(self.rows[1].size, dtype=np.int64)
        total, size, count = self.changing(low, high, index)
        self.total, self.size = self.total + total, self.size + size
        self.rows = tuple(array[index[:count]] for array in self.rows)

    def add(self, bs: np.ndarray, total: np.ndarray, size: np.ndarray) -> None:
        intercept_sums(self.loss, *self.rows, bs, total, size)

    def changing(self, low: float, high: float, index: np.ndarray) -> tuple[float, float, int]:
        return changing_rows(self.loss, *self.rows, low, high, index)


class ClassSlopeSums(SlopeSums):
    """The same for the slopes in the score of class c, with scores n x m: b is added to those of class c."""

    def __init__(self, loss: Any, y: np.ndarray, p: np.ndarray, Z: np.ndarray, c: int):
        super().__init__(loss, y, p, Z)
        self.c = c

    def add(self, bs: np.ndarray, total: np.ndarray, size: np.ndarray) -> None:
        class_intercept_sums(self.loss, *self.rows, self.c, bs, total, size)

    def changing(self, low: float, high: float, index: np.ndarray) -> tuple[float, float, int]:
        return changing_class_rows(self.loss, *self.rows, self.c, low, high, index)
