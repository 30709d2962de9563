"""Quadratic programs over the simplex: optimal by their own gap, against CVXPY, and where planes depend on each other."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from fenchel.regularizers import L1
from fenchel.solvers.bundle import simplex_qp
from fenchel.solvers.bundle.kernels import active_set, append_row, remove_row
from fenchel.solvers.bundle.model import ProximalConjugate, dual_objective, hessian_of
from fenchel.solvers.bundle.planes import Planes
from fenchel.solvers.bundle.simplex_qp import convex, gap_of, quadratic, vertex


def program(m, d, decades=0, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, d)) * np.logspace(0, -decades, d) + rng.standard_normal(d)
    return A @ A.T, 0.1 * A @ rng.standard_normal(d) + 0.01 * rng.standard_normal(m)


def check_optimal(G, c, a, tol):
    assert a.min() >= 0.0 and a.sum() == pytest.approx(1.0, abs=1e-12)
    assert gap_of(a, G @ a - c) <= tol


@pytest.fixture
def no_interior_point(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("the active-set method did not reach the tolerance")

    monkeypatch.setattr(simplex_qp, "_interior_point", refuse)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("m", "d", "decades"), [(1, 1, 0), (4, 2, 0), (12, 30, 0), (40, 8, 3), (60, 20, 6)])
def test_minimum_equals_cvxpy(m, d, decades, seed, no_interior_point):
    G, c = program(m, d, decades, seed)
    a = quadratic(G, c, vertex(m, seed % m), 1e-10)
    check_optimal(G, c, a, 1e-10)
    x = cp.Variable(m)
    model = cp.Problem(cp.Minimize(0.5 * cp.quad_form(x, cp.psd_wrap(G)) - c @ x), [x >= 0, cp.sum(x) == 1])
    value = model.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert 0.5 * a @ G @ a - c @ a == pytest.approx(value, abs=1e-8)


def test_programs_of_which_one_variable_is_known():
    G, c = np.diag([2.0, 1.0, 4.0]), np.zeros(3)
    a = quadratic(G, c, vertex(3, 2), 1e-12)
    np.testing.assert_allclose(a, np.array([0.5, 1.0, 0.25]) / 1.75, atol=1e-12)  # proportional to 1 / G_jj
    assert (quadratic(np.zeros((3, 3)), np.array([0.0, 2.0, 1.0]), vertex(3, 0), 1e-12) == vertex(3, 1)).all()


@pytest.mark.parametrize("seed", range(5))
def test_equal_and_dependent_planes_do_no_harm(seed):
    rng = np.random.default_rng(seed)
    A = rng.integers(-2, 3, (8, 3)).astype(float)
    A = np.vstack([A, A, 0.5 * (A[:4] + A[4:]), np.zeros((2, 3))])  # copies, midpoints, the zero plane twice
    G, c = A @ A.T, rng.integers(-2, 3, A.shape[0]).astype(float)
    a = quadratic(G, c, vertex(c.size, seed), 1e-9)
    check_optimal(G, c, a, 1e-9)


def test_a_warm_start_goes_on_from_where_it_is(no_interior_point):
    G, c = program(30, 10)
    a = quadratic(G, c, vertex(30, 0), 1e-10)
    check_optimal(G, c, quadratic(G, c, a, 1e-10), 1e-10)
    spread = np.full(30, 1.0 / 30)
    check_optimal(G, c, quadratic(G, c, spread, 1e-10), 1e-10)


def test_the_start_is_not_changed():
    G, c = program(10, 4)
    warm = vertex(10, 0)
    quadratic(G, c, warm, 1e-10)
    assert (warm == vertex(10, 0)).all()


def test_the_steps_are_bounded_and_the_gap_is_true():
    G, c = program(50, 20)
    a = np.full(50, 0.02)
    gap = active_set(G, c, a, 1e-12, 3, 1.0, 1e-13)
    assert gap == pytest.approx(gap_of(a, G @ a - c), rel=1e-9) and gap > 1e-12
    assert a.min() >= 0.0 and a.sum() == pytest.approx(1.0)


def test_the_factor_follows_coordinates_that_enter_and_leave():
    G, _ = program(12, 20)
    rng = np.random.default_rng(1)
    L, support, held = np.zeros((12, 12)), np.empty(12, dtype=np.int64), []
    for _ in range(200):
        if held and (len(held) == 12 or rng.random() < 0.45):
            at = int(rng.integers(len(held)))
            remove_row(L, support, len(held), at)
            held.pop(at)
        else:
            j = int(rng.choice([j for j in range(12) if j not in held]))
            append_row(G, L, support, len(held), j, 0.5, 1e-13)
            held.append(j)
        k = len(held)
        assert support[:k].tolist() == held
        lower = np.tril(L[:k, :k])
        np.testing.assert_allclose(lower @ lower.T, G[np.ix_(held, held)] + 0.5, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_newton_steps_with_a_singular_hessian_are_damped(seed):
    """Few coordinates of a prox of L1 move, so that most directions have no curvature: 82 to 99 evaluations without damping."""
    rng = np.random.default_rng(seed)
    planes = Planes(30, 0.0)
    for _ in range(40):
        planes._append(20.0 * rng.standard_normal(30), rng.uniform(), (0,))
    conjugate, count = ProximalConjugate(L1(3.0), 10.0, np.zeros(30)), []

    def evaluate(a):
        count.append(1)
        return dual_objective(conjugate, planes, a)

    a = convex(evaluate, lambda a: hessian_of(conjugate, -(planes.A @ a), planes.A), vertex(41, 0), 1e-6)
    assert gap_of(a, dual_objective(conjugate, planes, a)[1]) <= 1e-6
    assert len(count) <= 75


@pytest.mark.parametrize("good", [0, 1, 5])
def test_a_singular_factor_ends_the_interior_point_method_with_a_point_of_the_simplex(monkeypatch, good):
    G, c = program(12, 5)
    whole, calls = simplex_qp._newton, []

    def fails(*arguments):
        calls.append(arguments)
        if len(calls) > good:
            raise np.linalg.LinAlgError("Singular matrix")
        return whole(*arguments)

    monkeypatch.setattr(simplex_qp, "_newton", fails)
    a = simplex_qp._interior_point(G, c, 1e-10)
    assert len(calls) == good + 1
    assert a.min() >= 0.0 and a.sum() == pytest.approx(1.0, abs=1e-12)
