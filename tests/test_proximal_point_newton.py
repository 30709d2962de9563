"""Proximal points with semismooth Newton: equal to CVXPY on random problems, the same for sparse rows, warm starts, limits."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from fenchel import losses as L
from fenchel import regularizers as R
from test_solvers import reference

LOSSES = [L.Hinge(), L.Absolute(), L.Quantile(0.9), L.EpsilonInsensitive(0.1)]
SOLVER = "proximal_point_newton"


def random_problem(loss, reg, intercept, seed, scale, storage=np.asarray):
    """Columns that are not centred, of different scales; weights and offsets."""
    rng = np.random.default_rng(seed)
    n, d = (40, 7) if seed % 2 else (15, 25)
    X = scale * (rng.standard_normal((n, d)) * rng.uniform(0.3, 3.0, d) + rng.uniform(-3.0, 3.0, d))
    y = X @ (rng.standard_normal(d) / scale) + 0.5 * rng.standard_normal(n)
    y = np.where(y > np.median(y), 1.0, -1.0) if isinstance(loss, L.Hinge) else y
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
    "reg", [R.L1(0.3), R.ElasticNet(0.3, 0.4), R.L2(0.3), R.UnnormalisedEntropy(0.3), R.Entropy(0.3)]
)
def test_prox_jacobians_are_derivatives_of_the_prox(reg):
    x, step, h = np.array([1.3, -0.7, 0.2, 2.0]), 0.8, 1e-6
    J = reg.prox_jacobian(x, step).toarray()
    for j in range(x.size):
        e = h * np.eye(x.size)[j]
        assert np.allclose((reg.prox(x + e, step) - reg.prox(x - e, step)) / (2 * h), J[:, j], atol=1e-6)


def test_auto_takes_it_for_few_rows_without_smooth_parts():
    result = fenchel.solve(random_problem(L.Absolute(), R.L1(1e-3), True, 1, 1.0))
    assert result.solver == "ProximalPointNewton" and result.status is fenchel.Status.CERTIFIED
