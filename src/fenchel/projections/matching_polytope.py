"""Projection onto the convex hull of bipartite matchings."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.errors import InputError
from fenchel.projections.matching_newton import project_matching


def matching_polytope(weights: ArrayLike, partial: bool = True) -> NDArray[np.float64]:
    """argmin 1/2 ||x - weights||^2 over x >= 0 whose sums of rows and of columns are at most 1.

    Its corners are the matchings of the rows with the columns. Unless `partial`, every line of the smaller side is matched:
    its sums are 1. Exact minimisation over the prices of rows and columns in turn, with semismooth Newton steps where that is
    slow; the answer is a mixture of matchings.

    >>> from fenchel.projections import matching_polytope
    >>> matching_polytope([[2.0, 0.0], [2.0, -1.0]])
    array([[0.5, 0. ],
           [0.5, 0. ]])
    >>> matching_polytope([[2.0, 0.0], [2.0, -1.0]], partial=False)
    array([[0.25, 0.75],
           [0.75, 0.25]])
    """
    try:
        M = np.ascontiguousarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"weights must be an array of numbers: {error}") from None
    if M.ndim != 2 or M.size == 0:
        raise InputError(f"weights must have the shape (rows, columns), got {M.shape}")
    bad = ~np.isfinite(M)
    if bad.any():
        place = np.unravel_index(int(np.argmax(bad)), M.shape)
        raise InputError(f"weights[{', '.join(map(str, place))}] must be finite, got {M[place]}")
    out = M.ravel().copy()
    project_matching(M.shape[0], M.shape[1], bool(partial), out)
    return out.reshape(M.shape)
