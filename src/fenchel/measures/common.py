"""Small kernels that the measures share."""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel


@kernel
def is_spoiled(z, out):
    """True, and out all nan, if a score is not finite or the scores are too large to be added up."""
    if np.isfinite(z.sum()):
        return False
    out[:] = np.nan
    return True


@kernel
def centre(z, rows, scores):
    """scores = z[rows] - mean, so that a common offset does not affect rounding errors."""
    mean = 0.0
    for i in range(np.uint64(rows.size)):
        mean += z[rows[i]]
    mean /= rows.size
    for i in range(np.uint64(rows.size)):
        scores[i] = z[rows[i]] - mean


@kernel
def longest(first, last):
    """The size of the largest query."""
    size = 0
    for q in range(first.size):
        size = max(size, last[q] - first[q])
    return size
