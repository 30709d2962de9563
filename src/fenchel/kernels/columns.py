"""Extract some columns of X into a separate matrix, stored by rows and by columns.

A column is stored as a row of the transposed matrix, so that `dot` and `axpy` of `data/rows.py` apply to it.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.data.rows import row_column, row_entry, row_span


@kernel
def select_columns(rows, position, chosen, indptr, indices, values):
    """CSR arrays of the columns j with position_j < chosen, which become column position_j.

    Every entry is written, but the position advances only for those that are kept, so that there is no branch to predict. The
    arrays must therefore be one entry longer than what is kept.
    """
    place = np.uint64(0)
    indptr[0] = place
    for i in range(np.uint64(indptr.size - 1)):
        start, stop = row_span(rows, i)
        for k in range(start, stop):
            to = position[row_column(rows, k)]
            indices[place] = to
            values[place] = row_entry(rows, i, k)
            place += np.uint64(to < chosen)
        indptr[i + np.uint64(1)] = place
    return place


@kernel
def count_columns(rows, n, counts):
    """counts_j += the number of stored entries in column j."""
    for i in range(np.uint64(n)):
        start, stop = row_span(rows, i)
        for k in range(start, stop):
            counts[row_column(rows, k)] += np.uint64(1)


@kernel
def scatter_columns(rows, first, scale, places, indices, values):
    """Write entry (i, j), times scale_i, at position places_j with row number first + i, and advance places_j."""
    for i in range(np.uint64(scale.size)):
        start, stop = row_span(rows, i)
        for k in range(start, stop):
            j = row_column(rows, k)
            place = places[j]
            indices[place] = np.uint64(first) + i
            values[place] = scale[i] * row_entry(rows, i, k)
            places[j] = place + np.uint64(1)
