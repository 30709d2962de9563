"""The random grid of losses and regularizers: its cases are what it says, and it would notice a false certificate."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fenchel

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the package lives beside `tests`, it is not installed

from benchmarks import grid, grid_cases, grid_cvxpy


def small(seed: int, **changes) -> grid.Case:
    case = replace(grid.draw(seed, several=False), **changes)
    return replace(case, n=min(case.n, 40), d=min(case.d, 8), share=max(case.share, 1e-2), tol=1e-4)


def test_cases_are_within_the_stated_ranges():
    cases = [grid.draw(seed) for seed in range(300)]
    assert cases[:5] == [grid.draw(seed) for seed in range(5)]
    assert all(5 <= c.n <= 2000 and 1 <= c.d <= 500 and 1e-8 <= c.tol <= 1e-3 and 1e-6 <= c.share <= 1.0 for c in cases)
    for several, losses, makers in (
        (False, grid_cases.LOSSES, grid_cases.SCALAR),
        (True, grid_cases.vector_problems.LOSSES, grid_cases.SEVERAL),
    ):
        cases = [grid.draw(seed, several) for seed in range(400)]
        assert {c.loss for c in cases} == set(losses) and {c.regularizer for c in cases} == set(makers)
    kinds = {
        type(make(6, 0.1, 1.0, np.random.default_rng(0))) for make in (grid_cases.SCALAR | grid_cases.SEVERAL).values()
    }
    assert kinds == {kind for kind in fenchel.regularizers.REGULARIZERS.values() if kind.convex}


@pytest.mark.parametrize("seed", range(3))
def test_a_small_case_is_solved_both_ways(seed):
    case = small(seed)
    outcome = grid.run(case, limit=20.0)
    assert outcome is not None and outcome.status == "CERTIFIED" and not outcome.false
    problem = grid.problem(case)
    reference, _ = grid.by_cvxpy(problem, 20.0)
    result = fenchel.solve(problem, tol=case.tol)
    assert grid_cvxpy.objective(problem, result.coef, result.intercept) == pytest.approx(
        result.certificate.primal, rel=1e-9
    )
    assert abs(result.certificate.primal - reference) <= 2.0 * case.tol * abs(reference) + 1e-7


def test_a_tolerance_below_the_rounding_floor_is_called_that():
    outcome = grid.run(replace(small(1), tol=1e-18), limit=20.0)
    assert outcome is not None and outcome.status == grid.ROUNDED
    assert "| 1 | 0 | 0 | 0 | 1 |" in grid.report([outcome], 1)


def test_a_false_certificate_is_seen(monkeypatch):
    monkeypatch.setattr(grid, "by_cvxpy", lambda p, limit: (-1.0, 0.01))  # a lower value than any dual one
    outcome = grid.run(small(1), limit=20.0)
    assert outcome is not None and outcome.false
    assert "| 1 | 1 | 1 | 0 |" in grid.report([outcome], 1)


def test_ratios_do_not_count_times_too_short_to_matter():
    outcome = grid.Outcome(grid.draw(0), "CERTIFIED", 0.0, 0.02, 0.001, False, "")
    assert outcome.ratio == 1.0 and replace(outcome, seconds=0.3).ratio == pytest.approx(10.0)
    assert np.isfinite(outcome.ratio)


@pytest.mark.parametrize("loss", grid_cases.vector_problems.LOSSES)
def test_losses_of_several_scores_are_what_the_tests_state(loss):
    """One expression for all rows has the values of one for each, and of the loss itself."""
    case = replace(grid.draw(0, several=True), loss=loss, regularizer="l2", intercept=False, n=12, d=3)
    p, rng = grid.problem(case), np.random.default_rng(0)
    for w in rng.standard_normal((3, p.d)) / case.scale:
        Z = p.X @ w.reshape(p.features, p.outputs)
        value = grid_cvxpy.cp.Problem(grid_cvxpy.cp.Minimize(p.weights @ grid_cvxpy.vector_losses(p.loss, Z, p.y)))
        expected = p.weights @ [p.loss.value(z, y) for z, y in zip(Z, p.y, strict=True)]
        assert value.solve(solver="CLARABEL") == pytest.approx(expected, rel=1e-6)
