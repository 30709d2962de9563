"""Projection onto the (weighted) simplex with an upper bound on every coordinate."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.errors import InputError
from fenchel.projections.box_equality import box_equality


def capped_simplex(
    m: ArrayLike, cap: ArrayLike, total: float = 1.0, weights: ArrayLike | None = None, *, at_most: bool = False
) -> NDArray[np.float64]:
    """argmin 1/2 ||alpha - m||^2 subject to 0 <= alpha <= cap and sum_i weights_i alpha_i = total, in O(n).

    `cap` is a number or an array like m and may be infinite; `weights` are positive and 1 if left out. With
    `at_most=True` the sum may also be smaller than total.

    >>> from fenchel.projections import capped_simplex
    >>> capped_simplex([2.0, 0.5, 0.0], cap=0.75)
    array([0.75, 0.25, 0.  ])
    """
    scale = np.asarray(1.0 if weights is None else weights, dtype=np.float64)
    bad = ~((scale > 0.0) & np.isfinite(scale))
    if bad.any():
        i = int(np.argmax(bad))
        where = f"weights[{i}]" if scale.ndim else "weights"
        raise InputError(f"{where} must be positive and finite, got {scale.flat[i]}; leave such coordinates out.")
    if not 0.0 <= total < np.inf:
        raise InputError(f"total must be finite and not negative, got {total}: alpha >= 0 and weights > 0.")
    if not at_most:
        return box_equality(m, 0.0, cap, scale, total)
    # With sigma = 0 only the box remains (and the arguments are checked); the sum matters only if the clipped point exceeds it.
    clipped = box_equality(m, 0.0, cap, 0.0, 0.0)
    return clipped if np.sum(scale * clipped) <= total else box_equality(m, 0.0, cap, scale, total)
