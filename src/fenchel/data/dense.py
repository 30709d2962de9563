"""Rows of a C-contiguous array."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.data.mapped import release, runs
from fenchel.data.rows import apply, axpy

if TYPE_CHECKING:
    from fenchel.data.types import Rows

NARROW = (
    64  # columns up to which `add_rows` takes four rows at a time; in wider rows, skipping rows of factor 0 pays more
)
LONG = 1500  # columns from which on a vector no longer fits into the fastest cache: see `kernels/long_rows.py`
ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@helper
def add_four(w, x, y, z, a, b, c, d, out):
    """out += a w + b x + c y + d z."""
    for k in range(out.size):
        out[k] += (a * w[k] + b * x[k]) + (c * y[k] + d * z[k])


@helper
def four_dots(rows, i, w):
    """<x_k, w> of the four rows from i on, reading w once."""
    X = rows.values
    p, q, r, s = X[i], X[i + ONE], X[i + TWO], X[i + THREE]
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for k in range(w.size):
        a += p[k] * w[k]
        b += q[k] * w[k]
        c += r[k] * w[k]
        d += s[k] * w[k]
    return a, b, c, d


@helper
def add_four_rows(rows, i, a, b, c, d, out):
    """out += a x_i + b x_(i+1) + c x_(i+2) + d x_(i+3), going over `out` once; row by row if some factors are 0."""
    X = rows.values
    if a != 0.0 and b != 0.0 and c != 0.0 and d != 0.0:
        add_four(X[i], X[i + ONE], X[i + TWO], X[i + THREE], a, b, c, d, out)
        return
    for k, factor in enumerate((a, b, c, d)):
        if factor != 0.0:
            axpy(rows, i + np.uint64(k), factor, out)


class Dense(NamedTuple):
    """`values` is (n, d), float32 or float64."""

    values: np.ndarray

    def dot(self, i, w):
        x = self.values[i]
        total = 0.0
        for k in range(x.size):
            total += x[k] * w[k]
        return total

    def sized_dot(self, i, w):
        x = self.values[i]
        total, size = 0.0, 0.0
        for k in range(x.size):
            term = x[k] * w[k]
            total += term
            size += abs(term)
        return total, size

    def mapped_dot(self, i, v, transfer):
        x = self.values[i]
        total = 0.0
        for k in range(x.size):
            total += x[k] * apply(transfer, v[k])
        return total

    def axpy(self, i, a, out):
        x = self.values[i]
        for k in range(x.size):
            out[k] += a * x[k]

    def add_rows(self, start, stop, p, u, out):
        if self.values.shape[1] <= NARROW:  # four rows at a time: `out` is read and written once for them
            one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
            while start + four <= stop:  # start rises
                i, j, k, l = start, start + one, start + two, start + three
                a, b, c, d = p[i] * u[i], p[j] * u[j], p[k] * u[k], p[l] * u[l]
                if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
                    add_four(self.values[i], self.values[j], self.values[k], self.values[l], a, b, c, d, out)
                start += four
        for i in range(start, stop):
            a = p[i] * u[i]
            if a != 0.0:
                axpy(self, i, a, out)

    def add_outer(self, i, a, out):
        x = self.values[i]
        for k in range(x.size):
            c = a * x[k]
            for j in range(k, x.size):
                out[k, j] += c * x[j]

    def sqnorm(self, i):
        x = self.values[i]
        total = 0.0
        for k in range(x.size):
            total += np.float64(x[k]) * x[k]
        return total

    def row_span(self, i):
        return np.uint64(0), np.uint64(self.values.shape[1])

    def row_column(self, k):
        return k

    def row_entry(self, i, k):
        return self.values[i, k]

    def row_vector(self, i, work):
        return self.values[i]

    def row_parts(self, i):
        return None, self.values[i]


def is_long(rows: Rows) -> bool:
    """Whether the rows are dense and so long that passes process four of them at a time."""
    return isinstance(rows, Dense) and rows.values.shape[1] >= LONG


def copy_rows(X: np.ndarray, index: np.ndarray, out: np.ndarray) -> None:
    """out = X[index] without the temporary copy that numpy's indexing makes. The row numbers must be valid."""
    np.take(X, index, axis=0, out=out, mode="clip")


def dense_block(rows: Dense, start: int, stop: int) -> Dense:
    return Dense(rows.values[start:stop])


def dense_take(rows: Dense, index: np.ndarray) -> Dense:
    """A copy of the rows `index`."""
    values = np.empty((index.size, rows.values.shape[1]), rows.values.dtype)
    for run in runs(rows, index.size):
        copy_rows(rows.values, index[run], values[run])
        release(rows)
    return Dense(values)
