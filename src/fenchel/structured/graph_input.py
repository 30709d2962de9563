"""Examples that are graphs: features of nodes, edges, and features of edges, of all examples in one place."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.data.accept import read_only
from fenchel.data.dtypes import is_integer
from fenchel.errors import InputError
from fenchel.structured.stacked import stacked


class Graphs(NamedTuple):
    """Nodes first[i] .. first[i+1] and edges first_edge[i] .. first_edge[i+1] are those of example i.

    Edge e goes from node tails[e] to node heads[e] of its example. It is two arcs, 2 e from tail to head and 2 e + 1 back, with
    e counted within the example: arcs[start[v]] .. arcs[start[v + 1]] are those that leave node v (of all nodes).
    """

    nodes: Any
    links: Any
    features: int
    edge_features: int
    first: np.ndarray
    first_edge: np.ndarray
    tails: np.ndarray
    heads: np.ndarray
    start: np.ndarray
    arcs: np.ndarray


def accept_graphs(examples: list[Any]) -> Graphs:
    """The graphs of all examples, each a tuple (X, edges) or (X, edges, edge features)."""
    parts = [_parts(i, x) for i, x in enumerate(examples)]
    nodes, features, first = stacked([X for X, _, _ in parts], "node")
    counts = np.diff(first)
    pairs = [_edges(i, edges, int(counts[i])) for i, (_, edges, _) in enumerate(parts)]
    described = [X is not None for _, _, X in parts]
    if any(described) != all(described):
        i = described.index(not described[0])
        this, other = ("no ", "some") if described[0] else ("", "none")
        raise InputError(
            f"example {i} has {this}edge features, but example 0 has {other}: give them for all examples or for none"
        )
    for i, ((_, _, X), pair) in enumerate(zip(parts, pairs, strict=True)):
        if X is not None and X.shape[0] != len(pair):
            raise InputError(f"example {i} has {len(pair)} edges, but {X.shape[0]} rows of edge features")
    values = [np.ones((len(pair), 1)) if X is None else X for (_, _, X), pair in zip(parts, pairs, strict=True)]
    edges = np.concatenate(pairs)
    if len(edges) == 0:  # A matrix has rows; this one is never read.
        links, edge_features, first_edge = stacked([np.zeros((1, max(values[0].shape[1], 1)))], "edge")
        first_edge = np.zeros(len(parts) + 1, dtype=np.int64)
    else:
        links, edge_features, first_edge = stacked(values, "edge")
    start, arcs = _incidence(edges, first, first_edge)
    tails, heads = (read_only(np.ascontiguousarray(edges[:, k], dtype=np.int32)) for k in (0, 1))
    return Graphs(nodes, links, features, edge_features, first, first_edge, tails, heads, start, arcs)


def _parts(i: int, x: Any) -> tuple[Any, Any, Any]:
    if not (isinstance(x, (tuple, list)) and len(x) in (2, 3)):
        raise InputError(
            f"example {i} must be a tuple (features of the nodes, edges) or (features of the nodes, edges, features of the "
            f"edges), got {type(x).__name__}" + (f" of length {len(x)}" if isinstance(x, (tuple, list)) else "")
        )
    X = x[0] if sp.issparse(x[0]) else np.asarray(x[0])
    if X.ndim < 1 or X.shape[0] == 0:
        raise InputError(f"example {i} has no nodes: a graph has at least one")
    if len(x) == 2 or x[2] is None:
        return X, x[1], None
    F = x[2] if sp.issparse(x[2]) else np.asarray(x[2])
    if F.ndim != 2:
        raise InputError(f"the edge features of example {i} have {F.ndim} dimension(s): a row per edge is needed")
    return X, x[1], F


def _edges(i: int, edges: Any, count: int) -> np.ndarray:
    """A row (tail, head) for every edge."""
    found = np.asarray(edges)
    if found.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if found.ndim != 2 or found.shape[1] != 2 or not is_integer(found):
        raise InputError(
            f"the edges of example {i} must be pairs of node numbers, a row for each edge; got shape {found.shape}, type "
            f"{found.dtype}"
        )
    outside = np.argwhere((found < 0) | (found >= count))
    if outside.size:
        e = int(outside[0, 0])
        raise InputError(f"edge {e} of example {i} is {tuple(found[e].tolist())}, but its nodes are 0 .. {count - 1}")
    loops = np.flatnonzero(found[:, 0] == found[:, 1])
    if loops.size:
        e = int(loops[0])
        raise InputError(f"edge {e} of example {i} connects node {found[e, 0]} with itself: remove it")
    return found.astype(np.int64)


def _incidence(edges: np.ndarray, first: np.ndarray, first_edge: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(start, arcs) of `Graphs`."""
    owners = np.repeat(np.arange(first.size - 1), np.diff(first_edge))
    leaves = (edges + first[owners][:, None]).ravel()  # of arcs 2 e and 2 e + 1
    local = (np.arange(len(edges)) - first_edge[owners])[:, None] * 2 + np.arange(2)
    order = np.argsort(leaves, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(leaves, minlength=int(first[-1])))])
    return read_only(start.astype(np.int64)), read_only(local.ravel()[order].astype(np.int32))


def graph_to_predict(x: Any, w: np.ndarray) -> tuple[Graphs, np.ndarray]:
    """(one graph, the coefficients), checked."""
    w = np.ascontiguousarray(w, dtype=np.float64)
    if not np.isfinite(w).all():
        raise InputError("the coefficients contain NaN or infinity")
    return accept_graphs([x]), w
