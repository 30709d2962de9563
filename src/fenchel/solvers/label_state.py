"""What solvers that step on labels keep: the pool of labels with weights, and the coefficients that go with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.certificates.structured import bad_example, normalised
from fenchel.data.row_blocks import slices
from fenchel.kernels.structured_epoch import ASK, insert_labels, label_steps
from fenchel.result import Iterate
from fenchel.solvers.base import Start
from fenchel.structured.pool import empty_pool, enlarged

ORACLE = (
    4.0  # a step on an example costs so many times the work that its model counts: its oracle, and labels of its pool
)


class LabelState:
    """A pool, w = -sum p a f psi / alpha, and the gap that was last seen at each example."""

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

    def make_room(self, more: np.ndarray) -> None:
        """At least so many free places in each example's pool."""
        if (self.used + more > np.diff(self.pool.start)).any():
            self.pool = enlarged(self.pool, self.sizes, np.maximum(2 * more, 4))
            self.used = np.bincount(
                np.repeat(np.arange(self.problem.n), np.diff(self.pool.start))[self.pool.weights > 0.0],
                minlength=self.problem.n,
            )

    def epoch(self, order: np.ndarray, kind: int, asks: int = ASK) -> None:
        """A step for every example of `order`."""
        problem = self.problem
        self.make_room(np.bincount(order, minlength=problem.n))
        for part in slices(order, ORACLE * problem.model.work / problem.n):
            calls, bad = problem.run(
                label_steps, problem.weights, part, 1.0 / self.strength, problem.model.room, kind, asks, self.gaps, self.w,
                self.scratch, self.average, self.steps, *self.pool, self.used,
            )  # fmt: skip
            if bad >= 0:
                raise bad_example(problem, int(bad), self.w)
            self.steps += part.size
            self.oracle.passes += calls / problem.n

    def insert(self, flat: np.ndarray) -> None:
        """A label for every example, without weight."""
        self.make_room(np.ones(self.problem.n, dtype=np.int64))
        insert_labels(flat, self.problem.first, self.pool.start, self.pool.offsets, self.pool.labels, self.used)

    def recompute(self) -> tuple[float, np.ndarray]:
        """w from the pool, without the drift of many small updates; the pool's sums."""
        gain, g = self.oracle.pool_sums(self.pool)
        self.w = -g / self.strength
        return gain, g

    def averaged(self) -> np.ndarray:
        """The average of the iterates with weights 1, 2, 3, ..."""
        return self.w - self.average * (2.0 / (self.steps * (self.steps + 1.0)))

    def estimate(self) -> float:
        """The gap, as far as the examples' own were seen."""
        return float(self.problem.weights @ self.gaps)

    def check(self, w: np.ndarray | None = None) -> tuple[Iterate, np.ndarray]:
        """(P at w, default the pool's own, and D; the labels that are best there)."""
        gain, g = self.recompute()
        w = self.w.copy() if w is None else w
        risk, _, labels = self.oracle.labels_at(w)
        regularizer = self.problem.regularizer
        pool = enlarged(self.pool, self.sizes, np.zeros(self.problem.n, dtype=np.int64))
        return Iterate(w, 0.0, risk + regularizer.value(w), gain - regularizer.conjugate(-g), pool), labels
