"""No penalty: the classical estimates, and an error with a proof where coefficients would grow without bound."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor

import fenchel
from cli_case import REAL, X, csv_text, one_line
from cli_case import run_as_is as run
from fenchel import Classifier, Regressor
from fenchel import losses as L
from fenchel import regularizers as R
from fenchel.errors import InputError, NoMinimumError
from fenchel.solving.attainment import falling_sign

N, D = 120, 4


def data(noise, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((N, D)) + np.array([0.0, 3.0, 0.0, -1.0])
    z = (Z - Z.mean(axis=0)) @ rng.standard_normal(D)
    return Z, z + noise * rng.standard_normal(N), rng


@pytest.mark.parametrize("regularizer", ["l2", "l1", "elastic_net", "no_penalty"])
def test_without_penalty_the_estimates_are_the_classical_ones(regularizer):
    Z, z, rng = data(1.0)
    given = {"regularizer": regularizer, "alpha": None if regularizer == "no_penalty" else 0.0, "tol": 1e-9}
    ours, theirs = Regressor(**given).fit(Z, z), LinearRegression().fit(Z, z)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-3)
    labels = z > 0
    one, other = Classifier("logistic", **given).fit(Z, labels), LogisticRegression(C=np.inf, tol=1e-9).fit(Z, labels)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=2e-3)
    counts = rng.poisson(np.exp(0.3 * z)).astype(float)
    a, b = Regressor("poisson", **given).fit(Z, counts), PoissonRegressor(alpha=0.0, tol=1e-9).fit(Z, counts)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-3)
    assert ours.converged_ and one.converged_ and a.converged_


class OwnLogistic(NamedTuple):
    """A user's loss that falls for ever."""

    def value(self, z, y):
        return np.log1p(np.exp(-abs(z))) + max(-y * z, 0.0)

    def slope(self, z, y):
        return -y / (1.0 + np.exp(y * z)) if y * z < 500.0 else 0.0


def separated(margin=0.0):
    Z, z, _ = data(0.0)
    return Z, np.where(z > margin, 1.0, -1.0)


@pytest.mark.parametrize(
    ("loss", "storage"),
    [
        (L.Logistic(), np.asarray), (L.Logistic(), sp.csr_matrix), (L.Logistic(), lambda A: A.astype(np.float32)),
        (L.Exponential(), np.asarray), (OwnLogistic(), np.asarray),
    ],
)  # fmt: skip
def test_separated_rows_are_an_error_soon(loss, storage):
    Z, y = separated()
    problem = fenchel.Problem(storage(Z), y, loss=loss, regularizer="l2", alpha=0.0, fit_intercept=True)
    began = time.process_time()
    with pytest.raises(
        NoMinimumError, match=r"has no minimum.*columns 0, 1, 2, 3 of X and the intercept.*alpha > 0"
    ) as told:
        fenchel.solve(problem, max_time=120)
    assert time.process_time() - began < 20.0
    assert np.all(y * (problem.X @ told.value.coef + told.value.intercept) > 0.0)


def test_the_direction_is_found_though_no_iterate_separates_the_rows():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((1500, 12))
    y = np.sign(Z @ rng.standard_normal(12))
    with pytest.raises(NoMinimumError, match="1500 of 1500 rows"):
        fenchel.solve(
            fenchel.Problem(Z, y, loss="logistic", regularizer=R.NoPenalty(), fit_intercept=True), max_time=120
        )


def rare_word():
    """Column 4 occurs in rows of one label only; the others overlap."""
    Z, z, _ = data(1.0)
    y = np.where(z > 0, 1.0, -1.0)
    word = np.zeros(N)
    word[np.flatnonzero(y > 0)[:5]] = 1.0
    return np.column_stack([Z, word]), y


def test_a_column_that_separates_a_few_rows():
    """The infimum is positive, so that most tolerances can be certified; where one cannot, the reason is found."""
    A, y = rare_word()
    problem = fenchel.Problem(A, y, loss="logistic", regularizer=R.NoPenalty(), fit_intercept=True)
    assert fenchel.solve(problem, tol=1e-5).converged
    with pytest.raises(NoMinimumError, match="column 4 of X, which are not penalised.* 5 of 120 rows") as told:
        fenchel.solve(problem, tol=1e-14)
    np.testing.assert_array_equal(told.value.coef, [0.0, 0.0, 0.0, 0.0, 1.0])


def test_only_unpenalised_columns_count():
    A, y = rare_word()
    for weights in ([1.0, 1.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]):
        assert fenchel.solve(fenchel.Problem(A, y, "logistic", R.L2(0.01, weights)), tol=1e-5).converged
    Z, y = separated()
    assert fenchel.solve(
        fenchel.Problem(Z, y, "logistic", R.L2(1e-3, weights=[1.0, 1.0, 1.0, 0.0])), tol=1e-5
    ).converged
    both = np.column_stack([Z, y])
    with pytest.raises(NoMinimumError, match="column 4 of X, "):
        fenchel.solve(fenchel.Problem(both, y, "logistic", R.L1(1e-3, weights=[1.0, 1.0, 1.0, 1.0, 0.0])))


def test_rows_without_weight_do_not_count():
    Z, y = separated()
    wrong = y.copy()
    wrong[:3] *= -1.0
    weights = np.ones(N)
    assert fenchel.solve(fenchel.Problem(Z, wrong, "logistic", "l2", 0.0, True, weights), tol=1e-5).converged
    weights[:3] = 0.0
    with pytest.raises(NoMinimumError, match="117 of 117 rows"):
        fenchel.solve(fenchel.Problem(Z, wrong, "logistic", "l2", 0.0, True, weights))


def test_counts_of_zero_fall_for_ever_and_others_do_not():
    Z, _, rng = data(0.0)
    first = (np.arange(N) < 5) * 1.0
    y = np.where(first > 0, 0.0, rng.poisson(2.0, N))
    problem = fenchel.Problem(
        np.column_stack([Z, first]), y, loss="poisson", regularizer=R.NoPenalty(), fit_intercept=True
    )
    with pytest.raises(NoMinimumError, match="Poisson has no minimum: the coefficients of column 4 of X"):
        fenchel.solve(problem, tol=1e-14)


def test_envelopes_fall_as_what_they_smooth():
    smoothed = (
        L.make(L.Moreau(L.Logistic(), 0.5)),
        L.make(L.Moreau(L.Hinge(), 0.5)),
        L.make(L.Moreau(L.Absolute(), 0.5)),
    )
    assert [falling_sign(loss, -1.0) for loss in smoothed] == [-1.0, 0.0, 0.0]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_losses_that_become_zero_have_a_minimum(loss):
    Z, y = separated()
    result = fenchel.solve(
        fenchel.Problem(Z, y, loss=loss, regularizer=R.NoPenalty(), fit_intercept=True), max_iter=200
    )
    assert result.certificate.primal < 1e-3


def test_estimators_and_the_command_line(tmp_path, monkeypatch, capsys):
    Z, y = separated()
    with pytest.raises(NoMinimumError, match="no minimum"):
        Classifier("logistic", alpha=0.0).fit(Z, y)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "real.csv").write_text(csv_text(REAL))
    words = ["train", "real.csv", "--loss", "squared", "--intercept", "--alpha", "0", "--model", "m", "-q"]
    assert run(*words) == 0
    assert fenchel.load("m").regularizer == R.NoPenalty()
    np.testing.assert_allclose(fenchel.load("m").predict(X), LinearRegression().fit(X, REAL).predict(X), atol=1e-3)
    capsys.readouterr()
    assert run(*words, "--nonnegative") == 1
    assert "--alpha 1e-9" in one_line(capsys)


@pytest.mark.parametrize("name", ["entropy", "unnormalised_entropy", "group_lasso"])
def test_more_than_penalties_keep_their_strength(name):
    with pytest.raises(InputError, match=f"alpha=0 leaves no penalty, and '{name}'"):
        R.make(name, 0.0)
