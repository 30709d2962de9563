"""Matchings, label sets and trees: oracles equal enumeration, sums equal enumeration, problems equal CVXPY."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

import brute
import fenchel
from fenchel.errors import InputError
from fenchel.oracles.structured import StructuredOracle
from fenchel.structured import Matching, PairwiseLabels, Pool, Tree
from fenchel.structured.matching_assignment import assign
from fenchel.structured.pairwise_search import best_set
from fenchel.structured.pool import pool_of
from fenchel.structured.protocol import (
    best_label,
    label_cost,
    label_margin,
    log_partition,
    part_scores,
    pop_square_norm,
)


def rng_of(seed):
    return np.random.default_rng(seed)


def matching_examples(partial, sparse=False):
    rng, examples, labels = rng_of(1), [], []
    for r, c in [(1, 1), (1, 3), (3, 1), (2, 3), (3, 3), (3, 2)]:
        x = np.round(rng.standard_normal((r, c, 3)), 1)
        x[rng.random(x.shape) < 0.3] = 0.0
        options = list(brute.matchings(r, c, partial))
        examples.append((sp.csr_matrix(x.reshape(r * c, 3)), c) if sparse else x)
        labels.append(options[rng.integers(len(options))])
    return examples, labels


def set_examples(m, sparse=False):
    rng = rng_of(2)
    X = np.round(rng.standard_normal((5, 2)), 1)
    return (sp.csr_matrix(X) if sparse else X), rng.integers(0, 2, (5, m))


FORESTS = [[-1], [-1, 0, 1], [1, -1, 1, 1], [2, 2, -1, -1], [3, 0, -1, 2]]


def tree_examples(m, sparse=False):
    rng, examples, labels = rng_of(3), [], []
    for parent in FORESTS:
        X = np.round(rng.standard_normal((len(parent), 2)), 1)
        examples.append((sp.csr_matrix(X) if sparse else X, parent))
        labels.append(rng.integers(0, m, len(parent)))
    labels[1][0] = m - 1
    return examples, labels


CASES = {
    "full matching": (Matching(), *matching_examples(False)),
    "asymmetric": (Matching(false_positive=0.5, false_negative=2.0), *matching_examples(False, sparse=True)),
    "partial matching": (Matching(partial=True, false_positive=2.0, false_negative=0.5), *matching_examples(True)),
    "one label": (PairwiseLabels(), *set_examples(1)),
    "label sets": (PairwiseLabels(), *set_examples(4)),
    "label sets, sparse": (PairwiseLabels(normalise=True), *set_examples(3, sparse=True)),
    "label sets, log": (PairwiseLabels(loss="log"), *set_examples(3)),
    "tree": (Tree(), *tree_examples(3)),
    "tree, sparse": (Tree(normalise=True), *tree_examples(2, sparse=True)),
    "tree, log": (Tree(loss="log"), *tree_examples(2)),
    "tree, one class": (Tree(), *tree_examples(1)),
}
SOLVED = [
    name for name in CASES if "sparse" not in name and name != "asymmetric"
]  # rows of one kind: kernels compile once
LOG = [name for name, case in CASES.items() if case[0].loss == "log"]


def labels_of(model, encoded, i):
    """Every label of example i."""
    if isinstance(model, Matching):
        return list(brute.matchings(int(encoded.rows[i]), int(encoded.columns[i]), model.partial))
    return list(brute.strings(2 if isinstance(model, PairwiseLabels) else encoded.m, int(encoded.sizes[i])))


def phi(model, encoded, x, y):
    """The features of a label, from the definition."""
    if isinstance(model, Matching):
        edges = np.asarray(x[0].todense()).reshape(-1, x[1], 3) if isinstance(x, tuple) else x
        return sum((edges[r, c] for r, c in enumerate(y) if c >= 0), np.zeros(3))
    if isinstance(model, PairwiseLabels):
        x = np.asarray(x.todense()).ravel() if sp.issparse(x) else x
        return np.concatenate(
            [np.outer(x, y).ravel(), y, [y[i] * y[j] for i in range(len(y)) for j in range(i + 1, len(y))]]
        )
    X, parent = (np.asarray(x[0].todense()) if sp.issparse(x[0]) else x[0]), x[1]
    hot, pairs = np.eye(encoded.m)[y], np.zeros((encoded.m, encoded.m))
    for v, u in enumerate(parent):
        if u >= 0:
            pairs[y[u], y[v]] += 1.0
    return np.concatenate([(X.T @ hot).ravel(), hot.sum(axis=0), pairs.ravel()])


def cost(model, gold, y):
    """The cost of a label, from the definition."""
    gold, y = np.asarray(gold), np.asarray(y)
    if isinstance(model, Matching):
        edges, golden = ({(r, c) for r, c in enumerate(label) if c >= 0} for label in (y, gold))
        return model.false_positive * len(edges - golden) + model.false_negative * len(golden - edges)
    return np.sum(gold != y) / (len(y) if model.normalise else 1)


def points(d, count=4):
    """Coefficients: 0, where many labels tie, small integers, where some do, and random ones."""
    rng = rng_of(d)
    return [np.zeros(d), rng.integers(-1, 2, d).astype(float), *(rng.standard_normal((count - 2, d)) * [[1.0], [5.0]])]


def made(name):
    model, examples, labels = CASES[name]
    problem = fenchel.Problem(examples, labels, loss=model, alpha=0.3)
    rows = [examples[i] for i in range(problem.n)]
    return problem, rows, [np.asarray(label) for label in labels]


@pytest.fixture(params=CASES)
def case(request):
    return made(request.param)


@pytest.fixture(params=SOLVED)
def solved(request):
    return made(request.param)


def test_planes_are_those_of_the_definition(case):
    problem, examples, labels = case
    model, S = problem.model, np.zeros(problem.model.workspace_size)
    w = rng_of(0).standard_normal(problem.d)
    for i in range(problem.n):
        base = phi(problem.loss, model, examples[i], labels[i])
        part_scores(model, w, i, S)
        assert np.array_equal(model.decode(i, model.gold(i)), labels[i])
        for y in labels_of(problem.loss, model, i):
            psi = phi(problem.loss, model, examples[i], y) - base
            out = brute.difference(model, i, y)
            np.testing.assert_allclose(out, psi, atol=1e-12)
            assert label_cost(model, i, y) == pytest.approx(cost(problem.loss, labels[i], y), abs=1e-12)
            assert label_margin(model, w, S, i, y) == pytest.approx(float(psi @ w), abs=1e-12)
            assert pop_square_norm(model, i, y, out) == pytest.approx(float(psi @ psi), abs=1e-12)
            assert not out.any()


def test_the_compiled_oracle_finds_the_best_plane(case):
    problem, _, _ = case
    if problem.log:
        pytest.skip("the log-loss has no max-oracle")
    model = problem.model
    for w in points(problem.d):
        value, gradient, flat = StructuredOracle(problem).labels_at(w)
        total, slope = 0.0, np.zeros(problem.d)
        for i in range(problem.n):
            y = flat[problem.first[i] : problem.first[i + 1]]
            best = brute.best_plane(model, w, i, labels_of(problem.loss, model, i))
            assert brute.best_plane(model, w, i, [y]) == pytest.approx(best, abs=1e-10)
            assert any(np.array_equal(y, label) for label in labels_of(problem.loss, model, i))
            total += problem.weights[i] * best
            slope += problem.weights[i] * brute.difference(model, i, y) * (best > 0.0 or label_cost(model, i, y) > 0.0)
        assert value == pytest.approx(total, abs=1e-10)
        np.testing.assert_allclose(gradient, slope, atol=1e-10)


@pytest.mark.parametrize("name", LOG)
def test_log_partitions_and_gradients_equal_enumeration(name):
    model, examples, labels = CASES[name]
    problem = fenchel.Problem(examples, labels, loss=model, alpha=0.3)
    for w in points(problem.d):
        value, gradient, _ = StructuredOracle(problem).labels_at(w)
        found = [brute.log_sum(problem.model, w, i, labels_of(model, problem.model, i)) for i in range(problem.n)]
        assert value == pytest.approx(sum(p * part for p, (part, _) in zip(problem.weights, found, strict=True)))
        expected = sum(p * slope for p, (_, slope) in zip(problem.weights, found, strict=True))
        np.testing.assert_allclose(gradient, expected, atol=1e-10)
        e = 1e-5 * rng_of(5).standard_normal(problem.d)
        ahead, behind = (StructuredOracle(problem).labels_at(w + step)[0] for step in (e, -e))
        assert ahead - behind == pytest.approx(2.0 * float(gradient @ e), abs=1e-9)


@pytest.mark.parametrize("name", LOG)
def test_large_scores_keep_sums_finite(name):
    model, examples, labels = CASES[name]
    problem = fenchel.Problem(examples, labels, loss=model, alpha=0.3)
    w = 1e5 * rng_of(6).standard_normal(problem.d)
    value, gradient, _ = StructuredOracle(problem).labels_at(w)
    best = [brute.log_sum(problem.model, w, i, labels_of(model, problem.model, i))[0] for i in range(problem.n)]
    assert value == pytest.approx(float(problem.weights @ best), rel=1e-12)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("name", LOG)
def test_marginals_are_probabilities_of_the_enumeration(name):
    model, examples, labels = CASES[name]
    encoded = model.encode(examples, labels)
    w = rng_of(8).standard_normal(encoded.d)
    for i, x in enumerate(examples):
        options = labels_of(model, encoded, i)
        p = np.exp([phi(model, encoded, x, y) @ w for y in options])
        hot = np.array(options) if isinstance(model, PairwiseLabels) else np.eye(encoded.m)[np.array(options)]
        np.testing.assert_allclose(model.marginals(w, x), np.tensordot(p / p.sum(), hot, 1), atol=1e-12)


def test_predictions_have_the_largest_score(case):
    problem, examples, _ = case
    for w in points(problem.d):
        for i, x in enumerate(examples):
            y = problem.loss.predict(w, x)
            scores = [phi(problem.loss, problem.model, x, z) @ w for z in labels_of(problem.loss, problem.model, i)]
            assert phi(problem.loss, problem.model, x, y) @ w == pytest.approx(max(scores), abs=1e-10)


def reference(problem, examples, labels):
    """The optimum by CVXPY over all labels, from the definitions of features and costs."""
    w, terms = cp.Variable(problem.d), []
    for i, x in enumerate(examples):
        base, options = phi(problem.loss, problem.model, x, labels[i]), labels_of(problem.loss, problem.model, i)
        slopes = np.array([phi(problem.loss, problem.model, x, y) - base for y in options])
        costs = np.array([cost(problem.loss, labels[i], y) for y in options])
        terms.append(cp.log_sum_exp(slopes @ w) if problem.log else cp.max(slopes @ w + costs))
    objective = cp.Problem(cp.Minimize(sum(terms) / len(terms) + 0.15 * cp.sum_squares(w)))
    objective.solve(solver=cp.CLARABEL)
    return float(objective.value)


def test_the_bundle_agrees_with_cvxpy(solved):
    problem, examples, labels = solved
    best = reference(problem, examples, labels)
    result = fenchel.solve(problem, solver="bundle", tol=1e-4)
    assert result.status.name == "CERTIFIED"
    assert result.certificate.basis == ("log partition" if problem.log else "exact max-oracle")
    assert best - 1e-6 <= result.certificate.primal <= best + 1.1e-4 * abs(best) + 1e-6
    assert result.certificate.dual <= best + 1e-6


def test_pools_of_other_labels_are_refused(solved):
    problem, _, _ = solved
    if problem.log:
        pytest.skip("its dual points are mixtures")
    golden = np.concatenate([problem.model.gold(i) for i in range(problem.n)])
    pool = pool_of(problem.model.sizes, [golden], np.ones(1))
    assert fenchel.certify(problem, np.zeros(problem.d), dual_point=pool).dual == pytest.approx(0.0)
    for foreign in (99, -2):
        pool.labels[-1] = foreign
        with pytest.raises(InputError, match="does not know"):
            fenchel.certify(problem, np.zeros(problem.d), dual_point=pool)


def test_pools_hold_matchings_only():
    x = [np.ones((2, 2, 1))]
    for model, label in [(Matching(), [0, 0]), (Matching(), [0, -1]), (Matching(partial=True), [1, 1])]:
        problem = fenchel.Problem(x, [[0, 1]], loss=model, alpha=1.0)
        labels = np.array(label, dtype=np.int32)
        with pytest.raises(InputError, match="does not know"):
            fenchel.certify(problem, [0.0], dual_point=Pool(np.array([0, 1]), np.ones(1), np.array([0, 2]), labels))


def test_assignments_equal_those_of_scipy():
    rng = rng_of(0)
    for k in range(1200):
        r, c = rng.integers(1, 9, 2)
        kinds = (rng.standard_normal((r, c)), rng.integers(-1, 2, (r, c)).astype(float), np.zeros((r, c)))
        benefit, out = kinds[k % 3] * 10.0 ** rng.integers(-6, 7), np.empty(r, dtype=np.int32)
        assert assign(benefit.ravel(), int(r), int(c), out)
        matched = np.flatnonzero(out >= 0)
        assert matched.size == min(r, c) == np.unique(out[matched]).size
        best = benefit[linear_sum_assignment(benefit, maximize=True)].sum()
        assert benefit[matched, out[matched]].sum() == pytest.approx(best, rel=1e-10, abs=1e-10 * np.abs(benefit).max())


@pytest.mark.parametrize("strange", [np.nan, np.inf, 1e308])
def test_assignments_refuse_what_is_not_finite(strange):
    benefit = np.full(4, strange) if np.isfinite(strange) else np.array([strange, 0.0, strange, 0.0])
    out = np.zeros(2, dtype=np.int32)
    if np.isfinite(strange):
        assign(benefit, 2, 2, out)  # must end
        assert ((out >= -1) & (out < 2)).all()
    else:
        problem = fenchel.Problem([np.ones((2, 2, 1))], [[0, 1]], loss=Matching(), alpha=1.0)
        S = np.array([0.0, strange, 0.0, 0.0])
        best_label(problem.model, np.zeros(1), S, 0, out)
        assert not np.isfinite(label_margin(problem.model, np.zeros(1), S, 0, out))


def test_large_sets_are_searched_exactly_and_limits_are_honest():
    rng = rng_of(4)
    Y = np.array(list(brute.strings(2, 11)))
    for k in range(60):
        Q = np.triu(rng.standard_normal((11, 11)) * (0.2, 1.0, 4.0)[k % 3], 1)
        Q, u, out = Q + Q.T, rng.standard_normal(11), np.empty(11, dtype=np.int32)
        scores = Y @ u + 0.5 * np.einsum("si,ij,sj->s", Y, Q, Y)
        value, ceiling = best_set(u, Q, 0, out)
        assert value == ceiling == pytest.approx(scores.max())
        assert out @ u + 0.5 * out @ Q @ out == pytest.approx(value)
        value, ceiling = best_set(u, Q, 1 + k % 4, out)
        assert value - 1e-12 <= scores.max() <= ceiling + 1e-12
        assert out @ u + 0.5 * out @ Q @ out == pytest.approx(value)


def test_attractive_pairs_of_many_labels():
    """All pairs of one weight: the best set depends on the count only."""
    m, q = 40, 0.02
    u, Q, out = np.sort(rng_of(9).standard_normal(m))[::-1] - 0.3, q * (1.0 - np.eye(m)), np.empty(m, dtype=np.int32)
    sizes = np.arange(m + 1)
    best = (np.concatenate([[0.0], np.cumsum(u)]) + q * sizes * (sizes - 1) / 2).max()
    assert best_set(u.copy(), Q, 0, out)[0] == pytest.approx(best)


def test_a_limited_search_says_so_and_bounds_what_it_missed():
    rng = rng_of(10)
    X, Y = rng.standard_normal((4, 2)), rng.integers(0, 2, (4, 9))
    limited, full = (fenchel.Problem(X, Y, loss=PairwiseLabels(nodes=nodes), alpha=0.1) for nodes in (1, None))
    w, S = 3.0 * rng.standard_normal(full.d), np.zeros(9)
    assert fenchel.certify(limited, w).basis == "bounded max-oracle"
    assert fenchel.certify(limited, w).primal >= fenchel.certify(full, w).primal - 1e-12
    for i in range(4):
        part_scores(full.model, w, i, S)
        best = brute.best_plane(full.model, w, i, brute.strings(2, 9))
        assert full.model.plane_ceiling(w, S, i) == -np.inf
        assert limited.model.plane_ceiling(w, S, i) >= best - 1e-12


def test_a_tree_without_branches_is_a_chain():
    rng = rng_of(11)
    X, y = [rng.standard_normal((t, 2)) for t in (1, 3, 5)], [rng.integers(0, 3, t) for t in (1, 3, 5)]
    y[2][:] = 2
    parents = [[-1], [-1, 0, 1], [1, 2, 3, 4, -1]]  # the last one runs backwards
    for loss in ("hinge", "log"):
        model = fenchel.structured.Chain(loss=loss, ends=False)
        chain = fenchel.Problem([*X[:2], X[2][::-1]], [*y[:2], y[2][::-1]], loss=model)
        tree = fenchel.Problem(list(zip(X, parents, strict=True)), y, loss=Tree(loss=loss))
        w = rng.standard_normal(tree.d)
        assert chain.d == tree.d
        for i in range(3):
            np.testing.assert_allclose(judged(chain, w, i), judged(tree, w, i), atol=1e-12)


def judged(problem, w, i):
    """The loss of example i at w with its slope, by the methods as plain Python."""
    model, S, slope = problem.model, np.zeros(problem.model.workspace_size), np.zeros(problem.d)
    part_scores(model, w, i, S)
    if problem.log:
        value = log_partition(model, w, S, i, 1.0, slope)
        return np.append(slope, value)
    y = np.zeros(model.sizes[i], dtype=np.int32)
    best_label(model, w, S, i, y)
    return np.append(brute.difference(model, i, y), brute.best_plane(model, w, i, [y]))


def test_labels_are_made_feasible():
    x, model = np.zeros((3, 3, 1)), Matching(partial=True)
    assert model.feasible(x, [0, 1, 2]).tolist() == [0, 1, 2]
    assert sorted(model.feasible(x, [1, 1, 1]).tolist()) == [-1, -1, 1]
    assert model.feasible(x, [1, 1, -1], weights=[[0, 1, 0], [0, 2, 0], [9, 9, 9]]).tolist() == [-1, 1, -1]
    violation = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0]])
    assert model.feasible(x, violation).tolist() == [1, 0, -1]
    full = Matching().feasible(x, [2, 2, -1], weights=-np.eye(3))
    assert sorted(full.tolist()) == [0, 1, 2]
    assert 2 in full[:2]
    for label in ([0, 0, 0], [-1, -1, -1], [0, 0, 2]):
        for chosen in (Matching(), model):
            chosen.encode([x], [chosen.feasible(x, label)])
    with pytest.raises(InputError, match="weights must be finite, of shape"):
        model.feasible(x, [0, 1, 2], weights=[1.0])


def test_matrices_are_labels_too():
    x = rng_of(12).standard_normal((2, 3, 2))
    a, b = Matching().encode([x], [[2, 0]]), Matching().encode([x], [np.array([[0, 0, 1], [1, 0, 0]])])
    assert np.array_equal(a.y, b.y)


ONE = np.ones((2, 2, 1))
NODE = (np.ones((2, 1)), [-1, 0])
BAD = {
    "two rows to a column": (
        Matching(),
        [ONE, ONE],
        [[0, 1], [1, 1]],
        "example 1 is no matching: column 1 has 2 edges",
    ),
    "two columns of a row": (Matching(), [ONE], [[[1, 1], [0, 0]]], "example 0 is no matching: row 0 has 2 edges"),
    "not full": (Matching(), [ONE], [[0, -1]], "label of example 0 has 1 edges, a full matching of 2 x 2 has 2"),
    "outside": (Matching(), [ONE], [[0, 2]], "label of example 0 matches row 1 with column 2"),
    "length": (Matching(), [ONE], [[0]], "label of example 0 has shape"),
    "no columns": (Matching(), [np.ones((2, 0, 1))], [[-1, -1]], "example 0 has shape"),
    "broken pair": (Matching(), [(np.ones((3, 1)), 2)], [[0, 1]], "example 0: .* do not make full rows of 2 columns"),
    "count": (Matching(), [ONE], [[0, 1], [0, 1]], "1 examples but 2 labels"),
    "nothing": (Matching(), [], [], "no examples"),
    "NaN": (Matching(), [ONE, ONE * np.nan], [[0, 1], [0, 1]], "features of example 1 contain NaN"),
    "widths": (Matching(), [ONE, np.ones((2, 2, 3))], [[0, 1], [0, 1]], "example 1 has 3 features per edge"),
    "set of 2": (PairwiseLabels(), [[1.0], [2.0]], [[0, 1], [1, 2]], "label 1 of example 1 is"),
    "set shape": (PairwiseLabels(), [[1.0], [2.0]], [[0, 1]], "0/1 matrix with a row for each of the 2 examples"),
    "set NaN": (PairwiseLabels(), [[np.nan]], [[0, 1]], "contains NaN at row 0"),
    "set log": (PairwiseLabels(loss="log"), [[1.0]], [[0] * 21], "up to 20"),
    "no nodes": (Tree(), [NODE, (np.ones((0, 1)), [])], [[0, 1], []], "example 1 has no nodes"),
    "circle": (Tree(), [(np.ones((3, 1)), [1, 2, 0])], [[0, 0, 0]], "parents of example 0 form a cycle"),
    "own parent": (Tree(), [(np.ones((1, 1)), [0])], [[0]], "parents of example 0 form a cycle"),
    "parent outside": (Tree(), [(np.ones((2, 1)), [-1, 2])], [[0, 0]], "parent of node 1 of example 0 is 2"),
    "parents": (Tree(), [(np.ones((2, 1)), [-1])], [[0, 0]], "example 0 has 2 nodes, but its parents"),
    "tree length": (Tree(), [NODE], [[0]], "example 0 has 2 nodes, but its labels"),
    "tree negative": (Tree(), [NODE], [[0, -1]], "label of node 1 of example 0 is -1"),
    "unknown class": (
        Tree(classes=2),
        [NODE, NODE],
        [[0, 1], [0, 2]],
        "example 1 has label 2, but there are 2 classes",
    ),
    "no pair": (Tree(), [np.ones((2, 1))[:1]], [[0]], "example 0 must be a pair"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(name):
    model, examples, labels, message = BAD[name]
    with pytest.raises(InputError, match=message):
        fenchel.Problem(examples, labels, loss=model)


def test_bad_parameters_are_named():
    for make in (
        lambda: Matching(false_positive=-1.0),
        lambda: PairwiseLabels(nodes=0),
        lambda: Tree(classes=0),
        lambda: PairwiseLabels(loss="square"),
    ):
        with pytest.raises(fenchel.errors.FenchelError):
            make()
    for model, x in ((Matching(), ONE), (PairwiseLabels(), [1.0, 2.0]), (Tree(), NODE)):
        with pytest.raises(InputError):
            model.predict(np.zeros(2), x)
