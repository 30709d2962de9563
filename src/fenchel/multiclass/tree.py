"""A tree of classes, from a parent array, label paths or a graph."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Found = tuple[list[Hashable], list[int]]  # names of the nodes, number of each one's parent (-1: it is a root)


class Tree:
    """A rooted tree whose leaves are the classes 0, 1, 2, ...; every node but the root has a score of its own.

    `source` is one of

    * a parent array: source[v] is the parent of node v, -1 for the root. Classes: the leaves by increasing v;
    * label paths: strings such as "animal/cat" (parts divided by `separator`) or lists of parts, one per class in the
      order of the classes. The root is implied;
    * a directed graph of networkx (anything with `nodes`, `edges` and `is_directed()`), edges from parent to child.
      Classes: the leaves in the order of `nodes`.

    Nodes are numbered so that the root is 0 and parents come before children: `parent[v] < v`, `parent[0] = -1`. A parent
    array or graph that has this order already keeps it, others are numbered breadth first; label paths give inner nodes
    first, then the leaves. The score of node v is z[v - 1]; `names[v]` is its name in the source, `leaf[c]` the node of
    class c and `labels[c]` its name.

    A tree with a single leaf is a tree of one class (its losses are 0 everywhere); a root alone is refused.

    >>> tree = Tree(["animal/cat", "animal/dog", "plant"])
    >>> tree
    Tree(3 classes, 4 nodes below the root)
    >>> tree.labels, tree.parent, tree.leaf
    (('animal/cat', 'animal/dog', 'plant'), array([-1,  0,  1,  1,  0]), array([2, 3, 4]))
    >>> tree.cost_matrix("tree")
    array([[0. , 1. , 1.5],
           [1. , 0. , 1.5],
           [1.5, 1.5, 0. ]])
    """

    def __init__(self, source: Any, separator: str = "/"):
        if isinstance(source, Tree):
            self.__dict__.update(source.__dict__)
            return
        names, parents = _read(source, separator)
        order = _ordered(names, parents)
        place = {old: new for new, old in enumerate(order)}
        self.names = tuple(names[v] for v in order)
        self.parent = np.array([place.get(parents[v], -1) for v in order], dtype=np.int64)
        inner = set(parents)
        self.leaf = np.array([place[v] for v in range(len(names)) if v not in inner], dtype=np.int64)
        self.labels = tuple(self.names[v] for v in self.leaf)

    @property
    def classes(self) -> int:
        """The number of leaves."""
        return self.leaf.size

    @property
    def scores(self) -> int:
        """The number of nodes without the root."""
        return self.parent.size - 1

    def path(self, c: int) -> np.ndarray:
        """The nodes from below the root to the leaf of class c.

        >>> Tree(["animal/cat", "animal/dog", "plant"]).path(1)
        array([1, 3])
        """
        if not 0 <= c < self.classes:
            raise InputError(f"class {c} does not exist: the tree has classes 0 to {self.classes - 1}")
        nodes = [int(self.leaf[c])]
        while self.parent[nodes[-1]] > 0:
            nodes.append(int(self.parent[nodes[-1]]))
        return np.array(nodes[::-1])

    def incidence(self) -> np.ndarray:
        """(classes, scores): 1 where the node of a score is on the path to a class, else 0."""
        A = np.zeros((self.classes, self.scores))
        for c in range(self.classes):
            A[c, self.path(c) - 1] = 1.0
        return A

    def class_scores(self, Z: ArrayLike) -> np.ndarray:
        """The scores of the classes, sums over their paths, from the scores of the nodes (in the last axis of Z).

        >>> Tree(["animal/cat", "animal/dog", "plant"]).class_scores([1.0, 0.25, -0.5, 2.0])
        array([1.25, 0.5 , 2.  ])
        """
        return class_scores(self.parent, self.leaf, Z)

    def cost_matrix(self, cost: str = "tree") -> np.ndarray:
        """(classes, classes): the cost of predicting the class of the column when that of the row is true.

        "tree": half of the number of nodes on one of the two paths only. "lca": the steps from the true leaf up to the
        lowest common ancestor; not symmetric if the leaves' depths differ.
        """
        if cost not in ("tree", "lca"):
            raise InputError(f'cost must be "tree" or "lca", got {cost!r}')
        A = self.incidence()
        common, depth = A @ A.T, A.sum(axis=1)
        steps = depth[:, None] - common
        return steps if cost == "lca" else 0.5 * (steps + steps.T)

    def diameter(self) -> int:
        """The largest number of nodes on exactly one of two classes' paths: the distance of the two farthest leaves."""
        return diameter(self.parent)

    def __repr__(self) -> str:
        return f"Tree({self.classes} classes, {self.scores} nodes below the root)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        same = np.array_equal(self.parent, other.parent) and np.array_equal(self.leaf, other.leaf)
        return same and self.names == other.names

    def __hash__(self) -> int:
        return hash((self.parent.tobytes(), self.leaf.tobytes(), self.names))


def class_scores(parent: np.ndarray, leaf: np.ndarray, Z: ArrayLike) -> np.ndarray:
    """Sums over the paths from the root to the leaves, of scores of nodes in the last axis of Z."""
    Z = np.asarray(Z, dtype=np.float64)
    if Z.ndim == 0 or Z.shape[-1] != parent.size - 1:
        raise InputError(f"Z must have a column per node below the root ({parent.size - 1}), got shape {Z.shape}")
    sums = np.zeros((*Z.shape[:-1], parent.size))
    for v in range(1, parent.size):
        sums[..., v] = sums[..., parent[v]] + Z[..., v - 1]
    return sums[..., leaf]


def diameter(parent: np.ndarray) -> int:
    """The distance of the two farthest leaves, 0 if there is only one leaf."""
    height, longest = np.zeros(parent.size, dtype=np.int64), 0
    seen = np.zeros(parent.size, dtype=bool)
    for v in range(parent.size - 1, 0, -1):
        p, h = parent[v], height[v] + 1
        if seen[p]:
            longest = max(longest, int(height[p] + h))
        height[p], seen[p] = max(height[p], h), True
    return longest


def _read(source: Any, separator: str) -> Found:
    if all(hasattr(source, name) for name in ("nodes", "edges", "is_directed")):
        return _from_graph(source)
    try:
        items = [] if isinstance(source, str) else list(source)
    except TypeError:
        items = []
    if not items:
        raise InputError(
            "tree must be a non-empty parent array, a list of label paths such as "
            f'["animal/cat", "animal/dog", "plant"], or a directed graph; got {source!r}'
        )
    if all(isinstance(item, int | np.integer) and not isinstance(item, bool) for item in items):
        return list(range(len(items))), _checked_parents([int(item) for item in items])
    kind: Any = str if isinstance(items[0], str) else (list, tuple)
    for c, item in enumerate(items):
        if not isinstance(item, kind):
            raise InputError(
                f"tree[{c}] = {item!r}: a parent array holds integers only, label paths are all strings or all lists"
            )
    return _from_paths(items, separator)


def _checked_parents(parents: list[int]) -> list[int]:
    for v, p in enumerate(parents):
        if not -1 <= p < len(parents):
            last = len(parents) - 1
            raise InputError(
                f"the parent of node {v} is {p}, an unknown node: nodes are 0 to {last}, -1 marks the root"
            )
    return parents


def _from_paths(paths: Sequence[Any], separator: str) -> Found:
    """Nodes are the prefixes of the paths. Classes must follow the order of the paths, so leaves are numbered last."""
    if not (isinstance(separator, str) and separator):
        raise InputError(f"separator must be a string that is not empty, got {separator!r}")
    split = [tuple(path.split(separator)) if isinstance(path, str) else tuple(path) for path in paths]
    number: dict[tuple, int] = {(): 0}
    for c, parts in enumerate(split):
        if not parts or any(part == "" or not isinstance(part, str | int | np.integer) for part in parts):
            raise InputError(f"label path {c}, {paths[c]!r}, must have parts that are non-empty strings or integers")
        for depth in range(1, len(parts)):
            number.setdefault(parts[:depth], len(number))
    for c, parts in enumerate(split):
        if parts in number:
            first = split.index(parts)
            what = f"is the same as path {first}" if first < c else "is also the beginning of another path"
            raise InputError(f"label path {c}, {paths[c]!r}, {what}: every class needs a leaf of its own")
        number[parts] = len(number)
    names: list[Hashable] = [separator.join(p) if isinstance(paths[0], str) else p for p in number]
    return names, [number[p[:-1]] if p else -1 for p in number]


def _from_graph(graph: Any) -> Found:
    if not graph.is_directed():
        raise InputError("tree is an undirected graph: a DiGraph with edges from parent to child is needed")
    names = list(graph.nodes)
    number = {name: v for v, name in enumerate(names)}
    parents = [-1] * len(names)
    for a, b in ((edge[0], edge[1]) for edge in graph.edges):
        if parents[number[b]] >= 0:
            raise InputError(f"node {b!r} has two parents, {names[parents[number[b]]]!r} and {a!r}: not a tree")
        parents[number[b]] = number[a]
    return names, parents


def _ordered(names: list[Hashable], parents: list[int]) -> list[int]:
    """The nodes with parents before children; InputError if they do not form a tree."""
    roots = [v for v, p in enumerate(parents) if p < 0]
    if len(roots) > 1:
        raise InputError(f"the tree has {len(roots)} roots, among them {names[roots[0]]!r} and {names[roots[1]]!r}")
    children: list[list[int]] = [[] for _ in parents]
    for v, p in enumerate(parents):
        if p >= 0:
            children[p].append(v)
    order = list(roots)
    for v in order:  # grows while it is read
        order.extend(children[v])
    if len(order) < len(parents):
        raise InputError(f"the tree has a cycle: {_cycle(names, parents, set(order))}")
    if len(order) < 2:
        raise InputError("the tree has no node but the root: it needs at least one class")
    kept = all(p < v for v, p in enumerate(parents))
    return list(range(len(parents))) if kept else order


def _cycle(names: list[Hashable], parents: list[int], sound: set[int]) -> str:
    walk = [next(v for v in range(len(parents)) if v not in sound)]
    while parents[walk[-1]] not in walk:
        walk.append(parents[walk[-1]])
    loop = walk[walk.index(parents[walk[-1]]) :]
    return " <- ".join(repr(names[v]) for v in [*loop, loop[0]])
