"""Proximal points with semismooth Newton for several scores: its linear systems written out, and other packages' optima."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine

import fenchel
from fenchel import regularizers as R
from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.solvers.proximal_point_newton import score_products, score_system
from fenchel.solvers.proximal_point_newton.newton_system import Metric
from fenchel.solvers.proximal_point_newton.rows_of_several_scores import RowsOfSeveralScores
from fenchel.solvers.proximal_point_newton.score_curvature import curvature_at, measured
from fenchel.solvers.proximal_point_newton.settings import Settings
from fenchel.solving.solve import oracle_of
from vector_problems import LOSSES, losses_in_cvxpy, problem

SOLVER = "proximal_point_newton"
GAMMA, SIGMA = 3.0, 0.3


def rows_at_a_point(p):
    """(the rows, at dual variables and a centre at random)."""
    rng, rows = np.random.default_rng(0), RowsOfSeveralScores(oracle_of(p, None))
    rows.evaluate(rng.standard_normal(rows.shape), GAMMA, 0.1 * rng.standard_normal(rows.shape))
    return rows, curvature_at(p, rows.duals, GAMMA, SIGMA, rows.T, rows.slopes)


@pytest.mark.parametrize("loss", ["softmax", "max_hinge", "cost_margin", "moreau", "squares", "metric"])
def test_curvatures_in_closed_form_equal_differences(loss):
    rows, curvature = rows_at_a_point(problem(loss, R.L1(0.02)))
    other = measured(rows.duals, GAMMA, SIGMA, rows.T, rows.slopes)
    r = np.random.default_rng(1).standard_normal(rows.shape)
    assert np.allclose(curvature.apply(r), other.apply(r), atol=1e-6)
    assert np.allclose(curvature.diagonal(), other.diagonal(), atol=1e-6)


@pytest.mark.parametrize("loss", ["softmax", "max_hinge", "top_k", "metric"])
@pytest.mark.parametrize("reg", [R.L1(0.5), R.MultiTask(1.0), R.Entropy(1.0)], ids=repr)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_newton_steps_solve_the_system_of_the_jacobians(loss, reg, storage, monkeypatch):
    """(B J B' + diag((gamma (I - gamma S) + sigma) / p)) p du = r with every matrix written out: factors and products."""
    p = problem(loss, reg, loss != "top_k", weighted=True, storage=storage)
    rows, curvature = rows_at_a_point(p)
    rng, (n, m) = np.random.default_rng(2), rows.shape
    counts = p.weights > 0.0
    r = np.where(counts[:, None], rng.standard_normal((n, m)), 0.0)
    M = p.penalty.prox_jacobian(rng.standard_normal(rows.d), 1.3)
    metric = Metric(GAMMA, 1.3, 2.0 if p.free else 0.0, SIGMA)
    X = p.X.toarray() if sp.issparse(p.X) else p.X
    B = np.kron(np.column_stack([X - rows.mean, np.ones(n)]), np.eye(m))
    J = np.zeros((rows.d + m, rows.d + m))
    J[: rows.d, : rows.d], J[rows.d :, rows.d :] = 1.3 * M.toarray(), metric.step_b * np.eye(m)
    H, weights = B @ J @ B.T, np.repeat(p.weights, m)
    S = rows.duals.jacobians(rows.T, GAMMA, rows.slopes)
    for i in range(n):
        at = slice(i * m, (i + 1) * m)
        H[at, at] += (GAMMA * (np.eye(m) - S[i]) + SIGMA * np.eye(m)) / max(p.weights[i], 1e-300)
    keep = weights > 0.0
    exact = np.linalg.solve(H[np.ix_(keep, keep)], r.ravel()[keep]) / weights[keep]
    factored = rows.system.solve(metric, M, curvature, r).ravel()[keep]
    monkeypatch.setattr(score_system, "SETTINGS", Settings(max_gram_products=0.0))
    monkeypatch.setattr(score_products, "SETTINGS", Settings(cg_tolerance=1e-12))
    by_products = rows.system.solve(metric, M, curvature, r).ravel()[keep]
    assert np.allclose(factored, exact, atol=1e-5 * np.abs(exact).max())
    assert np.allclose(by_products, factored, atol=1e-8 * np.abs(exact).max())


@pytest.mark.parametrize(
    ("reg", "x"),
    [
        (R.L1(0.5), np.array([1.0, -0.2, 3.0])),
        (R.GroupLasso(0.5, groups=[0, 0, 1]), np.array([1.0, -0.7, 3.0])),
        (R.SparseGroupLasso(0.5, groups=[0, 0, 1]), np.array([1.0, -0.3, 3.0])),
        (R.TotalVariation(0.5), np.array([1.0, 1.1, 3.0])),
        (R.L2Ball(1.0), np.array([1.0, 1.1, 3.0])),
    ],
    ids=lambda given: repr(given) if isinstance(given, R.Regularizer) else "",
)
def test_the_root_of_a_jacobian_squared_is_the_jacobian(reg, x):
    J = reg.prox_jacobian(x, 0.8)
    root = J.root().toarray()
    assert np.allclose(root @ root, J.toarray(), atol=1e-12)
    assert np.allclose(J.entries(), np.diag(J.toarray()))


def test_a_jacobian_without_a_simple_root_says_so():
    J = R.Entropy(1.0).prox_jacobian(np.array([0.3, -0.2, 0.1]), 1.0)
    assert J.root() is None and np.allclose(J.entries(), np.diag(J.toarray()))
    plain = ProxJacobian(np.zeros(2), sp.csc_array(np.eye(2)), np.array([0.5, 0.0]))
    assert np.allclose(plain.entries(), [0.5, 0.0]) and plain.root() is None


def penalty_in_cvxpy(reg, W):
    """(expression, constraints), W with a row per score."""
    name, a = type(reg).__name__, reg.alpha
    if name == "MultiTask":
        return a * cp.sum(cp.norm(W, 2, axis=0)), []
    if name == "NuclearNorm":
        return a * cp.normNuc(W), []
    if name == "Bounded":
        return a * cp.norm1(W), [reg.lower <= W, reg.upper >= W]
    return a * cp.norm1(W), []


@pytest.mark.parametrize("loss", ["softmax", "max_hinge", "usunier"])
@pytest.mark.parametrize(
    "reg",
    [R.L1(0.01), R.MultiTask(0.02), R.NuclearNorm(0.02), R.Bounded(R.L1(0.01), lower=0.0, upper=0.5)],
    ids=lambda reg: type(reg).__name__,
)
def test_columns_far_from_zero_and_of_different_scales_equal_cvxpy(loss, reg):
    rng = np.random.default_rng(5)
    n, d, m, free = 30, 4, 4, loss != "usunier"
    X = rng.standard_normal((n, d)) * [0.1, 1.0, 3.0, 0.5] + [10.0, -3.0, 0.0, 1.0]
    y = np.append(np.arange(m), ((X - X.mean(axis=0)) @ rng.standard_normal((d, m))).argmax(axis=1)[m:])
    p = fenchel.Problem(X, y, loss=LOSSES[loss], regularizer=reg, fit_intercept=free)
    result = fenchel.solve(p, solver=SOLVER, tol=1e-6, max_time=60)
    assert result.status is fenchel.Status.CERTIFIED, str(result)
    W, b = cp.Variable((m, d)), cp.Variable((1, m))
    Z = X @ W.T + (np.ones((n, 1)) @ b if free else 0.0)
    penalty, constraints = penalty_in_cvxpy(reg, W)
    risk = p.weights @ cp.hstack(losses_in_cvxpy(loss, p.loss, Z, p.y))
    model = cp.Problem(cp.Minimize(risk + penalty), constraints)
    best = float(model.solve(solver="CLARABEL"))
    slack = 1e-6 * (1.0 + abs(best))
    assert result.certificate.dual - slack <= best <= result.certificate.primal + slack


@pytest.mark.parametrize("reg", [R.MultiTask(1e-3), R.MultiTask(1e-4), R.GroupLasso(1e-3, [0] * 4 + [1] * 9)], ids=repr)
def test_softmax_with_groups_on_raw_columns(reg):
    """Scales from 0.1 to 1000: a prox that takes one step for all columns cannot make up for them."""
    X, y = load_wine(return_X_y=True)
    result = fenchel.solve(fenchel.Problem(X, y, loss="softmax", regularizer=reg, fit_intercept=True), max_time=60)
    assert result.status is fenchel.Status.CERTIFIED and result.solver == "ProximalPointNewton", str(result)


@pytest.mark.parametrize("loss", ["max_hinge", "softmax"])
def test_sparse_rows_and_a_warm_start(loss):
    dense = fenchel.solve(problem(loss, R.L1(0.01), True), solver=SOLVER, tol=1e-8)
    sparse = problem(loss, R.L1(0.01), True, storage=sp.csr_matrix)
    cold = fenchel.solve(sparse, solver=SOLVER, tol=1e-8)
    assert dense.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-7)
    warm = fenchel.solve(sparse, solver=SOLVER, tol=1e-6, start=cold)
    assert warm.status is fenchel.Status.CERTIFIED and warm.n_iter < cold.n_iter / 2


@pytest.mark.parametrize("intercept", [False, True])
def test_auto_turns_to_it_for_kinks_with_l1(intercept):
    """At once with free intercepts, which cutting planes do not balance; otherwise where these are slow."""
    slow = problem("top_k", R.L1(1e-4), n=100, d=15)
    result = fenchel.solve(problem("max_hinge", R.L1(0.01), True) if intercept else slow)
    expected = "ProximalPointNewton" if intercept else "Bundle then ProximalPointNewton"
    assert result.status is fenchel.Status.CERTIFIED and result.solver == expected
