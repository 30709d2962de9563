"""The state of solvers that step on labels: the pool of labels with their weights, and its coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.certificates.structured import bad_example, normalised
from fenchel.data.row_blocks import slices
from fenchel.kernels.structured_epoch import ASK, insert_labels, label_steps
from fenchel.result import Iterate
from fenchel.solvers.base import Start
from fenchel.solvers.block_frank_wolfe.settings import SETTINGS
from fenchel.structured.pool import empty_pool, enlarged


class LabelState:
    """A pool, w = -sum p a f psi / alpha, and the last known gap of each example."""

    def __init__(self, oracle: Any, start: Start):
        self.oracle, self.problem = oracle, oracle.problem
        self.strength = self.problem.regularizer.alpha
        self.sizes = np.asarray(self.problem.model.sizes)
        pool = start.dual_point
        self.pool = (
            empty_pool(self.sizes, np.zeros(self.problem.n, dtype=np.int64)) if pool is None else normalised(pool)
        )
        self.used = np.diff(self.pool.start)
        self.gaps = np.full(self.problem.n, np.inf)
        self.scratch, self.average = np.zeros(self.problem.d), np.empty(0)
        self.steps, self.w = 0, np.zeros(self.problem.d)
        self.recompute()
        self.gaps[:] = 0.0

    def reserve(self, more: np.ndarray) -> None:
        """Make sure that each example's pool has at least so many free entries."""
        if (self.used + more > np.diff(self.pool.start)).any():
            growth = np.maximum(SETTINGS.pool_growth_per_label * more, SETTINGS.min_pool_growth)
            self.pool = enlarged(self.pool, self.sizes, growth)
            self.used = np.bincount(
                np.repeat(np.arange(self.problem.n), np.diff(self.pool.start))[self.pool.weights > 0.0],
                minlength=self.problem.n,
            )

    def epoch(self, order: np.ndarray, kind: int, asks: int = ASK) -> None:
        """A step for every example of `order`."""
        problem = self.problem
        self.reserve(np.bincount(order, minlength=problem.n))
        for part in slices(order, SETTINGS.step_cost_per_model_work * problem.model.work / problem.n):
            calls, bad = problem.run(
                label_steps, problem.weights, part, 1.0 / self.strength, problem.model.workspace_size, kind, asks, self.gaps,
                self.w, *self.threshold(), self.scratch, self.average, self.steps, *self.pool, self.used,
            )  # fmt: skip
            if bad >= 0:
                raise bad_example(problem, int(bad), self.w)
            self.steps += part.size
            self.oracle.count_rows(calls)

    def threshold(self) -> tuple[np.ndarray, float, float]:
        """The sums before the threshold of w, the threshold and the factor after it; there is none with L2."""
        return np.empty(0), 0.0, 1.0

    def insert(self, flat: np.ndarray) -> None:
        """A label for every example, without weight."""
        self.reserve(np.ones(self.problem.n, dtype=np.int64))
        insert_labels(flat, self.problem.first, self.pool.start, self.pool.offsets, self.pool.labels, self.used)

    def recompute(self) -> tuple[float, np.ndarray]:
        """Recompute w from the pool, without the rounding errors of many updates; return the pool's sums."""
        gain, g = self.oracle.pool_sums(self.pool)
        self.w = -g / self.strength
        return gain, g

    def averaged(self) -> np.ndarray:
        """The average of the iterates with weights 1, 2, 3, ..."""
        return self.w - self.average * (2.0 / (self.steps * (self.steps + 1.0)))

    def estimate(self) -> float:
        """An estimate of the gap: the sum of the last known gaps of the examples."""
        return float(self.problem.weights @ self.gaps)

    def check(self, w: np.ndarray | None = None) -> tuple[Iterate, np.ndarray]:
        """(P at w, by default that of the pool, and D; the best labels at w)."""
        gain, g = self.recompute()
        w = self.w.copy() if w is None else w
        risk, _, labels = self.oracle.labels_at(w)
        regularizer = self.problem.regularizer
        pool = enlarged(self.pool, self.sizes, np.zeros(self.problem.n, dtype=np.int64))
        return Iterate(w, 0.0, risk + regularizer.value(w), gain - regularizer.conjugate(-g), pool), labels
