"""Passes over structured examples whose dual variables are marginals of parts. Every kernel takes the parts first."""

from __future__ import annotations

import numpy as np

from fenchel.compile.copy import copy
from fenchel.compile.kernel import kernel
from fenchel.structured.parts import (
    add_cliques,
    clique_scores,
    gibbs_cliques,
    label_reach,
    parts_size,
    project_cliques,
)

FAR = 100.0  # size of the largest cost of a part, relative to which probabilities are small


@kernel
def marginal_pass(parts, p, first, workspace_size, start, values, out):
    """out += sum p (F mu - phi(gold)); returns sum p <c, mu>."""
    total, S = 0.0, np.empty(workspace_size)
    for k in range(p.size):
        i = first + k
        if p[k] > 0.0:
            total += p[k] * add_cliques(parts, i, values[start[i] : start[i + 1]], p[k], S, out)
    return total


@kernel
def proximal_pass(parts, p, first, workspace_size, w, q, start, centre, values):
    """values = argmax of <theta, mu> - q/2 |mu - centre|^2 over the marginals of each example, theta its scores at w."""
    S = np.empty(workspace_size)
    for k in range(p.size):
        i = first + k
        theta = values[start[i] : start[i + 1]]
        clique_scores(parts, w, 1.0, i, S, theta)
        for r in range(theta.size):
            theta[r] = centre[start[i] + r] + theta[r] / q
        project_cliques(parts, i, theta)


@kernel
def uniform_pass(parts, p, first, start, values):
    """values = the marginals of the uniform distribution."""
    for k in range(p.size):
        i = first + k
        theta = values[start[i] : start[i + 1]]
        theta[:] = 0.0
        gibbs_cliques(parts, i, theta)


@kernel
def cheapest_pass(parts, p, first, workspace_size, w, start, values):
    """values = the projection of -FAR c: a label of least cost, or a mixture of such labels."""
    S = np.empty(workspace_size)
    for k in range(p.size):
        i = first + k
        theta = values[start[i] : start[i + 1]]
        clique_scores(parts, w, -1.0, i, S, theta)
        top = np.max(np.abs(theta))
        for r in range(theta.size):
            theta[r] *= FAR / max(top, 1e-300)
        project_cliques(parts, i, theta)


@kernel
def reaches_pass(parts, n):
    """A bound on |phi(y) - phi(gold)| of every example."""
    found = np.empty(n)
    for i in range(n):
        found[i] = label_reach(parts, i)
    return found


@kernel
def square_pass(parts, p, first, workspace_size, w, out):
    """out += sum p F F'w."""
    S = np.empty(workspace_size)
    for k in range(p.size):
        i = first + k
        theta = np.empty(parts_size(parts, i))
        clique_scores(parts, w, 0.0, i, S, theta)
        add_cliques(parts, i, theta, p[k], S, out)
        theta[:] = 0.0
        add_cliques(parts, i, theta, -p[k], S, out)  # subtracts the gold features again


@kernel
def reach_pass(parts, p, first):
    """sum p (a bound on |phi(y) - phi(gold)|)^2."""
    total = 0.0
    for k in range(p.size):
        reach = label_reach(parts, first + k)
        total += p[k] * reach * reach
    return total


@kernel
def extragradient_pass(parts, p, first, workspace_size, w_bar, w, times, step, entropic, rough, fine, start, kept):
    """The two steps of dual extragradient for the marginals of every example.

    v = prox of step times (F'w_bar + c), u = prox of v + step (F'w + c) (of the logarithm of v, for the entropy).
    rough += sum p (F v - phi(gold)), and fine the same for u; returns sum p <c, u>. Unless `kept` is empty, u is stored there.
    """
    total, S = 0.0, np.empty(workspace_size)
    for k in range(p.size):
        i = first + k
        size = parts_size(parts, i)
        v, theta = np.empty(size), np.empty(size)
        clique_scores(parts, w_bar, 1.0, i, S, v)
        clique_scores(parts, w, 1.0, i, S, theta)
        if entropic:
            for r in range(size):
                v[r] *= step * times
                theta[r] = v[r] + step * theta[r]
            gibbs_cliques(parts, i, v)
            gibbs_cliques(parts, i, theta)
        else:
            for r in range(size):
                v[r] *= step * times
            project_cliques(parts, i, v)
            for r in range(size):
                theta[r] = v[r] + step * theta[r]
            project_cliques(parts, i, theta)
        add_cliques(parts, i, v, p[k], S, rough)
        total += p[k] * add_cliques(parts, i, theta, p[k], S, fine)
        if kept.size > 0:
            copy(theta, kept[start[i] : start[i + 1]])
    return total
