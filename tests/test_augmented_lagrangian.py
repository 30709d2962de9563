"""AugmentedLagrangian: both of the paper's algorithms reach the optimum, and their certificate is one."""

from __future__ import annotations

import numpy as np
import pytest

import fenchel
from fenchel.errors import InputError
from fenchel.oracles.scalar import Oracle
from fenchel.solvers import AugmentedLagrangian
from fenchel.solvers.base import Start
from problems import LOSSES, REGULARIZERS, optimum, problem


@pytest.mark.parametrize("inner", ["exact", "each_step"])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "quantile", "squared", "poisson"])
def test_both_algorithms_reach_the_optimum(inner, loss):
    for reg in ("l2", "elastic_net"):
        p = problem(LOSSES[loss], REGULARIZERS[reg], intercept=True, weighted=True)
        result = fenchel.solve(p, solver=AugmentedLagrangian(inner=inner), tol=1e-6, max_time=60)
        assert result.status is fenchel.Status.CERTIFIED
        best = optimum(p)
        assert result.certificate.dual - 1e-6 <= best <= result.certificate.primal + 1e-6


@pytest.mark.parametrize(("mu", "eta"), [(1.0, 0.1), (1.0, 1.0), (10.0, 1.0), (0.1, 0.5)])
def test_the_papers_parameters(mu, eta):
    p = problem(LOSSES["hinge"], REGULARIZERS["l2"], intercept=True)
    result = fenchel.solve(p, solver=AugmentedLagrangian(mu=mu, eta=eta), tol=1e-6, max_time=60)
    assert result.status is fenchel.Status.CERTIFIED


@pytest.mark.parametrize("inner", ["exact", "each_step"])
def test_the_certificate_never_claims_more_than_is_true(inner):
    """The gap at fixed b = s is 1e-16 far from the optimum when s is held; ours bounds the distance at every iterate."""
    p = problem(LOSSES["hinge"], REGULARIZERS["l2"], intercept=True)
    best = optimum(p)
    begin = Start(np.zeros(p.d), 3.0)  # a multiplier far off, which a small eta hardly moves
    solver = AugmentedLagrangian(inner=inner, mu=100.0, eta=1e-3)
    for k, iterate in enumerate(solver.iterates(Oracle(p), begin)):
        if iterate.primal is not None:
            assert iterate.dual <= best + 1e-7
            assert iterate.primal >= best - 1e-7
            assert abs(p.weights @ iterate.dual_point) < 1e-12
        if k == 100:
            break


def test_exact_inner_solves_contract_as_the_analysis_says():
    """Squared loss: with s - s* = e, an exact inner solve gives e (1 - eta r / (mu + r)); r from the Schur complement."""
    rng = np.random.default_rng(1)
    n, d, mu, eta, alpha = 30, 3, 20.0, 0.7, 0.1
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    p = fenchel.Problem(X, y, loss="squared", alpha=alpha, fit_intercept=True)
    M = np.linalg.inv(np.eye(n) + X @ X.T / (alpha * n))  # u = M (b - y): the dual optimum at fixed intercept
    best, r = float(M.sum(axis=0) @ y / M.sum()), float(M.sum())
    solver = AugmentedLagrangian(mu=mu, eta=eta, inner="exact")
    from fenchel.solvers.augmented_lagrangian.solver import Augmented

    state = Augmented(Oracle(p), Start(np.zeros(d)))
    state.set_penalty(n / mu)
    state.centre = 0.0
    for _ in range(3):
        before = state.centre - best
        for _ in range(300):
            state.sweep(np.random.default_rng(0), full=True)
        state.follow(solver.eta)
        assert state.centre - best == pytest.approx(before * (1.0 - eta * r / (mu + r)), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("arguments", [{"mu": 0.0}, {"mu": -1.0}, {"eta": 0.0}, {"inner": "sometimes"}])
def test_bad_parameters_are_refused(arguments):
    with pytest.raises(InputError, match=next(iter(arguments))):
        AugmentedLagrangian(**arguments)
