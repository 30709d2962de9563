"""Weighted Gram matrices of rows."""

from __future__ import annotations

import numpy as np

from fenchel.data.rows import add_outer, row_column, row_entry, row_span
from fenchel.jit import kernel


@kernel(fastmath=True)
def gram_pass(rows, weights, out):
    """out += sum_i weights_i x_i x_i' on and above the diagonal, as columns are in order within a row."""
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
