"""Dual coordinate steps for every transfer function: D never falls, sums kept lazily are right, all steps agree."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from fenchel import regularizers as R
from fenchel.errors import InputError
from fenchel.kernels.dual_epoch import renew_transfer
from fenchel.kernels.dual_rules import Closed, unit_exponent
from fenchel.oracles.scalar import Oracle
from fenchel.solvers import DualAscent
from fenchel.solvers.base import Start
from fenchel.solvers.dual_ascent.mirror_form import unit_scales
from fenchel.solvers.dual_ascent.solver import State
from problems import LOSSES, optimum, problem

REGULARIZERS = {
    "l2": R.L2(0.05),
    "elastic_net": R.ElasticNet(0.05, 0.5),
    "entropy": R.Entropy(0.05, total=2.0),
    "entropy_strong": R.Entropy(1e-3, prior=np.array([0.1, 1.0, 5.0]), total=20.0),
    "unnormalised": R.UnnormalisedEntropy(0.01),
    "balanced": R.BalancedEntropy(0.01),
    "balanced_total": R.BalancedEntropy(0.01, prior=np.array([0.1, 1.0, 5.0]), total=5.0),
    "q_norm": R.QNorm(0.05, 1.3),
    "q_norm_power": R.QNorm(0.05, 3.0, power=1.5),
}
SMALL = ["hinge", "logistic", "squared", "quantile"]


def state_of(p, **options):
    return State(Oracle(p), Start(p.regularizer.start(p.d)), DualAscent(**options))


def values(p, epochs=40, **options):
    """D after every epoch."""
    state, rng = state_of(p, **options), np.random.default_rng(0)
    found = [state.check().dual]
    for _ in range(epochs):
        state.epoch(rng, full=True)
        found.append(state.check().dual)
    return np.array(found)


def steps_of(reg):
    if reg in ("l2", "elastic_net"):
        return ["majorised"]
    return ["exact"] if reg == "q_norm_power" else ["majorised", "exact"]


@pytest.mark.parametrize(("reg", "step"), [(reg, step) for reg in REGULARIZERS for step in steps_of(reg)])
def test_the_dual_value_never_falls(reg, step):
    for loss in SMALL:
        p = problem(LOSSES[loss], REGULARIZERS[reg], weighted=True, offset=True)
        for options in ({}, {"damping": 0.3}, {"order": "cyclic"}):
            D = values(p, step=step, **options)
            assert np.min(np.diff(D)) >= -1e-13 * (1 + np.max(np.abs(D))), (loss, options)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("reg", list(REGULARIZERS))
def test_what_is_kept_beside_v_does_not_drift(reg, storage):
    p = problem(LOSSES["hinge"], REGULARIZERS[reg], storage=storage, n=40)
    state, rng = state_of(p), np.random.default_rng(1)
    for _ in range(30):
        arguments = (1.0 / state.strength, 0.0, 0.0, state.u, state.v, state.idle)
        state.oracle.dual_epoch(state.ascent, rng.permutation(state.rows), state.bounds, *arguments)  # without renewal
    kept = [np.array(part) for part in state.transfer if isinstance(part, np.ndarray)]
    weights = state.coef
    renew_transfer(state.transfer, state.v)
    if kept:
        shift = np.exp(kept[-2][2] - state.transfer.sums[2]) if hasattr(state.transfer, "up") else 1.0
        if hasattr(state.transfer, "up"):
            np.testing.assert_allclose(kept[0] * shift, state.transfer.up, rtol=1e-11)
    state.recompute()
    np.testing.assert_allclose(state.coef, weights, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("order", ["blocks", "permuted", "cyclic"])
@pytest.mark.parametrize("step", ["majorised", "exact", "explicit", "implicit"])
@pytest.mark.parametrize("reg", ["l2", "entropy", "balanced_total", "q_norm"])
def test_all_steps_and_orders_reach_the_same_optimum(reg, step, order):
    p = problem(LOSSES["smoothed_hinge"], REGULARIZERS[reg])
    solver = DualAscent(step=step, order=order, rate=0.05 if step in ("explicit", "implicit") else None)
    found = fenchel.solve(p, solver=solver, tol=1e-6)
    best = fenchel.solve(p, solver="bundle", tol=1e-7)
    assert found.status is fenchel.Status.CERTIFIED
    assert best.certificate.dual - 1e-12 <= found.certificate.primal
    assert found.certificate.dual <= best.certificate.primal + 1e-12


def binary_problem(reg, n=60, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n, d)).astype(float)
    X[: n // 2] *= 0.5  # every row has its own size
    y = np.where(X[:, :3].sum(axis=1) + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return fenchel.Problem(X, y, "hinge", reg, offset=0.1 * rng.standard_normal(n))


@pytest.mark.parametrize("reg", ["entropy", "unnormalised", "balanced"])
@pytest.mark.parametrize("total", [0.5, 3.0])
def test_closed_form_is_the_exact_step(reg, total):
    make = {
        "entropy": R.Entropy(0.02, total=total),
        "unnormalised": R.UnnormalisedEntropy(0.02),
        "balanced": R.BalancedEntropy(0.02, total=total),
    }[reg]
    p = binary_problem(make)
    state = state_of(p, step="exact")
    assert isinstance(state.ascent.rule, Closed)
    row = np.zeros(1, dtype=np.uint64)
    for i in range(p.n):
        row[0] = i
        arguments = (1.0 / state.strength, 0.0, 0.0, state.u, state.v, state.idle)
        state.oracle.dual_epoch(state.ascent, row, state.bounds, *arguments)
        best = state.check().dual
        for other in np.linspace(*sorted((0.0, -p.y[i])), 41):  # the row's whole domain
            u = state.u.copy()
            u[i] = other
            v = -state.oracle.combine(u)
            assert -state.oracle.conjugates(u) - p.regularizer.conjugate(v) <= best + 1e-12


@pytest.mark.parametrize("total", [0.0, 2.0])
def test_unit_exponent_solves_its_equation(total):
    rng = np.random.default_rng(0)
    for _ in range(200):
        G, S = rng.random(2) * rng.integers(0, 2, 2)
        target = rng.uniform(-1.8, 1.8)
        a = unit_exponent(G, S, target, total)
        if np.isfinite(a):
            top, rest = np.exp(a) * G - np.exp(-a) * S, np.exp(a) * G + np.exp(-a) * S
            score = total * top / (total - G - S + rest) if total else top
            assert score == pytest.approx(target, abs=1e-9)
        else:
            assert (G == 0.0 and target >= 0.0) or (S == 0.0 and target <= 0.0)


def test_unit_scales():
    X = np.array([[1.0, -1.0, 0.0], [0.5, 0.0, 0.5], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, -3.0]])
    for storage in (np.asarray, sp.csr_matrix):
        np.testing.assert_array_equal(unit_scales(storage(X)), [1.0, 0.5, 0.0, 0.0, 3.0])


def test_extreme_exponents_are_renewed():
    """Weights that move by e^100 and back: the sum Z is rebuilt when it falls and when a term outgrows its shift."""
    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]]), np.array([1.0, -1.0, -1.0])
    p = fenchel.Problem(X, y, "hinge", R.Entropy(1e-3, total=3.0))
    found = fenchel.solve(p, solver="dual_ascent", tol=1e-8)
    assert found.status is fenchel.Status.CERTIFIED
    state = state_of(p)
    for a in (100.0, -250.0, 60.0):
        state.v[0] += a
        renew_transfer(state.transfer, state.v)
        np.testing.assert_allclose(
            state.transfer.up * 3.0 / state.transfer.sums[0], state.coef, rtol=1e-12, atol=1e-300
        )


@pytest.mark.parametrize("step", ["explicit", "implicit"])
@pytest.mark.parametrize(("loss", "reg"), [("squared", "l2"), ("squared", "unnormalised"), ("hinge", "entropy_strong")])
def test_a_learning_rate_that_is_too_large_ends_with_advice_and_the_best_iterate(loss, reg, step):
    p = problem(LOSSES[loss], REGULARIZERS[reg])
    found = fenchel.solve(p, solver=DualAscent(step=step, rate=1e3), tol=1e-9, max_time=20)
    assert found.status in (fenchel.Status.NONFINITE, fenchel.Status.STALLED)
    assert np.isfinite(found.coef).all()
    assert found.certificate.primal <= fenchel.certify(p, p.regularizer.start(p.d)).primal + 1e-12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step": "newton"}, "step must be"),
        ({"step": "gradient"}, "step must be .*'explicit', 'implicit'"),
        ({"step": "exact", "rate": 0.1}, "rate is the learning rate"),
        ({"rate": 0.1}, "rate is the learning rate"),
        ({"step": "explicit", "rate": -1.0}, "rate must be"),
        ({"order": "random"}, "order must be"),
        ({"damping": 2.0}, "damping must be"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(InputError, match=message):
        DualAscent(**options)


def test_a_step_without_a_bound_says_what_to_use():
    p = problem(LOSSES["hinge"], REGULARIZERS["q_norm_power"])
    with pytest.raises(InputError, match="needs a bound of the curvature, which QNorm .* use one of 'exact'"):
        fenchel.solve(p, solver=DualAscent(step="majorised"))


@pytest.mark.parametrize("total", [None, 3.0])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared", "quantile", "poisson"])
def test_balanced_entropy_equals_cvxpy(loss, total):
    """`problems.optimum` knows the entropies of [x, -x]."""
    twice = R.UnnormalisedEntropy(0.05) if total is None else R.Entropy(0.05, total=total)
    for intercept, weighted in itertools.product([False, True], [False, True]):
        p = problem(LOSSES[loss], R.BalancedEntropy(0.05, total=total), intercept, weighted)
        s = p.weights if weighted else None
        both = fenchel.Problem(np.hstack([p.X, -p.X]), p.y, p.loss, twice, fit_intercept=intercept, sample_weight=s)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # CVXPY's own remarks on its compilation
            best = optimum(both)
        for solver in ("auto", "dual_ascent"):
            found = fenchel.solve(p, solver=solver, tol=1e-6, max_time=60)
            assert found.status is fenchel.Status.CERTIFIED
            slack = 2e-7 * (1 + abs(best))
            assert found.certificate.dual - slack <= best <= found.certificate.primal + slack


def test_balanced_entropy_is_the_entropy_of_twice_the_features():
    for total in (None, 3.0):
        p = problem(LOSSES["hinge"], R.BalancedEntropy(0.05, total=total))
        both = np.hstack([p.X, -p.X])
        twice = R.UnnormalisedEntropy(0.05) if total is None else R.Entropy(0.05, total=total)
        a = fenchel.solve(p, solver="dual_ascent", tol=1e-8)
        b = fenchel.solve(fenchel.Problem(both, p.y, "hinge", twice), solver="bundle", tol=1e-8)
        assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=1e-7)
        np.testing.assert_allclose(a.coef, b.coef[:3] - b.coef[3:], atol=1e-3)
