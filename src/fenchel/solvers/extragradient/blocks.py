"""Block steps of the extragradient method: the marginals of one example after another, with w kept up to date."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from fenchel.data.row_blocks import slices
from fenchel.kernels import marginal_blocks as steps
from fenchel.result import Iterate
from fenchel.solvers.base import Start
from fenchel.solvers.extragradient.settings import SETTINGS
from fenchel.solvers.pragam.marginal_blocks import Cliques
from fenchel.solvers.pragam.settings import SETTINGS as PARTS
from fenchel.structured.pool import Marginals


class BlockState:
    """Marginals mu of all examples with w = -sum p (F mu - phi(gold)) / alpha, and a step length for each example."""

    def __init__(self, oracle: Any, memory: dict[str, Any] | None, entropic: bool, seed: int):
        self.oracle, self.problem, self.cliques = oracle, oracle.problem, Cliques(oracle)
        self.strength, self.entropic, self.seed = self.problem.regularizer.alpha, entropic, seed
        if memory is None:
            self.values = self.cliques.uniform() if entropic else self.cliques.cheapest()
            self.stride, self.epoch = self.first_strides(), 0
            self.gains = np.full(self.problem.n, np.inf)
            self.natural = np.zeros(self.values.size if entropic else 0)
        else:
            self.values, self.stride, self.gains, self.natural = (memory[name].copy() for name in STATE)
            self.epoch = memory["epoch"]
        self.w = np.zeros(self.problem.d)

    def memory(self) -> dict[str, Any]:
        """What the method continues from."""
        return {name: getattr(self, name).copy() for name in STATE} | {"epoch": self.epoch}

    def first_strides(self) -> np.ndarray:
        """One over a bound of the curvature of every example; inf becomes 1 where an example does not count."""
        bounds = self.problem.weights * self.cliques.reaches() ** 2 / self.strength
        return 1.0 / np.where(bounds > 0.0, bounds, 1.0)

    def sweep(self) -> None:
        """An epoch: every example, or as many draws in proportion to the last gains."""
        n, rng = self.problem.n, np.random.default_rng((self.seed, self.epoch))
        chances = self.problem.weights * self.gains
        if self.epoch % SETTINGS.epochs_per_full_epoch == 0 or not chances.sum() > 0.0:
            order = rng.permutation(n)
        else:
            order = rng.choice(n, n, p=chances / chances.sum())
        cost = PARTS.values_per_part_step * self.values.size / n
        for some in slices(order, cost):
            arguments = (
                self.problem.weights, some, 1.0 / self.strength, self.cliques.workspace_size, self.w, self.cliques.start,
                self.values, self.stride, self.gains,
            )  # fmt: skip
            if self.entropic:
                self.cliques.run(steps.entropic_steps, *arguments, self.natural)
            else:
                self.cliques.run(steps.euclidean_steps, *arguments)
            self.oracle.count_rows(2 * some.size)
        self.epoch += 1

    def check(self) -> Iterate:
        """P at w(mu), recomputed from mu without the rounding errors of many steps, and D at mu."""
        gain, g = self.cliques.combine(self.values)
        self.w = -g / self.strength
        regularizer = self.problem.regularizer
        primal = self.oracle.risk(self.w)[0] + regularizer.value(self.w)
        point = Marginals(self.cliques.start, self.values.copy())
        return Iterate(
            self.w.copy(), 0.0, primal, gain - regularizer.conjugate(-g), point, partial(dict, self.memory())
        )


STATE = ("values", "stride", "gains", "natural")


def block_iterates(oracle: Any, start: Start, entropic: bool, seed: int) -> Iterator[Iterate]:
    """Epochs of block steps; P and D are evaluated at growing intervals."""
    state = BlockState(oracle, start.memory, entropic, seed)
    due = state.epoch
    for _ in count():
        if state.epoch >= due:
            yield state.check()
            due = state.epoch + max(1, state.epoch // SETTINGS.evaluation_interval_divisor)
        else:
            yield Iterate(state.w.copy(), 0.0, None, np.nan)
        state.sweep()
