"""Exact projections onto the feasible sets of dual variables.

`box_equality` projects onto the intersection of a box and a hyperplane in O(n); the simplices are special cases.
`chain_polytope` projects onto the marginals of sequences of labels.
"""

from fenchel.projections.box_equality import box_equality
from fenchel.projections.capped_simplex import capped_simplex
from fenchel.projections.chain_polytope import chain_polytope
from fenchel.projections.simplex import simplex

__all__ = ["box_equality", "capped_simplex", "chain_polytope", "simplex"]
