"""Projection onto the marginals of chains."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.errors import InputError
from fenchel.projections.chain_newton import project_chain
from fenchel.projections.simplex import simplex


def chain_polytope(tables: ArrayLike) -> NDArray[np.float64]:
    """argmin 1/2 sum_t ||a_t - tables_t||^2 over a_t >= 0 with sum a_t = 1 and sum_i a_t(i, j) = sum_k a_{t+1}(j, k).

    These are the marginals of pairs of neighbours in a sequence of labels: a_t(i, j) is the probability that position t
    has label i and position t + 1 label j. `tables` has the shape (T - 1, m, m) for T positions and m labels; the scores
    of a single position (T = 1) have the shape (m,), and are projected onto the simplex. Semismooth Newton steps on the
    dual, each with a block-tridiagonal system over the entries that are not 0; the answer is the distribution of a chain.

    >>> import numpy as np
    >>> from fenchel.projections import chain_polytope
    >>> a = chain_polytope([[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.5], [1.0, 0.0]]])
    >>> bool(np.allclose(a.sum(axis=(1, 2)), 1.0)), bool(np.allclose(a[0].sum(axis=0), a[1].sum(axis=1)))
    (True, True)
    """
    try:
        M = np.ascontiguousarray(tables, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"tables must be an array of numbers: {error}") from None
    if M.ndim == 1:
        return simplex(M)
    if M.ndim != 3 or M.shape[1] != M.shape[2] or M.size == 0:
        raise InputError(f"tables must have the shape (T - 1, m, m), or (m,) for one position, got {M.shape}")
    bad = ~np.isfinite(M)
    if bad.any():
        place = np.unravel_index(int(np.argmax(bad)), M.shape)
        raise InputError(f"tables[{', '.join(map(str, place))}] must be finite, got {M[place]}")
    out = np.empty(M.size)
    project_chain(M.shape[0], M.shape[1], M.ravel(), out)
    return out.reshape(M.shape)
