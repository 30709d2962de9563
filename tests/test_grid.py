"""The random grid of losses and regularizers: its cases are what it says, and it would notice a false certificate."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fenchel

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the package lives beside `tests`, it is not installed

from benchmarks import grid


def small(seed: int) -> grid.Case:
    case = grid.draw(seed)
    return replace(case, n=min(case.n, 40), d=min(case.d, 8), share=max(case.share, 1e-2), tol=1e-4)


def test_cases_are_within_the_stated_ranges():
    cases = [grid.draw(seed) for seed in range(300)]
    assert cases[:5] == [grid.draw(seed) for seed in range(5)]
    assert all(5 <= c.n <= 2000 and 1 <= c.d <= 500 and 1e-8 <= c.tol <= 1e-3 and 1e-6 <= c.share <= 1.0 for c in cases)
    assert {c.loss for c in cases} == set(grid.LOSSES)
    assert {c.regularizer for c in cases} == set(grid.regularizers(1, 1.0))


@pytest.mark.parametrize("seed", range(3))
def test_a_small_case_is_solved_both_ways(seed):
    case = small(seed)
    outcome = grid.run(case, limit=20.0)
    assert outcome is not None and outcome.status == "CERTIFIED" and not outcome.false
    problem = grid.problem(case)
    reference, _ = grid.by_cvxpy(problem, 20.0)
    result = fenchel.solve(problem, tol=case.tol)
    assert grid.objective(problem, result.coef, result.intercept) == pytest.approx(result.certificate.primal, rel=1e-9)
    assert abs(result.certificate.primal - reference) <= 2.0 * case.tol * abs(reference) + 1e-7


def test_a_false_certificate_is_seen(monkeypatch):
    monkeypatch.setattr(grid, "by_cvxpy", lambda p, limit: (-1.0, 0.01))  # a lower value than any dual one
    outcome = grid.run(small(1), limit=20.0)
    assert outcome is not None and outcome.false
    assert "| 1 | 1 | 1 | 0 |" in grid.report([outcome], 1)


def test_ratios_do_not_count_times_too_short_to_matter():
    outcome = grid.Outcome(grid.draw(0), "CERTIFIED", 0.0, 0.02, 0.001, False, "")
    assert outcome.ratio == 1.0 and replace(outcome, seconds=0.3).ratio == pytest.approx(10.0)
    assert np.isfinite(outcome.ratio)
