"""Bundle with L1: its linear programs against HiGHS, warm, degenerate or without plane 0; and its bounds."""

from __future__ import annotations

import itertools

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog

import fenchel
from fenchel import solvers
from fenchel.oracles.measure import SetOracle
from fenchel.regularizers import L1, GroupLasso, Slope
from fenchel.solvers.base import Start
from fenchel.solvers.bundle.l1_kernels import invert
from fenchel.solvers.bundle.model import BoxModel
from fenchel.solvers.bundle.planes import Planes


def add(planes, gradient, constant):
    planes._append(np.asarray(gradient, dtype=float), float(constant), (0,))


def independent(A, c, limit):
    """max c'a over the simplex with |A a| <= limit, by HiGHS."""
    limit = np.broadcast_to(limit, len(A))
    found = linprog(
        -c, A_ub=np.vstack([A, -A]), b_ub=np.concatenate([limit, limit]), A_eq=np.ones((1, c.size)), b_eq=[1.0]
    )
    return -found.fun


def check(planes, penalty, found, tol=1e-7):
    limit = penalty.alpha if penalty.weights is None else penalty.alpha * penalty.weights
    assert found.weights.min() >= 0.0 and found.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert (np.abs(planes.A @ found.weights) <= limit * (1.0 + 1e-12)).all()
    assert found.bound == pytest.approx(planes.c @ found.weights, abs=1e-12)
    assert found.bound == pytest.approx(independent(planes.A, planes.c, limit), abs=tol)
    assert found.height == pytest.approx(found.bound, abs=tol)
    w = found.point
    assert found.height == pytest.approx(np.max(planes.A.T @ w + planes.c) + penalty.value(w), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("d", "count", "weighted"), [(1, 6, False), (5, 40, False), (30, 60, True), (60, 25, False)])
def test_every_warm_program_is_solved(d, count, weighted, seed):
    rng = np.random.default_rng(seed)
    penalty = L1(0.3, weights=rng.uniform(0.2, 2.0, d) if weighted else None)
    planes, model = Planes(d, 0.0), BoxModel(penalty)
    for step in range(count):
        w = rng.standard_normal(d) / np.sqrt(1.0 + step)
        a = np.sign(w) + 0.5 * rng.standard_normal(d)
        add(planes, a, rng.uniform() - a @ w)
        found = model.minimum(planes, 1e-9)
        check(planes, penalty, found)
        planes.use(found.weights)
        planes.drop(5)


@pytest.mark.parametrize("seed", range(6))
def test_ties_and_equal_planes_do_no_harm(seed):
    """Small integers: many pivots without a step, planes twice, coordinates twice."""
    rng = np.random.default_rng(seed)
    planes, penalty = Planes(8, 0.0), L1(1.0)
    model = BoxModel(penalty)
    for _ in range(30):
        half = rng.integers(-3, 4, 4)
        for _ in range(int(rng.integers(1, 3))):
            add(planes, np.concatenate([half, half]), rng.integers(0, 4))
        found = model.minimum(planes, 1e-9)
        planes.use(found.weights)
    check(planes, penalty, found)


def test_a_basis_of_which_a_plane_is_gone_is_begun_anew():
    rng = np.random.default_rng(0)
    planes, penalty = Planes(10, 0.0), L1(0.2)
    model = BoxModel(penalty)
    for _ in range(20):
        add(planes, rng.standard_normal(10), rng.uniform())
    first = model.minimum(planes, 1e-9)
    check(planes, penalty, first)
    planes.use(np.eye(21)[0])  # as if no other plane had a weight
    planes.drop(0)
    assert planes.c.size == 1
    for _ in range(10):
        add(planes, rng.standard_normal(10), rng.uniform())
    check(planes, penalty, model.minimum(planes, 1e-9))


def test_planes_without_the_plane_0():
    """Where the risk has no lower bound that is known, the first feasible point is searched for."""
    rng = np.random.default_rng(0)
    planes, penalty = Planes(3, -np.inf), L1(0.5)
    model = BoxModel(penalty)
    add(planes, [5.0, 0.0, 0.0], 1.0)
    assert model.minimum(planes, 1.0).bound == -np.inf  # no mixture is in the box
    for _ in range(20):
        add(planes, rng.standard_normal(3), rng.uniform())
    check(planes, penalty, model.minimum(planes, 1e-9), tol=1e-5)


def test_the_inverse_of_a_basis():
    rng = np.random.default_rng(0)
    rows, planes, tight = rng.standard_normal((9, 12)), np.array([3, 0, 8, 5]), np.array([2, 11, 7])
    inverse, M = np.zeros((4, 4)), np.vstack([np.ones(4), rows[np.ix_([3, 0, 8, 5], [2, 11, 7])].T])
    assert invert(rows, planes, tight, inverse, 3)
    np.testing.assert_allclose(inverse @ M, np.eye(4), atol=1e-12)
    assert not invert(np.ones((9, 12)), planes, tight, inverse, 3)


def problem(loss, regularizer, n=600, d=20):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, d))
    y = np.where(X @ rng.standard_normal(d) + 3.0 * rng.standard_normal(n) > 2.0, 1.0, -1.0)
    return fenchel.Problem(X, y, loss=loss, regularizer=regularizer)


PENALTIES = [L1(1e-4), L1(1e-3, weights=np.linspace(0.5, 2.0, 20)), GroupLasso(1e-3, np.arange(20) // 4)]


@pytest.mark.parametrize("loss", ["roc_area", "f_beta", "break_even"])
@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_measures_with_sparse_penalties_are_certified(loss, penalty):
    p = problem(loss, penalty)
    result = fenchel.solve(p, solver=solvers.Bundle(), tol=1e-4, max_iter=600)
    assert result.status is fenchel.Status.CERTIFIED
    claims = [
        found.dual for found in itertools.islice(solvers.Bundle().iterates(SetOracle(p), Start(np.zeros(20))), 80)
    ]
    assert max(claims) <= result.certificate.primal * (1.0 + 1e-9)
    assert (np.diff(claims) >= 0.0).all()


def test_the_roc_area_with_l1_agrees_with_cvxpy():
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((40, 6)), np.where(rng.uniform(size=40) < 0.4, 1.0, -1.0)
    w = cp.Variable(6)
    pairs = (X[y > 0][:, None] - X[y < 0]).reshape(-1, 6)
    value = cp.Problem(cp.Minimize(cp.sum(cp.pos(1.0 - pairs @ w)) / len(pairs) + 0.02 * cp.norm1(w))).solve()
    for level in (True, False):
        p = fenchel.Problem(X, y, loss="roc_area", regularizer="l1", alpha=0.02)
        result = fenchel.solve(p, solver=solvers.Bundle(level=level), tol=1e-7)
        assert result.status is fenchel.Status.CERTIFIED
        assert result.certificate.primal == pytest.approx(value, rel=1e-6)


def test_sorted_l1_is_certified_by_scaled_proximal_points():
    result = fenchel.solve(problem("hinge", Slope(2e-3, weights=np.linspace(2.0, 1.0, 20))), solver="bundle", tol=1e-3)
    assert result.status is fenchel.Status.CERTIFIED
