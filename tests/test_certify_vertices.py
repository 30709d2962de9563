"""Coefficients that a linear program found optimal, judged without a dual point: losses of straight pieces with L1."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

import fenchel
from fenchel import losses as L


def solved(X, y, p, alpha, below, above, eps, intercept):
    """(w, b, P*) of sum p (above (y - z - eps)+ + below (z - y - eps)+) + alpha |w|_1 by HiGHS."""
    n, d = X.shape
    cost = np.concatenate([np.full(2 * d, alpha), [0.0], p * above, p * below])
    ones, eye, none = np.full((n, 1), float(intercept)), np.eye(n), np.zeros((n, n))
    A = np.vstack([np.hstack([-X, X, -ones, -eye, none]), np.hstack([X, -X, ones, none, -eye])])
    bounds = [(0.0, None)] * (2 * d) + [(None, None)] + [(0.0, None)] * (2 * n)
    found = linprog(cost, A, np.concatenate([eps - y, eps + y]), bounds=bounds, method="highs")
    return found.x[:d] - found.x[d : 2 * d], found.x[2 * d] if intercept else 0.0, found.fun


LOSSES = {
    "median": (L.Quantile(0.5), 0.5, 0.5, 0.0),
    "quantile": (L.Quantile(0.85), 0.15, 0.85, 0.0),
    "absolute": (L.Absolute(), 1.0, 1.0, 0.0),
    "epsilon": (L.EpsilonInsensitive(0.3), 1.0, 1.0, 0.3),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("shape", [(47, 5), (150, 12), (300, 40), (40, 60)])
def test_an_optimal_vertex_has_no_gap(name, shape):
    loss, below, above, eps = LOSSES[name]
    rng = np.random.default_rng(sum(shape))
    X = rng.normal(size=shape)
    y = X[:, :3] @ [1.0, -2.0, 0.5] + rng.standard_t(2, size=shape[0]) + 1.0
    for intercept, weighted, storage in ((True, False, np.asarray), (False, True, sp.csr_matrix)):
        s = rng.uniform(0.2, 2.0, shape[0]) if weighted else np.ones(shape[0])
        w, b, best = solved(X, y, s / s.sum(), 0.02, below, above, eps, intercept)
        problem = fenchel.Problem(storage(X), y, loss, "l1", 0.02, intercept, sample_weight=s)
        found = fenchel.certify(problem, w, b)
        assert found.primal == pytest.approx(best, rel=1e-9)
        assert found.relative_gap <= 1e-6
        assert found.dual <= best * (1.0 + 1e-9)


def test_hinge_with_l1():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 15))
    y = np.where(X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=120) > 0, 1.0, -1.0)
    # (1 - y z)+ is (1 - y z) above 0 and nothing below
    w, b, best = solved(X * y[:, None], np.ones(120), np.full(120, 1 / 120), 0.02, 0.0, 1.0, 0.0, False)
    found = fenchel.certify(fenchel.Problem(X, y, "hinge", "l1", 0.02), w, b)
    assert found.primal == pytest.approx(best, rel=1e-9)
    assert found.relative_gap <= 1e-6


def test_coefficients_of_six_digits_and_bad_ones():
    """As other programs print them: the gap is that of the rounding; what is not optimal stays so."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 8))
    y = X[:, 0] + rng.normal(size=100)
    w, b, best = solved(X, y, np.full(100, 0.01), 0.03, 0.5, 0.5, 0.0, True)
    problem = fenchel.Problem(X, y, L.Quantile(0.5), "l1", 0.03, True)
    assert fenchel.certify(problem, np.round(w, 6), round(b, 6)).relative_gap <= 1e-5
    worse = fenchel.certify(problem, w + 0.1, b)
    assert worse.dual <= best * (1.0 + 1e-9) < worse.primal
    assert worse.relative_gap >= (worse.primal - best) / worse.primal - 1e-9
