"""Choices with joint features and with costs of each example: equal to CVXPY and to brute force over the choices."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from fenchel import multiclass
from fenchel.errors import FenchelError, InputError
from fenchel.oracles.structured import StructuredOracle
from fenchel.structured import Candidates, Multiclass


def choices(costs=True):
    """(features of the candidates, the right ones, costs) of examples with 1 to 5 candidates."""
    rng = np.random.default_rng(2)
    x = [rng.standard_normal((count, 3)) for count in (2, 4, 1, 3, 3, 5, 4, 2)]
    right = [int(rng.integers(len(z))) for z in x]
    L = [
        np.where(np.arange(len(z)) == k, 0.0, rng.uniform(0.2, 3.0, len(z)) if costs else 1.0)
        for z, k in zip(x, right, strict=True)
    ]
    return x, right, L


def minimum(x, right, L, beta, log, alpha):
    w = cp.Variable(x[0].shape[1])
    terms = []
    for z, k, cost in zip(x, right, L, strict=True):
        margins = (z - z[k]) @ w
        terms.append(cp.log_sum_exp(margins) if log else cp.max(cost + cp.multiply(cost**beta, margins)))
    return cp.Problem(cp.Minimize(sum(terms) / len(x) + alpha / 2 * cp.sum_squares(w))).solve(solver=cp.CLARABEL)


def require(problem, best, **options):
    result = fenchel.solve(problem, tol=1e-5, **options)
    assert result.status.name == "CERTIFIED"
    assert best - 1e-6 <= result.certificate.primal <= best * (1.0 + 1.1e-5) + 1e-6
    assert result.certificate.dual <= best + 1e-6
    return result


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_joint_features_and_costs_of_each_example_equal_cvxpy(beta, storage):
    x, right, L = choices()
    problem = fenchel.Problem([storage(z) for z in x], L, loss=Candidates(beta=beta), alpha=0.1)
    best = minimum(x, right, L, beta, False, 0.1)
    require(problem, best, solver="block_frank_wolfe")
    result = require(problem, best)
    risk = np.mean([(c + c**beta * ((z - z[k]) @ result.coef)).max() for z, k, c in zip(x, right, L, strict=True)])
    assert result.certificate.primal == pytest.approx(risk + 0.05 * result.coef @ result.coef, rel=1e-9)


def test_the_conditional_logit_equals_cvxpy():
    x, right, L = choices(costs=False)
    require(fenchel.Problem(x, right, loss=Candidates("log"), alpha=0.1), minimum(x, right, L, 0.0, True, 0.1))


@pytest.mark.parametrize("beta", [0.0, 1.0])
def test_classes_with_costs_of_each_example_equal_cvxpy(beta):
    rng = np.random.default_rng(4)
    X, m = rng.standard_normal((14, 2)), 3
    right = rng.integers(0, m, 14)
    L = np.where(np.arange(m) == right[:, None], 0.0, rng.uniform(0.2, 3.0, (14, m)))
    blocks = [np.stack([np.outer(z, np.eye(m)[c]).ravel() for c in range(m)]) for z in X]
    best = minimum(blocks, right, list(L), beta, False, 0.1)
    problem = fenchel.Problem(X, L, loss=Multiclass(beta=beta), alpha=0.1)
    require(problem, best)
    joint = fenchel.Problem(blocks, list(L), loss=Candidates(beta=beta), alpha=0.1)
    for w in (np.zeros(problem.d), *rng.standard_normal((3, problem.d)) * [[0.1], [1.0], [10.0]]):
        (value, slope, labels), (other, another, same) = (StructuredOracle(p).labels_at(w) for p in (problem, joint))
        assert value == pytest.approx(other) and np.array_equal(labels, same)
        np.testing.assert_allclose(slope, another, atol=1e-12)
    if beta == 0.0:  # marginals are of costs that add up
        require(problem, best, solver="pragam")
    else:
        with pytest.raises(FenchelError, match="do not decompose into parts"):
            fenchel.solve(problem, solver="pragam")


def test_costs_of_classes_are_those_of_the_cost_hinge():
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((20, 3)), np.arange(20) % 3
    cost = np.array([[0.0, 1.0, 3.0], [2.0, 0.0, 0.5], [1.0, 4.0, 0.0]])
    for beta in (0.0, 1.0):
        flat = fenchel.solve(fenchel.Problem(X, y, multiclass.CostHinge(cost, beta), alpha=0.1), tol=1e-6)
        rows = fenchel.solve(fenchel.Problem(X, cost[y], loss=Multiclass(beta=beta), alpha=0.1), tol=1e-6)
        assert rows.certificate.primal == pytest.approx(flat.certificate.primal, rel=2.1e-6)


def test_models_predict_and_are_saved(tmp_path):
    x, _, L = choices()
    problem = fenchel.Problem(x, L, loss=Candidates(beta=1.0), alpha=0.1)
    result = fenchel.solve(problem, tol=1e-4)
    fenchel.save(tmp_path / "m", result)
    model = fenchel.load(tmp_path / "m")
    assert model.loss == Candidates(beta=1.0)
    assert model.predict(x) == [int(np.argmax(z @ result.coef)) for z in x]
    assert fenchel.certify(problem, model.coef, dual_point=model.dual_point).relative_gap <= 1.1e-4


@pytest.mark.parametrize(
    ("examples", "labels", "message"),
    [
        ([[[1.0], [2.0]]], [2], "label of example 0 is 2, but it has 2 candidates"),
        ([[[1.0], [2.0]]], [[0.0, 0.0]], "2 choices of example 0 cost 0: exactly one"),
        ([[[1.0], [2.0]]], [[1.0, 2.0]], "0 choices of example 0 cost 0"),
        ([[[1.0], [2.0]]], [[0.0, -1.0]], "cost 1 of example 0 is .*at least 0"),
        ([[[1.0], [2.0]]], [[0.0, np.nan]], "cost 1 of example 0 is"),
        ([[[1.0], [2.0]]], [[0.0, 1.0, 2.0]], "the costs of all 2, got shape"),
        ([[1.0, 2.0]], [0], "a row for each candidate"),
        ([[[1.0], [2.0]], [[1.0, 2.0]]], [0, 0], "example 1 has 2 features per candidate, example 0 has 1"),
        ([[["a"], ["b"]]], [0], "not a matrix of numbers"),
        ([[[1.0], [2.0]]], [0, 1], "1 examples but 2 labels"),
    ],
)
def test_bad_choices_are_named(examples, labels, message):
    with pytest.raises(InputError, match=message):
        fenchel.Problem(examples, labels, loss=Candidates(), alpha=1.0)


def test_bad_costs_of_classes_are_named():
    X = np.eye(3)
    for labels, message in [
        (np.zeros((3, 2)), "exactly one"), (np.eye(3) - 1.0, "at least 0"), (np.full((3, 2), np.inf), "finite"),
    ]:  # fmt: skip
        with pytest.raises(InputError, match=message):
            fenchel.Problem(X, labels, loss=Multiclass(), alpha=1.0)
    with pytest.raises(InputError, match="costs of 3 classes, but classes=2"):
        fenchel.Problem(X, 1.0 - np.eye(3), loss=Multiclass(2), alpha=1.0)
