"""Weighted Gram matrices of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fenchel import deadline
from fenchel.compile.kernel import kernel
from fenchel.data.dense import Dense
from fenchel.data.rows import add_outer, row_column, row_entry, row_span

if TYPE_CHECKING:
    from fenchel.data.types import Rows

NARROW = 200  # columns up to which `narrow_gram` is faster than BLAS, which needs a scaled copy of the rows
BUFFER_ROWS = 256  # rows that `narrow_gram` buffers at a time
PADDING = 8  # padding of its columns, which would otherwise compete for the same cache lines
TILE = 16  # rows and columns of a triangle that are mirrored at a time
CHUNK = 1024  # rows that are passed to BLAS at a time
DENSE_SHARE = 0.6  # from this share of rows with nonzero weight on, all rows are used


def add_gram(rows: Rows, weights: np.ndarray, out: np.ndarray) -> None:
    """out += sum_i weights_i x_i x_i' on and above the diagonal (undefined below), weights >= 0; zero weights cost little."""
    if not isinstance(rows, Dense):
        gram_pass(rows, weights, out)
    elif out.shape[0] <= NARROW:
        narrow_gram(rows.values, weights, out)
    else:
        wide_gram(rows.values, weights, out)


def symmetric(matrix: np.ndarray) -> np.ndarray:
    """Copy the upper triangle onto the lower one, in place, and return the matrix."""
    mirror_pass(matrix)
    return matrix


def wide_gram(X: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
    """`add_gram` for dense rows by BLAS, in chunks of rows."""
    if X.dtype == np.float64 and weights.size and (weights == weights[0]).all():  # squares
        out += weights[0] * (X.T @ X)
        return
    used = np.flatnonzero(weights)
    few = used.size < DENSE_SHARE * weights.size
    root, buffer = np.sqrt(weights), np.empty((min(CHUNK, weights.size), X.shape[1]))
    for k in range(0, used.size if few else weights.size, CHUNK):
        deadline.check()
        at = used[k : k + CHUNK] if few else slice(k, k + CHUNK)
        part = X[at]
        scaled = np.multiply(part, root[at][:, None], out=buffer[: part.shape[0]])
        out += scaled.T @ scaled


@kernel
def mirror_pass(matrix):
    """Copy the upper triangle onto the lower one, tile by tile; in place, because allocating new memory would cost more."""
    d = matrix.shape[0]
    for top in range(0, d, TILE):
        for left in range(0, top + TILE, TILE):
            for j in range(top, min(top + TILE, d)):
                for k in range(left, min(left + TILE, j)):
                    matrix[j, k] = matrix[k, j]


@kernel(fastmath=True)
def narrow_gram(X, weights, out):
    """`add_gram` for dense rows of few columns: rows are scaled and transposed into a buffer that fits into the cache."""
    d = X.shape[1]
    padded = (d + 3) // 4 * 4
    columns, total, held = np.zeros((padded, BUFFER_ROWS + PADDING)), np.zeros((padded, padded)), np.uint64(0)
    for i in range(np.uint64(weights.size)):
        if weights[i] != 0.0:
            root = np.sqrt(weights[i])
            for j in range(np.uint64(d)):
                columns[j, held] = root * X[i, j]
            held += np.uint64(1)
            if held == BUFFER_ROWS:
                add_products(columns, held, total)
                held = np.uint64(0)
    add_products(columns, held, total)
    for j in range(d):
        for k in range(j, d):
            out[j, k] += total[j, k]


@kernel(fastmath=True)
def add_products(columns, held, total):
    """total_jk += <column j, column k> over the first `held` entries, at least for k >= j, in tiles of two by four."""
    for j in range(0, total.shape[0], 2):
        x, y = columns[j], columns[j + 1]
        for k in range(j // 4 * 4, total.shape[0], 4):
            p, q, r, s = columns[k], columns[k + 1], columns[k + 2], columns[k + 3]
            xp = xq = xr = xs = yp = yq = yr = ys = 0.0
            for i in range(held):
                xp += x[i] * p[i]
                xq += x[i] * q[i]
                xr += x[i] * r[i]
                xs += x[i] * s[i]
                yp += y[i] * p[i]
                yq += y[i] * q[i]
                yr += y[i] * r[i]
                ys += y[i] * s[i]
            total[j, k] += xp
            total[j, k + 1] += xq
            total[j, k + 2] += xr
            total[j, k + 3] += xs
            total[j + 1, k] += yp
            total[j + 1, k + 1] += yq
            total[j + 1, k + 2] += yr
            total[j + 1, k + 3] += ys


@kernel(fastmath=True)
def gram_pass(rows, weights, out):
    """out += sum_i weights_i x_i x_i' on and above the diagonal, because the columns of a row are sorted."""
    for i in range(np.uint64(weights.size)):
        if weights[i] != 0.0:
            add_outer(rows, i, weights[i], out)


@kernel(fastmath=True)
def squares_pass(rows, weights, out):
    """out_j += sum_i weights_i x_ij^2."""
    for i in range(np.uint64(weights.size)):
        if weights[i] != 0.0:
            start, stop = row_span(rows, i)
            for k in range(start, stop):
                entry = np.float64(row_entry(rows, i, k))
                out[row_column(rows, k)] += weights[i] * entry * entry
