"""Costs of each example: the definition, every solver against CVXPY, envelopes, and costs that make no sense."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import fenchel
from fenchel import multiclass as M
from fenchel.engines import Local
from fenchel.errors import InputError
from fenchel.multiclass.example_costs import ExampleCosts

LOSSES = {
    "max_hinge": M.MaxHinge(),
    "top_k": M.TopK(2),
    "weighted_top_k": M.WeightedTopK([0.6, 0.3, 0.1]),
    "usunier": M.Usunier(3),
    "weighted_usunier": M.WeightedUsunier([0.6, 0.4]),
}
RNG = np.random.default_rng(4)
N, D, CLASSES = 24, 3, 4
X = RNG.standard_normal((N, D))
RIGHT = (X @ RNG.standard_normal((D, CLASSES)) + 0.7 * RNG.standard_normal((N, CLASSES))).argmax(axis=1)
COSTS = RNG.uniform(0.1, 3.0, (N, CLASSES)) * (1.0 - np.eye(CLASSES)[RIGHT])


def rank_weights(name):
    found = {"max_hinge": [1.0], "top_k": [0.5, 0.5], "usunier": [1 / 3] * 3}.get(name)
    return np.append(LOSSES[name].rho if found is None else found, 0.0)


def in_cvxpy(name, z, costs):
    """sum of the weights times the sorted margins D_j + z_j - z_y, those that are negative left out."""
    right = int(np.argmin(costs))
    c = costs + z - z[right]
    rho = rank_weights(name)
    inner = cp.pos(c) if "usunier" in name else c
    total = sum(f * cp.sum_largest(inner, j + 1) for j, f in enumerate(rho[:-1] - rho[1:]) if f > 0)
    return total if "usunier" in name else cp.pos(total)


def optimum(name, gamma):
    W = cp.Variable((CLASSES, D))
    Z, terms = X @ W.T, []
    for i in range(N):
        z = cp.Variable(CLASSES) if gamma else Z[i]
        terms.append(in_cvxpy(name, z, COSTS[i]) + (cp.sum_squares(z - Z[i]) / (2.0 * gamma) if gamma else 0.0))
    model = cp.Problem(cp.Minimize(sum(terms) / N + 0.01 * cp.sum_squares(W) / 2.0))
    return float(model.solve(solver="CLARABEL"))


FEW = [("max_hinge", 0.0), ("top_k", 0.0), ("weighted_usunier", 0.2)]  # kernels are compiled for each
ALL = [(name, gamma) for name in LOSSES for gamma in (0.0, 0.2)]


@pytest.mark.parametrize(
    ("name", "gamma"), [*FEW, *(pytest.param(*one, marks=pytest.mark.slow) for one in ALL if one not in FEW)]
)
def test_every_solver_finds_the_optimum_of_cvxpy(name, gamma):
    loss = M.MoreauVector(LOSSES[name], gamma) if gamma else LOSSES[name]
    p, best = fenchel.Problem(X, COSTS, loss=loss, alpha=0.01), optimum(name, gamma)
    for solver in ["auto", "block_ascent", "bundle", *(["lbfgs", "frank_wolfe"] if gamma else [])]:
        result = fenchel.solve(p, solver=solver, tol=1e-3 if solver == "frank_wolfe" else 1e-6, max_iter=20_000)
        assert result.status is fenchel.Status.CERTIFIED
        assert result.certificate.dual <= best * (1.0 + 1e-7) + 1e-9
        assert result.certificate.primal == pytest.approx(best, rel=2e-3 if solver == "frank_wolfe" else 2e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_the_methods_satisfy_their_inequalities_and_the_definition(name):
    loss = ExampleCosts(LOSSES[name])
    M.check(loss, CLASSES, COSTS[:3])
    z, rho = RNG.standard_normal(CLASSES), rank_weights(name)
    right = int(RIGHT[0])
    c = np.sort(COSTS[0] + z - z[right])[::-1]
    expected = rho @ np.resize(np.append(np.maximum(c, 0.0) if "usunier" in name else c, np.zeros(8)), rho.size)
    assert float(loss.value(z, COSTS[0])) == pytest.approx(max(0.0, expected))


@pytest.mark.parametrize("name", ["max_hinge", "top_k"])
def test_costs_of_1_are_the_loss_itself(name):
    ones = 1.0 - np.eye(CLASSES)[RIGHT]
    costs, classes = (fenchel.Problem(X, y, loss=LOSSES[name], alpha=0.01) for y in (ones, RIGHT))
    w = fenchel.solve(classes, tol=1e-3).coef
    given, plain = fenchel.certify(costs, w), fenchel.certify(classes, w)
    assert (given.primal, given.dual) == pytest.approx((plain.primal, plain.dual), rel=1e-9)


def test_the_costs_of_classes_are_the_cost_sensitive_hinge():
    matrix = np.array([[0.0, 1.0, 2.0, 3.0], [1.0, 0.0, 1.0, 2.0], [2.0, 1.0, 0.0, 1.0], [3.0, 0.5, 1.0, 0.0]])
    by_class = fenchel.solve(fenchel.Problem(X, RIGHT, loss=M.CostHinge(matrix), alpha=0.01), tol=1e-8)
    by_row = fenchel.solve(fenchel.Problem(X, matrix[RIGHT], loss="max_hinge", alpha=0.01), tol=1e-8)
    assert by_row.certificate.primal == pytest.approx(by_class.certificate.primal, rel=2e-8)


def test_threads_give_the_same_bits():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((9000, 5))
    costs = rng.uniform(0.5, 2.0, (9000, 6)) * (1.0 - np.eye(6)[rng.integers(0, 6, 9000)])
    p = fenchel.Problem(rows, costs, loss=M.TopK(2), alpha=0.1)
    one, two = (fenchel.solve(p, "bundle", engine=Local(threads), max_iter=5, tol=1e-12) for threads in (1, 2))
    assert one.coef.tobytes() == two.coef.tobytes()


@pytest.mark.parametrize(
    ("costs", "loss", "words"),
    [
        (COSTS, "softmax", "Softmax needs one class per row"),
        (COSTS, M.CostHinge(1.0 - np.eye(4)), "CostHinge needs one class per row"),
        (COSTS + 1.0, "max_hinge", "0 classes of row 0 cost 0"),
        (0.0 * COSTS, "max_hinge", "4 classes of row 0 cost 0"),
        (-COSTS, "max_hinge", "costs must be finite and at least 0"),
        (COSTS[:5], "max_hinge", "24 x classes costs, got shape"),
        (1.0 - np.eye(2)[RIGHT % 2], M.TopK(2), "k must be less than the number of classes"),
    ],
)
def test_costs_that_make_no_sense_are_refused(costs, loss, words):
    with pytest.raises(InputError, match=words):
        fenchel.Problem(X, costs, loss=loss, alpha=0.01)


def test_free_intercepts_are_refused():
    with pytest.raises(InputError, match="free intercepts"):
        fenchel.Problem(X, COSTS, loss="max_hinge", alpha=0.01, fit_intercept=True)


@pytest.mark.parametrize("gamma", [0.0, 0.1])
def test_such_a_model_is_not_written_to_a_file_that_could_not_be_read(gamma, tmp_path):
    loss = M.MoreauVector(M.MaxHinge(), gamma) if gamma else M.MaxHinge()
    result = fenchel.solve(fenchel.Problem(X, COSTS, loss=loss, alpha=0.1), tol=1e-2)
    with pytest.raises(InputError, match="ExampleCosts is not a built-in"):
        fenchel.save(tmp_path / "model", result)
