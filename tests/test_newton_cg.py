"""Newton steps with conjugate gradients: products against the definition, and certified answers where they are hard to get."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

import fenchel
from fenchel import multiclass as M
from fenchel import regularizers as R
from fenchel.engines import Local
from fenchel.kernels.vector_curvature import shares_of_face
from fenchel.oracles.vector import VectorOracle
from fenchel.selection import requirements, rules
from fenchel.solvers import NewtonCG
from fenchel.solvers.linear_systems import conjugate_gradients, factors
from fenchel.solvers.newton_cg.vector_system import System, curvature, kronecker
from vector_problems import LOSSES, problem

K = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 1.5]])
SMOOTH = [
    ("softmax", False),
    ("softmax", True),
    ("squares", True),
    ("metric", False),
    ("metric", True),
    ("moreau", False),
]


def system_at(p, w):
    oracle = VectorOracle(p)
    return oracle, System(oracle, *curvature(p, oracle.plane_and_dual(w, 0.0)[1], 0.0))


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize(("loss", "free"), SMOOTH)
def test_products_are_the_derivative_of_the_gradient(loss, free, storage):
    p = problem(loss, R.Quadratic(0.3, K), free=free, weighted=True, storage=storage)
    rng = np.random.default_rng(0)
    w, v = 0.3 * rng.standard_normal(p.d), rng.standard_normal(p.d)
    oracle, system = system_at(p, w)

    def gradient(x):
        w = oracle.uncentred(x)
        return oracle.centred_gradient(oracle.risk(w)[1] + p.regularizer.gradient(w))

    x, step = oracle.centred(w), 1e-6
    expected = (gradient(x + step * v) - gradient(x - step * v)) / (2 * step)
    assert system(v) == pytest.approx(expected, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_the_preconditioner_inverts_where_all_rows_bend_alike(storage, free):
    """The squared loss: the same Jacobian in every row, so the Kronecker product is the Hessian (intercepts nearly so)."""
    p = problem("metric", R.Quadratic(0.3, K), free=free, weighted=True, storage=storage)
    _, system = system_at(p, np.zeros(p.d))
    v = np.random.default_rng(1).standard_normal(p.d)
    assert kronecker(system)(system(v)) == pytest.approx(
        v, rel=1e-9 if not free else 1e-2, abs=1e-9 if not free else 1e-2
    )


def test_conjugate_gradients_solve_and_stop_where_there_is_no_curvature():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(12, 12))
    A, b = A @ A.T + np.eye(12), rng.normal(size=12)

    def small(r):
        return np.linalg.norm(r) <= 1e-10 * np.linalg.norm(b)

    x, steps = conjugate_gradients(lambda v: A @ v, lambda v: v, b, small, 100)
    assert x == pytest.approx(np.linalg.solve(A, b), rel=1e-8)
    assert 0 < steps <= 30
    assert conjugate_gradients(lambda v: A @ v, lambda v: v, b, small, 3)[1] == 3
    assert conjugate_gradients(lambda v: A @ v, lambda v: v, np.zeros(12), small, 3)[1] == 0
    x, _ = conjugate_gradients(lambda v: 0.0 * v, lambda v: v, b, small, 100)
    assert not x.any()
    # In the inner product with weights p, diag(p)^-1 A is self-adjoint.
    p = rng.uniform(0.1, 2.0, 12)
    x, _ = conjugate_gradients(
        lambda v: (A @ v) / p, lambda v: v / np.diag(A) * p, b, small, 100, lambda a, c: float(p @ (a * c))
    )
    assert x == pytest.approx(np.linalg.solve(A, p * b), rel=1e-7)


@pytest.mark.parametrize("order", ["C", "F"])
def test_factors_solve_with_the_first_diagonal_that_is_large_enough(order):
    rng = np.random.default_rng(1)
    A = rng.normal(size=(6, 3))
    A, b = A @ A.T, rng.normal(size=6)  # of rank 3
    diagonals = [np.diag(A) + ridge for ridge in (-1.0, 0.5, 2.0)]
    upper = np.array(np.triu(A), order=order)  # only this triangle is read
    found = [solve(b) for solve in factors(upper, diagonals)]
    expected = [np.linalg.solve(A + ridge * np.eye(6), b) for ridge in (0.5, 2.0)]
    assert np.array(found) == pytest.approx(np.array(expected), rel=1e-10)
    assert next(factors(np.full((2, 2), 2.0), [np.ones(2)]), None) is None  # indefinite


def test_faces_are_the_derivative_of_the_dual_step():
    """J of the smoothed max hinge by differences, at points where the face is the same on both sides."""
    p = problem("moreau", R.L2(0.1))
    oracle = VectorOracle(p)
    rng = np.random.default_rng(3)
    Z, dZ, step = rng.standard_normal(p.dual_shape), rng.standard_normal(p.dual_shape), 1e-7

    def slopes(Z):
        U = np.empty(Z.shape)
        for z, y, u in zip(Z, p.y, U, strict=True):
            p.loss.slopes(z, y, u)
        return U

    left, right = slopes(Z - step * dZ), slopes(Z + step * dZ)
    same = ((left > 0) == (right > 0)).all(axis=1) & ((left < 0) == (right < 0)).all(axis=1)
    system = System(oracle, *curvature(p, slopes(Z), 0.0))
    S = curvature(p, slopes(Z), 0.0)[0]
    expected = p.weights[:, None] * (right - left) / (2 * step)
    assert same.sum() > 15
    assert system.apply_jacobians(S, dZ.copy())[same] == pytest.approx(expected[same], rel=1e-5, abs=1e-7)


def test_roundings_at_the_end_of_a_face_make_no_curvature():
    """u_y is minus the sum of the others: where that is 1 but for roundings, u + e_y has no entry there."""
    y, p = np.array([2, 2, 2]), np.full(3, 1.0 / 3.0)
    exact = np.array([[0.25, 0.75, -1.0], [1.0, 0.0, -1.0], [0.3, 0.2, -0.5]])
    rounded = exact.copy()
    rounded[:2, 2] = np.nextafter(-1.0, 0.0)
    found = [np.empty((3, 3)), np.empty((3, 3))]
    for U, S in zip((exact, rounded), found, strict=True):
        shares_of_face(y, p, U, 0.1, S)
    np.testing.assert_allclose(found[0], np.array([[1, 1, 0], [0, 0, 0], [1, 1, 1]]) / 0.3)
    np.testing.assert_array_equal(found[1], found[0])


@pytest.mark.parametrize(
    ("loss", "alpha"),
    [("softmax", 1e-5), ("softmax", 1e-3), ("softmax", 1e-1), ("max_hinge", 1e-3), ("max_hinge", 1e-1)],
)
def test_many_digits_on_digits(loss, alpha):
    X, y = load_digits(return_X_y=True)
    X, y = X[:300] / 16.0, y[:300]
    for storage in (np.asarray, sp.csr_matrix):
        p = fenchel.Problem(storage(X), y, loss=loss, alpha=alpha)
        result = fenchel.solve(p, solver=NewtonCG(), tol=1e-8, max_time=60)
        assert result.status is fenchel.Status.CERTIFIED, str(result)


def test_costs_and_starts():
    X, y = load_digits(return_X_y=True)
    X, y = X[:200] / 16.0, y[:200]
    cost = np.abs(np.subtract.outer(np.arange(10.0), np.arange(10.0)))
    p = fenchel.Problem(X, y, loss=M.CostHinge(cost), alpha=1e-3)
    first = fenchel.solve(p, solver="newton_cg", tol=1e-7)
    assert first.status is fenchel.Status.CERTIFIED
    again = fenchel.solve(p, solver="newton_cg", tol=1e-6, start=first)
    assert again.status is fenchel.Status.CERTIFIED
    assert again.n_iter < first.n_iter
    rough = fenchel.solve(p, solver="block_ascent", tol=1e-1)
    after = fenchel.solve(p, solver="newton_cg", tol=1e-7, start=rough)
    assert after.status is fenchel.Status.CERTIFIED


def test_threads_make_no_difference():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((6000, 60))
    y = (X[:, :10] + rng.standard_normal((6000, 10))).argmax(axis=1)
    for loss in ("softmax", "max_hinge"):
        p = fenchel.Problem(X, y, loss=loss, alpha=1e-2)
        one, two = (fenchel.solve(p, solver="newton_cg", tol=1e-4, engine=Local(k)) for k in (1, 2))
        assert np.array_equal(one.coef, two.coef)


def test_it_is_chosen_where_it_was_measured_to_pay():
    X, y = load_digits(return_X_y=True)
    many, few = (fenchel.Problem(X[:n, :20], y[:n], loss="max_hinge", alpha=0.1) for n in (500, 300))
    smooth = fenchel.Problem(X[:300], y[:300], loss="softmax", alpha=0.1)
    assert [rules.candidates(p)[0].solver for p in (many, smooth)] == [NewtonCG(), NewtonCG()]
    assert rules.candidates(few)[0].solver != NewtonCG()


def test_what_it_claims():
    for name in LOSSES:
        claims = name in {"max_hinge", "cost_margin", "softmax", "moreau", "squares", "metric"}
        assert requirements.fits(NewtonCG, problem(name, R.L2(0.1))) == claims
        assert requirements.fits(NewtonCG, problem(name, R.Quadratic(0.1, K))) == claims
        assert not requirements.fits(NewtonCG, problem(name, R.ElasticNet(0.1, 0.5)))
    assert not requirements.fits(NewtonCG, problem("softmax", R.QNorm(0.1, 1.5)))
    one = fenchel.Problem([[1.0], [2.0]], [1, -1], loss="logistic", alpha=0.1)
    assert requirements.fits(NewtonCG, one)
    nonsmooth = fenchel.Problem([[1.0], [2.0]], [1, -1], loss="hinge", alpha=0.1)
    assert not requirements.fits(NewtonCG, nonsmooth)
