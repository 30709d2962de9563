"""Trees of classes and their losses: every leaf enumerated, conjugates as linear and cone programs, all refusals."""

import math
import pickle

import cvxpy as cp
import numpy as np
import pytest
from scipy.special import logsumexp, softmax

import fenchel
from fenchel.compile.kernel import kernel
from fenchel.errors import InputError
from fenchel.multiclass.hierarchical_hinge import HierarchicalHinge
from fenchel.multiclass.hierarchical_softmax import HierarchicalSoftmax
from fenchel.multiclass.max_hinge import MaxHinge
from fenchel.multiclass.moreau import MoreauVector
from fenchel.multiclass.protocol import conjugate, dual_prox, into_domain, slopes, value
from fenchel.multiclass.softmax import Softmax
from fenchel.multiclass.tree import Tree

ANIMALS = ["animal/cat", "animal/dog/big", "animal/dog/small", "plant", "thing/only"]
SHAPES = {
    "animals": Tree(ANIMALS),
    "flat": Tree([-1, 0, 0, 0, 0]),
    "one leaf": Tree([-1, 0, 1]),
    "binary": Tree([-1, 0, 0, 1, 1, 2, 2, 3, 3]),
    "comb": Tree([-1, 0, 0, 1, 1, 3, 3, 5, 5]),
    "shuffled": Tree([4, 4, 6, 0, -1, 0, 4, 6, 3]),
}
COSTS = ["tree", "lca", "matrix"]
every_shape = pytest.mark.parametrize("shape", SHAPES)


@kernel
def all_methods(loss, z, u, y, slope):
    slopes(loss, z, y, slope)
    into_domain(loss, u, y)
    return value(loss, z, y), conjugate(loss, u, y)


@kernel
def compiled_step(loss, t, g, y, out):
    dual_prox(loss, t, g, y, out)


def matrix(tree):
    cost = np.random.default_rng(tree.classes).integers(0, 5, size=(tree.classes, tree.classes)).astype(float)
    np.fill_diagonal(cost, 0.0)
    return cost


def hinge(tree, cost):
    return HierarchicalHinge(tree, matrix(tree) if cost == "matrix" else cost)


LOSSES = {f"{shape}, {cost}": (hinge(tree, cost), tree, cost) for shape, tree in SHAPES.items() for cost in COSTS}
LOSSES |= {f"{shape}, softmax": (HierarchicalSoftmax(tree), tree, None) for shape, tree in SHAPES.items()}
every = pytest.mark.parametrize("name", LOSSES)


def paths(tree):
    """The set of nodes of every class's path, by walking up."""
    found = []
    for v in tree.leaf:
        nodes = set()
        while v > 0:
            nodes.add(int(v))
            v = tree.parent[v]
        found.append(nodes)
    return found


def indicators(tree):
    return np.array([[float(v in path) for v in range(1, tree.parent.size)] for path in paths(tree)])


def costs(tree, cost, y):
    """From the definitions, by sets."""
    if cost == "matrix":
        return matrix(tree)[y]
    every_path = paths(tree)
    if cost == "tree":
        return np.array([len(every_path[y] ^ path) / 2 for path in every_path])
    return np.array([len(every_path[y] - path) for path in every_path], dtype=float)


def brute(tree, cost, z, y):
    """The loss, all leaves enumerated."""
    scores = indicators(tree) @ z
    if cost is None:
        return logsumexp(scores) - scores[y]
    return np.max(costs(tree, cost, y) + scores - scores[y])


def slopes_of(loss, z, y):
    out = np.full(z.size, np.nan)
    loss.slopes(z, y, out)
    return out


def cases(tree, seed=0):
    rng = np.random.default_rng(seed)
    for scale in (0.0, 0.3, 1.0, 20.0):
        for y in range(tree.classes):
            yield scale * rng.normal(size=tree.scores), y


def feasible(tree, y, rng):
    A = indicators(tree)
    return rng.dirichlet(np.ones(tree.classes)) @ A - A[y]


# The losses


@every
def test_value_is_the_best_leaf_or_the_sum_over_leaves(name):
    loss, tree, cost = LOSSES[name]
    for z, y in cases(tree):
        assert loss.value(z, y) == pytest.approx(brute(tree, cost, z, y), rel=1e-13, abs=1e-13 * (1 + np.abs(z).sum()))
        assert loss.value(z, y) >= 0.0
        assert loss.class_scores(z) == pytest.approx(indicators(tree) @ z, rel=1e-13, abs=1e-13)


@every
def test_subgradient_inequality_and_fenchel_young(name):
    loss, tree, _ = LOSSES[name]
    for z, y in cases(tree):
        u, f = slopes_of(loss, z, y), loss.value(z, y)
        assert loss.conjugate(u, y) == pytest.approx(u @ z - f, abs=1e-12 * (1 + abs(f) + np.abs(z).sum()))
        assert np.linalg.norm(u) <= loss.largest_slope() * (1 + 1e-12)
        for other, _ in cases(tree, seed=1):
            room = 1e-12 * (1 + np.abs(other).sum() + np.abs(z).sum())
            assert loss.value(other, y) >= f + u @ (other - z) - room
            assert loss.value(other, y) + loss.conjugate(u, y) >= u @ other - room


@every
def test_slopes_are_finite_differences_where_there_is_no_kink(name):
    loss, tree, _ = LOSSES[name]
    for z, y in cases(tree, seed=2):
        if z.any():
            u, h = slopes_of(loss, z, y), 1e-5
            up = np.array([loss.value(z + h * e, y) for e in np.eye(z.size)])
            down = np.array([loss.value(z - h * e, y) for e in np.eye(z.size)])
            assert u == pytest.approx((up - down) / (2 * h), abs=1e-5)


@every_shape
def test_softmax_gradient_is_the_probability_of_passing_a_node(shape):
    tree, loss = SHAPES[shape], HierarchicalSoftmax(SHAPES[shape])
    A = indicators(tree)
    for z, y in cases(tree, seed=3):
        p = softmax(A @ z)
        assert slopes_of(loss, z, y) == pytest.approx(p @ A - A[y], abs=1e-13 * (1 + np.abs(z).sum()))
        assert loss.probability(z) == pytest.approx(p, rel=1e-12)


@every
def test_conjugate_is_the_supremum_that_cvxpy_finds(name):
    loss, tree, cost = LOSSES[name]
    A, rng = indicators(tree), np.random.default_rng(4)
    y = tree.classes // 2
    u = feasible(tree, y, rng)
    z = cp.Variable(tree.scores)
    differences = (A - A[y]) @ z
    f = cp.log_sum_exp(differences) if cost is None else cp.max(differences + costs(tree, cost, y))
    problem = cp.Problem(cp.Maximize(u @ z - f))
    problem.solve(solver="CLARABEL")
    assert loss.conjugate(u, y) == pytest.approx(problem.value, rel=1e-5, abs=1e-5)


@every_shape
def test_conjugates_are_their_formulas(shape):
    tree, rng = SHAPES[shape], np.random.default_rng(5)
    A = indicators(tree)
    for y in range(tree.classes):
        u = feasible(tree, y, rng)
        P = u + A[y]  # of the nodes
        above = np.array([1.0 if p == 0 else P[p - 1] for p in tree.parent[1:]])
        nodes = np.sum(P * np.log(P / above))
        assert HierarchicalSoftmax(tree).conjugate(u, y) == pytest.approx(nodes, rel=1e-12, abs=1e-13)
        for cost in COSTS:
            expected = -P[tree.leaf - 1] @ costs(tree, cost, y)
            assert hinge(tree, cost).conjugate(u, y) == pytest.approx(expected, rel=1e-12, abs=1e-13)


@every
def test_conjugate_is_infinite_outside(name):
    loss, tree, _ = LOSSES[name]
    rng = np.random.default_rng(6)
    for y in range(tree.classes):
        inside = feasible(tree, y, rng)
        assert loss.conjugate(inside, y) < math.inf
        for j in range(tree.scores):  # what flows into the node no longer flows out, or leaves the root
            for size in (1.0, -1e-3, 1e-9):
                assert loss.conjugate(inside + size * np.eye(tree.scores)[j], y) == math.inf
        assert loss.conjugate(np.full(tree.scores, np.nan), y) == math.inf
        if tree.classes > 1:
            A = indicators(tree)
            other = (y + 1) % tree.classes
            assert loss.conjugate(1.01 * (A[other] - A[y]), y) == math.inf  # flows, but of less than nothing
            assert loss.conjugate(-0.01 * (A[other] - A[y]), y) == math.inf


@every
def test_into_domain_is_feasible_and_leaves_feasible_points(name):
    loss, tree, _ = LOSSES[name]
    rng = np.random.default_rng(7)
    for y in range(tree.classes):
        inside = feasible(tree, y, rng)
        kept = inside.copy()
        loss.into_domain(kept, y)
        assert kept == pytest.approx(inside, abs=1e-15 * tree.scores)
        for scale in (1e-9, 0.2, 1.0, 30.0):
            u = scale * rng.normal(size=tree.scores)
            loss.into_domain(u, y)
            assert loss.conjugate(u, y) < math.inf
            for z, _ in cases(tree, seed=8):
                assert loss.value(z, y) + loss.conjugate(u, y) >= u @ z - 1e-12 * (1 + np.abs(z).sum())


@every_shape
def test_smoothness_is_the_best_bound(shape):
    tree, loss = SHAPES[shape], HierarchicalSoftmax(SHAPES[shape])
    A = indicators(tree)
    rng = np.random.default_rng(9)
    largest = 0.0
    for _ in range(200):
        p = rng.dirichlet(np.full(tree.classes, 0.3))
        largest = max(largest, np.linalg.eigvalsh(A.T @ (np.diag(p) - np.outer(p, p)) @ A)[-1])
    assert largest <= loss.smoothness() + 1e-12
    pairs = [(a, b) for a in range(tree.classes) for b in range(a)]
    for a, b in pairs:  # probability 1/2 each
        p = 0.5 * (np.eye(tree.classes)[a] + np.eye(tree.classes)[b])
        largest = max(largest, np.linalg.eigvalsh(A.T @ (np.diag(p) - np.outer(p, p)) @ A)[-1])
    assert largest == pytest.approx(loss.smoothness(), abs=1e-12)
    furthest = max([0.0] + [np.linalg.norm(A[a] - A[b]) for a, b in pairs])
    for cost in COSTS:
        assert hinge(tree, cost).smoothness() is None
        assert hinge(tree, cost).largest_slope() == pytest.approx(furthest, rel=1e-15)
    assert tree.diameter() == round(furthest**2)


def test_a_flat_tree_is_the_plain_softmax():
    loss = HierarchicalSoftmax(SHAPES["flat"])
    for z, y in cases(SHAPES["flat"], seed=10):
        assert loss.value(z, y) == pytest.approx(Softmax().value(z, y), rel=1e-14, abs=1e-15)
        assert slopes_of(loss, z, y) == pytest.approx(slopes_of(Softmax(), z, y), abs=1e-15)
        u = slopes_of(Softmax(), z, y)
        assert loss.conjugate(u, y) == pytest.approx(Softmax().conjugate(u, y), rel=1e-14, abs=1e-15)
    assert loss.smoothness() == Softmax().smoothness() and loss.largest_slope() == Softmax().largest_slope()


# The dual step of the softmax


def prox_of(loss, t, g, y):
    out = np.full(t.size, np.nan)
    loss.dual_prox(t, g, y, out)
    return out


@every_shape
def test_dual_prox_of_the_softmax_is_the_slope_at_the_proximal_point(shape):
    # u belongs to the scores t - g u: the condition of optimality, without the conjugate
    tree, loss = SHAPES[shape], HierarchicalSoftmax(SHAPES[shape])
    rng = np.random.default_rng(12)
    for g in (1e-8, 1e-3, 0.5, 3.0, 1e3, 1e6):
        for size in (0.0, 1e-3, 1.0, 30.0, 1e4, g):
            y, t = int(rng.integers(tree.classes)), size * rng.normal(size=tree.scores)
            u = prox_of(loss, t, g, y)
            assert np.isfinite(loss.conjugate(u, y))
            rounding = 1e-14 * (1.0 + np.abs(t).max(initial=0.0) + g)
            assert slopes_of(loss, t - g * u, y) == pytest.approx(u, abs=1e-13 + rounding)


@every_shape
def test_hessians_of_the_softmax_are_differences_of_slopes(shape):
    tree, loss = SHAPES[shape], HierarchicalSoftmax(SHAPES[shape])
    for z, y in cases(tree, seed=14):
        u, h = slopes_of(loss, z, y), 1e-5
        moves = h * np.eye(z.size)
        expected = np.array([slopes_of(loss, z + e, y) - slopes_of(loss, z - e, y) for e in moves]) / (2.0 * h)
        assert loss.hessians(np.array([y]), u[None])[0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("g", [1e-6, 0.1, 1.0, 40.0, 1e6])
def test_dual_prox_of_a_flat_tree_is_that_of_the_plain_softmax(g):
    for z, y in cases(SHAPES["flat"], seed=13):
        expected = prox_of(Softmax(), z, g, y)
        assert prox_of(HierarchicalSoftmax(SHAPES["flat"]), z, g, y) == pytest.approx(expected, abs=1e-12)


# The dual step of the hinge


HINGES = [name for name in LOSSES if "softmax" not in name]
SIZES = [1e-8, 1e-3, 0.3, 1.0, 30.0, 1e6]


def step_of(loss, t, g, y):
    out = np.full(t.size, np.nan)
    loss.dual_prox(t, g, y, out)
    return out


@pytest.mark.parametrize("name", HINGES)
def test_dual_step_is_optimal_at_all_scales(name):
    """No leaf gains more from another bit of flow than the mixture does: that bounds the distance from the optimum."""
    loss, tree, cost = LOSSES[name]
    A, seed = indicators(tree), 0
    for g in SIZES:
        for scale in (0.0, 0.3, 3.0, 100.0):
            for y in range(tree.classes):
                seed += 1
                t = scale * np.random.default_rng(seed).normal(size=tree.scores)
                u = step_of(loss, t, g, y)
                assert loss.conjugate(u, y) < math.inf
                gains = A @ (t - g * u) + costs(tree, cost, y)
                flows = (u + A[y])[tree.leaf - 1]
                assert flows.min() >= -4 * 2.0**-52
                assert gains.max() - flows @ gains <= 1e-13 * (1.0 + np.abs(t).max() + g)


@pytest.mark.parametrize("name", ["animals, tree", "comb, lca", "binary, matrix"])
def test_dual_step_is_the_quadratic_program(name):
    loss, tree, cost = LOSSES[name]
    rng, A = np.random.default_rng(5), indicators(tree)
    for g in (0.2, 1.0, 5.0):
        t, y = 2.0 * rng.normal(size=tree.scores), int(rng.integers(tree.classes))
        p = cp.Variable(tree.classes)
        u = A.T @ p - A[y]
        objective = -costs(tree, cost, y) @ p - t @ u + g / 2 * cp.sum_squares(u)
        cp.Problem(cp.Minimize(objective), [p >= 0, cp.sum(p) == 1]).solve(solver="CLARABEL")
        assert step_of(loss, t, g, y) == pytest.approx(u.value, abs=1e-5)


def test_dual_step_of_a_flat_tree_is_that_of_the_max_hinge():
    loss, rng = HierarchicalHinge(SHAPES["flat"]), np.random.default_rng(6)
    for g in SIZES:
        for y in range(4):
            t = rng.normal(size=4)
            assert step_of(loss, t, g, y) == pytest.approx(step_of(MaxHinge(), t, g, y), abs=1e-9)


def test_dual_step_keeps_its_digits_and_ends():
    loss, tree = LOSSES["animals, tree"][0], SHAPES["animals"]
    t = np.random.default_rng(7).normal(size=tree.scores)
    for y in range(tree.classes):  # what all branches have in common changes nothing, not even a digit
        shifted = t + 2.0**40 * (tree.parent[1:] == 0)
        lost = shifted - 2.0**40 * (tree.parent[1:] == 0)
        assert np.array_equal(step_of(loss, shifted, 0.01, y), step_of(loss, lost, 0.01, y))
    for bad in (np.full(tree.scores, np.nan), np.full(tree.scores, np.inf), np.r_[np.nan, t[1:]]):
        compiled_step(loss, bad, 1.0, 0, np.empty(tree.scores))
    for g in (1e-300, 1e300):
        assert loss.conjugate(step_of(loss, t, g, 2), 2) < math.inf


@pytest.mark.parametrize("name", ["animals, tree", "shuffled, lca", "binary, matrix"])
def test_compiled_steps_and_envelopes(name):
    loss, tree, _ = LOSSES[name]
    smooth, out = MoreauVector(loss, 0.4), np.empty(tree.scores)
    for z, y in cases(tree, seed=8):
        compiled_step(loss, z, 0.4, y, out)
        assert out == pytest.approx(step_of(loss, z, 0.4, y), abs=1e-12)
        assert smooth.value(z, y) == pytest.approx(
            out @ z - smooth.conjugate(out, y), abs=1e-12 * (1 + np.abs(z).sum())
        )
        assert loss.value(z, y) - 0.2 * loss.largest_slope() ** 2 <= smooth.value(z, y) + 1e-12
        assert smooth.value(z, y) <= loss.value(z, y) + 1e-12


def test_one_leaf_has_loss_0():
    for loss in [hinge(SHAPES["one leaf"], cost) for cost in COSTS] + [HierarchicalSoftmax(SHAPES["one leaf"])]:
        z = np.array([3.0, -5.0])
        assert loss.value(z, 0) == 0.0 and not slopes_of(loss, z, 0).any()
        u = np.array([0.5, 2.0])
        loss.into_domain(u, 0)
        assert not u.any() and loss.conjugate(u, 0) == 0.0 and loss.largest_slope() == 0.0
        result = fenchel.solve(fenchel.Problem(np.eye(2), [0, 0], loss=loss, alpha=0.1))
        assert result.converged and not result.coef.any() and result.certificate.primal == 0.0


@every
def test_large_scores_do_not_overflow(name):
    loss, tree, cost = LOSSES[name]
    for scale in (1e5, 1e150):
        for z, y in cases(tree, seed=11):
            z = scale * z
            f, u = loss.value(z, y), slopes_of(loss, z, y)
            assert f == pytest.approx(brute(tree, cost, z, y), rel=1e-12, abs=1e-12 * np.abs(z).sum())
            assert np.isfinite(u).all() and loss.conjugate(u, y) < math.inf


@pytest.mark.parametrize("name", ["animals, tree", "animals, matrix", "animals, softmax", "shuffled, lca"])
def test_python_and_compiled_agree(name):
    loss, tree, _ = LOSSES[name]
    for z, y in cases(tree, seed=12):
        u = 0.4 * np.cos(np.arange(tree.scores) + y)
        v, a, b = u.copy(), np.empty(u.size), np.empty(u.size)
        got = all_methods(loss, z, u, y, a)
        assert got == pytest.approx(all_methods.py_func(loss, z, v, y, b), rel=1e-13, abs=1e-13)
        assert a == pytest.approx(b, abs=1e-14) and u == pytest.approx(v, abs=1e-15)


@every
def test_pickled_compared_and_shown(name):
    loss, tree, cost = LOSSES[name]
    copy = pickle.loads(pickle.dumps(loss))
    assert copy == loss and (copy != loss) is False and hash(copy) == hash(loss) and type(copy) is type(loss)
    z, y = next(cases(tree, seed=13))
    assert copy.value(z, y) == loss.value(z, y)
    text = repr(loss)
    assert f"{tree.classes} classes and {tree.scores} scores" in text and len(text) < 90
    assert cost is None or {"tree": "cost='tree'", "lca": "cost='lca'", "matrix": "cost=<matrix>"}[cost] in text


def test_losses_of_different_trees_and_costs_differ():
    a = HierarchicalHinge(ANIMALS)
    assert a == HierarchicalHinge(Tree(ANIMALS), cost="tree") and a != HierarchicalHinge(ANIMALS, "lca")
    assert a != HierarchicalHinge(SHAPES["flat"]) and a != HierarchicalSoftmax(ANIMALS)


def test_outputs():
    for loss in (HierarchicalHinge(ANIMALS), HierarchicalSoftmax(ANIMALS)):
        assert loss.outputs(np.array([0, 4, 4])) == 8
        with pytest.raises(InputError, match=r"y\[1\] = 5, but there are only 5 classes"):
            loss.outputs(np.array([0, 5]))
        with pytest.raises(InputError, match="integers"):
            loss.outputs(np.array([0.5]))
        with pytest.raises(InputError, match=r"y\[0\] = -1"):
            loss.outputs(np.array([-1, 0]))
    lone = HierarchicalSoftmax(SHAPES["one leaf"])
    assert lone.outputs(np.array([0, 0])) == 2
    with pytest.raises(InputError, match=r"y\[1\] = 1, but there are only 1 classes"):
        lone.outputs(np.array([0, 1]))


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        ("hop", '"tree", "lca" or a matrix'),
        (3.0, "3 x 3 matrix.*got 3.0"),
        (np.zeros((2, 2)), r"3 x 3 matrix.*\(2, 2\)"),
        ([["a"]], "matrix of numbers"),
        (-np.ones((3, 3)), r"cost\[0, 0\] = -1"),
        (np.ones((3, 3)), "0 on the diagonal"),
        (np.diag([0.0, 0.0, np.nan]), r"cost\[2, 2\] = nan"),
    ],
)
def test_hinge_refuses_other_costs(cost, words):
    with pytest.raises(InputError, match=words):
        HierarchicalHinge(["a", "b/c", "b/d"], cost)


# The tree


class Graph:
    """As much of a networkx graph as a tree needs."""

    def __init__(self, edges, directed=True, more=()):
        self.edges, self.directed = list(edges), directed
        self.nodes = list(dict.fromkeys([*more, *(node for edge in edges for node in edge)]))

    def is_directed(self):
        return self.directed


EDGES = [("top", "animal"), ("top", "plant"), ("animal", "cat"), ("animal", "dog")]


def sets_by_label(tree):
    return {label: {tree.names[v] for v in path} for label, path in zip(tree.labels, paths(tree), strict=True)}


@every_shape
def test_parents_come_first_and_costs_are_those_of_the_paths(shape):
    tree = SHAPES[shape]
    assert tree.parent[0] == -1 and all(0 <= p < v for v, p in enumerate(tree.parent) if v)
    assert set(tree.leaf) == set(range(tree.parent.size)) - set(tree.parent)
    assert np.array_equal(tree.incidence(), indicators(tree))
    for y in range(tree.classes):
        assert set(tree.path(y)) == paths(tree)[y] and list(tree.path(y)) == sorted(tree.path(y))
        for cost in ("tree", "lca"):
            assert np.array_equal(tree.cost_matrix(cost)[y], costs(tree, cost, y))
    Z = np.random.default_rng(0).normal(size=(5, tree.scores))
    assert tree.class_scores(Z) == pytest.approx(Z @ indicators(tree).T, abs=1e-14)
    assert Tree(tree) == tree and pickle.loads(pickle.dumps(tree)) == tree and hash(Tree(tree)) == hash(tree)


def test_the_same_tree_from_parents_paths_and_a_graph():
    graph = Tree(Graph(EDGES, more=["dog", "cat", "plant"]))
    assert graph.labels == ("dog", "cat", "plant")
    assert sets_by_label(graph) == {"dog": {"animal", "dog"}, "cat": {"animal", "cat"}, "plant": {"plant"}}
    texts = Tree(["animal/dog", "animal/cat", "plant"])
    assert texts.labels == ("animal/dog", "animal/cat", "plant")
    assert sets_by_label(texts)["animal/cat"] == {"animal", "animal/cat"}
    lists = Tree([["animal", "dog"], ("animal", "cat"), ["plant"]])
    assert lists.labels == (("animal", "dog"), ("animal", "cat"), ("plant",))
    assert Tree(["animal.dog", "animal.cat", "plant"], separator=".").labels[1] == "animal.cat"
    parents = Tree(np.array([2, 2, 4, 4, -1]))  # 0 dog, 1 cat, 2 animal, 3 plant, 4 top
    assert parents.labels == (0, 1, 3) and sets_by_label(parents)[1] == {1, 2}
    for tree in (graph, texts, lists, parents):
        assert np.array_equal(tree.cost_matrix("tree"), [[0, 1, 1.5], [1, 0, 1.5], [1.5, 1.5, 0]])
        assert np.array_equal(tree.cost_matrix("lca"), [[0, 1, 2], [1, 0, 2], [1, 1, 0]])
    assert texts != lists and texts != "texts"


def test_an_ordered_parent_array_keeps_its_numbers():
    parents = [-1, 0, 0, 1, 2, 2, 1]
    assert Tree(parents).parent.tolist() == parents and Tree(parents).names == tuple(range(7))


def test_networkx():
    networkx = pytest.importorskip("networkx")
    tree = Tree(networkx.DiGraph(EDGES))
    assert tree.labels == ("plant", "cat", "dog")
    with pytest.raises(InputError, match="undirected"):
        Tree(networkx.Graph(EDGES))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ([], "non-empty parent array"),
        ("a/b", "list of label paths"),
        (7, "directed graph; got 7"),
        ([-1], "no node but the root"),
        ([-1, 0, -1], "2 roots, among them 0 and 2"),
        ([-1, 0, 3, 2], "cycle: 2 <- 3 <- 2"),
        ([1, 2, 0], "cycle"),
        ([-1, 0, 5], "parent of node 2 is 5, an unknown node"),
        ([-1, 0, -2], "unknown node"),
        ([-1.0, 0.0], r"tree\[0\] = -1.0"),
        ([-1, "a"], r"tree\[0\] = -1"),
        (["a", ["b"]], r"tree\[1\] = \['b'\]"),
        ([-1, True], r"tree\[0\]"),
        (["a//b", "c"], "path 0, 'a//b', must have parts"),
        (["a", ""], "path 1"),
        ([["a"], []], "path 1"),
        ([["a"], [["b"]]], "path 1"),
        (["a/b", "c", "a/b"], "path 2, 'a/b', is the same as path 0"),
        (["a/b", "a"], "path 1, 'a', is also the beginning of another path"),
        (["a", "a/b"], "path 0, 'a', is also the beginning of another path"),
        (Graph(EDGES, directed=False), "undirected"),
        (Graph([]), "no node but the root"),
        (Graph([], more=["a"]), "no node but the root"),
        (Graph([*EDGES, ("plant", "cat")]), "'cat' has two parents, 'animal' and 'plant'"),
        (Graph([*EDGES, ("rock", "salt")]), "2 roots, among them 'top' and 'rock'"),
        (Graph([("r", "s"), ("a", "b"), ("b", "a")]), "cycle: 'a' <- 'b' <- 'a'"),
    ],
)
def test_refused_sources(source, words):
    with pytest.raises(InputError, match=words):
        Tree(source)


def test_refused_arguments():
    tree = SHAPES["animals"]
    with pytest.raises(InputError, match="separator"):
        Tree(["a", "b"], separator="")
    with pytest.raises(InputError, match="class 5 does not exist"):
        tree.path(5)
    with pytest.raises(InputError, match='"tree" or "lca"'):
        tree.cost_matrix("hop")
    with pytest.raises(InputError, match=r"column per node below the root \(8\), got shape \(3, 5\)"):
        tree.class_scores(np.zeros((3, 5)))
    assert repr(tree) == "Tree(5 classes, 8 nodes below the root)"
