"""Some columns of X as a matrix of their own, by rows and by columns.

A column is written as a row of the transposed matrix, so that `dot` and `axpy` of `data/rows.py` walk it.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.data.rows import row_column, row_entry, row_span


@kernel
def select_columns(rows, position, chosen, indptr, indices, values):
    """CSR arrays of the columns j with position_j < chosen, which become column position_j.

    Every entry is written and only those that stay move the place on: no branch to predict. So there must be room for
    one entry more than stays.
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
    """Entry (i, j) of the rows goes to places_j, which moves on; scale_i times its value, as row first + i."""
    for i in range(np.uint64(scale.size)):
        start, stop = row_span(rows, i)
        for k in range(start, stop):
            j = row_column(rows, k)
            place = places[j]
            indices[place] = np.uint64(first) + i
            values[place] = scale[i] * row_entry(rows, i, k)
            places[j] = place + np.uint64(1)
