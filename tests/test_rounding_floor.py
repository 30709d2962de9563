"""A tolerance below what rounding allows ends STALLED, soon and with the floor in the advice; one above it is reached."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import fenchel
from fenchel.losses import Quantile

LIMIT = 40.0  # seconds


def far_from_0(shift, seed=0, n=47, d=5):
    """Targets far from 0: rounding them hides that share of P."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + rng.standard_t(2, size=n) + shift


@pytest.mark.parametrize(
    ("loss", "regularizer", "shift", "tol"),
    [
        (Quantile(0.5), "l1", 1e6, 1e-10),
        (Quantile(0.5), "l1", 1e6, 1e-12),
        (Quantile(0.9), "l1", 1e7, 1e-8),
        ("absolute", "l1", 1e8, 1e-7),
        ("absolute", "l2", 1e8, 1e-9),
        ("squared", "l1", 1e5, 1e-13),
        ("epsilon_insensitive", "elastic_net", 1e7, 1e-9),
    ],
)
def test_a_tolerance_under_the_floor_stalls_with_the_floor_in_the_advice(loss, regularizer, shift, tol):
    X, y = far_from_0(shift)
    problem = fenchel.Problem(X, y, loss, regularizer, 0.05, fit_intercept=True)
    result = fenchel.solve(problem, tol=tol, max_time=LIMIT)
    c = result.certificate
    assert result.status is fenchel.Status.STALLED, result
    assert tol * abs(c.primal) < c.floor
    assert c.gap <= 100.0 * c.floor
    assert result.seconds < 0.5 * LIMIT
    assert f"{c.floor:.2g}" in result.advice
    easier = fenchel.solve(problem, tol=2.0 * c.floor / abs(c.primal), max_time=LIMIT)
    assert easier.converged
    assert easier.advice == fenchel.Status.CERTIFIED.advice


def test_the_warning_of_an_estimator_and_the_notebook_name_the_floor():
    X, y = far_from_0(1e7)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = fenchel.Regressor("absolute", alpha=0.05, tol=1e-12, max_time=LIMIT).fit(X, y)
    (warning,) = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert f"{model.certificate_.floor:.2g}" in str(warning.message)
    result = fenchel.solve(fenchel.Problem(X, y, "absolute", "l2", 0.05, True), tol=1e-12, max_time=LIMIT)
    assert f"{result.certificate.floor:.2g}" in result._repr_html_()


@pytest.mark.parametrize("alpha", [1e-2, 1e-4, 1e-6])
def test_a_tolerance_above_the_floor_is_not_given_up(alpha):
    """Targets that are nearly a function of the features: P is small, and the floor is near."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(47, 5))
    problem = fenchel.Problem(X, 100.0 * X @ rng.normal(size=5), Quantile(0.5), "l1", alpha, fit_intercept=True)
    assert fenchel.solve(problem, tol=1e-7, max_time=LIMIT).converged


@pytest.mark.parametrize("value", [1.0, -3e5, 1e-9])
def test_an_objective_of_0_is_named(value):
    """Constant targets are fitted exactly by the intercept: no tolerance could help."""
    X = np.random.default_rng(0).standard_normal((60, 4))
    p = fenchel.Problem(X, np.full(60, value), loss="absolute", alpha=1.0, fit_intercept=True)
    result = fenchel.solve(p, tol=1e-6, max_time=20.0)
    assert result.certificate.primal <= result.certificate.floor
    assert result.converged or "objective is 0 up to rounding" in result.advice
    assert "Ask for tol" not in result.advice
