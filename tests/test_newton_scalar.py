"""Newton steps for losses of one score: systems against their definition, and answers where steps are hard to find."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import lapack

import fenchel
from fenchel.engines import Local
from fenchel.oracles.scalar import Oracle
from fenchel.solvers import NewtonCG
from fenchel.solvers.dual_ascent.initial_epochs import DualEpochs, copied, dual_start_pays
from fenchel.solvers.newton_cg.passes import Passes, samples
from fenchel.solvers.newton_cg.scalar import claim
from fenchel.solvers.newton_cg.scalar_systems import Systems, aim, cholesky, hessian_at
from problems import LOSSES, K, problem

STORAGES = pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
QUADRATIC = fenchel.regularizers.Quadratic(0.05, K)


def hessian_by_definition(p, w, b):
    """sum p loss'' x x' + R'' over rows with a constant feature if the intercept is free, which is then eliminated."""
    X = np.asarray(p.X.todense()) if sp.issparse(p.X) else p.X
    z = X @ w + p.offset + b
    h = p.weights * np.array([p.loss.curvature(a, y) for a, y in zip(z, p.y, strict=True)])
    H = X.T @ (h[:, None] * X) + p.regularizer.hessian(p.d)
    return H - np.outer(h @ X, h @ X) / h.sum() if p.fit_intercept else H


@STORAGES
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("regularizer", [QUADRATIC, fenchel.regularizers.L2(0.05)], ids=["quadratic", "l2"])
def test_products_factors_and_directions_are_those_of_the_hessian(storage, free, regularizer):
    p = problem(LOSSES["logistic"], regularizer, free, weighted=True, offset=True, storage=storage)
    w, b, v = np.array([0.3, -0.2, 0.5]), 0.1 * free, np.array([1.0, 2.0, -1.0])
    passes = Passes(Oracle(p))
    point = passes.evaluate(w, b)
    value, g, slopes = Oracle(p).risk(w, b)
    assert point.slopes == pytest.approx(slopes if free else 0.0, rel=1e-12)
    assert point.risk == pytest.approx(value, rel=1e-12)
    assert point.g == pytest.approx(g, rel=1e-12)
    H, expected = hessian_at(passes, point), hessian_by_definition(p, w, b)
    assert H(v) == pytest.approx(expected @ v, rel=1e-10)
    assert cholesky(H)(expected @ v) == pytest.approx(v, rel=1e-9)
    right = np.array([1.0, 0.0, -2.0])
    by_products = Systems(p)
    by_products.due = lambda costs, fresh: False
    assert by_products.direction(H, right, 1e-24) == pytest.approx(np.linalg.solve(expected, right), rel=1e-9)
    assert Systems(p).direction(H, right, 0.0) == pytest.approx(np.linalg.solve(expected, right), rel=1e-9)


def test_a_factor_that_fails_leaves_nothing_behind_when_it_is_tried_again(monkeypatch):
    p = problem(LOSSES["logistic"], QUADRATIC, True, weighted=True, offset=True)
    w, v, real, failures = np.array([0.3, -0.2, 0.5]), np.array([1.0, 2.0, -1.0]), lapack.dpotrf, []

    def fails_twice(a, **options):
        if len(failures) == 2:
            return real(a, **options)
        failures.append(a)
        a[np.tril_indices(3)] = np.nan  # the triangle that it may write over
        return a, 1

    monkeypatch.setattr(lapack, "dpotrf", fails_twice)
    passes = Passes(Oracle(p))
    solved = cholesky(hessian_at(passes, passes.evaluate(w, 0.1)))
    assert len(failures) == 2
    assert solved(hessian_by_definition(p, w, 0.1) @ v) == pytest.approx(v, rel=1e-9)


def test_the_aim_is_below_the_gap_and_no_further_than_the_model_allows():
    for gap in 10.0 ** np.linspace(-12, 3, 200):
        goal = aim(gap, 1.0)
        assert gap * min(gap, 1e-2) <= goal <= gap * 0.9
    assert aim(0.0, 1.0) == aim(np.inf, 1.0) == 0.0


def many_rows(n=20_000, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] - X[:, 1] + rng.logistic(size=n) > 0, 1.0, -1.0)


@STORAGES
def test_samples_weigh_one_and_are_rows_of_the_problem(storage):
    X, y = many_rows(64_000)
    p = fenchel.Problem(storage(X), y, loss="logistic", alpha=1e-3, sample_weight=np.arange(y.size) % 3)
    found = list(samples(Oracle(p)))
    assert [s.problem.n for s in found] == [1000, 8000]
    for s in found:
        weights = s.problem.weights
        assert weights.sum() == pytest.approx(1.0)
        passes = Passes(s)
        point = passes.evaluate(np.eye(12)[3], 0.0)
        assert np.isin(passes.points[point.at].z[weights > 0.0], X[:, 3]).all()


@pytest.mark.parametrize(
    ("columns", "loss", "handed_on"),
    [(12, "squared_hinge", "none"), (120, "squared_hinge", "new"), (120, "logistic", "old")],
)
def test_factor_that_is_handed_on_from_a_sample(columns, loss, handed_on):
    """None where one of all rows is cheap, else one of the sample's last Hessian where rows have become flat."""
    X, y = many_rows(40_000)
    X = sp.csr_matrix(np.tile(X, columns // 12) * (np.random.default_rng(4).random((y.size, columns)) < 0.1))
    p = fenchel.Problem(X, y, loss=loss, alpha=1e-3)
    oracle = Oracle(p)
    passes, systems = Passes(next(samples(oracle))), Systems(p)
    point = passes.evaluate(np.full(columns, 0.5), 0.0)
    systems.factor, systems.steps = (old := lambda v: v), 1
    systems.hand_on(passes, point, Passes(oracle).costs)
    assert systems.factor is old  # it has served well
    systems.steps = 2
    systems.hand_on(passes, point, Passes(oracle).costs)
    if handed_on == "new":
        v = np.linspace(-1.0, 1.0, columns)
        assert systems.factor(hessian_at(passes, point)(v)) == pytest.approx(v, rel=1e-8, abs=1e-10)
    else:
        assert systems.factor is (old if handed_on == "old" else None)


@STORAGES
def test_threads_make_no_difference(storage):
    X, y = many_rows(30_000)
    p = fenchel.Problem(storage(np.tile(X, 2)), y, loss="logistic", alpha=1e-4, fit_intercept=True)
    one, two = (fenchel.solve(p, solver="newton_cg", tol=1e-8, engine=Local(k)) for k in (1, 2))
    assert one.status is fenchel.Status.CERTIFIED
    assert np.array_equal(one.coef, two.coef)
    assert one.intercept == two.intercept


def test_a_sample_that_misleads_does_no_harm():
    """Rows in the millions that no sample is likely to hold: at the sample's solution they overflow."""
    X, y = many_rows()
    y = np.exp(np.minimum(0.5 * X[:, 0], 2.0))
    X[:: y.size // 5] *= -1e6
    p = fenchel.Problem(X, y, loss="poisson", alpha=1e-3, fit_intercept=True)
    assert fenchel.solve(p, solver=NewtonCG(), tol=1e-6, max_time=60).status is fenchel.Status.CERTIFIED


@pytest.mark.parametrize("loss", ["exponential", "poisson"])
def test_from_where_full_steps_are_far_too_short_or_too_long(loss):
    p = problem(LOSSES[loss], fenchel.regularizers.L2(1e-3), intercept=True, offset=True)
    for size in (1.0, 10.0, 60.0):
        start = (size * np.array([1.0, -1.0, 0.5]), -size)
        result = fenchel.solve(p, solver="newton_cg", tol=1e-8, start=start, max_time=60)
        assert result.status is fenchel.Status.CERTIFIED, str(result)


@pytest.mark.parametrize("free", [False, True])
def test_a_start_where_no_row_has_curvature(free):
    p = problem(fenchel.losses.SmoothedHinge(0.1), fenchel.regularizers.L2(1e-6), free)
    passes = Passes(Oracle(p))
    passes.evaluate(np.zeros(p.d), 0.0)
    assert passes.flat_rows(1) == p.n
    assert fenchel.solve(p, solver="newton_cg", tol=1e-8, max_time=60).status is fenchel.Status.CERTIFIED


def wide(free, loss="logistic", alpha=1e-4):
    rng = np.random.default_rng(3)
    X = sp.random(300, 6000, density=0.01, format="csr", random_state=4)
    y = np.where(X @ rng.standard_normal(6000) > 0.3, 1.0, -1.0)
    return fenchel.Problem(X, y, loss=loss, alpha=alpha, fit_intercept=free)


@pytest.mark.parametrize("free", [False, True])
def test_dual_epochs_bring_wide_problems_near_the_solution(free):
    p = wide(free)
    assert dual_start_pays(p)
    oracle = Oracle(p)
    best = fenchel.solve(p, solver="newton_cg", tol=1e-9)
    assert best.status is fenchel.Status.CERTIFIED
    copy = copied(oracle, np.random.default_rng(0))
    epochs = DualEpochs(oracle, copy.sample, np.random.default_rng(0))
    looks = list(epochs.evaluations(1e-4))
    w = copy.columns.original(epochs.v)
    value = oracle.risk(w, epochs.centre)[0] + p.regularizer.value(w)
    assert value - best.certificate.primal < 0.01 * abs(best.certificate.primal)
    if not free:
        assert looks[0] and not looks[-1]  # there was a time to look
        found = fenchel.certify(p, w, 0.0, copy.rows_back(epochs.u))
        assert found.dual == pytest.approx(epochs.dual(), rel=1e-9)
        assert found.relative_gap < 1e-4


def test_many_features_without_a_factor_and_a_dense_matrix_without_dual_epochs():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 5200)) / 70.0
    p = fenchel.Problem(X, np.sign(X[:, 0]), loss="logistic", alpha=1e-3, fit_intercept=True)
    assert not dual_start_pays(p)
    assert fenchel.solve(p, solver="newton_cg", tol=1e-8, max_time=60).status is fenchel.Status.CERTIFIED


@pytest.mark.parametrize("loss", ["logistic", "squared", "huber", "poisson", "exponential", "squared_hinge"])
def test_any_strength_ends_certified_or_stalled(loss):
    for alpha in 10.0 ** np.arange(-9, 2):
        for free in (False, True):
            p = problem(LOSSES[loss], fenchel.regularizers.L2(alpha), free)
            result = fenchel.solve(p, solver="newton_cg", tol=1e-6, max_time=60)
            assert result.status is fenchel.Status.CERTIFIED, (alpha, str(result))


def test_warm_starts_save_steps():
    X, y = many_rows(3000)
    p = fenchel.Problem(X, y, loss="logistic", alpha=1e-3)
    first = fenchel.solve(p, solver="newton_cg", tol=1e-6)
    again = fenchel.solve(fenchel.Problem(X, y, loss="logistic", alpha=8e-4), solver="newton_cg", start=first)
    assert again.status is fenchel.Status.CERTIFIED
    assert again.n_iter < first.n_iter


def test_what_is_claimed_with_an_offset_is_about_what_is_certified():
    easy = problem(LOSSES["poisson"], fenchel.regularizers.L2(0.05), intercept=True)
    p = fenchel.Problem(
        easy.X, easy.y, loss="poisson", alpha=0.05, fit_intercept=True, offset=np.linspace(-5.0, -1.0, easy.n)
    )
    best = fenchel.solve(p, solver="newton_cg", tol=1e-9)
    w, b = best.coef + 1e-3, best.intercept + 1e-3
    point = Passes(Oracle(p)).evaluate(w, b)
    claimed, true = point.value - claim(Oracle(p), point), fenchel.certify(p, w, b).gap
    assert true <= 1.5 * claimed <= 3.0 * true
