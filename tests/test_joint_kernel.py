"""Kernels with losses of several scores and with measures: certified with K itself, equal to CVXPY and to linear problems."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import NamedTuple

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

import fenchel
from fenchel import KernelClassifier
from fenchel import multiclass as M
from fenchel.errors import FenchelError, InputError
from fenchel.kernel_methods import KernelProblem, certify_kernel, joint, solve_kernel
from vector_problems import COST, LOSSES, TREE, losses_in_cvxpy

GAMMA = {"gamma": 0.7}


def rows(n=26):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 2))
    y = (X @ rng.standard_normal((2, 4)) + 0.5 * rng.standard_normal((n, 4))).argmax(axis=1)
    y[:4] = range(4)
    return X, y


def root_of(K):
    """A symmetric root of K: independent of the factor that the library uses."""
    values, vectors = np.linalg.eigh(K)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def minimum(objective):
    model = cp.Problem(cp.Minimize(objective))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CVXPY's own remarks
        model.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return float(model.value)


def require_optimum(problem, best, tol=1e-6):
    result = fenchel.solve(problem, tol=tol)
    c, slack = result.certificate, 1e-6 * (1 + abs(best))
    assert result.status is fenchel.Status.CERTIFIED, result
    assert c.dual - slack <= best <= c.primal + slack
    again = fenchel.certify(problem, result.coef, result.intercept, result.dual_point)
    assert again.primal == pytest.approx(c.primal, rel=1e-9) and again.dual == pytest.approx(c.dual, rel=1e-9)
    return result


@pytest.mark.parametrize("name", ["max_hinge", "cost_slack", "top_k", "usunier", "softmax", "moreau", "tree_hinge"])
def test_losses_of_several_scores_equal_cvxpy(name):
    X, y = rows()
    weights = np.random.default_rng(1).integers(0, 3, y.size) + (np.arange(y.size) < 4)
    for free in (False,) if name == "tree_hinge" else (False, True):
        problem = KernelProblem(X, y, LOSSES[name], 0.05, free, sample_weight=weights, kernel_params=GAMMA)
        A, b = cp.Variable((y.size, problem.outputs)), cp.Variable((1, problem.outputs))
        Z = root_of(rbf_kernel(X, **GAMMA)) @ A + (np.ones((y.size, 1)) @ b if free else 0.0)
        losses = cp.hstack(losses_in_cvxpy(name, problem.loss, Z, y))
        best = minimum(weights / weights.sum() @ losses + 0.025 * cp.sum_squares(A))
        result = require_optimum(problem, best)
        # By hand, from the kernel: the objective at the coefficients.
        K, C = rbf_kernel(X, **GAMMA), result.coef
        Z = K @ C.T + result.intercept
        risk = sum(p * problem.loss.value(z, int(k)) for p, z, k in zip(problem.weights, Z, y, strict=True))
        assert result.certificate.primal == pytest.approx(risk + 0.025 * np.trace(C @ K @ C.T), rel=1e-9)


def pairs_in_cvxpy(z, levels, groups=None):
    """The mean of the hinges of all pairs of different levels; within queries, the mean of their means."""
    groups, means = np.zeros(len(levels)) if groups is None else groups, []
    for query in np.unique(groups):
        some = [
            cp.pos(1.0 - (z[int(i)] - z[int(j)]) * np.sign(levels[i] - levels[j]))
            for i, j in combinations(np.flatnonzero(groups == query), 2)
            if levels[i] != levels[j]
        ]
        means.append(sum(some) / len(some))
    return sum(means) / len(means)


@pytest.mark.parametrize("name", ["roc_area", "roc_area by query", "ordinal"])
def test_pairs_of_scores_equal_cvxpy(name):
    X, y = rows(18)
    levels = y.astype(float) if name == "ordinal" else np.where(y > 1, 1.0, -1.0)
    groups = np.arange(18) // 6 if "query" in name else None
    problem = KernelProblem(X, levels, name.split()[0], 0.05, kernel_params=GAMMA, groups=groups)
    K, a = rbf_kernel(X, **GAMMA), cp.Variable(18)
    best = minimum(pairs_in_cvxpy(root_of(K) @ a, levels, groups) + 0.025 * cp.sum_squares(a))
    result = require_optimum(problem, best)
    value = pairs_in_cvxpy(cp.Constant(K @ result.coef), levels, groups).value
    assert result.certificate.primal == pytest.approx(value + 0.025 * result.coef @ K @ result.coef, rel=1e-9)


@pytest.mark.parametrize("loss", ["max_hinge", "f_beta", "ordinal"])
def test_the_linear_kernel_is_the_linear_problem(loss):
    """In sparse rows and with a given matrix of rank 2, too."""
    X, y = rows()
    y = np.where(y > 1, 1.0, -1.0) if loss == "f_beta" else y
    linear = fenchel.solve(fenchel.Problem(X, y, loss=loss, alpha=0.1), tol=1e-7)
    K = X @ X.T
    for options in (
        {"kernel": "linear", "X": X},
        {"kernel": "linear", "X": sp.csr_matrix(X)},
        {"kernel": "precomputed", "X": K},
    ):
        problem = KernelProblem(y=y, loss=loss, alpha=0.1, **options)
        assert problem.pivots.size == 2
        result = solve_kernel(problem, tol=1e-7)
        assert result.certificate.primal == pytest.approx(linear.certificate.primal, rel=3e-7)
        np.testing.assert_allclose(np.atleast_2d(result.coef) @ X, np.atleast_2d(linear.coef), atol=2e-3)


def test_certificates_do_not_rest_on_the_factor(monkeypatch):
    """A factor of another matrix gives other coefficients, and the certificate says how far off they are."""
    X, y = rows()
    best = fenchel.solve(KernelProblem(X, y, "max_hinge", 0.05, kernel_params=GAMMA), tol=1e-7).certificate.primal
    right = joint.factor

    def wrong(*arguments):
        phi, pivots, rest = right(*arguments)
        return phi * np.linspace(0.5, 1.5, phi.shape[1]), pivots, rest

    monkeypatch.setattr(joint, "factor", wrong)
    for name, t in (("max_hinge", y), ("roc_area", np.where(y > 1, 1.0, -1.0))):
        result = fenchel.solve(KernelProblem(X, t, name, 0.05, kernel_params=GAMMA), tol=1e-6, max_iter=400)
        assert result.status is not fenchel.Status.CERTIFIED
        if name == "max_hinge":
            assert result.certificate.dual <= best <= result.certificate.primal


def test_any_function_is_certified():
    X, y = rows()
    rng = np.random.default_rng(5)
    K, C = rbf_kernel(X, **GAMMA), 0.1 * rng.standard_normal((4, 26))
    problem = KernelProblem(X, y, "softmax", 0.05, kernel_params=GAMMA)
    Z = K @ C.T
    value = np.mean(np.log(np.exp(Z).sum(axis=1)) - Z[np.arange(26), y]) + 0.025 * np.trace(C @ K @ C.T)
    assert certify_kernel(problem, C).primal == pytest.approx(value, rel=1e-9)
    areas = KernelProblem(X, np.where(y > 1, 1.0, -1.0), "roc_area", 0.05, kernel_params=GAMMA)
    z = K @ C[0]
    value = pairs_in_cvxpy(cp.Constant(z), areas.y).value + 0.025 * C[0] @ K @ C[0]
    assert certify_kernel(areas, C[0]).primal == pytest.approx(value, rel=1e-9)


def test_the_classifier_takes_losses_of_several_scores(tmp_path):
    X, y = rows(60)
    names = np.array(["a", "b", "c", "d"])[y]
    for loss in ("max_hinge", M.TopK(2), "softmax"):
        model = KernelClassifier(loss, alpha=0.01, gamma=0.7).fit(X, names)
        problem = KernelProblem(X, y, loss, 0.01, True, kernel_params=GAMMA)
        assert model.certificate_.primal == pytest.approx(fenchel.solve(problem).certificate.primal, rel=2e-6)
        assert model.dual_point_.shape == (4, 60) and model.status_.name == "CERTIFIED"
        K = rbf_kernel(X[:9] + 0.1, X[model.support_], gamma=0.7)
        np.testing.assert_allclose(model.decision_function(X[:9] + 0.1), K @ model.dual_coef_.T + model.intercept_)
        assert model.score(X, names) > 0.7
        fenchel.save(tmp_path / "m", model)
        again = fenchel.load(tmp_path / "m")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        kept = fenchel.certify(problem, again.full_coef, again.intercept, again.dual_points)
        assert kept.relative_gap <= 1.1e-6
        back = KernelClassifier.load(tmp_path / "m")
        np.testing.assert_array_equal(back.decision_function(X), model.decision_function(X))
        np.testing.assert_array_equal(back.dual_point_, model.dual_point_)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_array_equal(again.probabilities(X), model.predict_proba(X))


def test_two_classes_and_results_as_models(tmp_path):
    X, y = rows(40)
    two = KernelClassifier("max_hinge", alpha=0.05, gamma=0.7).fit(X, y > 1)
    assert two.decision_function(X).shape == (40,)
    hinge = KernelClassifier("hinge", alpha=0.025, gamma=0.7).fit(X, y > 1)  # the difference of the two functions
    np.testing.assert_allclose(two.decision_function(X), hinge.decision_function(X), atol=0.02)
    problem = KernelProblem(X, y, "max_hinge", 0.05, kernel_params=GAMMA)
    fenchel.save(tmp_path / "r", fenchel.solve(problem, tol=1e-3))
    assert fenchel.load(tmp_path / "r").predict(X).shape == (40,)
    assert KernelProblem(X, y, "max_hinge", 0.06, kernel_params=GAMMA).digest != problem.digest
    costs = [KernelProblem(X, y, M.CostHinge(k * COST), 0.05, kernel_params=GAMMA).digest for k in (1.0, 2.0)]
    assert costs[0] != costs[1]  # of equal reprs


def test_what_is_not_there_is_refused_by_name():
    X, y = rows()

    class Own(NamedTuple):
        scale: float = 1.0

        def value(self, z, y):
            return 0.5 * float(((z - z[y]) ** 2).sum())

        def slopes(self, z, y, out):
            out[:] = z - z[y]
            out[y] = -out.sum()

    with pytest.raises(InputError, match="Own is a custom one of several scores"):
        KernelProblem(X, y, Own())
    with pytest.raises(InputError, match="structured outputs, whose features have no kernel"):
        KernelProblem(X, y, fenchel.structured.Multiclass())
    with pytest.raises(InputError, match="groups are only for measures"):
        KernelProblem(X, y, "max_hinge", groups=y)
    with pytest.raises(InputError, match="groups are only for measures"):
        KernelProblem(X, np.where(y > 1, 1.0, -1.0), "hinge", groups=y)
    with pytest.raises(InputError, match="positive semi-definite"):
        KernelProblem(
            np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]]), [0, 1, 2], "softmax", kernel="precomputed"
        )
    with pytest.raises(InputError, match="CostHinge is for 4 classes, but y has 2"):
        KernelClassifier(M.CostHinge(COST)).fit(X, y > 1)
    with pytest.raises(InputError, match="free intercepts of several scores are not available"):
        KernelClassifier(M.HierarchicalHinge(TREE)).fit(X, y)
    problem = KernelProblem(X, y, "softmax", 0.1, kernel_params=GAMMA)
    result = fenchel.solve(problem)
    with pytest.raises(InputError, match="losses of one score only"):
        result.ball()
    with pytest.raises(InputError, match="losses of one score only"):
        fenchel.check_proof(problem, result.coef, result.intercept, result.dual_point)
    with pytest.raises(FenchelError, match="staleness is known"):
        result.staleness(X, y)
    with pytest.raises(FenchelError, match="coef must be finite, with a row per score"):
        fenchel.certify(problem, result.coef[:2])
