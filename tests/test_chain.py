"""Chains against enumeration of all labellings, written from the definition."""

from __future__ import annotations

from itertools import pairwise, product

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from fenchel.errors import InputError
from fenchel.oracles.structured import StructuredOracle
from fenchel.structured import Chain, Pool
from fenchel.structured.chain_sums import RANGE, exp_table, log_sums, scaled_edge_sums, scaled_sums

F, M, E = 3, 3, 2  # features, labels, edge features
LENGTHS = (3, 1, 4, 2)


def features(model: Chain, example, y) -> np.ndarray:
    """phi(x, y), part after part as the docstring of Chain lists them."""
    X, links = example if model.edge_features else (example, None)
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    one = np.eye(M)[list(y)]
    pairs = [np.outer(one[t], one[t + 1]) for t in range(len(y) - 1)]
    parts = [X.T @ one]
    if model.bias:
        parts.append(one.sum(axis=0))
    parts.append(sum(pairs, np.zeros((M, M))))
    if model.ends:
        parts += [one[0], one[-1]]
    if links is not None:
        parts.append(sum((np.multiply.outer(e, p) for e, p in zip(links, pairs, strict=True)), np.zeros((E, M, M))))
    return np.concatenate([np.ravel(part) for part in parts])


def cost(model: Chain, gold, y) -> float:
    wrong = sum(a != b for a, b in zip(gold, y, strict=True))
    return wrong / len(gold) if model.normalise else float(wrong)


def planes(model: Chain, example, gold) -> tuple[np.ndarray, np.ndarray, list]:
    """(costs, psi, labellings) of all labellings."""
    every = list(product(range(M), repeat=len(gold)))
    own = features(model, example, gold)
    return (
        np.array([cost(model, gold, y) for y in every]),
        np.array([features(model, example, y) - own for y in every]),
        every,
    )


def enumerated(model: Chain, examples, labels, w) -> tuple[float, np.ndarray]:
    """(mean loss, a subgradient)."""
    value, slope = 0.0, np.zeros(w.size)
    for example, gold in zip(examples, labels, strict=True):
        costs, psi, _ = planes(model, example, gold)
        scores = psi @ w
        if model.loss == "log":
            top = scores.max()
            weights = np.exp(scores - top)
            value += top + np.log(weights.sum())
            slope += weights @ psi / weights.sum()
        else:
            factor = costs**model.beta
            best = int(np.argmax(costs + factor * scores))
            value += costs[best] + factor[best] * scores[best]
            slope += factor[best] * psi[best]
    return value / len(labels), slope / len(labels)


def data(model: Chain, kind: str = "dense", seed: int = 0, lengths=LENGTHS):
    rng = np.random.default_rng(seed)
    make = sp.csr_matrix if kind == "csr" else np.asarray
    examples, labels = [], []
    for T in lengths:
        X = rng.normal(size=(T, F)) * (rng.random((T, F)) < 0.7)
        links = rng.normal(size=(T - 1, E))
        examples.append((make(X), links) if model.edge_features else make(X))
        labels.append(rng.integers(M, size=T))
    labels[0][0] = M - 1
    return examples, labels


def risk(problem, w) -> tuple[float, np.ndarray]:
    return StructuredOracle(problem).risk(w)[:2]


MODELS = [
    Chain(),
    Chain(beta=1.0),
    Chain(beta=0.5, normalise=True, edge_features=True),
    Chain(normalise=True, edge_features=True, bias=False, ends=False),
    Chain(loss="log"),
    Chain(loss="log", edge_features=True, ends=False),
]


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_loss_and_slope_equal_enumeration(model, kind):
    examples, labels = data(model, kind)
    problem = fenchel.Problem(examples, labels, loss=model, alpha=0.1)
    for seed, size in enumerate((0.3, 1.0, 3.0)):
        w = size * np.random.default_rng(seed).normal(size=problem.d)
        value, slope = enumerated(model, examples, labels, w)
        found, gradient = risk(problem, w)
        np.testing.assert_allclose(found, value, rtol=1e-12)
        np.testing.assert_allclose(gradient, slope, atol=1e-12)
    if kind == "dense":
        primal = fenchel.certify(problem, w).primal
        np.testing.assert_allclose(primal, value + 0.05 * w @ w, rtol=1e-12)


def test_gradient_equals_finite_differences():
    model = Chain(loss="log")
    problem = fenchel.Problem(*data(model), loss=model, alpha=0.1)
    w = np.random.default_rng(3).normal(size=problem.d)
    _, gradient = risk(problem, w)
    for j in range(0, problem.d, 3):
        step = 1e-5 * np.eye(problem.d)[j]
        slope = (risk(problem, w + step)[0] - risk(problem, w - step)[0]) / 2e-5
        np.testing.assert_allclose(gradient[j], slope, atol=1e-8)


@pytest.mark.parametrize("edge_features", [False, True])
@pytest.mark.parametrize("part", ["emissions", "transitions", "all"])
@pytest.mark.parametrize("loss", ["hinge", "log"])
def test_scores_of_order_1e5(loss, part, edge_features):
    model = Chain(loss=loss, edge_features=edge_features)
    examples, labels = data(model)
    problem = fenchel.Problem(examples, labels, loss=model, alpha=0.1)
    w = np.random.default_rng(5).normal(size=problem.d)
    parts = problem.model.split(w)  # views
    for large in parts if part == "all" else (getattr(parts, part),):
        if large is not None:
            large *= 1e5
    w = np.concatenate([np.ravel(p) for p in parts if p is not None])
    assert np.abs(w).max() > 1e5
    value, slope = enumerated(model, examples, labels, w)
    found, gradient = risk(problem, w)
    np.testing.assert_allclose(found, value, rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, atol=1e-9)


def test_scaled_sums_equal_sums_of_logarithms_within_their_range():
    rng = np.random.default_rng(0)
    for T, m, step in product((1, 2, 30), (1, 2, 5), (0, 1)):
        count, step = (max(T - 1, 1), m * m) if step else (1, 0)
        U, P = rng.normal(size=T * m) * 2000.0, rng.random(count * m * m) * -RANGE
        M_, slow, fast = np.empty_like(P), U.copy(), U.copy()
        top = 0.0
        for k in range(count):
            block = slice(k * m * m, (k + 1) * m * m)
            high, safe = exp_table(P[block], M_[block])
            assert safe == 1.0
            top += high * ((T - 1) if step == 0 else 1 if T > 1 else 0)
        for t in range(T):
            slow[t * m : (t + 1) * m] -= slow[t * m : (t + 1) * m].max()
        fast[:] = slow
        scratch, tables = np.empty(T * m), np.zeros_like(P)
        expected = log_sums(slow, P, step, m, scratch, tables)
        found = np.zeros_like(P) if step == 0 else M_
        if step == 0:
            turned = np.ascontiguousarray(M_.reshape(m, m).T).ravel()
            value = scaled_sums(fast, M_, turned, m, scratch, np.empty(T * m + T), found)
        else:
            value = scaled_edge_sums(fast, found, m, scratch, np.empty(T * m + T))
        np.testing.assert_allclose(value + top, expected, rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(fast, slow, atol=1e-11)
        if T > 1:
            np.testing.assert_allclose(found, tables, atol=1e-10)


@pytest.mark.parametrize("edge_features", [False, True])
@pytest.mark.parametrize("size", [1.0, 1e5])
def test_marginals_and_prediction_equal_enumeration(edge_features, size):
    model = Chain(edge_features=edge_features)
    examples, labels = data(model)
    d = fenchel.Problem(examples, labels, loss=model, alpha=0.1).d
    w = size * np.random.default_rng(1).normal(size=d)
    for example, gold in zip(examples, labels, strict=True):
        _, psi, every = planes(model, example, gold)
        scores = psi @ w
        p = np.exp(scores - scores.max())
        p /= p.sum()
        nodes, pairs = np.zeros((len(gold), M)), np.zeros((len(gold) - 1, M, M))
        for weight, y in zip(p, every, strict=True):
            nodes[np.arange(len(y)), y] += weight
            pairs[np.arange(len(y) - 1), y[:-1], y[1:]] += weight
        found = model.marginals(w, example)
        np.testing.assert_allclose(found[0], nodes, atol=1e-9)
        np.testing.assert_allclose(found[1], pairs, atol=1e-9)
        np.testing.assert_array_equal(model.predict(w, example), every[int(np.argmax(scores))])
    for one, many in zip((model.predict(w, x) for x in examples), model.predict_all(w, examples), strict=True):
        np.testing.assert_array_equal(one, many)


@pytest.mark.parametrize("loss", ["hinge", "log"])
def test_observed_only_is_the_full_model_without_the_other_weights(loss):
    full, some = Chain(loss=loss), Chain(loss=loss, observed_only=True)
    examples, labels = data(full, "csr", lengths=(3, 2))
    whole, part = (fenchel.Problem(examples, labels, loss=model, alpha=0.1) for model in (full, some))
    kept = np.flatnonzero(part.model.full(np.ones(part.d)))
    seen = {(j, c) for x, y in zip(examples, labels, strict=True) for t, c in enumerate(y) for j in x[t].indices}
    following = {(a, b) for y in labels for a, b in pairwise(y)}
    assert part.d == len(seen) + len(following) + 3 * M < whole.d
    w = np.random.default_rng(2).normal(size=part.d)
    value, gradient = risk(part, w)
    expected, slope = risk(whole, part.model.full(w))
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    np.testing.assert_allclose(gradient, slope[kept], atol=1e-13)
    with pytest.raises(InputError, match="full"):
        some.predict(w, examples[0])
    np.testing.assert_array_equal(
        some.predict(part.model.full(w), examples[0].toarray()), full.predict(part.model.full(w), examples[0].toarray())
    )


@pytest.mark.parametrize("model", [Chain(), Chain(beta=1.0, ends=False), Chain(loss="log")], ids=str)
def test_optimum_equals_cvxpy(model):
    examples, labels = data(model)
    problem = fenchel.Problem(examples, labels, loss=model, alpha=0.2)
    result = fenchel.solve(problem, tol=1e-6)
    assert result.status.name == "CERTIFIED"
    w, losses = cp.Variable(problem.d), []
    for example, gold in zip(examples, labels, strict=True):
        costs, psi, _ = planes(model, example, gold)
        scores = psi @ w
        losses.append(
            cp.log_sum_exp(scores) if model.loss == "log" else cp.max(costs + cp.multiply(costs**model.beta, scores))
        )
    best = cp.Problem(cp.Minimize(sum(losses) / len(labels) + 0.1 * cp.sum_squares(w))).solve(solver="CLARABEL")
    np.testing.assert_allclose(result.certificate.primal, best, rtol=2e-6)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_drain_takes_what_add_has_added(make):
    model = Chain(edge_features=True)
    examples, labels = data(model)
    encoded = model.encode([(X, make(links)) for X, links in examples], labels)
    w, S = np.random.default_rng(0).normal(size=encoded.d), np.empty(encoded.workspace_size)
    for i, gold in enumerate(labels):
        y = ((gold + np.arange(gold.size)) % M).astype(np.int32)
        out = np.zeros(encoded.d)
        encoded.add_label(i, y, 2.0, out)
        psi = features(model, examples[i], y) - features(model, examples[i], gold)
        np.testing.assert_allclose(out, 2.0 * psi, atol=1e-14)
        np.testing.assert_allclose(encoded.pop_square_norm(i, y, out), 4.0 * psi @ psi, rtol=1e-12)
        assert not out.any()
        encoded.part_scores(w, i, S)
        np.testing.assert_allclose(encoded.label_margin(w, S, i, y), psi @ w, atol=1e-13)


def test_split_names_the_parts():
    model = Chain(edge_features=True)
    examples, labels = data(model)
    problem = fenchel.Problem(examples, labels, loss=model, alpha=0.1)
    w = np.arange(float(problem.d))
    parts = model.split(w, F, E)
    assert [p.shape for p in parts if p is not None] == [(F, M), (M,), (M, M), (M,), (M,), (E, M, M)]
    np.testing.assert_array_equal(np.concatenate([p.ravel() for p in parts if p is not None]), w)
    for own, other in zip(parts, problem.model.split(w), strict=True):
        np.testing.assert_array_equal(own, other)
    assert all(np.shares_memory(p, w) for p in parts if p is not None)
    assert Chain(bias=False, ends=False).split(w[:18], F).bias is None


def test_labels_of_a_dual_point_are_checked():
    model = Chain()
    problem = fenchel.Problem(*data(model), loss=model, alpha=0.1)
    result = fenchel.solve(problem, tol=1e-2)
    point = result.dual_point
    assert isinstance(point, Pool)
    for wrong in (-1, M):
        labels = point.labels.copy()
        labels[0] = wrong
        with pytest.raises(InputError, match="does not know"):
            fenchel.certify(problem, result.coef, dual_point=point._replace(labels=labels))


X2, Y2 = np.ones((2, F)), [0, 1]
BAD = [
    ([X2, np.ones((0, F))], [Y2, []], {}, "example 1 is empty"),
    ([X2, []], [Y2, []], {}, "example 1 is empty"),
    ([X2, X2], [Y2, [0]], {}, r"example 1 has 2 positions, but its labels have shape \(1,\)"),
    ([X2], [Y2, Y2], {}, "1 examples but 2 labels"),
    ([], [], {}, "no examples"),
    ([X2, X2], [Y2, [0, -1]], {}, "label -1 at position 1 of example 1"),
    ([X2, X2], [Y2, [0, 2]], {"classes": 2}, "label 2 at position 1 of example 1"),
    ([X2, X2], [Y2, [0.0, 1.0]], {}, "labels of example 1 have dtype float64"),
    ([X2, X2 * np.nan], [Y2, Y2], {}, "example 1 contain NaN"),
    ([sp.csr_matrix(X2), sp.csr_matrix(X2 * np.inf)], [Y2, Y2], {}, "example 1 contain NaN or infinity"),
    ([X2, np.ones((2, F + 1))], [Y2, Y2], {}, "example 1 has 4 features"),
    ([X2, np.ones(2)], [Y2, Y2], {}, "example 1 have 1 dimension"),
    ([X2], [Y2], {"edge_features": True}, "example 0 must be a pair"),
    ([(X2, np.ones((2, E)))], [Y2], {"edge_features": True}, "2 rows of edge features: 1 are needed"),
]


@pytest.mark.parametrize(("examples", "labels", "options", "message"), BAD)
def test_bad_input_names_the_example(examples, labels, options, message):
    with pytest.raises(InputError, match=message):
        fenchel.Problem(examples, labels, loss=Chain(**options), alpha=0.1)


@pytest.mark.parametrize("options", [{"loss": "log", "beta": 1.0}, {"beta": -1.0}, {"beta": np.nan}, {"classes": 0}])
def test_bad_parameters(options):
    with pytest.raises(InputError):
        Chain(**options)
    with pytest.raises(fenchel.errors.UnknownNameError, match="hinge"):
        Chain(loss="logistic")


def test_only_single_positions():
    for model in (Chain(loss="log"), Chain(beta=1.0), Chain(loss="log", edge_features=True)):
        examples, labels = data(model, lengths=(1, 1, 1))
        problem = fenchel.Problem(examples, labels, loss=model, alpha=0.1)
        w = np.random.default_rng(0).normal(size=problem.d)
        np.testing.assert_allclose(risk(problem, w)[0], enumerated(model, examples, labels, w)[0], rtol=1e-12)
