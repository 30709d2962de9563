"""Projection onto the (weighted) simplex: `capped_simplex` without a cap."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.projections.capped_simplex import capped_simplex


def simplex(
    m: ArrayLike, total: float = 1.0, weights: ArrayLike | None = None, *, at_most: bool = False
) -> NDArray[np.float64]:
    """argmin 1/2 ||alpha - m||^2 subject to alpha >= 0 and sum_i weights_i alpha_i = total, in O(n).

    `weights` are positive and 1 if left out. With `at_most=True` the sum may also be smaller than total.

    >>> from fenchel.projections import simplex
    >>> simplex([0.5, 1.0, -1.0])
    array([0.25, 0.75, 0.  ])
    >>> simplex([0.5, 0.25, -1.0], at_most=True)
    array([0.5 , 0.25, 0.  ])
    """
    return capped_simplex(m, np.inf, total, weights, at_most=at_most)
