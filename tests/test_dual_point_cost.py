"""The search for a dual point of given coefficients takes a bounded number of passes."""

from __future__ import annotations

import numpy as np
import pytest

import fenchel
from fenchel.certificates import best_dual_point


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_what_is_spent_on_a_dual_point_is_bounded_by_passes(fit_intercept, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y = np.where(X[:, 0] + rng.normal(size=3000) > 0.0, 1.0, -1.0)
    problem = fenchel.Problem(X, y, loss="hinge", alpha=1e-4, fit_intercept=fit_intercept)
    steps, ascend = [], best_dual_point.ascend
    monkeypatch.setattr(best_dual_point, "MOST_VISITS", 0)
    monkeypatch.setattr(best_dual_point, "ascend", lambda *args: (steps.append(args[6].size), ascend(*args))[1])
    found = fenchel.certify(problem, np.zeros(4))  # far from the optimum: steps could go on for long
    assert 0 < sum(steps) <= (best_dual_point.MOST_PASSES + 1) * 3000
    assert found.primal == pytest.approx(1.0)
    best = fenchel.solve(problem, tol=1e-8).certificate
    assert found.dual <= best.primal * (1.0 + 1e-12)
    assert found.dual > 0.5 * best.dual
