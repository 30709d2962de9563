"""sum_i p_i slope(z_i + b, y_i) over some rows; those with the same slope at all remaining b are added only once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.data.row_blocks import map_row_ranges
from fenchel.kernels.intercept import changing_rows, intercept_sums
from fenchel.kernels.vector_passes import changing_class_rows, class_intercept_sums
from fenchel.oracles.intercepts import Brackets

MANY = 1 << 12  # rows from which on those that change between the first and the last intercept are looked for first


class Between(NamedTuple):
    """The rows whose slopes at low and high differ, and sum p slope and sum p |slope| of the others, whose slopes are equal
    in between, because slopes are nondecreasing."""

    low: float
    high: float
    total: float
    size: float
    rows: tuple[np.ndarray, ...]


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
        self.latest: Between | None = None  # of the present rows

    def at(self, bs: np.ndarray, brackets: Brackets) -> tuple[np.ndarray, np.ndarray, float]:
        """(sum p slope, sum p |slope| for every intercept, number of rows that are evaluated), after these brackets."""
        for low, high in brackets[self.narrowed :]:
            self.narrow(low, high)
        self.narrowed = len(brackets)
        total, size, rows = self.total, self.size, self.rows
        if rows[1].size > MANY and bs.size > 2:
            found = self.latest = self.between(float(bs.min()), float(bs.max()))
            total, size, rows = total + found.total, size + found.size, found.rows
        totals, sizes = np.full(bs.size, total), np.full(bs.size, size)
        if rows[1].size:
            self.add(rows, bs, totals, sizes)
        return totals, sizes, float(self.rows[1].size)

    def narrow(self, low: float, high: float) -> None:
        """Leave out the rows whose slopes at low and high are equal."""
        known = self.latest
        if known is not None and known.low <= low and high <= known.high:
            self.leave_out(known)
            if (known.low, known.high) == (low, high):
                return
        self.leave_out(self.between(low, high))

    def leave_out(self, found: Between) -> None:
        """Go on with the rows that change."""
        self.total, self.size, self.rows = self.total + found.total, self.size + found.size, found.rows
        self.latest = None

    def between(self, low: float, high: float) -> Between:
        """The present rows, divided into those that change between low and high and the others."""
        parts = list(map_row_ranges(self.rows[1].size, lambda span: self.part(span, low, high)))
        index = np.concatenate([part[2] for part in parts]) if parts else np.zeros(0, np.int64)
        total, size = (float(sum(part[k] for part in parts)) for k in range(2))
        return Between(low, high, total, size, tuple(_chosen(array, index) for array in self.rows))

    def part(self, span: slice, low: float, high: float) -> tuple[float, float, np.ndarray]:
        """(the two sums of the rows in `span` that do not change, the numbers of the others)."""
        rows = tuple(array[span] for array in self.rows)
        index = np.empty(rows[1].size, dtype=np.int64)
        total, size, count = self.changing(rows, low, high, index)
        return total, size, index[:count] + span.start

    def add(self, rows: tuple[np.ndarray, ...], bs: np.ndarray, total: np.ndarray, size: np.ndarray) -> None:
        """Add the sums of these rows."""
        intercept_sums(self.loss, *rows, bs, total, size)

    def changing(
        self, rows: tuple[np.ndarray, ...], low: float, high: float, index: np.ndarray
    ) -> tuple[float, float, int]:
        """(sum p slope, sum p |slope| of those that do not change, how many others are written into `index`)."""
        return changing_rows(self.loss, *rows, low, high, index)


def _chosen(array: np.ndarray, index: np.ndarray) -> np.ndarray:
    """array[index], read-only if the array is: numba would compile the sums a second time."""
    found = array[index]
    found.flags.writeable = array.flags.writeable
    return found


class ClassSlopeSums(SlopeSums):
    """The same for the slopes in the score of class c, with scores n x m: b is added to those of class c."""

    def __init__(self, loss: Any, y: np.ndarray, p: np.ndarray, Z: np.ndarray, c: int):
        super().__init__(loss, y, p, Z)
        self.c = c

    def add(self, rows: tuple[np.ndarray, ...], bs: np.ndarray, total: np.ndarray, size: np.ndarray) -> None:
        class_intercept_sums(self.loss, *rows, self.c, bs, total, size)

    def changing(
        self, rows: tuple[np.ndarray, ...], low: float, high: float, index: np.ndarray
    ) -> tuple[float, float, int]:
        return changing_class_rows(self.loss, *rows, self.c, low, high, index)
