"""Some epochs of dual coordinate steps: where to begin when a factor costs too much and there are too few rows to sample.

They walk a copy of the rows in random order, its columns by falling frequency, and Newton's products walk it too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.certify import feasible
from fenchel.data.accept import read_only
from fenchel.data.dense import Dense
from fenchel.data.mapped import is_mapped
from fenchel.data.transfer import Identity
from fenchel.kernels.dual_phase import dual_phase
from fenchel.oracle import Oracle, SomeRows
from fenchel.regularizers import L2
from fenchel.solvers.active_rows import Columns, Unchanged, columns_of, take_rows

EPOCHS = 6
BIAS = 0.05  # weight of the intercept in a row's curvature, relative to its features
ROWS_PER_FEATURE = 20.0  # beyond which rows say too much of the same for steps on one of them to go far


def dual_start_pays(problem: Any) -> bool:
    """Sparse rows of many features, and a loss with an exact dual step of its own."""
    wide = not isinstance(problem.rows, Dense) and problem.n < ROWS_PER_FEATURE * problem.d
    return wide and isinstance(problem.regularizer, L2) and hasattr(problem.loss, "dual_step")


class Copied(NamedTuple):
    """The same problem, its rows in the order `number`, its columns renamed; L2 does not mind."""

    sample: Any
    number: np.ndarray
    columns: Columns | Unchanged

    def rows_back(self, u: np.ndarray) -> np.ndarray:
        """A vector over the rows, in their own order."""
        out = np.empty(u.size)
        out[self.number] = u
        return out


def copied(oracle: Any, rng: np.random.Generator) -> Copied:
    """A copy to walk many times; of rows on disk there is none, as it might not fit."""
    problem = oracle.problem
    if is_mapped(problem.rows):
        return Copied(problem, np.arange(problem.n), Unchanged())
    columns, number = columns_of(problem.rows, problem.d, oracle.engine), rng.permutation(problem.n)
    oracle.passes += 1.0
    rows = take_rows(problem.rows, number, columns, oracle.engine)
    y, p, offset = (read_only(field[number]) for field in (problem.y, problem.weights, problem.offset))
    shared = (problem.n, problem.d, problem.compiled_loss, problem.regularizer, problem.fit_intercept)
    return Copied(SomeRows(rows, y, p, offset, *shared), number, columns)


def dual_start(oracle: Any, sample: Any, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """(w, b) after EPOCHS epochs from u near 0; a free intercept by proximal points around the best one for w = 0."""
    inner = Oracle(sample, oracle.engine)
    strength, norms = sample.regularizer.alpha, inner.norms()
    u = feasible(sample, np.zeros(sample.n))
    v = -inner.combine(u) / strength
    inverse_bias = BIAS * float(sample.weights @ norms) / strength if sample.fit_intercept else 0.0
    q = read_only(sample.weights * (norms / strength + inverse_bias))
    b = inner.best_intercept(sample.offset, 0.0)
    runs, state = np.empty(sample.n, dtype=np.uint64), rng.integers(1, 2**63, 1, dtype=np.uint64)
    _, centre = dual_phase(
        sample.compiled_loss, Identity(), sample.rows, sample.y, sample.weights, sample.offset, q,
        1.0 / strength, inverse_bias, b, b, u, v, EPOCHS, runs, state,
    )  # fmt: skip
    oracle.passes += inner.passes + EPOCHS
    return v, centre
