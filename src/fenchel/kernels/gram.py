"""Weighted Gram matrices of rows."""

from __future__ import annotations

import numpy as np

from fenchel.data.rows import add_outer
from fenchel.jit import kernel


@kernel(fastmath=True)
def gram_pass(rows, weights, out):
    """out += sum_i weights_i x_i x_i' on and above the diagonal, as columns are in order within a row."""
    for i in range(np.uint64(weights.size)):
        if weights[i] != 0.0:
            add_outer(rows, i, weights[i], out)
