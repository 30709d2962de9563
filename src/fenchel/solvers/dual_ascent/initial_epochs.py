"""Initial epochs of dual coordinate steps for Newton's method, where a factorization is too expensive and rows are too few to
subsample.

They visit a copy of the rows in random order, its columns by decreasing frequency; Newton's Hessian products use it as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fenchel.certificates.scalar import feasible
from fenchel.data.accept import read_only, size
from fenchel.data.dense import Dense
from fenchel.data.mapped import is_mapped
from fenchel.kernels.dual_phase import REPEAT_RULE, phase
from fenchel.mirror_maps.coordinatewise import Identity
from fenchel.oracles.scalar import Oracle
from fenchel.problems.some_rows import RowProblem, SomeRows
from fenchel.regularizers import L2
from fenchel.solvers.dual_ascent.active_rows import Columns, Unchanged, Workspace, columns_of, take_rows
from fenchel.solvers.dual_ascent.settings import SETTINGS

if TYPE_CHECKING:
    from fenchel.problems.scalar import Problem


def dual_start_pays(problem: Problem) -> bool:
    """Whether to begin with dual epochs: sparse rows with many features, and a loss with its own exact dual step."""
    wide = not isinstance(problem.rows, Dense) and problem.n < SETTINGS.initial_max_rows_per_feature * problem.d
    return wide and isinstance(problem.regularizer, L2) and hasattr(problem.loss, "dual_step")


class Copied(NamedTuple):
    """The same problem, its rows in the order `number`, its columns renumbered, which L2 allows."""

    sample: RowProblem
    number: np.ndarray
    columns: Columns | Unchanged

    def rows_back(self, u: np.ndarray) -> np.ndarray:
        """A vector over the rows, in the problem's order."""
        out = np.empty(u.size)
        out[self.number] = u
        return out


def copied(oracle: Oracle, rng: np.random.Generator) -> Copied:
    """A copy to visit many times. Rows on disk are not copied, as the copy might not fit into memory."""
    problem = oracle.problem
    if is_mapped(problem.rows):
        return Copied(problem, np.arange(problem.n), Unchanged())
    columns, number = columns_of(problem.rows, problem.d, oracle.engine), rng.permutation(problem.n)
    oracle.count()
    rows = take_rows(problem.rows, number, columns, oracle.engine, Workspace())
    y, p, offset = (read_only(field[number]) for field in (problem.y, problem.weights, problem.offset))
    shared = (problem.n, problem.d, problem.compiled_loss, problem.regularizer, problem.fit_intercept)
    return Copied(SomeRows(rows, y, p, offset, *shared), number, columns)


class DualEpochs:
    """u and v = -sum p u x / strength, from u near 0; a free intercept takes proximal point steps from the best one for
    w = 0.
    """

    def __init__(self, oracle: Oracle, sample: RowProblem, rng: np.random.Generator):
        self.oracle, self.sample, self.inner = oracle, sample, Oracle(sample, oracle.engine)
        self.strength, norms = sample.regularizer.alpha, self.inner.norms()
        self.u = feasible(sample, np.zeros(sample.n))
        self.v = -self.inner.combine(self.u) / self.strength
        weight = SETTINGS.initial_intercept_ratio * float(sample.weights @ norms)
        self.inverse_bias = weight / self.strength if sample.fit_intercept else 0.0
        self.q = read_only(sample.weights * (norms / self.strength + self.inverse_bias))
        self.b = self.centre = self.inner.best_intercept(sample.offset, 0.0)
        self.work, self.state = np.empty((2, sample.n), dtype=np.uint64), rng.integers(1, 2**63, 1, dtype=np.uint64)
        self.gain, self.ratio, self.gains = np.inf, 0.0, np.zeros(sample.n)
        oracle.count_sample(self.inner, sample.n)

    def run(self, epochs: int = 1) -> None:
        """Run so many epochs; `gain` then estimates the increase of D by the last one, `ratio` is relative to the last call."""
        sample = self.sample
        self.b, self.centre, steps = phase(
            sample.compiled_loss, Identity(), sample.rows, sample.y, sample.weights, sample.offset, self.q,
            1.0 / self.strength, self.inverse_bias, self.b, self.centre, self.u, self.v, self.gains,
            REPEAT_RULE[True], epochs, self.work, self.state,
        )  # fmt: skip
        self.oracle.count_rows(steps)
        gain = float(self.gains.sum())
        self.ratio, self.gain = gain / self.gain if self.gain > 0.0 else 0.0, gain

    def dual(self) -> float:
        """D(u), without a pass."""
        return -self.inner.conjugates(self.u) - self.sample.regularizer.conjugate(self.v * self.strength)

    def evaluations(self, tol: float) -> Iterator[bool]:
        """Epochs until Newton steps are faster; True whenever u may have reached tol and should be evaluated, False at the end.

        False also after expensive epochs, so that limits of time are kept. With a free intercept u is infeasible and certifies
        nothing: the number of epochs is fixed.
        """
        gap_per_gain, patience = SETTINGS.gap_per_gain, SETTINGS.initial_patience_epochs
        long = size(self.sample.rows) > SETTINGS.initial_max_values_per_iterate
        if self.sample.fit_intercept:
            total = SETTINGS.initial_epochs_free_intercept
            for count in [1] * total if long else [total]:
                self.run(count)
                yield False
            return
        most = self.inner.losses_at(self.sample.offset, 0.0)[0]  # P at w = 0 bounds the optimal value.
        for epoch in range(SETTINGS.initial_max_epochs):
            self.run()
            if gap_per_gain * self.gain <= tol * most and gap_per_gain * self.gain <= tol * abs(self.dual()):
                yield True
            elif epoch > 1 and gap_per_gain * self.gain * self.ratio**patience > tol * abs(self.dual()):
                break
            elif long:
                yield False
        yield False
