"""Rows of a sparse matrix in CSR form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.compile.kernel import kernel
from fenchel.data.mapped import release, runs
from fenchel.data.rows import apply

# The loops are unrolled by hand into four independent sums. The gather instruction, which compilers would use to fetch several
# entries of w at a time, takes up to twice as long as fetching them one after the other.
ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@helper
def term(rows, k, w):
    """The k-th stored value times its entry of w."""
    return rows.values[k] * w[rows.indices[k]]


@helper
def axpy_entry(rows, k, a, out):
    """Add a times the k-th stored value to its entry of `out`; returns the square of the value."""
    x = np.float64(rows.values[k])
    out[rows.indices[k]] += a * x
    return x * x


class CSR(NamedTuple):
    """`indptr` and `indices` are unsigned views of scipy's arrays.

    They are unsigned because numba tests every signed index for wrap-around, which makes a pass 1.7 to 2.9 times slower.
    """

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray

    def dot(self, i, w):
        k, stop = np.uint64(self.indptr[i]), np.uint64(self.indptr[np.uint64(i) + ONE])
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        while k + FOUR <= stop:  # k rises
            a += term(self, k, w)
            b += term(self, k + ONE, w)
            c += term(self, k + TWO, w)
            d += term(self, k + THREE, w)
            k += FOUR
        while k < stop:  # k rises
            a += term(self, k, w)
            k += ONE
        return (a + b) + (c + d)

    def sized_dot(self, i, w):
        k, stop = np.uint64(self.indptr[i]), np.uint64(self.indptr[np.uint64(i) + ONE])
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        size_a, size_b, size_c, size_d = 0.0, 0.0, 0.0, 0.0
        while k + FOUR <= stop:  # k rises
            p, q, r, s = term(self, k, w), term(self, k + ONE, w), term(self, k + TWO, w), term(self, k + THREE, w)
            a, b, c, d = a + p, b + q, c + r, d + s
            size_a, size_b, size_c, size_d = size_a + abs(p), size_b + abs(q), size_c + abs(r), size_d + abs(s)
            k += FOUR
        while k < stop:  # k rises
            p = term(self, k, w)
            a, size_a = a + p, size_a + abs(p)
            k += ONE
        return (a + b) + (c + d), (size_a + size_b) + (size_c + size_d)

    def mapped_dot(self, i, v, transfer):
        total = 0.0
        for k in range(self.indptr[i], self.indptr[np.uint64(i) + np.uint64(1)]):
            total += self.values[k] * apply(transfer, v[self.indices[k]])
        return total

    def axpy(self, i, a, out):
        for k in range(self.indptr[i], self.indptr[np.uint64(i) + np.uint64(1)]):
            out[self.indices[k]] += a * self.values[k]

    def add_sized_rows(self, start, stop, p, u, out):
        total = 0.0
        for i in range(start, stop):
            factor = p[i] * u[i]
            k, end = np.uint64(self.indptr[i]), np.uint64(self.indptr[np.uint64(i) + ONE])
            if factor == 0.0:
                continue
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            while k + FOUR <= end:  # k rises
                a += axpy_entry(self, k, factor, out)
                b += axpy_entry(self, k + ONE, factor, out)
                c += axpy_entry(self, k + TWO, factor, out)
                d += axpy_entry(self, k + THREE, factor, out)
                k += FOUR
            while k < end:  # k rises
                a += axpy_entry(self, k, factor, out)
                k += ONE
            total += abs(factor) * np.sqrt((a + b) + (c + d))
        return total

    def add_outer(self, i, a, out):
        stop = self.indptr[np.uint64(i) + np.uint64(1)]
        for k in range(self.indptr[i], stop):
            c = a * self.values[k]
            for j in range(k, stop):
                out[self.indices[k], self.indices[j]] += c * self.values[j]

    def sqnorm(self, i):
        total = 0.0
        for k in range(self.indptr[i], self.indptr[np.uint64(i) + np.uint64(1)]):
            total += np.float64(self.values[k]) * self.values[k]
        return total

    def row_span(self, i):
        return self.indptr[i], self.indptr[np.uint64(i) + np.uint64(1)]

    def row_column(self, k):
        return self.indices[k]

    def row_entry(self, i, k):
        return self.values[k]

    def row_vector(self, i, work):
        work[:] = 0.0
        for k in range(self.indptr[i], self.indptr[np.uint64(i) + np.uint64(1)]):
            work[self.indices[k]] += self.values[k]
        return work

    def row_parts(self, i):
        start, stop = self.indptr[i], self.indptr[np.uint64(i) + np.uint64(1)]
        return self.indices[start:stop], self.values[start:stop]


def unsigned(array: np.ndarray) -> np.ndarray:
    """A view of the same memory as unsigned integers."""
    return array.view(np.uint32 if array.dtype.itemsize == 4 else np.uint64)


def csr_block(rows: CSR, start: int, stop: int) -> CSR:
    return CSR(rows.indptr[start : stop + 1], rows.indices, rows.values)


def csr_take(rows: CSR, index: np.ndarray) -> CSR:
    """A copy of the rows `index`."""
    lengths = (rows.indptr[1:] - rows.indptr[:-1])[index]
    indptr = np.zeros(index.size + 1, rows.indptr.dtype)
    np.cumsum(lengths, out=indptr[1:])
    indices, values = np.empty(int(indptr[-1]), rows.indices.dtype), np.empty(int(indptr[-1]), rows.values.dtype)
    numbers = index.astype(np.uint64)
    for run in runs(rows, index.size):
        copy_rows(rows, numbers[run], indptr[run.start : run.stop + 1], indices, values)
        release(rows)
    return CSR(indptr, indices, values)


@kernel
def copy_rows(rows, index, indptr, indices, values):
    """Copy the entries of the rows `index`, one row after the other."""
    for k in range(np.uint64(index.size)):
        start, to = rows.indptr[index[k]], indptr[k]
        for j in range(indptr[k + np.uint64(1)] - to):
            indices[to + j] = rows.indices[start + j]
            values[to + j] = rows.values[start + j]
