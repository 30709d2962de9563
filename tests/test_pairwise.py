"""PairwiseAscent: exact steps on two rows for every loss, and the constraint sum p u = 0 at every moment."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar

import fenchel
from fenchel.errors import InputError
from fenchel.kernels.pair_step import pair_step
from fenchel.losses.protocol import conjugate, dual_domain
from fenchel.oracles.scalar import Oracle
from fenchel.solvers import PairwiseAscent
from fenchel.solvers.base import Start
from problems import LOSSES, REGULARIZERS, problem


def gain(loss, new, u, z, p, y, Q):
    """What moving two rows from u to new adds to the dual."""
    t = p[0] * (new[0] - u[0])
    after, before = ([conjugate(loss, a[k], y[k]) for k in (0, 1)] for a in (new, u))
    return -p[0] * (after[0] - before[0]) - p[1] * (after[1] - before[1]) + (z[0] - z[1]) * t - 0.5 * Q * t * t


@pytest.mark.parametrize("name", LOSSES)
def test_the_pair_step_is_the_best_of_all(name):
    loss, rng = LOSSES[name], np.random.default_rng(3)
    y = np.array([1.0, -1.0]) if "hinge" in name or "perc" in name or name in ("exponential", "logistic") else None
    for _ in range(40):
        targets = rng.permutation(y) if y is not None else rng.integers(1, 4, 2).astype(float)
        z, p, Q = 2.0 * rng.standard_normal(2), rng.uniform(0.1, 1.0, 2), float(np.exp(rng.uniform(-3.0, 3.0)))
        u = np.array([np.clip(rng.standard_normal(), *np.clip(dual_domain(loss, t), -3.0, 3.0)) for t in targets])
        *new, _ = pair_step.py_func(
            loss, u[0], z[0], p[0], targets[0], u[1], z[1], p[1], targets[1], Q, float(rng.standard_normal())
        )
        assert p[1] * (new[1] - u[1]) == pytest.approx(-p[0] * (new[0] - u[0]), rel=1e-9, abs=1e-12)
        ends = [np.clip(dual_domain(loss, k), -1e3, 1e3) for k in targets]
        low = max(p[0] * (ends[0][0] - u[0]), -p[1] * (ends[1][1] - u[1]))
        high = min(p[0] * (ends[0][1] - u[0]), -p[1] * (ends[1][0] - u[1]))
        found = gain(loss, new, u, z, p, targets, Q)
        with np.errstate(invalid="ignore"):
            best = minimize_scalar(
                lambda t, u, z, p, *rest: -gain(loss, u + t / p * [1.0, -1.0], u, z, p, *rest), bounds=(low, high),
                method="bounded", args=(u, z, p, targets, Q), options={"xatol": 1e-12},
            )  # fmt: skip
        assert found >= -best.fun - 1e-7 * (1.0 + abs(best.fun))


def test_the_constraint_holds_at_every_iterate_and_the_dual_never_falls():
    p = problem(LOSSES["hinge"], REGULARIZERS["l2"], intercept=True, weighted=True, n=60)
    duals = []
    for k, iterate in enumerate(PairwiseAscent().iterates(Oracle(p), Start(np.zeros(p.d)))):
        if iterate.primal is not None:
            assert abs(p.weights @ iterate.dual_point) < 1e-14
            duals.append(iterate.dual)
        if k == 60:
            break
    assert np.all(np.diff(duals) >= -1e-12)
    assert duals[-1] > duals[0]


def test_equal_rows_exchange_all_they_can():
    X = np.array([[1.0], [1.0], [1.0], [1.0]])
    p = fenchel.Problem(X, [1, 1, 1, -1], loss="hinge", alpha=1.0, fit_intercept=True)
    result = fenchel.solve(p, solver="pairwise_ascent", tol=1e-9)
    assert result.status is fenchel.Status.CERTIFIED
    assert result.certificate.primal == pytest.approx(0.5)  # w = 0, b = 1: the one odd row costs 2 / 4


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_agrees_with_dual_ascent_on_more_rows(storage):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((2000, 40)) < 0.2, 1.0, 0.0)
    y = np.where(X[:, :5].sum(axis=1) + 0.5 * rng.standard_normal(2000) > 1.5, 1.0, -1.0)
    p = fenchel.Problem(storage(X), y, loss="hinge", alpha=1e-3, fit_intercept=True)
    a, b = (fenchel.solve(p, solver=name, tol=1e-6) for name in ("pairwise_ascent", "dual_ascent"))
    assert a.status is fenchel.Status.CERTIFIED
    assert max(a.certificate.dual, b.certificate.dual) <= min(a.certificate.primal, b.certificate.primal)


def test_bad_parameters_are_refused():
    with pytest.raises(InputError, match="waiting must be"):
        PairwiseAscent(waiting=0)
