"""Graphs: cuts and searches against enumeration and scipy, bounds, predictions, bad input, real grids."""

import time
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import maximum_flow

import fenchel
from fenchel.errors import InputError
from fenchel.oracles.structured import StructuredOracle
from fenchel.structured import AssociativeGraph, Graph
from fenchel.structured.graph_input import accept_graphs
from fenchel.structured.graph_search import best_labels
from fenchel.structured.min_cut import best_cut
from structured_problems import optimum, planes, problem


def random_graph(rng, nodes, edges):
    """(edges, arguments of the kernels); the graph is the second of two examples, so that it does not start at 0."""
    pairs = np.array(
        [rng.choice(nodes, 2, replace=False) for _ in range(edges if nodes > 1 else 0)], dtype=int
    ).reshape(-1, 2)
    graphs = accept_graphs([(np.ones((2, 1)), [[0, 1]]), (np.ones((nodes, 1)), pairs)])
    start = graphs.start[graphs.first[1] :]
    return pairs, (graphs.tails[1:], graphs.heads[1:], start, graphs.arcs[start[0] : start[-1]])


def grid(rows, columns):
    at = np.arange(rows * columns).reshape(rows, columns)
    right, down = (np.stack(pair, axis=-1).reshape(-1, 2) for pair in ((at[:, :-1], at[:, 1:]), (at[:-1], at[1:])))
    return np.concatenate([right, down])


@pytest.mark.parametrize("ties", [False, True])
def test_cuts_are_the_best_of_all_labels(ties):
    rng = np.random.default_rng(0)
    for _ in range(100):
        nodes = int(rng.integers(1, 8))
        pairs, arrays = random_graph(rng, nodes, int(rng.integers(0, 13)))
        a, t = rng.standard_normal(nodes), rng.exponential(size=len(pairs))
        a, t = (np.round(2 * a), np.round(t)) if ties else (a * 10.0 ** rng.integers(-8, 8), t)
        y = np.empty(nodes, dtype=np.int32)
        best_cut(a, t, *arrays, y)

        def value(y, a=a, t=t, pairs=pairs):
            return a @ y - t @ (y[pairs[:, 0]] != y[pairs[:, 1]])

        best = max(value(np.array(z)) for z in product((0, 1), repeat=nodes))
        assert abs(value(y) - best) <= 1e-14 * (abs(a).sum() + t.sum())


def flow_of(a, t, pairs):
    """The maximum flow from nodes with a > 0 to nodes with a < 0, by scipy."""
    n = a.size
    tails = np.concatenate([np.full(n, n), np.arange(n), pairs[:, 0], pairs[:, 1]])
    heads = np.concatenate([np.arange(n), np.full(n, n + 1), pairs[:, 1], pairs[:, 0]])
    room = np.concatenate([np.maximum(a, 0), np.maximum(-a, 0), t, t]).astype(np.int32)
    return maximum_flow(sp.csr_array((room, (tails, heads)), shape=(n + 2,) * 2), n, n + 1).flow_value


def test_cuts_have_the_value_of_the_flow_that_scipy_finds():
    """On grids, and on sparse graphs with few sources and sinks, where flows must be led back."""
    rng = np.random.default_rng(1)
    for k in range(120):
        count = 300 if k < 3 else 40
        pairs = grid(15, 20) if k < 3 else np.array([rng.choice(count, 2, replace=False) for _ in range(70)])
        a = rng.integers(-100, 101, count) * (1 if k < 3 else rng.random(count) < 0.3)
        t = rng.integers(0, (2, 20, 200)[k % 3], len(pairs))
        graphs = accept_graphs([(np.ones((count, 1)), pairs)])
        y = np.empty(count, dtype=np.int32)
        best_cut(a.astype(float), t.astype(float), graphs.tails, graphs.heads, graphs.start, graphs.arcs, y)
        cut = t @ (y[pairs[:, 0]] != y[pairs[:, 1]])
        assert a @ y - cut == np.maximum(a, 0).sum() - flow_of(a, t, pairs)


@pytest.mark.parametrize("ties", [False, True])
def test_searches_are_the_best_of_all_labels_and_bounds_hold_at_any_limit(ties):
    rng, loose = np.random.default_rng(2), 0
    for _ in range(100):
        nodes, m = int(rng.integers(1, 6)), int(rng.integers(1, 4))
        pairs, arrays = random_graph(rng, nodes, int(rng.integers(0, 13)))
        U, P = rng.standard_normal((nodes, m)), 2.0 * rng.standard_normal((len(pairs), m, m))
        U, P = (np.round(U), np.round(P)) if ties else (U, P)

        def value(y, U=U, P=P, pairs=pairs):
            return U[np.arange(len(y)), y].sum() + P[np.arange(len(pairs)), y[pairs[:, 0]], y[pairs[:, 1]]].sum()

        best = max(value(np.array(z)) for z in product(range(m), repeat=nodes))
        y = np.empty(nodes, dtype=np.int32)
        for limit in (0, 1, 2, 4):
            found, ceiling = best_labels(U, P, *arrays, limit, y)
            assert found == pytest.approx(value(y), abs=1e-12)
            assert ceiling >= best - 1e-12
            loose += ceiling > best + 1e-6
            if limit == 0:
                assert found == pytest.approx(best, abs=1e-11)
                assert ceiling == pytest.approx(best, abs=1e-11)
    assert loose > 0  # some limits were too small, so that the bounds were needed


@pytest.mark.parametrize("name", ["graph", "associative"])
@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_the_loss_is_the_largest_plane(name, scale):
    made = problem(name)
    oracle, rng = StructuredOracle(made), np.random.default_rng(3)
    for _ in range(5):
        w = scale * rng.standard_normal(made.d)
        best = [costs + slopes @ w for costs, slopes in (planes(made, i) for i in range(made.n))]
        assert oracle.risk(w)[0] == pytest.approx(made.weights @ [values.max() for values in best], rel=1e-12)


def test_the_associative_loss_bounds_the_hinge_of_what_is_predicted():
    """Also where strengths are negative; it is that hinge where none is."""
    made, rng = problem("associative"), np.random.default_rng(4)
    model, graphs = made.loss, made.model.graphs
    negative = 0
    for _ in range(20):
        w = rng.standard_normal(made.d)
        total = 0.0
        for i in range(made.n):
            S = np.empty(made.model.workspace_size)
            made.model.part_scores(w, i, S)
            a, b = graphs.first_edge[i], graphs.first_edge[i + 1]
            t, tails, heads = S[3 : 3 + b - a], graphs.tails[a:b], graphs.heads[a:b]
            gold = made.model.y[graphs.first[i] : graphs.first[i + 1]]
            labels = np.array(list(product((0, 1), repeat=3)))
            score = labels @ S[:3] - (labels[:, tails] != labels[:, heads]) @ np.maximum(t, 0.0)
            of_gold = gold @ S[:3] - (gold[tails] != gold[heads]) @ np.maximum(t, 0.0)
            total += made.weights[i] * (score + (labels != gold).sum(axis=1) - of_gold).max()
            negative += (t < 0.0).any()
            x = (np.eye(3), np.c_[tails, heads], np.eye(max(b - a, 1))[: b - a])
            alone = np.concatenate([S[:3], [0.0], t if b > a else [0.0]])
            predicted = model.predict(alone, x)
            assert score[np.flatnonzero((labels == predicted).all(axis=1))[0]] == pytest.approx(score.max())
        loss = StructuredOracle(made).risk(w)[0]
        assert loss >= total - 1e-12
        positive = np.concatenate([w[:3], [0.0, 0.0]])
        assert StructuredOracle(made).risk(positive)[0] >= 0.0
    assert negative > 0


def test_one_strength_is_never_negative_at_the_optimum():
    """Labels that alternate along a path: neighbours never agree."""
    x = (np.ones((6, 1)), [[v, v + 1] for v in range(5)])
    made = fenchel.Problem([x], [[0, 1, 0, 1, 0, 1]], loss=AssociativeGraph(), alpha=0.1)
    result = fenchel.solve(made, tol=1e-6)
    assert result.status.name == "CERTIFIED"
    assert result.coef[-1] >= -1e-6


@pytest.mark.parametrize("sparse", [False, True])
def test_predictions_are_the_best_labels(sparse):
    rng = np.random.default_rng(5)
    X, F, pairs = rng.standard_normal((5, 2)), rng.standard_normal((6, 2)), np.array(
        [[0, 1], [1, 2], [2, 0], [3, 4], [4, 1], [0, 4]]
    )  # fmt: skip
    x = (sp.csr_array(X), pairs, sp.csr_array(F)) if sparse else (X, pairs, F)
    w = rng.standard_normal((2 + 1 + 2 * 3) * 3)
    U = X @ w[:6].reshape(2, 3) + w[6:9]
    P = np.einsum("ek,kab->eab", F, w[9:].reshape(2, 3, 3))

    def value(y):
        return U[np.arange(5), y].sum() + P[np.arange(6), y[pairs[:, 0]], y[pairs[:, 1]]].sum()

    best = max(product(range(3), repeat=5), key=lambda y: value(np.array(y)))
    np.testing.assert_array_equal(Graph().predict(w, x), best)


@pytest.mark.parametrize("solver", ["cutting_plane", "bundle", "block_frank_wolfe"])
def test_a_search_with_a_limit_has_an_honest_certificate(solver):
    """P is computed from the bounds of the search: it is above the optimum, and D below."""
    rng, complete = np.random.default_rng(6), [[u, v] for u in range(6) for v in range(u)]
    x = [(rng.standard_normal((6, 1)), complete, rng.standard_normal((15, 1))) for _ in range(4)]
    y = [rng.integers(0, 2, 6) for _ in x]
    exact = fenchel.Problem(x, y, loss=Graph(2), alpha=0.02)
    limited = fenchel.Problem(x, y, loss=Graph(2, nodes=1), alpha=0.02)
    best = optimum(exact)
    result = fenchel.solve(limited, solver=solver, tol=1e-4, max_iter=30)
    assert result.certificate.basis == "bounded max-oracle"
    assert result.certificate.dual <= best * (1 + 1e-7)
    assert result.certificate.primal >= best * (1 - 1e-7)
    true = fenchel.certify(exact, result.coef).primal
    assert true <= result.certificate.primal * (1 + 1e-12)
    hard = 3.0 * rng.standard_normal(exact.d)
    assert fenchel.certify(limited, hard).primal > fenchel.certify(exact, hard).primal + 1e-6  # the bound was needed


def test_a_search_without_end_ends_at_max_time():
    rng, complete = np.random.default_rng(7), [[u, v] for u in range(45) for v in range(u)]
    x = [(rng.standard_normal((45, 1)), complete, rng.standard_normal((len(complete), 8))) for _ in range(3)]
    made = fenchel.Problem(x, [rng.integers(0, 2, 45) for _ in x], loss=Graph(2), alpha=1e-6)
    fenchel.solve(made, tol=1e-2, max_iter=1, max_time=20.0)
    began = time.perf_counter()
    result = fenchel.solve(made, tol=1e-8, max_time=2.0)
    assert time.perf_counter() - began - result.compile_seconds < 6.0
    assert result.status.name in ("MAX_TIME", "CERTIFIED")


NODES = np.ones((3, 2))
EDGES = [[0, 1], [1, 2]]
BAD = {
    "no tuple": ([NODES], "example 0 must be a tuple"),
    "long tuple": ([(NODES, EDGES, None, None)], "example 0 must be a tuple .* of length 4"),
    "no nodes": ([(NODES, EDGES), (np.ones((0, 2)), [])], "example 1 has no nodes"),
    "width": ([(NODES, EDGES), (np.ones((3, 3)), EDGES)], "example 1 has 3 features per node, example 0 has 2"),
    "NaN": ([(NODES, EDGES), (NODES * np.nan, EDGES)], "features of example 1 contain NaN"),
    "triples": ([(NODES, EDGES), (NODES, [[0, 1, 2]])], "edges of example 1 must be pairs"),
    "fractions": ([(NODES, EDGES), (NODES, [[0.0, 1.0]])], "edges of example 1 must be pairs"),
    "outside": ([(NODES, EDGES), (NODES, [[0, 1], [1, 3]])], r"edge 1 of example 1 is \(1, 3\), but its nodes are 0 .. 2"),
    "loop": ([(NODES, EDGES), (NODES, [[1, 1]])], "edge 0 of example 1 connects node 1 with itself"),
    "some features": ([(NODES, EDGES), (NODES, EDGES, np.ones((2, 1)))], "example 1 has edge features, but example 0 has none"),
    "rows": ([(NODES, EDGES, np.ones((2, 1))), (NODES, EDGES, np.ones((3, 1)))], "example 1 has 2 edges, but 3 rows"),
    "flat": ([(NODES, EDGES, np.ones(2)), (NODES, EDGES, np.ones(2))], "edge features of example 0 have 1 dimension"),
    "NaN of edges": ([(NODES, EDGES, np.ones((2, 1))), (NODES, EDGES, np.full((2, 1), np.inf))], "features of example 1"),
}  # fmt: skip


@pytest.mark.parametrize("model", [Graph(), AssociativeGraph()], ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("name", BAD)
def test_bad_examples_are_named(name, model):
    examples, words = BAD[name]
    with pytest.raises(InputError, match=words):
        fenchel.Problem(examples, [[0, 1, 1]] * len(examples), loss=model, alpha=0.1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fenchel.Problem([(NODES, EDGES)] * 2, [[0, 1, 1], [0, 1]], loss=Graph()), "example 1 has 3 nodes, but its"),
        (lambda: fenchel.Problem([(NODES, EDGES)], [[0, -1, 1]], loss=Graph()), "label of node 1 of example 0 is -1"),
        (lambda: fenchel.Problem([(NODES, EDGES)], [[0, 3, 1]], loss=Graph(2)), "example 0 has label 3, but there are 2"),
        (lambda: fenchel.Problem([(NODES, EDGES)], [[0, 1, 2]], loss=AssociativeGraph()), "label of node 2 of example 0 is 2"),
        (lambda: fenchel.Problem([(NODES, EDGES)], [[0, 1, 1]] * 2, loss=Graph()), "1 examples but 2 labels"),
        (lambda: Graph(classes=0), "classes must be"),
        (lambda: Graph(nodes=0), "nodes must be"),
        (lambda: Graph().predict(np.ones(7), (NODES, EDGES)), "7 coefficients do not fit"),
        (lambda: AssociativeGraph().predict(np.ones(7), (NODES, EDGES)), "7 coefficients do not fit"),
        (lambda: Graph().predict(np.full(8, np.nan), (NODES, EDGES)), "NaN"),
    ],
)  # fmt: skip
def test_bad_labels_and_coefficients_are_named(call, words):
    with pytest.raises(InputError, match=words):
        call()


def snake_graph(image, colours):
    """The colours around each pixel, and edges to the right and down with a feature each."""
    rows, columns = image.shape[:2]
    seen = np.pad(np.stack([(image == c).all(axis=2) for c in colours], axis=2).astype(float), ((1, 1), (1, 1), (0, 0)))
    around = [seen[i : i + rows, j : j + columns] for i in range(3) for j in range(3)]
    right = rows * (columns - 1)
    edges = grid(rows, columns)
    kinds = np.repeat(np.eye(2), [right, len(edges) - right], axis=0)
    return np.concatenate(around, axis=2).reshape(rows * columns, -1), edges, kinds


def test_neighbours_help_to_find_the_parts_of_snakes(data_folder):
    """Grids with eleven labels, whose pixels alone do not tell the parts of a snake apart; bounds instead of exact search."""
    with np.load(data_folder / "structured" / "snakes.npz", allow_pickle=True) as data:
        images, labels = list(data["X_train"][:60]), [y.ravel().astype(int) for y in data["Y_train"][:60]]
    colours = np.unique(np.concatenate([x.reshape(-1, 3) for x in images]), axis=0)
    graphs = [snake_graph(x, colours) for x in images]
    model = Graph(11, nodes=1, normalise=True)
    made = fenchel.Problem(graphs[:40], labels[:40], loss=model, alpha=0.05)
    result = fenchel.solve(made, solver="bundle", tol=0.1, max_iter=80)
    certificate = result.certificate
    assert certificate.basis == "bounded max-oracle"
    assert 0.0 < certificate.dual <= certificate.primal
    truth = np.concatenate(labels[40:])
    found = np.concatenate([model.predict(result.coef, x) for x in graphs[40:]])
    alone = fenchel.Classifier("max_hinge", alpha=0.05 / 42).fit(
        np.concatenate([x[0] for x in graphs[:40]]), np.concatenate(labels[:40])
    )
    single = alone.predict(np.concatenate([x[0] for x in graphs[40:]]))
    snake = truth > 0
    assert np.mean(found[snake] == truth[snake]) > np.mean(single[snake] == truth[snake])
