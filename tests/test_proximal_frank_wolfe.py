"""Sparse structured models by proximal Frank-Wolfe steps: against CVXPY over all labels, and the pieces by definition."""

import cvxpy as cp
import numpy as np
import pytest

import fenchel
from fenchel import regularizers, solvers
from fenchel.kernels.thresholded_step import soft, thresholded_step
from fenchel.oracles.structured import StructuredOracle
from fenchel.selection.rules import candidates
from fenchel.solvers.base import Start
from fenchel.solvers.proximal_frank_wolfe.state import ProximalState
from fenchel.structured import Chain
from marginal_problems import chain, classes, optimum, planes


@pytest.mark.parametrize("make", [chain, classes])
@pytest.mark.parametrize("alpha", [0.02, 0.1])
def test_agrees_with_cvxpy(make, alpha):
    problem = make(alpha=alpha, regularizer="l1")
    result = fenchel.solve(problem, solver="proximal_frank_wolfe", tol=1e-3)
    best = optimum(problem)
    assert result.status.name == "CERTIFIED"
    assert best * (1 - 1e-7) <= result.certificate.primal <= best * (1 + 1.1e-3)
    assert result.certificate.dual <= best * (1 + 1e-7)
    assert fenchel.certify(problem, result.coef, dual_point=result.dual_point).holds(1e-3)


def test_agrees_with_cvxpy_with_both_penalties():
    problem = chain(regularizer=regularizers.ElasticNet(0.1, l1_ratio=0.5), alpha=None)
    w, terms = cp.Variable(problem.d), []
    for i in range(problem.n):
        costs, slopes = planes(problem, i)
        terms.append(problem.weights[i] * cp.max(costs + slopes @ w))
    penalty = 0.05 * cp.norm1(w) + 0.025 * cp.sum_squares(w)
    best = float(cp.Problem(cp.Minimize(sum(terms) + penalty)).solve(solver=cp.CLARABEL))
    result = fenchel.solve(problem, solver="proximal_frank_wolfe", tol=1e-4)
    assert result.status.name == "CERTIFIED"
    assert result.certificate.primal == pytest.approx(best, rel=1.2e-4)


def test_coefficients_are_exactly_zero_and_follow_from_the_labels():
    problem = chain(alpha=0.1, regularizer="l1")
    oracle = StructuredOracle(problem)
    state, rng = ProximalState(oracle, Start(np.zeros(problem.d))), np.random.default_rng(0)
    for _ in range(10):
        state.epoch(rng.permutation(problem.n), 2)
        kept, sums = state.w.copy(), state.v.copy()
        _, g = state.recompute()
        np.testing.assert_allclose(kept, state.w, atol=1e-12)
        np.testing.assert_allclose(sums, state.centre - g / state.strength, atol=1e-12)
    assert 0 < np.count_nonzero(state.w) < problem.d


def proximal_dual(state):
    """The least value over w of the mixed planes, the penalty and the proximal term."""
    gain, g = state.recompute()
    w, step = state.w, state.w - state.centre
    return gain + g @ w + state.l1 * np.abs(w).sum() + 0.5 * state.l2 * w @ w + 0.5 * state.strength * step @ step


def test_steps_never_decrease_the_dual_of_a_proximal_step():
    problem = chain(regularizer=regularizers.ElasticNet(0.1, l1_ratio=0.7), alpha=None)
    state, rng = ProximalState(StructuredOracle(problem), Start(np.full(problem.d, 0.1))), np.random.default_rng(1)
    values = [proximal_dual(state)]
    for kind in (0, 1, 2) * 8:
        state.epoch(rng.permutation(problem.n), kind)
        values.append(proximal_dual(state))
    assert (np.diff(values) >= -1e-12).all()
    assert values[-1] > values[0]


def test_a_step_ends_where_the_slope_is_small_and_not_negative():
    rng = np.random.default_rng(2)
    for _ in range(200):
        v, direction = rng.normal(size=8), rng.normal(size=8)
        pull, threshold, shrink = rng.uniform(0.1, 3.0), rng.uniform(0.0, 1.0), rng.uniform(0.3, 1.0)

        def w(step, v=v, direction=direction, pull=pull, threshold=threshold, shrink=shrink):
            return np.array([soft(x, threshold, shrink) for x in v - step * pull * direction])

        slope, most = rng.uniform(0.01, 2.0), rng.uniform(0.1, 3.0)
        cost = slope - direction @ w(0.0)
        step = thresholded_step(v, direction, pull, threshold, shrink, slope, most)
        assert 0.0 <= step <= most
        end = cost + direction @ w(step)
        assert end >= -1e-12
        assert step == most or end <= 0.5 * slope


def test_auto_selects_it_for_many_coefficients():
    rng = np.random.default_rng(3)
    X, y = [rng.normal(size=(6, 900)) for _ in range(5)], [rng.integers(0, 3, size=6) for _ in range(5)]
    names = [type(c.solver) for c in candidates(fenchel.Problem(X, y, loss=Chain(), regularizer="l1", alpha=0.1))]
    assert names[0] is solvers.ProximalFrankWolfe
    assert solvers.Bundle in names
    names = [type(c.solver) for c in candidates(chain(regularizer="l1"))]
    assert names[0] is solvers.Bundle
