"""Exact projections onto the sets that dual variables live in.

`box_equality` is the O(n) projection onto a box cut by one hyperplane; the simplices are special cases of it.
`chain_polytope` projects onto the marginals of sequences of labels.
"""

from fenchel.projections.box_equality import box_equality
from fenchel.projections.capped_simplex import capped_simplex
from fenchel.projections.chain_polytope import chain_polytope
from fenchel.projections.simplex import simplex

__all__ = ["box_equality", "capped_simplex", "chain_polytope", "simplex"]
