"""Rows of a C-contiguous array."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fenchel.data.mapped import release, runs
from fenchel.data.transfer import apply


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
        # Four sums side by side: an addition takes four times as long to end as to begin, and these may not be reordered.
        x = self.values[i]
        a, b, c, d, size_a, size_b, size_c, size_d = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        whole = x.size - x.size % 4
        for k in range(0, whole, 4):
            s, t, u, v = x[k] * w[k], x[k + 1] * w[k + 1], x[k + 2] * w[k + 2], x[k + 3] * w[k + 3]
            a, b, c, d = a + s, b + t, c + u, d + v
            size_a, size_b, size_c, size_d = size_a + abs(s), size_b + abs(t), size_c + abs(u), size_d + abs(v)
        for k in range(whole, x.size):
            s = x[k] * w[k]
            a, size_a = a + s, size_a + abs(s)
        return (a + b) + (c + d), (size_a + size_b) + (size_c + size_d)

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

    def add_outer(self, i, a, out):
        x = self.values[i]
        for k in range(x.size):
            c = a * x[k]
            for j in range(k, x.size):
                out[k, j] += c * x[j]

    def sqnorm(self, i):
        x = self.values[i]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        whole = x.size - x.size % 4
        for k in range(0, whole, 4):
            a += np.float64(x[k]) * x[k]
            b += np.float64(x[k + 1]) * x[k + 1]
            c += np.float64(x[k + 2]) * x[k + 2]
            d += np.float64(x[k + 3]) * x[k + 3]
        for k in range(whole, x.size):
            a += np.float64(x[k]) * x[k]
        return (a + b) + (c + d)

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


def copy_rows(X: np.ndarray, index: np.ndarray, out: np.ndarray) -> None:
    """out = X[index], at once: numpy's own way makes a copy in between. The row numbers must be of rows."""
    np.take(X, index, axis=0, out=out, mode="clip")


def dense_block(rows: Dense, start: int, stop: int) -> Dense:
    return Dense(rows.values[start:stop])


def dense_take(rows: Dense, index: np.ndarray) -> Dense:
    """Some rows, copied together."""
    values = np.empty((index.size, rows.values.shape[1]), rows.values.dtype)
    for run in runs(index.size):
        copy_rows(rows.values, index[run], values[run])
        release(rows)
    return Dense(values)
