"""Some epochs of dual coordinate steps: where to begin when a factor costs too much and there are too few rows to sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.certify import feasible
from fenchel.data.dense import Dense
from fenchel.data.transfer import Identity
from fenchel.kernels.dual_rules import Ascent, Majorised
from fenchel.regularizers import L2
from fenchel.solvers.row_order import blocks

EPOCHS = 6
BIAS = 0.05  # weight of the intercept in a row's curvature, relative to its features
ROWS_PER_FEATURE = 20.0  # beyond which rows say too much of the same for steps on one of them to go far


def dual_start_pays(problem: Any) -> bool:
    """Sparse rows of many features, and a loss with an exact dual step of its own."""
    wide = not isinstance(problem.rows, Dense) and problem.n < ROWS_PER_FEATURE * problem.d
    return wide and isinstance(problem.regularizer, L2) and hasattr(problem.loss, "dual_step")


def dual_start(oracle: Any, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """(w, b) after EPOCHS epochs from u near 0; a free intercept by proximal points around the best one for w = 0."""
    problem = oracle.problem
    strength, norms = problem.regularizer.alpha, oracle.norms()
    u = feasible(problem, np.zeros(problem.n))
    v = -oracle.combine(u) / strength
    inverse_bias = BIAS * float(problem.weights @ norms) / strength if problem.fit_intercept else 0.0
    rows = np.flatnonzero(problem.weights > 0.0).astype(np.uint64)
    idle, ascent = np.zeros(problem.n, dtype=np.int64), Ascent(Identity(), Majorised())
    centre = b = oracle.best_intercept(problem.offset, 0.0)
    for _ in range(EPOCHS):
        order = blocks(rng, rows)
        b = oracle.dual_epoch(ascent, order, norms, 1.0 / strength, inverse_bias, b, u, v, idle)
        centre, b = b, 2.0 * b - centre
    return v, centre
