"""The softmax loss of a tree of classes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fenchel.compile.dispatch import method
from fenchel.losses.special import entropy_term
from fenchel.multiclass.hierarchical_hinge import TreeLoss, are_flows, into_flows
from fenchel.multiclass.protocol import slopes
from fenchel.multiclass.tree import Tree, class_scores, diameter
from fenchel.multiclass.tree_softmax_step import tree_direction

# After a Newton step of this length, or of this length relative to z or to g (as u = (t - z) / g), the error is rounding.
SMALL_STEP, ROUNDING_STEP = 1e-8, 4e-15
MAX_STEPS, MAX_TRIALS = 200, 60
FLAT = 0.25  # a line search ends where the derivative is at most this fraction of the one at its beginning


@method(inline=False)
def sums_up(loss, z, up, high, rest):
    """The sums of exponentials below every node."""


@method(inline=False)
def newton_point(loss, t, g, y, z, d, u):
    """d = the step of Newton's method for |z - t|^2 / (2 g) + loss(z); (the derivative at z along d, whether d is short)."""


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

    def newton_point(self, t, g, y, z, d, u):
        """d = the step of Newton's method for |z - t|^2 / (2 g) + loss(z), u = the slopes at z; (derivative along d, whether d
        is short)."""
        n = self.parent.size
        up, high, rest = np.empty(n), np.empty(n), np.empty(n)
        sums_up(self, z, up, high, rest)
        slopes(self, z, y, u)
        G = (z - t) / g + u
        tree_direction(self.parent, up, high, rest, G, g, d)
        return np.dot(G, d), np.abs(d).max() <= max(SMALL_STEP, ROUNDING_STEP * max(g, np.abs(z).max()))

    def dual_prox(self, t, g, y, out):
        # out = (t - z) / g = the slopes at z, where z minimises |z - t|^2 / (2 g) + loss(z): Newton's method, whose steps are
        # cut short to where the derivative along them is small.
        z, d = t.copy(), np.empty(t.size)
        for _ in range(MAX_STEPS):
            first, short = newton_point(self, t, g, y, z, d, out)
            step, low, high = 1.0, 0.0, 1.0
            for _ in range(0 if short else MAX_TRIALS):
                moved = z + step * d
                slopes(self, moved, y, out)
                slope = np.dot((moved - t) / g + out, d)
                if abs(slope) <= -FLAT * first or (step == 1.0 and slope < 0.0):
                    break
                if slope > 0.0:
                    high = step
                else:
                    low = step
                step = 0.5 * (low + high)
            z += step * d
            if short:
                break
        slopes(self, z, y, out)
        if g > 1.0:  # rounding errors of z matter less so
            for j in range(t.size):
                out[j] = (t[j] - z[j]) / g
        into_flows(self.parent, self.leaf, out, y)

    def hessians(self, y: np.ndarray, U: np.ndarray) -> np.ndarray:
        """The matrix of second derivatives of every row, where its slopes are those in U, on arrays."""
        A = class_scores(self.parent, self.leaf, np.eye(self.parent.size - 1)).T  # a row for each class: its path
        P = np.maximum(U[:, self.leaf - 1] + np.eye(self.leaf.size)[y], 0.0)
        mean = P @ A
        both = (P @ (A[:, :, None] * A[:, None, :]).reshape(self.leaf.size, -1)).reshape(*U.shape, -1)
        return np.asarray(both - mean[:, :, None] * mean[:, None, :])

    def smoothness(self):
        # v' (Hessian) v is the variance of <a_c, v> over classes c, a_c the indicator of the path. A variance is at most
        # a quarter of the squared range, and |<a_c - a_k, v>| <= |a_c - a_k| |v|, where |a_c - a_k|^2 counts the nodes on
        # one path only. Two classes of probability 1/2 attain it: the bound is the best one, and 1/2 for a flat tree.
        return 0.25 * diameter(self.parent)

    def probability(self, z):
        """P(class | z) of every row of z, on arrays."""
        from scipy.special import softmax

        return softmax(self.class_scores(z), axis=-1)
