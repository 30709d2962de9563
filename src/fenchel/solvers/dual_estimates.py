"""An estimate of the dual value at the slopes of a point, in O(d) after one pass over the data.

With u the slopes at (w, b), g = sum p u x, and F = sum p loss: -sum p (loss*(u) - u offset) = F - <w, g> - b sum p u.
If the intercept is free, u must first be shifted by r = sum p u to be balanced; to first order that adds r times the mean
of <x, w> + b to the loss part (the offset enters twice and cancels), and it turns g into g - r xbar exactly. Where R* is an
indicator, u is scaled by c <= 1, which keeps at least c times the loss part when losses are nonnegative. Along unpenalised
directions g becomes 0; what that changes elsewhere cancels to first order. These are estimates: the certificate is recomputed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fenchel.regularizers.feature_weights import penalised_part

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


def dual_estimate(oracle: Oracle, w: np.ndarray, b: float, risk: float, g: np.ndarray, slopes: float) -> float:
    """The dual value to expect at the slopes of (w, b)."""
    problem = oracle.problem
    g = penalised_part(problem.regularizer, g)
    losses, g = oracle.balanced_claim(w, risk - float(w @ g) - b * slopes, g)
    if problem.fit_intercept:
        mean, _ = oracle.means
        losses += slopes * (float(mean @ w) + b) - slopes * slopes
        g = penalised_part(problem.regularizer, g - slopes * mean)
    scale = problem.regularizer.dual_scale(-g)
    return scale * losses - problem.regularizer.conjugate(-scale * g)
