"""Pegasos and projected subgradient: certificates that are free and true, rates as slow as they are."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from fenchel.errors import IncompatibleError, InputError
from fenchel.kernels.pegasos_epoch import pegasos_epoch
from fenchel.oracles.vector import VectorOracle
from fenchel.solvers import Pegasos, ProjectedSubgradient
from problems import LOSSES, REGULARIZERS, optimum, problem
from vector_problems import optimum as optimum_of_vectors
from vector_problems import problem as vector_problem

VARIANTS = [Pegasos(batch, project) for batch in (None, 1, 5) for project in (False, True)]


@pytest.mark.parametrize("solver", VARIANTS, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_pegasos_is_certified_and_brackets_the_optimum(solver, weighted):
    p = problem(LOSSES["hinge"], REGULARIZERS["l2"], weighted=weighted, offset=weighted)
    result = fenchel.solve(p, solver=solver, tol=2e-2, max_time=30)
    assert result.status is fenchel.Status.CERTIFIED
    assert result.certificate.dual - 1e-7 <= optimum(p) <= result.certificate.primal + 1e-7


@pytest.mark.parametrize(
    "solver", [Pegasos(), Pegasos(project=True), ProjectedSubgradient(), ProjectedSubgradient("1/t")], ids=repr
)
def test_with_all_rows_the_average_slope_is_the_dual_point_of_w(solver):
    p = problem(LOSSES["hinge"], REGULARIZERS["l2"], weighted=True)
    result = fenchel.solve(p, solver=solver, tol=1e-3, max_iter=57)
    last = []
    oracle = fenchel.oracles.scalar.Oracle(p)
    for _, iterate in zip(range(58), solver.iterates(oracle, fenchel.solvers.Start(np.zeros(p.d))), strict=False):
        last = iterate
    u = last.dual_point
    assert (p.y * u <= 0.0).all()
    assert (p.y * u >= -1.0).all()
    np.testing.assert_allclose(last.coef, -(p.X.T @ (p.weights * u)) / p.regularizer.alpha, atol=1e-12)
    assert result.certificate.dual <= optimum(p) + 1e-7


def plain_pegasos(X, y, order, batch, alpha, radius):
    """The published algorithm, line by line."""
    w = np.zeros(X.shape[1])
    for t, rows in enumerate(order.reshape(-1, batch), start=1):
        active = rows[y[rows] * (X[rows] @ w) < 1.0]
        w = (1.0 - 1.0 / t) * w + (y[active] @ X[active]) / (alpha * t * batch)
        w *= min(1.0, radius / max(np.linalg.norm(w), 1e-300))
    return w


@pytest.mark.parametrize("radius", [np.inf, 1.0])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_an_epoch_equals_the_published_steps(storage, batch, radius):
    dense = problem(LOSSES["hinge"], REGULARIZERS["l2"])
    p = problem(LOSSES["hinge"], REGULARIZERS["l2"], storage=storage)
    order = np.random.default_rng(3).integers(0, p.n, 120).astype(np.uint64)
    V, A = np.zeros(p.d), np.zeros(p.n)
    t, factor, _ = pegasos_epoch(
        p.compiled_loss, p.rows, p.y, p.offset, order, batch, 0.05, radius, 0.0, 1.0, 0.0, V, A
    )
    w = V * factor / (0.05 * t)
    np.testing.assert_allclose(w, plain_pegasos(dense.X, p.y, order.astype(int), batch, 0.05, radius), atol=1e-10)
    np.testing.assert_allclose(w, -(dense.X.T @ (A * factor / t)) / 0.05, atol=1e-10)


def test_the_gap_of_the_subgradient_method_falls_as_one_over_t():
    p = problem(LOSSES["absolute"], REGULARIZERS["l2"], intercept=True)
    result = fenchel.solve(p, solver=ProjectedSubgradient(), tol=1e-12, max_iter=1000)
    points = result.trace
    early, late = (min(q.primal for q in points[:t]) - max(q.dual for q in points[:t]) for t in (100, 1000))
    assert late <= early / 4


@pytest.mark.parametrize("schedule", ["1/t", "2/(t+1)"])
def test_projected_subgradient_equals_the_published_steps_at_one_pass_each(schedule):
    p = vector_problem("weighted_usunier", REGULARIZERS["l2"])
    alpha, oracle = p.regularizer.alpha, VectorOracle(p)
    slopes, W = np.empty(p.outputs), np.zeros((p.features, p.outputs))
    radius = np.sqrt(np.mean([p.loss.value(np.zeros(p.outputs), y) for y in p.y]) / alpha)
    iterates = ProjectedSubgradient(schedule).iterates(oracle, fenchel.solvers.Start(np.zeros(p.d)))
    passes, best = 0.0, optimum_of_vectors("weighted_usunier", p)
    for t, iterate in zip(range(1, 40), iterates, strict=False):
        np.testing.assert_allclose(iterate.coef, W.ravel(), atol=1e-12)
        assert iterate.dual <= best + 1e-7
        assert t == 1 or oracle.passes == passes + 1.0
        passes, step = oracle.passes, 1 / t if schedule == "1/t" else 2 / (t + 1)
        total = np.zeros_like(W)
        for x, y in zip(p.X, p.y, strict=True):
            p.loss.slopes(W.T @ x, int(y), slopes)
            total -= np.outer(x, slopes) / (alpha * p.n)
        W = (1 - step) * W + step * total
        W *= min(1.0, radius / np.linalg.norm(W))


@pytest.mark.parametrize("name", ["hinge", "absolute"])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_ball_of_the_subgradient_method_holds_the_optimum(name, intercept):
    p = problem(LOSSES[name], REGULARIZERS["l2"], intercept=intercept)
    w = fenchel.solve(p, tol=1e-8).coef
    nothing = fenchel.Problem(np.zeros((p.n, 1)), p.y, p.loss, alpha=1.0, fit_intercept=intercept)
    assert p.regularizer.alpha * w @ w <= fenchel.solve(nothing).certificate.primal
    found = fenchel.solve(p, solver=ProjectedSubgradient("1/t"), tol=5e-2)
    assert found.status is fenchel.Status.CERTIFIED


def test_schedules_are_named():
    with pytest.raises(InputError, match="schedule must be one of"):
        ProjectedSubgradient("1/sqrt(t)")


def test_pegasos_says_what_it_is_not_for():
    with pytest.raises(IncompatibleError, match=r"Pegasos cannot .* `Squared` is not `Hinge`"):
        fenchel.solve(problem(LOSSES["squared"], REGULARIZERS["l2"]), solver="pegasos")
    with pytest.raises(IncompatibleError, match=r"Pegasos cannot .* the intercept is free"):
        fenchel.solve(problem(LOSSES["hinge"], REGULARIZERS["l2"], intercept=True), solver="pegasos")
    with pytest.raises(InputError, match="batch must be None"):
        Pegasos(batch=0)


def test_baselines_are_never_chosen():
    for loss in ("hinge", "absolute"):
        p = problem(LOSSES[loss], REGULARIZERS["l2"])
        chosen = [type(choice.solver) for choice in fenchel.selection.rules.candidates(p)]
        assert not any(cls.slow for cls in chosen)
