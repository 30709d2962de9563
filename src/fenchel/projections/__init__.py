"""Exact projections onto the feasible sets of dual variables.

`box_equality` projects onto the intersection of a box and a hyperplane in O(n); the simplices are special cases.
`chain_polytope` and `tree_polytope` project onto the marginals of sequences and trees of labels, `matching_polytope` onto
mixtures of matchings.
Imports `compile` and `errors` only.
"""

from fenchel.projections.box_equality import box_equality
from fenchel.projections.capped_simplex import capped_simplex
from fenchel.projections.chain_polytope import chain_polytope
from fenchel.projections.matching_polytope import matching_polytope
from fenchel.projections.simplex import simplex
from fenchel.projections.tree_polytope import tree_polytope

__all__ = ["box_equality", "capped_simplex", "chain_polytope", "matching_polytope", "simplex", "tree_polytope"]
