"""Numbers at their worst: any scale, any conditioning, any degenerate shape. Certified, or an honest other status."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp

import exact
import fenchel
from fenchel import Status, solvers
from fenchel.selection import requirements
from problems import LOSSES, data

POWERS = [round(k) for k in np.linspace(-100, 100, 17)]
EXACT = ["bundle", "dual_ascent", "lbfgs", "proximal_gradient", "semismooth_newton"]  # solvers for tight tolerances
ONE_SCALE = {"lbfgs", "proximal_gradient"}  # treat the intercept as one more feature of size 1
by_loss = pytest.mark.parametrize(
    "loss", [pytest.param(k, marks=pytest.mark.xdist_group(k)) for k in ("hinge", "logistic", "squared")]
)


def fitting(p):
    return ["auto", *(k for k in EXACT if requirements.fits(solvers.SOLVERS[k], p))]


def honest(p, result, tol):
    """The reported certificate is true in 50 digits, and CERTIFIED only where its gap is."""
    c = result.certificate
    assert not np.isnan(c.primal), str(result)
    assert not np.isnan(c.dual), str(result)
    if not np.isfinite(c.gap):
        assert result.status is not Status.CERTIFIED, str(result)
        return
    P = exact.primal(p, result.coef, result.intercept)
    D, _ = exact.dual(p, result.dual_point)
    allowed = c.floor + 1e-9 * abs(P - D) + 1e-300
    assert c.primal >= P - allowed, (str(result), P)  # what is claimed is never better than what is true
    assert c.dual <= D + allowed, (str(result), D)
    if result.status is Status.CERTIFIED:
        assert 1.001 * tol * abs(P) + c.floor >= P - D, (str(result), P, D)


@by_loss
@pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])
def test_the_same_problem_in_other_units_is_certified_by_every_solver(loss, intercept):
    X, y = data(LOSSES[loss])
    tol, best = 1e-6, None
    for k in POWERS:
        p = fenchel.Problem(X * 10.0**k, y, loss=loss, alpha=0.05 * 10.0 ** (2 * k), fit_intercept=intercept)
        for solver in fitting(p):
            result = fenchel.solve(p, solver=solver, tol=tol, max_time=20)
            honest(p, result, tol) if k in (-100, 0, 100) else None
            if intercept and solver in ONE_SCALE and abs(k) > 2:
                assert result.status is Status.CERTIFIED or result.certificate.relative_gap > tol
                continue
            assert result.status is Status.CERTIFIED, (k, solver, str(result))
            best = result.certificate.primal if best is None else best
            assert result.certificate.primal == pytest.approx(best, rel=2.1 * tol), (k, solver)


@by_loss
def test_features_alone_rescaled_are_never_silently_wrong(loss):
    X, y = data(LOSSES[loss])
    certified = 0
    for k in POWERS:
        p = fenchel.Problem(X * 10.0**k, y, loss=loss, alpha=0.05, fit_intercept=True)
        for solver in fitting(p):
            began = time.perf_counter()
            result = fenchel.solve(p, solver=solver, tol=1e-6, max_time=0.5)
            assert time.perf_counter() - began < 20
            honest(p, result, 1e-6)
            certified += solver == "auto" and result.status is Status.CERTIFIED
    assert certified >= len(POWERS) // 2


def extreme(kind):
    X, _ = data(LOSSES["hinge"])
    rng = np.random.default_rng(0)
    if kind == "mixed columns":
        return X * np.array([1e-150, 1.0, 1e150])
    if kind == "mixed rows":
        return X * 10.0 ** rng.integers(-200, 200, X.shape[0])[:, None]
    X = X.copy()
    X[::5, 1] = {"denormal": 5e-324, "large": 1e300, "largest": 1.7e308, "both": 1e300}[kind]
    X[1::5, 1] = -1e-300 if kind == "both" else X[1::5, 1]
    return X


@by_loss
@pytest.mark.parametrize("kind", ["denormal", "large", "largest", "both", "mixed columns", "mixed rows"])
def test_extreme_entries_give_no_nan_and_no_false_certificate(loss, kind):
    X, y = extreme(kind), data(LOSSES[loss])[1]
    for storage in (np.asarray, sp.csr_matrix):
        p = fenchel.Problem(storage(X), y, loss=loss, alpha=0.1)
        for solver in fitting(p):
            honest(p, fenchel.solve(p, solver=solver, tol=1e-6, max_time=1), 1e-6)
        assert not fenchel.certify(p, np.full(p.d, 1e200)).holds(1e-6)  # overflow in <x, w>


@pytest.mark.parametrize(
    "loss", [pytest.param(k, marks=pytest.mark.xdist_group(k)) for k in ("exponential", "poisson")]
)
def test_overflow_in_exp_is_survived(loss):
    X, y = data(LOSSES[loss])
    for scale in (1e2, 1e4, 1e8):
        p = fenchel.Problem(scale * X, y, loss=loss, alpha=1.0)
        for solver in fitting(p):
            honest(p, fenchel.solve(p, solver=solver, tol=1e-6, max_time=1, start=(np.full(3, 0.01),)), 1e-6)
        assert not fenchel.certify(p, np.full(3, 1e6)).holds(1e-6)


def conditioned(condition, n=60, d=8):
    rng = np.random.default_rng(1)
    q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return rng.standard_normal((n, d)) @ (q * np.logspace(0, -np.log10(condition), d)) @ q.T, rng


@by_loss
def test_ill_conditioned_data_are_certified_or_honestly_not(loss):
    outcomes = []
    for condition in (1e2, 1e4, 1e6, 1e8, 1e12, 1e16):
        X, rng = conditioned(condition)
        z = X @ rng.standard_normal(8) + 0.1 * rng.standard_normal(60)
        y = z if loss == "squared" else np.where(z > 0, 1.0, -1.0)
        for alpha in (1e-2, 1e-4, 1e-6):
            p = fenchel.Problem(X, y, loss=loss, alpha=alpha, fit_intercept=True)
            result = fenchel.solve(p, tol=1e-6, max_time=5)
            honest(p, result, 1e-6)
            if condition <= 1e8:
                outcomes.append(result.status is Status.CERTIFIED)
    assert np.mean(outcomes) >= 0.95


@by_loss
@pytest.mark.parametrize("alpha", [1e-300, 1e-12, 1e300])
def test_separable_and_extreme_alpha_end_with_a_true_gap(loss, alpha):
    X, y = data(LOSSES[loss])
    y = np.sign(X[:, 0]) if loss != "squared" else y
    p = fenchel.Problem(X, y, loss=loss, alpha=alpha)
    for solver in fitting(p):
        began = time.perf_counter()
        result = fenchel.solve(p, solver=solver, tol=1e-6, max_time=5)
        assert time.perf_counter() - began < 20
        honest(p, result, 1e-6)
        if alpha == 1e300 and solver == "auto":
            assert result.status is Status.CERTIFIED
            assert np.abs(result.coef).max() < 1e-290


@pytest.mark.xdist_group("hinge")
def test_one_positive_among_ten_thousand():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10_001, 5))
    y = -np.ones(10_001)
    y[77] = 1.0
    for loss in ("hinge", "logistic"):
        p = fenchel.Problem(X, y, loss=loss, alpha=1e-6, fit_intercept=True)
        result = fenchel.solve(p, tol=1e-6, max_time=30)
        assert result.status is Status.CERTIFIED
        assert fenchel.certify(p, result.coef, result.intercept, result.dual_point).holds(1e-6)


def minimum(p):
    """P* by a dense grid and golden refinement in one coefficient, no intercept: brute force."""
    low, high = -50.0, 50.0
    for _ in range(60):
        grid = np.linspace(low, high, 41)
        z = np.outer(grid, np.ravel(p.X.toarray() if sp.issparse(p.X) else p.X))
        losses = np.array([[p.loss.value(a, t) for a, t in zip(row, p.y, strict=True)] for row in z])
        best = int(np.argmin(losses @ p.weights + [p.regularizer.value([w]) for w in grid]))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, 40)]
        if high - low < 1e-12:
            break
    return float((losses @ p.weights + [p.regularizer.value([w]) for w in grid]).min())


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(k, marks=pytest.mark.xdist_group(k))
        for k in ("hinge", "logistic", "squared", "absolute", "poisson")
    ],
)
def test_tiny_problems_equal_brute_force(loss):
    column, y = np.array([0.5, -1.0, 2.0, 0.25]), np.array([1.0, -1.0, 1.0, 1.0])
    y = np.array([1.0, 0.0, 3.0, 2.0]) if loss == "poisson" else y
    cases = {
        "n = 1": (column[:1], y[:1]),
        "d = 1": (column, y),
        "one class": (column, np.ones(4)),
        "zero row": (np.append(column, 0.0), np.append(y, 1.0)),
        "duplicates": (np.repeat(column, 3), np.repeat(y, 3)),
        "zero column": (np.zeros(4), y),
    }
    for name, (x, targets) in cases.items():
        for storage in (np.asarray, sp.csr_matrix):
            p = fenchel.Problem(storage(x[:, None]), targets, loss=loss, alpha=0.3)
            best = minimum(p)
            for solver in fitting(p):
                result = fenchel.solve(p, solver=solver, tol=1e-10, max_time=10)
                assert result.certificate.primal == pytest.approx(best, abs=1e-9), (name, solver, str(result))
                assert result.certificate.dual <= best + 1e-9


@pytest.mark.xdist_group("squared")
def test_degenerate_least_squares_equal_the_closed_form():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 3))
    X = np.column_stack([X, X[:, 0], np.zeros(6)])  # a duplicate and a zero column
    for y in (rng.standard_normal(6), np.full(6, 2.5), np.zeros(6)):
        for rows in (slice(None), slice(0, 1), [0, 0, 1, 1, 1]):
            A, t = X[rows], y[rows]
            w = np.linalg.solve(A.T @ A / t.size + 0.1 * np.eye(5), A.T @ t / t.size)
            p = fenchel.Problem(A, t, loss="squared", alpha=0.1)
            best = 0.5 * np.mean((A @ w - t) ** 2) + 0.05 * w @ w
            for solver in fitting(p):
                result = fenchel.solve(p, solver=solver, tol=1e-12, max_time=10)
                np.testing.assert_allclose(result.coef, w, atol=2e-5)
                assert result.certificate.primal == pytest.approx(best, abs=1e-9)


@pytest.mark.xdist_group("squared")
def test_constant_targets_go_into_the_intercept():
    X, _ = data(LOSSES["squared"])
    for loss in ("squared", "absolute"):
        p = fenchel.Problem(X, np.full(24, 7.0), loss=loss, alpha=0.1, fit_intercept=True)
        result = fenchel.solve(p, tol=1e-6, max_time=10)
        assert result.certificate.primal == pytest.approx(0.0, abs=1e-9)
        assert result.intercept == pytest.approx(7.0, abs=1e-4)


@pytest.mark.xdist_group("hinge")
@pytest.mark.parametrize("intercept", [False, True])
def test_one_class_has_the_closed_form(intercept):
    X, _ = data(LOSSES["hinge"])
    p = fenchel.Problem(X, np.ones(24), loss="hinge", alpha=0.1, fit_intercept=intercept)
    result = fenchel.solve(p, tol=1e-8, max_time=10)
    if intercept:
        assert result.certificate.primal == 0.0  # w = 0 and b >= 1
    else:
        assert result.status is Status.CERTIFIED
    assert result.certificate.dual <= result.certificate.primal
