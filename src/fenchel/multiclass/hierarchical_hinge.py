"""The max-margin loss of a tree of classes, and the base of both losses of a tree."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.compile.dispatch import helper, method
from fenchel.errors import InputError
from fenchel.multiclass.classes import class_count
from fenchel.multiclass.flow_step import flow_step
from fenchel.multiclass.parameters import ByContent
from fenchel.multiclass.softmax import ROUNDING
from fenchel.multiclass.tree import Tree, class_scores, diameter

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@helper
def are_flows(parent, leaf, u, y):
    """True if u = P - [on the path to y] for flows P >= 0 of 1 from the root to the leaves, up to rounding."""
    slack = ROUNDING * u.size
    below = np.zeros(parent.size)  # sums over children: flow conservation
    for v in range(parent.size - 1, 0, -1):
        below[parent[v]] += u[v - 1]
    sound = abs(below[0]) <= slack
    for c in range(leaf.size):
        v = leaf[c]
        below[v] = u[v - 1]
        sound = sound and u[v - 1] >= (-1.0 if c == y else 0.0) - slack
    for v in range(1, parent.size):
        sound = sound and abs(u[v - 1] - below[v]) <= slack
    return sound


@helper
def into_flows(parent, leaf, u, y):
    """u <- such flows: those to the leaves are clipped and scaled, the others are their sums; valid flows do not change."""
    rest, own = 0.0, leaf[y]
    flow = np.zeros(parent.size)
    for c in range(leaf.size):
        v = leaf[c]
        if v != own and u[v - 1] > 0.0:
            flow[v] = u[v - 1]
            rest += flow[v]
    shrink = 1.0 / rest if rest > 1.0 else 1.0
    rest = 0.0
    for c in range(leaf.size):
        flow[leaf[c]] *= shrink
        rest += flow[leaf[c]]
    flow[own] = -rest
    for v in range(parent.size - 1, 0, -1):
        u[v - 1] = flow[v]
        flow[parent[v]] += flow[v]


class TreeLoss(ByContent):
    """Base of the losses of a tree: the domain of their conjugates, pickling and printing."""

    __slots__ = ()
    nonnegative = True
    task = "classes"
    parent: np.ndarray
    leaf: np.ndarray

    def __reduce__(self: Any) -> Any:
        return type(self)._make, (tuple(self),)

    def saved(self) -> dict[str, Any]:
        """What a file keeps: the tree as arrays, with its leaves in the order of the classes."""
        return {"parent": self.parent, "leaf": self.leaf}

    @classmethod
    def from_saved(cls, parent: ArrayLike, leaf: ArrayLike, **more: Any) -> Any:
        """The inverse. Kernels follow these arrays without checks: they must be those of a tree."""
        tree = Tree(np.asarray(parent).tolist())
        if not (np.array_equal(tree.parent, parent) and np.array_equal(np.sort(leaf), np.sort(tree.leaf))):
            raise InputError(f"{cls.__name__}: parent and leaf are not those of a tree with parents before children")
        made: Any = cls(tree, **more)  # type: ignore[call-arg]
        return made._replace(leaf=np.array(leaf, dtype=np.int64))

    def _shown(self):
        return f"<tree of {self.leaf.size} classes and {self.parent.size - 1} scores>"

    def outputs(self, y: ArrayLike) -> int:
        if self.leaf.size > 1 or np.any(np.asarray(y) != 0):  # one class is too few but for a tree of one leaf
            class_count(y, self.leaf.size)
        return int(self.parent.size - 1)

    def into_domain(self, u, y):
        into_flows(self.parent, self.leaf, u, y)

    def largest_slope(self):
        # u lies in the hull of differences of two paths' indicators
        return math.sqrt(diameter(self.parent))

    def class_scores(self, z):
        """The scores of the classes from the scores of the nodes, on arrays."""
        return class_scores(self.parent, self.leaf, z)


@method(inline=False)
def best_leaf(loss, z, y):
    """(the loss, the node of a leaf that attains it)."""


class _Fields(NamedTuple):
    parent: np.ndarray
    leaf: np.ndarray
    cost: np.ndarray  # the cost matrix of classes; 0 x 0 if there is none
    off_path: float  # the cost of a node on the other path that is not on the path to y
    on_path: float  # the cost of a node on the path to y that is not on the other path


COSTS = {"tree": (0.5, 0.5), "lca": (0.0, 1.0)}


def _cost_matrix(cost: ArrayLike, classes: int) -> np.ndarray:
    try:
        matrix = np.array(cost, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InputError(f'cost must be "tree", "lca" or a matrix of numbers, got {cost!r}') from None
    if matrix.shape != (classes, classes):
        shape = f"shape {matrix.shape}" if matrix.ndim else repr(cost)
        raise InputError(f'cost must be "tree", "lca" or a {classes} x {classes} matrix, as the classes; got {shape}')
    wrong = ~(np.isfinite(matrix) & (matrix >= 0.0)) | (np.eye(classes, dtype=bool) & (matrix != 0.0))
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise InputError(
            f"cost must be at least 0 and finite, and 0 on the diagonal, but cost[{i}, {j}] = {matrix[i, j]}"
        )
    return matrix


class HierarchicalHinge(TreeLoss, _Fields):
    """max over classes c of cost(y, c) + score(c) - score(y), score(c) = the sum of z over the path to the leaf of c

    z has an entry for every node of the tree but the root. cost = "tree": half of the number of nodes on one of the two
    paths only; "lca": the steps from the leaf of y up to the lowest common ancestor; or a matrix of classes.
    Conjugate: -sum_c p_c cost(y, c), where p_c = u_leaf + [c = y] are flows that start as 1 at the root, and the other
    entries of u + [on the path to y] are their sums. A tree with one leaf has loss 0.

    >>> import numpy as np
    >>> loss = HierarchicalHinge(["animal/cat", "animal/dog", "plant"])
    >>> float(loss.value(np.zeros(4), 0))
    1.5
    >>> loss
    HierarchicalHinge(<tree of 3 classes and 4 scores>, cost='tree')
    """

    __slots__ = ()
    tex = r"\max_c \cost(y, c) + \score_c - \score_y\quad \score_c = \sum_{v \in \text{path to } c} z_v"
    sparse_duals = True

    def __new__(cls, tree: Any, cost: Any = "tree") -> HierarchicalHinge:
        tree = Tree(tree)
        named = isinstance(cost, str)
        if named and cost not in COSTS:
            raise InputError(f'cost must be "tree", "lca" or a matrix, got {cost!r}')
        matrix = np.empty((0, 0)) if named else _cost_matrix(cost, tree.classes)
        return cls._make([tree.parent.copy(), tree.leaf.copy(), matrix, *(COSTS[cost] if named else (0.0, 0.0))])

    def saved(self) -> dict[str, Any]:
        """With the name of its costs where they have one."""
        named = {pair: word for word, pair in COSTS.items()}
        return super().saved() | {"cost": named.get((self.off_path, self.on_path), self.cost)}

    @classmethod
    def example(cls) -> HierarchicalHinge:
        """An example with three classes."""
        return cls(["a/x", "a/y", "b"])

    def __repr__(self):
        names = [repr(name) for name, pair in COSTS.items() if pair == (self.off_path, self.on_path)]
        return f"HierarchicalHinge({self._shown()}, cost={names[0] if names else '<matrix>'})"

    def best_leaf(self, z, y):
        """(the loss, the node of a leaf that attains it).

        One upward pass finds for every node the best leaf below it, leaving out the path to y. Then every ancestor of y in
        turn is taken as the lowest common one: only nodes below it matter, since the others are part of both scores. This
        avoids cancellation, and the loss is exactly 0 where y itself is the best.
        """
        parent, leaf = self.parent, self.leaf
        best, choice = np.full(parent.size, -np.inf), np.zeros(parent.size, np.int64)
        for c in range(leaf.size):
            best[leaf[c]] = self.cost[y, c] if self.cost.size > 0 else 0.0
            choice[leaf[c]] = leaf[c]
        on_path = np.zeros(parent.size, np.bool_)
        v = leaf[y]
        best[v] = -np.inf
        while v > 0:  # up to the root: parent[v] < v
            on_path[v] = True
            v = parent[v]
        for v in range(parent.size - 1, 0, -1):
            if not on_path[v]:
                p, x = parent[v], z[v - 1] + self.off_path + best[v]
                if x > best[p]:
                    best[p], choice[p] = x, choice[v]
        value, winner = 0.0, leaf[y]
        v, own, fee = leaf[y], 0.0, 0.0
        while v > 0:  # up to the root: parent[v] < v
            own += z[v - 1]
            fee += self.on_path
            v = parent[v]
            if best[v] - own + fee > value:
                value, winner = best[v] - own + fee, choice[v]
        return value, winner

    def value(self, z, y):
        return best_leaf(self, z, y)[0]

    def slopes(self, z, y, out):
        out[:] = 0.0
        _, v = best_leaf(self, z, y)
        while v > 0:  # up to the root: parent[v] < v
            out[v - 1] += 1.0
            v = self.parent[v]
        v = self.leaf[y]
        while v > 0:  # up to the root: parent[v] < v
            out[v - 1] -= 1.0
            v = self.parent[v]

    def conjugate(self, u, y):
        if not are_flows(self.parent, self.leaf, u, y):
            return math.inf
        # The cost of the flows is linear in u: P_v = u_v is the flow at nodes off the path to y, -u_v is what nodes on it lack.
        total = 0.0
        for j in range(u.size):
            total -= self.off_path * u[j]
        v = self.leaf[y]
        while v > 0:  # up to the root: parent[v] < v
            total += (self.off_path + self.on_path) * u[v - 1]
            v = self.parent[v]
        if self.cost.size > 0:
            for c in range(self.leaf.size):
                total -= self.cost[y, c] * u[self.leaf[c] - 1]
        return total

    def dual_prox(self, t, g, y, out):
        gain = np.empty(self.parent.size)
        for v in range(1, gain.size):
            gain[v] = t[v - 1] + self.off_path
        if self.cost.size > 0:
            for c in range(self.leaf.size):
                gain[self.leaf[c]] += self.cost[y, c]
        v = self.leaf[y]
        while v > 0:  # on the path to y, u_v = P_v - 1, whose square shifts the gain, and the cost falls with P_v
            gain[v] += g - (self.off_path + self.on_path)
            v = self.parent[v]
        flow_step(self.parent, self.leaf, gain, g, out)
        into_flows(self.parent, self.leaf, out, y)

    def smoothness(self):
        return None
