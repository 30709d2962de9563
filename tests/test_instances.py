"""The ready-made problems do what they are for."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from fenchel import instances
from fenchel.errors import InputError
from fenchel.solvers import Bundle


@pytest.mark.parametrize("basis", ["identity", "hadamard"])
@pytest.mark.parametrize("alpha", [1e-3, 0.1, 10.0])
def test_a_bundle_method_shows_the_lower_bound_exactly(basis, alpha):
    case = instances.lower_bound(32, alpha, basis)
    t = np.arange(1, 32)
    np.testing.assert_allclose(case.gaps(31), 1.0 / (2.0 * alpha * t), rtol=1e-9)


def test_with_all_planes_the_gap_closes_at_the_optimum():
    case = instances.lower_bound(16, 0.5, "hadamard")
    assert case.gaps(17)[-1] == pytest.approx(0.0, abs=1e-9)
    w = cp.Variable(16)
    model = cp.Problem(cp.Minimize(cp.pos(2.0 + cp.max(case.A.T @ w)) + 0.25 * cp.sum_squares(w)))
    assert case.optimum == pytest.approx(model.solve(solver="CLARABEL"), abs=1e-6)


def test_line_search_does_no_better():
    case = instances.lower_bound(32, 0.1)
    t = np.arange(1, 31)
    assert (case.gaps(30, Bundle(line_search=True)) >= (1.0 / t - 1.0 / 32) / (2.0 * 0.1) - 1e-9).all()


def test_its_own_certificate_is_weak_duality():
    rng = np.random.default_rng(0)
    case = instances.lower_bound(8, 0.3, "hadamard")
    np.testing.assert_allclose(case.A.T @ case.A, np.eye(8), atol=1e-12)
    for _ in range(200):
        u = rng.dirichlet(np.ones(8)) * rng.random()
        assert case.dual_value(u) <= case.optimum + 1e-12 <= case.value(rng.standard_normal(8)) + 2e-12
    assert case.dual_value(np.full(8, 0.2)) == -np.inf


def test_constants_of_the_hinge_rate_are_the_extremes_they_claim():
    for fit_intercept in (False, True):
        case = instances.hinge_rate(n=8, d=2, fit_intercept=fit_intercept, seed=2)
        y = case.problem.y
        corners = np.array(np.meshgrid(*[[0.0, 1.0]] * 8)).reshape(8, -1)
        feasible = corners[:, y @ corners == 0.0] if fit_intercept else corners
        assert pytest.approx(0.5 * ((feasible / 8) ** 2).sum(axis=0).max()) == case.D2
        eigenvalues = np.linalg.eigvalsh(case.problem.X @ case.problem.X.T)
        assert case.L * case.problem.regularizer.alpha == pytest.approx(eigenvalues[-1])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, 1.0), "d must be an integer"),
        ((4, -1.0), "alpha must be"),
        ((4, 1.0, "fourier"), "basis must be one of"),
        ((6, 1.0, "hadamard"), "power of 2 .* next one is 8"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(InputError, match=words):
        instances.lower_bound(*arguments)
