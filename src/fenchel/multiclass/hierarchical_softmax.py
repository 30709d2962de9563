"""The softmax loss of a tree of classes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fenchel.compile.dispatch import method
from fenchel.losses.special import entropy_term
from fenchel.multiclass.hierarchical_hinge import TreeLoss, are_flows
from fenchel.multiclass.tree import Tree, diameter


@method(inline=False)
def sums_up(loss, z, up, high, rest):
    """The sums of exponentials below every node."""


class _Fields(NamedTuple):
    parent: np.ndarray
    leaf: np.ndarray


class HierarchicalSoftmax(TreeLoss, _Fields):
    """log sum over classes c of exp(score(c)) - score(y), score(c) = the sum of z over the path to the leaf of c

    z has an entry for every node of the tree but the root. With P_v the probability that the path to a random class runs
    through node v, the gradient is P_v - [v on the path to y]. Conjugate: the sum over nodes of
    P_v log(P_v / P_parent), P_v = u_v + [v on the path to y], where P starts as 1 at the root and every inner node
    passes on what it gets. A tree with one leaf has loss 0.

    >>> import numpy as np
    >>> loss, u = HierarchicalSoftmax(["animal/cat", "animal/dog", "plant"]), np.empty(4)
    >>> loss.slopes(np.zeros(4), 2, u)
    >>> u.round(6)
    array([ 0.666667,  0.333333,  0.333333, -0.666667])
    """

    __slots__ = ()
    tex = r"\log \sum_c \exp(\score_c) - \score_y\quad \score_c = \sum_{v \in \text{path to } c} z_v"

    def __new__(cls, tree: Any) -> HierarchicalSoftmax:
        tree = Tree(tree)
        return cls._make([tree.parent.copy(), tree.leaf.copy()])

    @classmethod
    def example(cls) -> HierarchicalSoftmax:
        """An example with three classes."""
        return cls(["a/x", "a/y", "b"])

    def __repr__(self):
        return f"HierarchicalSoftmax({self._shown()})"

    def sums_up(self, z, up, high, rest):
        """up_v = z_v + log sum over children of exp(up): high is the largest of those, 1 + rest the sum of exp(up - high)."""
        high[:] = -np.inf
        rest[:] = 0.0
        for v in range(self.parent.size - 1, 0, -1):
            up[v] = z[v - 1]
            if high[v] > -np.inf:
                up[v] += high[v] + math.log1p(rest[v])
            p = self.parent[v]
            if up[v] > high[p]:
                rest[p] = (1.0 + rest[p]) * math.exp(high[p] - up[v])
                high[p] = up[v]
            else:
                rest[p] += math.exp(up[v] - high[p])

    def value(self, z, y):
        n = self.parent.size
        up, high, rest = np.empty(n), np.empty(n), np.empty(n)
        sums_up(self, z, up, high, rest)
        # The sum over the path of -log P(child | parent), which are nonnegative, so that nothing cancels.
        total, v = 0.0, self.leaf[y]
        while v > 0:  # up to the root: parent[v] < v
            p = self.parent[v]
            total += (high[p] - up[v]) + math.log1p(rest[p])
            v = p
        return total

    def slopes(self, z, y, out):
        parent, n = self.parent, self.parent.size
        up, high, rest = np.empty(n), np.empty(n), np.empty(n)
        sums_up(self, z, up, high, rest)
        on_path = np.zeros(n, np.bool_)
        v = self.leaf[y]
        while v > 0:  # up to the root: parent[v] < v
            on_path[v] = True
            v = parent[v]
        P, left = np.ones(n), np.zeros(n)  # left: the probability of leaving the path to y at a node
        for v in range(1, n):
            p = parent[v]
            P[v] = P[p] * (math.exp(up[v] - high[p]) / (1.0 + rest[p]))
            out[v - 1] = P[v]
            if not on_path[v]:
                left[p] += P[v]
        for v in range(1, n):
            if on_path[v]:  # the sum of these probabilities, because P_v - 1 would cancel
                left[v] += left[parent[v]]
                out[v - 1] = -left[parent[v]]

    def conjugate(self, u, y):
        if not are_flows(self.parent, self.leaf, u, y):
            return math.inf
        # By the chain rule of entropies the sum over nodes is the sum of p log p over leaves.
        total = 0.0
        for c in range(self.leaf.size):
            x = u[self.leaf[c] - 1]
            if c != y:
                total += entropy_term(x)
            elif x > -1.0:
                total += (1.0 + x) * math.log1p(x)
        return total

    def smoothness(self):
        # v' (Hessian) v is the variance of <a_c, v> over classes c, a_c the indicator of the path. A variance is at most
        # a quarter of the squared range, and |<a_c - a_k, v>| <= |a_c - a_k| |v|, where |a_c - a_k|^2 counts the nodes on
        # one path only. Two classes of probability 1/2 attain it: the bound is the best one, and 1/2 for a flat tree.
        return 0.25 * diameter(self.parent)

    def probability(self, z):
        """P(class | z) of every row of z, on arrays."""
        from scipy.special import softmax

        return softmax(self.class_scores(z), axis=-1)
