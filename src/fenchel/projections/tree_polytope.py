"""Projection onto the marginals of trees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.errors import InputError
from fenchel.projections.tree_newton import project_tree


def tree_polytope(parent: ArrayLike, tables: Sequence[ArrayLike]) -> list[NDArray[np.float64]]:
    """argmin 1/2 sum_v ||a_v - tables_v||^2 over the marginals of labels on a tree.

    parent[v] is the parent of node v, -1 for a root. The table of a root is its distribution of m labels; that of another node
    is (m, m), a_v(i, j) being the probability that its parent has label i and it has label j. The constraints are a >= 0, sum 1
    for roots, and equal probabilities of the labels of a node in its own table and in those of its children. Semismooth Newton
    steps on the dual, whose systems are eliminated from the leaves to the roots.

    >>> from fenchel.projections import tree_polytope
    >>> root, child = tree_polytope([-1, 0], [[0.6, 0.0], [[0.0, 1.0], [0.0, 0.0]]])
    >>> root.round(6), child.round(6)
    (array([0.885714, 0.114286]), array([[0.      , 0.885714],
           [0.057143, 0.057143]]))
    """
    up = np.asarray(parent)
    if up.ndim != 1 or up.size == 0 or not np.issubdtype(up.dtype, np.integer):
        raise InputError(f"parent must be a list of node numbers, -1 for roots; got shape {up.shape}, type {up.dtype}")
    if len(tables) != up.size:
        raise InputError(f"there are {up.size} nodes but {len(tables)} tables: one table per node")
    order = _parents_first(up)
    found = [np.array(table, dtype=np.float64) for table in tables]
    m = found[order[0]].size
    for v, table in enumerate(found):
        shape = (m,) if up[v] < 0 else (m, m)
        if table.shape != shape or m == 0:
            raise InputError(f"the table of node {v} must have the shape {shape}, got {table.shape}")
        if not np.isfinite(table).all():
            raise InputError(f"the table of node {v} contains NaN or infinity")
    place = np.cumsum([0, *(table.size for table in found)])
    flat = np.concatenate([table.ravel() for table in found])
    project_tree(order, up.astype(np.int32), place[:-1].astype(np.int64), m, flat)
    return [part.reshape(table.shape) for part, table in zip(np.split(flat, place[1:-1]), found, strict=True)]


def _parents_first(up: NDArray[np.int64]) -> NDArray[np.int32]:
    """The nodes in an order in which parents precede their children."""
    outside = np.flatnonzero((up < -1) | (up >= up.size))
    if outside.size:
        v = int(outside[0])
        raise InputError(f"the parent of node {v} is {up[v]}: nodes are 0 .. {up.size - 1}, -1 for a root")
    order, placed = [], up < 0
    layer = np.flatnonzero(placed)
    while layer.size:  # every node is in at most one layer
        order.append(layer)
        layer = np.flatnonzero(~placed & np.isin(up, layer))
        placed[layer] = True
    if not placed.all():
        raise InputError(f"the parents form a cycle, in which node {int(np.argmin(placed))} is")
    return np.concatenate(order).astype(np.int32)
