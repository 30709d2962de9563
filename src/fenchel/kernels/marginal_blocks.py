"""Steps on the marginals of one structured example after another, with L2: w = -sum p (F mu - phi(gold)) / strength.

Along a direction d of the marginals of example i, the dual increases by p (step <theta, d> - step^2 / 2 * curvature), where
theta = F'w + c are the scores of the parts. After the whole step, w has moved by -(p / strength) F d and the scores along d
have decreased by just that curvature: scores at the extrapolated point give the exact step and a local Lipschitz constant.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.copy import copy
from fenchel.compile.kernel import kernel
from fenchel.structured.parts import add_cliques, clique_scores, gibbs_cliques, parts_size, project_cliques

GROWTH, SHRINK = 1.5, 0.5  # of an entropic step that was short enough, or too long
MAX_SHORTER = 40  # entropic steps that are tried for an example


@kernel
def euclidean_steps(parts, p, order, inverse_strength, workspace_size, w, start, values, stride, gains):
    """For every example of `order`, an exact step towards the projection of mu + stride theta; w and `values` (mu) are updated.

    stride[i] becomes one over the curvature along the last direction; gains[i] is the slope of that direction, which is 0 at
    an optimum only.
    """
    S = np.empty(workspace_size)
    for i in order:
        size, mu = parts_size(parts, i), values[start[i] : start[i + 1]]
        theta, d, pull = np.empty(size), np.empty(size), p[i] * inverse_strength
        clique_scores(parts, w, 1.0, i, S, theta)
        for r in range(size):
            d[r] = mu[r] + stride[i] * theta[r]
        project_cliques(parts, i, d)
        slope, length = 0.0, 0.0
        for r in range(size):
            change = d[r] - mu[r]
            slope += theta[r] * change
            length += change * change
        gains[i] = max(slope, 0.0)
        if not slope > 0.0:
            continue
        add_cliques(parts, i, d, -pull, S, w)
        add_cliques(parts, i, mu, pull, S, w)
        clique_scores(parts, w, 1.0, i, S, theta)
        rest = 0.0
        for r in range(size):
            rest += theta[r] * (d[r] - mu[r])
        curvature = slope - rest
        if curvature > 0.0:
            stride[i] = min(max(length / curvature, stride[i] / GROWTH**4), stride[i] * GROWTH**4)
        if rest < 0.0:  # the step was too long: the part of it with the highest dual value
            step = slope / curvature
            for r in range(size):
                theta[r] = mu[r] + step * (d[r] - mu[r])
            add_cliques(parts, i, theta, -pull, S, w)
            add_cliques(parts, i, d, pull, S, w)
            copy(theta, mu)
        else:
            copy(d, mu)


@kernel
def entropic_steps(parts, p, order, inverse_strength, workspace_size, w, start, values, stride, gains, natural):
    """The same with Gibbs distributions: mu has the natural parameters `natural`, which move by stride theta.

    A step is taken if the dual still increases at its end, and halved otherwise.
    """
    S = np.empty(workspace_size)
    for i in order:
        size, mu, base = parts_size(parts, i), values[start[i] : start[i + 1]], natural[start[i] : start[i + 1]]
        theta, d, then, pull = np.empty(size), np.empty(size), np.empty(size), p[i] * inverse_strength
        clique_scores(parts, w, 1.0, i, S, theta)
        gains[i] = 0.0
        for _ in range(MAX_SHORTER):
            for r in range(size):
                d[r] = base[r] + stride[i] * theta[r]
            gibbs_cliques(parts, i, d)
            slope = 0.0
            for r in range(size):
                slope += theta[r] * (d[r] - mu[r])
            if not slope > 0.0:
                break
            gains[i] = slope
            add_cliques(parts, i, d, -pull, S, w)
            add_cliques(parts, i, mu, pull, S, w)
            clique_scores(parts, w, 1.0, i, S, then)
            rest = 0.0
            for r in range(size):
                rest += then[r] * (d[r] - mu[r])
            if rest >= 0.0:
                for r in range(size):
                    base[r] += stride[i] * theta[r]
                    mu[r] = d[r]
                stride[i] *= GROWTH
                break
            add_cliques(parts, i, mu, -pull, S, w)
            add_cliques(parts, i, d, pull, S, w)
            stride[i] *= SHRINK
