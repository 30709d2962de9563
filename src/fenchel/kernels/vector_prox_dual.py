"""Proximal steps on the dual variables of all rows at once, for losses of several scores."""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.multiclass.protocol import dual_prox


@kernel
def vector_prox_dual(loss, y, centre, Z, q, out):
    """out = argmax over u of <u, z> - loss*(u) - q/2 |u - centre|^2, row by row."""
    t = np.empty(Z.shape[1])
    for i in range(Z.shape[0]):
        for c in range(t.size):
            t[c] = Z[i, c] + q * centre[i, c]
        dual_prox(loss, t, q, y[i], out[i])
