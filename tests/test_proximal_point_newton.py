"""Proximal points with semismooth Newton: equal to CVXPY on random problems, the same for sparse rows, warm starts, limits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine

import fenchel
from fenchel import losses as L
from fenchel import regularizers as R
from fenchel.multiclass import WeightedTopK
from fenchel.oracles.scalar import Oracle
from fenchel.solvers.proximal_point_newton import newton_system
from fenchel.solvers.proximal_point_newton.dual_line import DualLine
from fenchel.solvers.proximal_point_newton.newton_system import Metric, NewtonSystem
from fenchel.solvers.proximal_point_newton.settings import Settings
from fenchel.solvers.semismooth_newton.settings import SETTINGS
from fenchel.solvers.semismooth_newton.smoothed_regularizer import SmoothedPart
from test_solvers import reference

LOSSES = [L.Hinge(), L.Absolute(), L.Quantile(0.9), L.EpsilonInsensitive(0.1)]
SOLVER = "proximal_point_newton"


def random_problem(loss, reg, intercept, seed, scale, storage=np.asarray):
    """Columns that are not centred, of different scales; weights and offsets."""
    rng = np.random.default_rng(seed)
    n, d = (40, 7) if seed % 2 else (15, 25)
    X = scale * (rng.standard_normal((n, d)) * rng.uniform(0.3, 3.0, d) + rng.uniform(-3.0, 3.0, d))
    y = X @ (rng.standard_normal(d) / scale) + 0.5 * rng.standard_normal(n)
    margin = isinstance(loss, (L.Hinge, L.SquaredHinge))
    y = np.where(y > np.median(y), 1.0, -1.0) if margin else y
    weights, offset = rng.uniform(0.1, 2.0, n), 0.2 * rng.standard_normal(n)
    return fenchel.Problem(
        storage(X), y, loss=loss, regularizer=reg, fit_intercept=intercept, sample_weight=weights, offset=offset
    )


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_random_problems_equal_cvxpy(loss, intercept, scale):
    # In w' = scale w the columns have scale 1, where CVXPY is accurate: alpha |w| and alpha w^2 / 2 become these.
    l1, square = 1e-2, 1e-2 / scale
    pairs = [
        (R.L1(l1 * scale), R.L1(l1)),
        (R.ElasticNet(2e-2 * scale, 0.5), R.ElasticNet(l1 + square, l1 / (l1 + square))),
    ]
    for seed, (reg, rescaled) in enumerate(pairs):
        p = random_problem(loss, reg, intercept, seed, scale)
        result = fenchel.solve(p, solver=SOLVER, tol=1e-6, max_time=20)
        assert result.status is fenchel.Status.CERTIFIED, str(result)
        best, c = reference(random_problem(loss, rescaled, intercept, seed, 1.0)), result.certificate
        slack = 1e-6 * (1 + abs(best))
        assert c.dual - slack <= best <= c.primal + slack


def test_sparse_rows_give_the_same_optimum():
    reg = R.L1(1e-2)
    dense = fenchel.solve(random_problem(L.Absolute(), reg, True, 1, 1.0), solver=SOLVER, tol=1e-9)
    sparse = fenchel.solve(random_problem(L.Absolute(), reg, True, 1, 1.0, sp.csr_matrix), solver=SOLVER, tol=1e-9)
    assert dense.certificate.primal == pytest.approx(sparse.certificate.primal, rel=1e-8)


@pytest.mark.parametrize(
    "reg",
    [
        R.L1(0.3), R.ElasticNet(0.3, 0.4), R.L2(0.3), R.UnnormalisedEntropy(0.3), R.Entropy(0.3), R.BalancedEntropy(0.3),
        R.Quadratic(0.3, np.arange(1.0, 5.0)), R.QNorm(0.3, 1.5), R.QNorm(0.3, 3.0), R.QNorm(0.3, 3.0, power=1.5),
        R.QNorm(0.3, 1.2, power=4.0),
    ],
    ids=repr,
)  # fmt: skip
def test_prox_jacobians_are_derivatives_of_the_prox(reg):
    x, step, h = np.array([1.3, -0.7, 0.2, 2.0]), 0.8, 1e-6
    J = reg.prox_jacobian(x, step).toarray()
    for j in range(x.size):
        e = h * np.eye(x.size)[j]
        assert np.allclose((reg.prox(x + e, step) - reg.prox(x - e, step)) / (2 * h), J[:, j], atol=1e-6)


def test_auto_takes_it_for_few_rows_without_smooth_parts():
    result = fenchel.solve(random_problem(L.Absolute(), R.L1(1e-3), True, 0, 1.0))
    assert result.solver == "ProximalPointNewton" and result.status is fenchel.Status.CERTIFIED


@pytest.mark.parametrize("reg", [R.L1(1e-2), R.L1(1e-3), R.ElasticNet(1e-3, 0.5)], ids=repr)
def test_softmax_with_l1_on_columns_far_from_zero(reg):
    """Raw columns of scales 0.1 to 1000: a free intercept makes their means irrelevant, a metric their scales."""
    X, y = load_wine(return_X_y=True)
    result = fenchel.solve(fenchel.Problem(X, y, loss="softmax", regularizer=reg, fit_intercept=True), max_time=60)
    assert result.status is fenchel.Status.CERTIFIED, str(result)
    moved = fenchel.solve(
        fenchel.Problem(X - X.mean(axis=0), y, loss="softmax", regularizer=reg, fit_intercept=True), max_time=60
    )
    assert result.certificate.primal == pytest.approx(moved.certificate.primal, rel=2e-6)


class Bent(R.Regularizer):
    """alpha sum (|w_j| + w_j^2), by value and prox alone."""

    def value(self, w):
        return self.alpha * float(np.sum(np.abs(w) + w * w))

    def prox(self, w, step):
        t = step * self.alpha
        return np.sign(w) * np.maximum(np.abs(w) - t, 0.0) / (1.0 + 2.0 * t)


def test_a_regularizer_of_ones_own_equals_the_elastic_net():
    own = random_problem(L.Absolute(), Bent(1e-2), True, 1, 1.0)
    same = random_problem(L.Absolute(), R.ElasticNet(3e-2, 1.0 / 3.0), True, 1, 1.0)
    result, other = fenchel.solve(own, solver=SOLVER, tol=1e-7), fenchel.solve(same, solver=SOLVER, tol=1e-7)
    assert result.status is other.status is fenchel.Status.CERTIFIED
    assert result.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-6)


@pytest.mark.parametrize("reg", [R.L1(1e-2), R.Entropy(1e-2), R.QNorm(1e-2, 1.5)], ids=repr)
@pytest.mark.parametrize("shape", [(40, 6), (6, 40)])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_newton_steps_solve_the_system_of_the_jacobians(reg, shape, storage):
    """(B J B' + diag(1 / omega)) dl = r, with every matrix written out."""
    compare_with_the_written_system(reg, shape, storage)


@pytest.mark.parametrize("name", ["slope", "total_variation", "group_lasso", "l1_ball"])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_newton_steps_where_coefficients_move_together(name, storage):
    d = 30
    reg = {
        "slope": R.Slope(0.5, np.linspace(1.0, 0.0, d)), "total_variation": R.TotalVariation(0.3, l1=0.02),
        "group_lasso": R.GroupLasso(0.1, np.arange(d) // 5), "l1_ball": R.L1Ball(3.0),
    }[name]  # fmt: skip
    J = compare_with_the_written_system(reg, (40, d), storage)
    factor = J.factor()
    if name in ("slope", "total_variation"):
        assert factor.shape[1] < 0.7 * J.columns().size
        assert np.allclose((factor @ factor.T).toarray(), J.toarray(), atol=1e-14)
    else:
        assert factor is None


def compare_with_the_written_system(reg, shape, storage):
    """The Jacobian of the prox at a random point, after a comparison of the Newton step with that of the system."""
    rng = np.random.default_rng(0)
    n, d = shape
    X = rng.standard_normal(shape) + 2.0
    p = fenchel.Problem(storage(X), rng.standard_normal(n), loss="absolute", regularizer=reg, fit_intercept=True)
    oracle = Oracle(p)
    mean, rate, r = p.weights @ X, rng.random(n).round(), rng.standard_normal(n)
    metric = Metric(2.0, 3.0, 5.0, 0.1)
    J = reg.prox_jacobian(rng.standard_normal(d), 3.0)
    du = NewtonSystem(oracle, mean).solve(metric, J, rate, r)
    B = np.column_stack([X - mean, np.ones(n)])
    whole = np.zeros((d + 1, d + 1))
    whole[:d, :d], whole[d, d] = 3.0 * J.toarray(), 5.0
    H = B @ whole @ B.T + np.diag((2.0 * rate + 0.1) / p.weights)
    assert np.allclose(du, np.linalg.solve(H, r) / p.weights, rtol=1e-7, atol=1e-9 * np.abs(du).max())
    return J


@pytest.mark.parametrize(("loss", "share"), [("hinge", 1e-3), ("quantile", 1e-4)])
def test_slope_with_a_nonsmooth_loss_takes_few_steps(loss, share):
    """With larger steps in the coefficients the order of their sizes changed in every Newton step: a gap of 0.2 after 1,500."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 40)) / np.sqrt(40) + rng.standard_normal(40)
    z = X @ (rng.standard_normal(40) * (rng.random(40) < 0.3))
    y = z - z.mean() + 0.5 * rng.standard_normal(300)
    y = np.sign(y) if loss == "hinge" else y
    alpha = share * float(np.abs(X.T @ np.sign(y)).max()) / 300
    reg = R.Slope(alpha, np.linspace(2.0, 0.5, 40))
    result = fenchel.solve(fenchel.Problem(X, y, loss, reg, fit_intercept=True), tol=1e-5, max_iter=500)
    assert result.status is fenchel.Status.CERTIFIED, str(result)


def test_conjugate_gradients_agree_with_the_factor(monkeypatch):
    p = random_problem(L.Absolute(), R.L1(1e-2), True, 0, 1.0)
    rng, J = np.random.default_rng(0), R.L1(1e-2).prox_jacobian(np.ones(p.d), 1.0)
    system, metric = NewtonSystem(Oracle(p), p.weights @ p.X), Metric(1.0, 1.0, 1.0, 1.0)
    rate, r = rng.random(p.n), rng.standard_normal(p.n)
    exact = system.solve(metric, J, rate, r)
    monkeypatch.setattr(newton_system, "SETTINGS", Settings(max_factored_unknowns=1, cg_tolerance=1e-10))
    assert np.allclose(system.solve(metric, J, rate, r), exact, rtol=1e-6)


def test_a_warm_start_takes_few_steps():
    p = random_problem(L.Absolute(), R.L1(1e-2), True, 1, 1.0)
    cold = fenchel.solve(p, solver=SOLVER, tol=1e-6)
    warm = fenchel.solve(p, solver=SOLVER, tol=1e-6, start=cold)
    assert warm.n_iter < cold.n_iter / 3


def test_the_time_limit_is_obeyed():
    p = random_problem(L.Quantile(0.9), R.L1(1e-7), True, 1, 1.0)
    result = fenchel.solve(p, solver=SOLVER, tol=1e-15, max_time=0.1)
    assert result.seconds < 1.0


@pytest.mark.parametrize("reg", [R.L1(1e-2), R.L1(1e-2, weights=np.arange(7.0)), R.ElasticNet(2e-2, 0.5)], ids=repr)
def test_the_smoothed_regularizer_agrees_with_differences(reg):
    rng = np.random.default_rng(0)
    part = SmoothedPart(reg, rng.uniform(0.5, 2.0, 7), 1e-2 * rng.standard_normal(7), 0.3)
    w, dw, h = rng.standard_normal(7), rng.standard_normal(7), 1e-6
    value, gradient = part.evaluate(w)
    for t in (-h, h):
        assert part.evaluate(w + t * dw)[0] == pytest.approx(value + t * float(gradient @ dw), abs=1e-10)
    change = (part.evaluate(w + h * dw)[1] - part.evaluate(w - h * dw)[1]) / (2 * h)
    ridge = SETTINGS.coefficient_ridge * part.spread**2 / part.gamma
    assert np.allclose(change, part.hessian(w) @ dw - ridge * dw, atol=1e-7)
    along = part.along(w, dw)(0.5)
    assert along.value == pytest.approx(part.evaluate(w + 0.5 * dw)[0])
    assert along.slope == pytest.approx(float(part.evaluate(w + 0.5 * dw)[1] @ dw))
    # The smoothed value is below R, and the residual is the gap of Fenchel-Young's inequality.
    assert part.residual(w) >= 0.0
    m = part.point(w)
    assert reg.value(m) + reg.conjugate(reg.dual_scale(gradient) * gradient) == pytest.approx(gradient @ m, abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_smoothing_both_parts_gives_the_optimum_on_many_rows(loss, intercept, storage):
    """So many rows that it begins with samples and leaves rows out."""
    rng = np.random.default_rng(3)
    n, d = 3000, 12
    X = rng.standard_normal((n, d)) + 2.0 * (np.arange(d) % 3)
    y = X @ np.where(np.arange(d) < 5, 1.0, 0.0) + 2.0 * rng.standard_normal(n)
    y = np.where(y > np.median(y), 1.0, -1.0) if isinstance(loss, L.Hinge) else y
    for reg in (R.L1(2e-2), R.ElasticNet(2e-2, 0.5)):
        p = fenchel.Problem(storage(X), y, loss=loss, regularizer=reg, fit_intercept=intercept)
        result = fenchel.solve(p, solver="semismooth_newton", tol=1e-6, max_time=60)
        assert result.status is fenchel.Status.CERTIFIED, str(result)
        other = fenchel.solve(p, solver=SOLVER, tol=1e-8, max_time=60)
        assert result.certificate.dual <= other.certificate.primal + 1e-12
        assert other.certificate.dual <= result.certificate.primal + 1e-12
        assert np.count_nonzero(result.coef) == np.count_nonzero(other.coef)


def test_semismooth_newton_refuses_what_it_cannot_smooth():
    p = random_problem(L.SquaredHinge(), R.L1(1e-2), True, 1, 1.0)
    with pytest.raises(fenchel.errors.IncompatibleError, match="smooths both, or none"):
        fenchel.solve(p, solver="semismooth_newton")


def test_auto_takes_factors_with_a_row_for_each_feature_where_rows_are_many():
    result = fenchel.solve(random_problem(L.Absolute(), R.L1(1e-3), True, 1, 1.0))
    assert result.solver == "SemismoothNewton" and result.status is fenchel.Status.CERTIFIED


class Lopsided(NamedTuple):
    """Of one's own: max(3 (z - y), y - z), which is 4 times the quantile loss at 1/4."""

    def value(self, z, y):
        return max(3.0 * (z - y), y - z)

    def slope(self, z, y):
        return 3.0 if z > y else -1.0


@pytest.mark.parametrize("solver", [SOLVER, "semismooth_newton"])
def test_a_loss_of_ones_own_equals_the_quantile_loss(solver):
    own = fenchel.solve(random_problem(Lopsided(), R.L1(4e-2), True, 1, 1.0), solver=solver, tol=1e-7)
    same = fenchel.solve(random_problem(L.Quantile(0.25), R.L1(1e-2), True, 1, 1.0), solver=SOLVER, tol=1e-7)
    assert own.status is same.status is fenchel.Status.CERTIFIED, str(own)
    assert own.certificate.primal == pytest.approx(4.0 * same.certificate.primal, rel=1e-6)


def test_auto_hands_steps_on_rows_over_to_cutting_planes_where_variables_are_few():
    X, y = load_wine(return_X_y=True)
    X = (X[:, :4] - X[:, :4].mean(axis=0)) / X[:, :4].std(axis=0)
    result = fenchel.solve(fenchel.Problem(X, y, loss=WeightedTopK([1.0, 0.5]), alpha=1e-5), tol=1e-6)
    assert result.status is fenchel.Status.CERTIFIED and result.solver == "BlockAscent then Bundle"


class Derivative:
    """What a line search asks of a proximal step: an increasing derivative, and values with rounding errors."""

    def __init__(self, slope, noise=0.0):
        self.slope, self.noise, self.trials = slope, noise, 0

    def value_at(self, du, dg, ds):
        return 0.0

    def along(self, du, dg, ds, t):
        self.trials += 1
        grid = np.linspace(0.0, t, 2001)
        return float(np.trapezoid([self.slope(s) for s in grid], grid)) + self.noise, self.slope(t)


@pytest.mark.parametrize("zero", [3e-4, 0.02, 0.4, 1.0, 3.7, 90.0])
@pytest.mark.parametrize("steep", [0.5, 1.0, 1e4])
def test_a_line_search_finds_the_zero_of_a_derivative_with_a_bend(zero, steep):
    """-1 up to a bend, as the derivative of a nonsmooth problem may be, then a line through the zero."""
    bend = max(zero - 1.0 / steep, 0.0)
    step = Derivative(lambda t: -1.0 if t < bend else -1.0 + (t - bend) / (zero - bend))
    t, value = DualLine(step, None, None, None, 1.0).search()
    assert abs(step.slope(t)) <= Settings().max_full_step_slope_ratio and step.trials <= 45
    assert value is not None and value < 0.0


def test_a_line_search_ends_where_rounding_hides_the_decrease():
    """The values are too high by more than the step gains; the derivative says where the minimum is."""
    step = Derivative(lambda t: -1e-20 + 2e-20 * t, noise=1e-15)
    t, _ = DualLine(step, None, None, None, 1e-20).search()
    assert t == pytest.approx(0.5) and step.trials == 2


@pytest.mark.parametrize("seed", [0, 3, 9])
def test_an_intercept_that_is_far_away_for_a_moment_is_no_error(seed):
    """Equal rows leave intercept and coefficients undetermined: a search may try an intercept whose square overflows."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 23))
    X, y, weights = (
        np.repeat(rng.standard_normal((1, 6)), n, axis=0),
        rng.standard_normal(n),
        rng.integers(0, 3, n) + 0.0,
    )
    weights[0] = 1.0
    p = fenchel.Problem(X, y, "absolute", fenchel.regularizers.L1Ball(1e5), fit_intercept=True, sample_weight=weights)
    result = fenchel.solve(p, solver="proximal_point_newton", max_time=20.0)
    order = np.argsort(y)
    median = y[order][np.searchsorted(np.cumsum(weights[order]), 0.5 * weights.sum())]
    best = weights @ np.abs(y - median) / weights.sum()
    c = result.certificate
    assert c.dual - c.floor <= best <= c.primal + c.floor
    assert c.primal == pytest.approx(best, rel=1e-4)
