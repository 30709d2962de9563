"""Block-coordinate Frank-Wolfe for losses of several scores and of structured outputs (BCFW).

Problem      max over U of D(U) = -sum_i p_i loss*(u_i) - |sum_i p_i x_i u_i'|^2 / (2 alpha)
Update       one row at a time, u_i <- u_i + t d with the best t:
             "plain"     d = u' - u_i, u' the slopes at the row's scores (the vertex that maximises the linearised dual)
             "away"      that, or away from the worst vertex of u_i, whichever has the larger slope
             "pairwise"  weight moves from the worst vertex straight to the best
             The last two are for losses whose u_i are mixtures of known vertices: max hinge, cost hinge, and structured hinges,
             whose vertices are labels. There, labels found before are tried first (the cache), and examples are drawn in
             proportion to their last known gaps (gap sampling); every few epochs all of them are visited
Certificate  U itself, or the labels with their weights; W is recomputed from them at every check
Reference    Lacoste-Julien et al. (2013); Lacoste-Julien and Jaggi (2015) for away and pairwise steps; Osokin et al. (2016)
             for cache and gap sampling
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, cast

import numpy as np

from fenchel.data.accept import size
from fenchel.errors import InputError
from fenchel.kernels.block_frank_wolfe import AWAY, PAIRWISE, plain_epoch, vertex_epoch
from fenchel.kernels.structured_epoch import ASK, CACHE_FIRST, PLAIN
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.block_ascent.solver import BlockState
from fenchel.solvers.block_frank_wolfe.label_state import LabelState
from fenchel.solvers.block_frank_wolfe.settings import SETTINGS
from fenchel.solvers.evaluation_schedule import checks
from fenchel.solvers.row_order.orders import blocks

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle
    from fenchel.oracles.structured import StructuredOracle
    from fenchel.oracles.vector import VectorOracle

KINDS = {"plain": PLAIN, "away": AWAY, "pairwise": PAIRWISE}
SAMPLINGS = ("uniform", "gap")


@dataclass(frozen=True)
class BlockFrankWolfe(Solver):
    """Frank-Wolfe steps row by row, or example by example.

    Parameters
    ----------
    steps : "plain", "away", "pairwise", or None: "pairwise" where the loss has vertices, else "plain".
    sampling : "uniform" (every example once per epoch) or "gap", which is for structured outputs and their default (None).
    cache : whether labels found before are tried before the max-oracle is called; for structured outputs, their default.
    average : for structured outputs, also try the weighted average of all iterates (wbar_k = k/(k+2) wbar + 2/(k+2) w).

    >>> import fenchel
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [1.0, 1.0]], [0, 1, 2, 1]
    >>> problem = fenchel.Problem(X, y, loss="max_hinge", alpha=0.1)
    >>> fenchel.solve(problem, solver=BlockFrankWolfe("away"), tol=1e-3).status.name
    'CERTIFIED'
    """

    steps: str | None = None
    sampling: str | None = None
    cache: bool | None = None
    average: bool = False
    seed: int = 0
    cost = "an epoch of steps on single examples, one call of the max-oracle each, fewer with the cache"
    convergence = "expected gap O(1/(alpha epochs))"
    slow = True
    kinds = ("vector", "structured")
    waits = 2000
    needs = Needs(regularizer=("l2",))

    def __post_init__(self) -> None:
        if self.steps is not None and self.steps not in KINDS:
            raise InputError(f"steps must be None or one of {', '.join(map(repr, KINDS))}, got {self.steps!r}")
        if self.sampling is not None and self.sampling not in SAMPLINGS:
            raise InputError(
                f"sampling must be None or one of {', '.join(map(repr, SAMPLINGS))}, got {self.sampling!r}"
            )

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        if oracle.problem.kind == "structured":
            yield from self.label_iterates(cast("StructuredOracle", oracle), start)
            return
        if self.cache or self.average or self.sampling == "gap":
            raise InputError(
                "cache, average and gap sampling are for structured outputs; this loss is of scores of rows"
            )
        loss = oracle.problem.loss
        vertices = hasattr(loss, "vertex_margins")
        steps = self.steps or ("pairwise" if vertices else "plain")
        if steps != "plain" and not vertices:
            raise InputError(
                f"steps={steps!r} needs a loss with vertices (MaxHinge, CostHinge); {loss} takes 'plain' ones"
            )
        state, rng = BlockState(cast("VectorOracle", oracle), start), np.random.default_rng(self.seed)
        yield state.check()
        for due in checks():
            sweep(state, blocks(rng, state.rows), KINDS[steps])
            yield state.check() if due else Iterate(state.coef(), 0.0, None, np.nan)

    def label_iterates(self, oracle: StructuredOracle, start: Start) -> Iterator[Iterate]:
        """Steps on labels."""
        state, rng, n = LabelState(oracle, start), np.random.default_rng(self.seed), oracle.problem.n
        if self.average:
            state.average = np.zeros(oracle.problem.d)
        kind, asks = KINDS[self.steps or "pairwise"], ASK if self.cache is False else CACHE_FIRST
        found = state.check()[0]
        yield found
        monitor = GapMonitor(found)
        for epoch in count():
            fresh = epoch % SETTINGS.epochs_per_full_epoch == 0
            drawn = self.sampling != "uniform" and not fresh
            order = draw(rng, state) if drawn else rng.permutation(n)
            state.epoch(order, kind, ASK if fresh else asks)
            if not monitor.due(state.estimate()):
                yield Iterate(state.w.copy(), 0.0, None, np.nan)
                continue
            found = state.check()[0]
            monitor.record(found)
            yield found
            if self.average:
                mean = state.check(state.averaged())[0]
                yield mean


class GapMonitor:
    """Decides when P and D are evaluated, which costs a pass: when the estimated gap has halved, or after some epochs."""

    def __init__(self, found: Iterate):
        self.epoch = 0
        self.record(found)

    def record(self, found: Iterate) -> None:
        assert found.primal is not None
        self.gap, self.at = found.primal - found.dual, self.epoch

    def due(self, estimate: float) -> bool:
        self.epoch += 1
        interval = max(SETTINGS.min_evaluation_interval_epochs, self.epoch // SETTINGS.evaluation_interval_divisor)
        return estimate <= SETTINGS.evaluation_gap_ratio * self.gap or self.epoch - self.at >= interval


def draw(rng: np.random.Generator, state: LabelState) -> np.ndarray:
    """As many examples as there are, drawn in proportion to their last known gaps."""
    n, chances = state.problem.n, state.problem.weights * state.gaps
    total = float(chances.sum())
    return rng.choice(n, n, p=chances / total) if total > 0.0 else rng.permutation(n)


def sweep(state: BlockState, order: np.ndarray, kind: int) -> None:
    """One step for every row."""
    problem = state.oracle.problem
    for part in state.oracle.visits(order, problem.outputs * size(problem.rows) / problem.n):
        arguments = (problem.compiled_loss, problem.rows, problem.y, problem.weights, part, 1.0 / state.strength)
        if kind == PLAIN:
            plain_epoch(*arguments, state.V, state.U)
        else:
            vertex_epoch(*arguments, state.V, state.U, kind)
