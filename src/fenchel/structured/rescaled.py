"""Bounds of rescaled planes, L + L^beta m, from bounds of m + s L, for searches that must bound all labels of a node.

If m + s L <= B for all labels of a node, then the plane of each is at most L + L^beta (B - s L) for its own L: for every s.
"""

from __future__ import annotations

from fenchel.compile.kernel import kernel


@kernel
def plane_bound(cost, beta, bound, s):
    """The bound of the planes of labels of that cost; 0 for the gold label, whose cost is 0."""
    return cost + cost**beta * (bound - s * cost) if cost > 0.0 else 0.0


@kernel
def touching_slope(cost, beta, plane):
    """The s for which m + s L is constant, to first order, along the curve of the m and L of equal planes, at L = cost."""
    return beta * max(plane, 0.0) * cost ** (-beta - 1.0) + (1.0 - beta) * cost ** (-beta)
