"""Working sets: paths, large sets, other codes' answers, and ends at every alpha."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression

import fenchel
from fenchel import losses as L
from fenchel import regularizers as R
from fenchel.engines import Local
from fenchel.kernels.column_descent import gram_descent
from fenchel.oracles.scalar import Oracle
from fenchel.selection import requirements
from fenchel.solvers import WorkingSet
from fenchel.solvers.working_set import proximal_newton
from fenchel.solvers.working_set.column_set import ColumnSet
from fenchel.solvers.working_set.settings import SETTINGS, Settings
from fenchel.solvers.working_set.solver import first_size
from fenchel.solvers.working_set.sparse_quadratic import minimise, violation

STORAGES = [pytest.param(np.asarray, id="dense"), pytest.param(sp.csr_matrix, id="csr")]


def data(n=300, d=500, share=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, share, format="csr", random_state=seed, data_rvs=rng.standard_normal)
    w = np.where(rng.random(d) < 0.1, 2.0 * rng.standard_normal(d), 0.0)
    z = X @ w + 0.3 + 0.5 * rng.standard_normal(n)
    return X.toarray(), z, np.where(z > 0, 1.0, -1.0)


def solved(p, tol=1e-8, **more):
    result = fenchel.solve(p, solver="working_set", tol=tol, max_time=60, **more)
    assert result.status is fenchel.Status.CERTIFIED, str(result)
    return result


@pytest.mark.parametrize("storage", STORAGES)
def test_a_path_is_certified_and_saves_passes(storage):
    X, _, y = data()
    warm, cold, last = [], [], None
    for alpha in np.geomspace(1e-2, 1e-3, 8):
        p = fenchel.Problem(storage(X), y, loss="logistic", regularizer="l1", alpha=alpha, fit_intercept=True)
        last = solved(p, 1e-6, start=last)
        warm.append(last.passes)
        cold.append(solved(p, 1e-6).passes)
    assert sum(warm[1:]) < 0.8 * sum(cold[1:])  # the first one starts from nothing too
    assert solved(p, 1e-6, start=last).n_iter <= 1


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("free", [False, True])
def test_squared_loss_equals_scikit_learn(storage, free):
    X, y, _ = data()
    for alpha in (3e-2, 1e-3):
        for ours, theirs in (
            (R.L1(alpha), Lasso(alpha, fit_intercept=free, tol=1e-10, max_iter=100000)),
            (R.ElasticNet(alpha, 0.5), ElasticNet(alpha, l1_ratio=0.5, fit_intercept=free, tol=1e-10, max_iter=100000)),
        ):
            p = fenchel.Problem(storage(X), y, loss="squared", regularizer=ours, fit_intercept=free)
            result, other = solved(p), theirs.fit(X, y)
            assert result.coef == pytest.approx(other.coef_, abs=1e-4)
            found = fenchel.certify(p, other.coef_, float(other.intercept_))
            assert result.certificate.dual <= found.primal + found.floor


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("free", [False, True])
def test_sets_too_large_for_a_gram_matrix(storage, free, monkeypatch):
    """The same answers from columns as from Gram matrices; supports of several hundred, more columns than rows."""
    X, z, y = data(d=900)
    for loss, targets, reg in (
        ("logistic", y, R.L1(1e-4)),
        ("squared", z, R.ElasticNet(1e-2, 0.1)),
        ("squared", z, R.ElasticNet(1e-2, 0.0)),
    ):
        p = fenchel.Problem(storage(X), targets, loss=loss, regularizer=reg, fit_intercept=free)
        direct = solved(p)
        monkeypatch.setattr(proximal_newton, "SETTINGS", Settings(max_gram_columns=20))
        by_columns = solved(p)
        monkeypatch.undo()
        assert by_columns.certificate.primal == pytest.approx(direct.certificate.primal, rel=1e-7)
        assert by_columns.certificate.dual <= direct.certificate.primal + direct.certificate.floor


def test_first_sets_of_dense_rows_grow_with_what_a_pass_costs():
    rng = np.random.default_rng(0)
    sizes = {}
    for d in (50, 10_000, 200_000):
        X = rng.standard_normal((2, d))
        p = fenchel.Problem(X, [1.0, -1.0], loss="logistic", regularizer="l1", alpha=0.1)
        sparse = fenchel.Problem(sp.csr_matrix(X), [1.0, -1.0], loss="logistic", regularizer="l1", alpha=0.1)
        sizes[d] = first_size(p)
        assert first_size(sparse) == SETTINGS.min_first_set_columns
    assert SETTINGS.min_first_set_columns == sizes[50] < sizes[10_000]
    assert sizes[10_000] < sizes[200_000] == SETTINGS.max_first_set_columns


def test_logistic_is_not_worse_than_liblinear():
    X, _, y = data()
    alpha = 3e-3
    p = fenchel.Problem(X, y, loss="logistic", regularizer="l1", alpha=alpha)
    C = 1.0 / (alpha * X.shape[0])
    other = LogisticRegression(l1_ratio=1.0, C=C, solver="liblinear", fit_intercept=False, tol=1e-8).fit(X, y)
    found = fenchel.certify(p, other.coef_.ravel())
    result = solved(p)
    assert result.certificate.dual <= found.primal + found.floor
    assert result.certificate.primal <= found.primal * (1 + 1e-8)


def test_float32_and_threads_make_no_difference():
    rng = np.random.default_rng(3)
    X = sp.random(4000, 400, 0.25, format="csr", random_state=0, dtype=np.float32)
    y = np.where(X @ rng.standard_normal(400) + 0.3 * rng.standard_normal(4000) > 0, 1.0, -1.0)
    p = fenchel.Problem(X, y, loss="logistic", regularizer="l1", alpha=1e-3)
    assert len(ColumnSet(Oracle(p), None).parts) > 1
    one, two = (solved(p, 1e-6, engine=Local(k)) for k in (1, 2))
    assert np.array_equal(one.coef, two.coef)
    wide = solved(fenchel.Problem(X.astype(np.float64), y, loss="logistic", regularizer="l1", alpha=1e-3))
    assert one.certificate.primal == pytest.approx(wide.certificate.primal, rel=2e-6)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("shape", [(60, 300), (300, 20)])
def test_every_alpha_ends_with_an_answer_or_an_honest_gap(loss, shape):
    X, z, y = data(*shape, share=0.5)
    X = np.c_[X, X[:, :7], np.zeros((X.shape[0], 2))]  # columns that are alike, and some that are nothing
    for alpha in (1e-9, 1e-6, 1e-3, 1e-1, 10.0):
        for reg in (R.L1(alpha), R.ElasticNet(alpha, 0.5)):
            p = fenchel.Problem(X, y if loss == "logistic" else z, loss=loss, regularizer=reg, fit_intercept=True)
            result = fenchel.solve(p, solver="working_set", tol=1e-6, max_time=60)
            assert result.status in (fenchel.Status.CERTIFIED, fenchel.Status.STALLED), str(result)
            assert alpha < 1e-6 or result.status is fenchel.Status.CERTIFIED, str(result)


@pytest.mark.parametrize("storage", STORAGES)
def test_a_set_is_the_columns_of_the_matrix(storage):
    X, _, y = data()
    oracle = Oracle(fenchel.Problem(storage(X), y, loss="logistic", regularizer="l1", alpha=0.1))
    rng = np.random.default_rng(1)
    chosen = np.sort(rng.choice(X.shape[1], 40, replace=False))
    columns, A = ColumnSet(oracle, chosen), X[:, chosen]
    x, u, weights = rng.standard_normal(40), rng.standard_normal(X.shape[0]), rng.random(X.shape[0])
    assert columns.scores(x) == pytest.approx(A @ x)
    assert columns.combine(u) == pytest.approx(A.T @ (u / X.shape[0]), abs=1e-12)
    assert columns.gram(weights) == pytest.approx(A.T @ (weights[:, None] * A), abs=1e-12)
    assert columns.squares(weights) == pytest.approx(np.diag(A.T @ (weights[:, None] * A)), abs=1e-12)


@pytest.mark.parametrize("rank", [10, 40])
def test_the_quadratic_is_minimised_also_where_it_is_singular(rank):
    rng = np.random.default_rng(rank)
    B = rng.standard_normal((rank, 40))
    H, q, x, lam = B.T @ B / 40, rng.standard_normal(40), rng.standard_normal(40), np.full(40, 0.5)
    lam[-1] = 0.0 if rank == 40 else 0.5  # a free coordinate
    if rank < 40:
        q = H @ rng.standard_normal(40)  # else the quadratic part could fall for ever faster than the rest rises
    y = minimise(H, q, x, lam)
    assert violation(y, q + H @ (y - x), lam) <= 1e-3 * violation(x, q, lam)
    a, b = x.copy(), q.copy()
    gram_descent(H, lam, a, b, 20000, 0.0)

    def value(v):
        return q @ (v - x) + 0.5 * (v - x) @ H @ (v - x) + lam @ np.abs(v)

    assert value(y) <= value(a) + 1e-6


def test_what_it_claims():
    X, z, y = data(30, 5)
    for loss, targets, reg, claims in (
        ("logistic", y, "l1", True),
        (L.Moreau(L.Hinge(), 0.1), y, "elastic_net", True),
        ("hinge", y, "l1", False),
        ("absolute", z, "elastic_net", False),
        ("logistic", y, "l2", False),
    ):
        p = fenchel.Problem(X, targets, loss=loss, regularizer=reg, alpha=0.1)
        assert requirements.fits(WorkingSet, p) == claims
