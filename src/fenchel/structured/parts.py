"""Labels made of parts: the marginals of a distribution over labels, which are too many to enumerate.

For models in which score and cost of a label are sums over its parts, c_i + F_i'w over all parts of example i, the average of
phi_i(y) and L_i(y) under a distribution of labels needs only the probability mu of each part: F_i mu and <c_i, mu>. The set of
these mu is a polytope. `parts_of(model)` is a NamedTuple of the encoded model with

=====================================  ============================================================================
parts_size(parts, i)                   number of parts of example i
clique_scores(parts, w, cost, i, S, o) o = F_i'w + cost c_i
add_cliques(parts, i, mu, a, S, out)   out += a (F_i mu - phi_i(gold)); returns <c_i, mu>, and what is constant in the cost
project_cliques(parts, i, theta)       theta becomes the nearest marginals
gibbs_cliques(parts, i, theta)         theta becomes the marginals of p(y) proportional to exp(sum of theta over its parts)
recover_cliques(parts, i, mu)          mu, any finite numbers, becomes marginals; exact marginals are not changed
label_reach(parts, i)                  a bound on |phi_i(y) - phi_i(gold)| over all labels
=====================================  ============================================================================

and, in Python only, `sizes` (numbers of parts) and `workspace_size` (the length of S).
"""

from __future__ import annotations

from fenchel.compile.dispatch import method


@method(inline=False)
def parts_size(parts, i):
    """Number of parts of example i."""


@method(inline=False)
def clique_scores(parts, w, cost, i, S, out):
    """out = F_i'w + cost c_i; S is scratch."""


@method(inline=False)
def add_cliques(parts, i, mu, a, S, out):
    """out += a (F_i mu - phi_i(gold)); returns <c_i, mu>; S is scratch."""


@method(inline=False)
def project_cliques(parts, i, theta):
    """theta = the marginals nearest to it."""


@method(inline=False)
def gibbs_cliques(parts, i, theta):
    """theta = the marginals of p(y) proportional to exp(sum of theta over the parts of y)."""


@method(inline=False)
def recover_cliques(parts, i, mu):
    """mu = exact marginals near it; mu may be any finite numbers."""


@method(inline=False)
def label_reach(parts, i):
    """A bound on |phi_i(y) - phi_i(gold)| over all labels."""
