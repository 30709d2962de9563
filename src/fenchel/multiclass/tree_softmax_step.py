"""Newton's direction for a proximal step of the softmax of a tree, by one sweep up and one down the tree.

The direction d solves (I / g + H) d = -G, H the Hessian of log sum over classes of exp(score). H is the covariance of the
indicators of random paths, so that, by the law of total variance over the nodes,

    <d, H d> = sum over inner nodes p of P_p Var over children c of p of m_c,   m_v = d_v + the mean of m over v's children,

where a path continues from p to its child c with probability pi_c. The least value of the quadratic model on a subtree, given
m at its top, is a quadratic in m: the sweep up computes a and b in a/2 m^2 - b m, the sweep down m and d.
"""

from __future__ import annotations

import math

import numpy as np

from fenchel.compile.dispatch import helper


@helper
def tree_direction(parent, up, high, rest, G, g, d):
    """d <- -(I / g + H)^-1 G; up, high and rest are those of `sums_up`."""
    n = parent.size
    P, pi = np.ones(n), np.ones(n)  # of reaching a node, and of reaching it from its parent
    for v in range(1, n):
        p = parent[v]
        pi[v] = math.exp(up[v] - high[p]) / (1.0 + rest[p])
        P[v] = P[p] * pi[v]
    a, b = np.empty(n), np.empty(n)
    squares, sums, curvatures = (
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
    )  # over children, of pi^2 / s, pi b / s and pi a / s
    for v in range(n - 1, 0, -1):
        if squares[v] == 0.0:  # a leaf
            a[v], b[v] = 1.0 / g, -G[v - 1]
        else:  # given the mean M of m over the children, they are worth curvature/2 M^2 - sums/squares M
            curvature = curvatures[v] / squares[v]
            a[v] = curvature / (1.0 + g * curvature)
            b[v] = (sums[v] / squares[v] - g * curvature * G[v - 1]) / (1.0 + g * curvature)
        p = parent[v]
        s = a[v] + P[p] * pi[v]
        squares[p] += pi[v] * pi[v] / s
        sums[p] += pi[v] * b[v] / s
        curvatures[p] += pi[v] * a[v] / s
    multiplier = np.zeros(n)  # of M = the sum of pi m over children
    multiplier[0] = (sums[0] / curvatures[0] - sums[0]) / squares[0]
    for v in range(1, n):
        p = parent[v]
        m = (b[v] + multiplier[p] * pi[v]) / (a[v] + P[p] * pi[v])
        d[v - 1] = m
        if squares[v] > 0.0:
            curvature = curvatures[v] / squares[v]
            d[v - 1] = g * (curvature * m - sums[v] / squares[v] - G[v - 1]) / (1.0 + g * curvature)
            multiplier[v] = (m - d[v - 1] - sums[v]) / squares[v]
