"""Pragam: its rate, its maps against independent projections, and what it must refuse."""

from __future__ import annotations

import numpy as np
import pytest

import fenchel
from fenchel import losses as L
from fenchel.errors import IncompatibleError, InputError
from fenchel.kernels.prox_dual import balanced_prox_dual, prox_dual
from fenchel.projections import box_equality
from fenchel.solvers import Pragam
from problems import LOSSES, REGULARIZERS, optimum, problem

CERTIFIED = fenchel.Status.CERTIFIED


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("alpha", [1e-1, 1e-3])
def test_with_L_given_the_gap_is_below_the_papers_bound_at_every_iteration(alpha, fit_intercept):
    case = fenchel.instances.hinge_rate(n=120, d=6, alpha=alpha, fit_intercept=fit_intercept)
    result = fenchel.solve(case.problem, solver=Pragam(L=case.L), tol=1e-14, max_iter=400)
    iterations = np.array([point.iteration for point in result.trace])
    gaps = np.array([point.gap for point in result.trace])
    np.testing.assert_array_equal(iterations, np.arange(401))
    assert (gaps <= case.bound(iterations) + 1e-13).all()
    assert (gaps >= -1e-13).all()


def test_the_bound_of_weighted_rows_is_that_of_repeated_rows():
    rng = np.random.default_rng(1)
    X, repeats = rng.standard_normal((30, 4)), rng.integers(1, 4, 30)
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(30) > 0, 1.0, -1.0)
    many, labels = np.repeat(X, repeats, axis=0), np.repeat(y, repeats)
    sigma = np.linalg.norm(many, 2) ** 2 / 0.05
    weighted = fenchel.Problem(X, y, loss="hinge", alpha=0.05, sample_weight=repeats, fit_intercept=True)
    repeated = fenchel.Problem(many, labels, loss="hinge", alpha=0.05, fit_intercept=True)
    scale = X.shape[0] / many.shape[0]  # L belongs to weights of mean 1
    a = fenchel.solve(weighted, solver=Pragam(L=sigma * scale), tol=1e-14, max_iter=40)
    b = fenchel.solve(repeated, solver=Pragam(L=sigma), tol=1e-14, max_iter=40)
    np.testing.assert_allclose([p.gap for p in a.trace], [p.gap for p in b.trace], rtol=1e-6, atol=1e-12)


def test_too_small_an_L_loses_the_rate_but_never_the_certificate():
    case = fenchel.instances.hinge_rate(n=120, d=6, alpha=1e-2)
    best = fenchel.solve(case.problem, tol=1e-9).certificate
    result = fenchel.solve(case.problem, solver=Pragam(L=0.02 * case.L), tol=1e-14, max_iter=100)
    assert all(p.primal >= best.dual - 1e-12 and p.dual <= best.primal + 1e-12 for p in result.trace)
    assert any(p.gap > 0.02 * case.bound(p.iteration) for p in result.trace)


@pytest.mark.parametrize("loss", ["smoothed_hinge", "huber", "logistic", "moreau_absolute"])
def test_smooth_losses_converge_geometrically(loss):
    p = problem(LOSSES[loss], REGULARIZERS["l2"], intercept=True, weighted=True)
    coarse = fenchel.solve(p, solver="pragam", tol=1e-4)
    fine = fenchel.solve(p, solver="pragam", tol=1e-10)
    assert fine.status is CERTIFIED
    assert fine.n_iter <= 5 * coarse.n_iter + 10  # a rate of 1/k^2 would need a thousand times as many


@pytest.mark.parametrize("margin", [0.0, 0.3, 2.0])
def test_any_margin(margin):
    p = problem(L.Hinge(margin), REGULARIZERS["l2"], intercept=True, weighted=True, offset=True)
    result = fenchel.solve(p, solver="pragam", tol=1e-6)
    assert result.status is CERTIFIED
    assert result.certificate.dual - 1e-7 <= optimum(p) <= result.certificate.primal + 1e-7


@pytest.mark.parametrize("q", [1e-12, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("seed", range(3))
def test_the_map_with_intercept_is_the_projection_onto_box_and_hyperplane(q, seed):
    rng = np.random.default_rng(seed)
    n = 200
    z, p = rng.standard_normal(n), rng.uniform(0.1, 1.0, n)
    z[:20] = z[20:40]  # ties
    y = np.where(rng.random(n) < 0.3, 1.0, -1.0)
    p /= p.sum()
    centre = -y * rng.uniform(0.0, 1.0, n)
    out = np.empty(n)
    balanced_prox_dual(L.Hinge(), y, p, centre, z, 0.0, 1.0, q, out, np.empty(n))
    # argmax of sum p (u z - y u - q/2 (u - centre)^2) over -y u in [0, 1]; multiplied by q, which keeps it well scaled
    expected = box_equality(q * centre + z - y, np.minimum(-q * y, 0), np.maximum(-q * y, 0), p, 0.0, np.sqrt(p)) / q
    np.testing.assert_allclose(out, expected, atol=1e-9 if q >= 1e-3 else 1e-3)
    assert abs(p @ out) <= 1e-15
    assert ((-y * out >= 0.0) & (-y * out <= 1.0)).all()


@pytest.mark.parametrize("loss", [L.Hinge(), L.Quantile(0.9), L.Huber(0.5), L.Logistic()], ids=repr)
def test_compiled_maps_equal_python(loss):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(20) < 0.5, 1.0, -1.0)
    z, p = rng.standard_normal(20), np.full(20, 0.05)
    a, b = np.empty(20), np.empty(20)
    assert prox_dual(loss, y, p, np.zeros(20), z, 0.1, 0.7, a) == pytest.approx(
        prox_dual.py_func(loss, y, p, np.zeros(20), z, 0.1, 0.7, b), rel=1e-12
    )
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_an_unbalanced_problem_needs_no_balance_that_does_not_exist():
    p = fenchel.Problem(np.eye(3), [1, 1, 1], loss="hinge", alpha=0.1, fit_intercept=True)  # one class: P* = 0
    assert fenchel.solve(p, solver="pragam").certificate.primal == pytest.approx(0.0, abs=1e-9)


def test_features_that_are_all_zero():
    p = fenchel.Problem(np.zeros((4, 2)), [1, 1, 1, -1], loss="hinge", alpha=0.1, fit_intercept=True)
    result = fenchel.solve(p, solver="pragam")
    assert result.status is CERTIFIED
    assert result.certificate.primal == pytest.approx(0.5)


def test_what_does_not_fit_is_said():
    with pytest.raises(IncompatibleError, match=r"Pragam cannot .* `Squared` has unbounded slopes"):
        fenchel.solve(problem(LOSSES["squared"], REGULARIZERS["l2"]), solver="pragam")
    with pytest.raises(IncompatibleError, match=r"Pragam cannot .* `L1` has no quadratic part"):
        fenchel.solve(problem(LOSSES["hinge"], REGULARIZERS["l1"]), solver="pragam")
    with pytest.raises(InputError, match="L must be None or a finite number greater than 0"):
        Pragam(L=0.0)
