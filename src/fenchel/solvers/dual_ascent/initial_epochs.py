"""Some epochs of dual coordinate steps: where to begin when a factor costs too much and there are too few rows to sample.

They walk a copy of the rows in random order, its columns by falling frequency, and Newton's products walk it too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fenchel.certificates.scalar import feasible
from fenchel.data.accept import read_only, size
from fenchel.data.dense import Dense
from fenchel.data.mapped import is_mapped
from fenchel.kernels.dual_phase import WORTH, phase
from fenchel.mirror_maps.coordinatewise import Identity
from fenchel.oracles.scalar import Oracle, SomeRows
from fenchel.regularizers import L2
from fenchel.solvers.dual_ascent.active_rows import Columns, Room, Unchanged, columns_of, take_rows

EPOCHS, MOST_EPOCHS = 4, 20
LONG = 1 << 24  # stored values: from there on, an epoch is some tenths of a second
PATIENCE = 6.0  # epochs; if more seem needed, Newton's steps do better
OFF = 0.8  # how far D is from P, about, in units of the gain of an epoch: from 0.5 to 4 where epochs do well
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
    rows = take_rows(problem.rows, number, columns, oracle.engine, Room())
    y, p, offset = (read_only(field[number]) for field in (problem.y, problem.weights, problem.offset))
    shared = (problem.n, problem.d, problem.compiled_loss, problem.regularizer, problem.fit_intercept)
    return Copied(SomeRows(rows, y, p, offset, *shared), number, columns)


class DualEpochs:
    """u and v = -sum p u x / strength, epoch after epoch from u near 0; a free intercept by proximal points around the best
    one for w = 0.
    """

    def __init__(self, oracle: Any, sample: Any, rng: np.random.Generator):
        self.oracle, self.sample, self.inner = oracle, sample, Oracle(sample, oracle.engine)
        self.strength, norms = sample.regularizer.alpha, self.inner.norms()
        self.u = feasible(sample, np.zeros(sample.n))
        self.v = -self.inner.combine(self.u) / self.strength
        self.inverse_bias = BIAS * float(sample.weights @ norms) / self.strength if sample.fit_intercept else 0.0
        self.q = read_only(sample.weights * (norms / self.strength + self.inverse_bias))
        self.b = self.centre = self.inner.best_intercept(sample.offset, 0.0)
        self.work, self.state = np.empty((2, sample.n), dtype=np.uint64), rng.integers(1, 2**63, 1, dtype=np.uint64)
        self.gain, self.ratio, self.gains = np.inf, 0.0, np.zeros(sample.n)
        oracle.passes += self.inner.passes

    def run(self, epochs: int = 1) -> None:
        """So many epochs; then `gain` is about what the last one added to D, and `ratio` that to the one before."""
        sample = self.sample
        self.b, self.centre, steps = phase(
            sample.compiled_loss, Identity(), sample.rows, sample.y, sample.weights, sample.offset, self.q,
            1.0 / self.strength, self.inverse_bias, self.b, self.centre, self.u, self.v, self.gains,
            WORTH[True], epochs, self.work, self.state,
        )  # fmt: skip
        self.oracle.passes += steps / sample.n
        gain = float(self.gains.sum())
        self.ratio, self.gain = gain / self.gain if self.gain > 0.0 else 0.0, gain

    def dual(self) -> float:
        """D(u), without a pass."""
        return -self.inner.conjugates(self.u) - self.sample.regularizer.conjugate(self.v * self.strength)

    def looks(self, tol: float) -> Iterator[bool]:
        """Epochs until Newton's steps do better; True whenever u may be as good as asked for, False at the end.

        False also after epochs that take long, so that others have their turn. With a free intercept u is out of balance and
        certifies nothing: a fixed number of epochs.
        """
        long = size(self.sample.rows) > LONG
        if self.sample.fit_intercept:
            for count in [1] * EPOCHS if long else [EPOCHS]:
                self.run(count)
                yield False
            return
        most = self.inner.losses_at(self.sample.offset, 0.0)[0]  # that P can be
        for epoch in range(MOST_EPOCHS):
            self.run()
            if OFF * self.gain <= tol * most and OFF * self.gain <= tol * abs(self.dual()):
                yield True
            elif epoch > 1 and OFF * self.gain * self.ratio**PATIENCE > tol * abs(self.dual()):
                break
            elif long:
                yield False
        yield False
