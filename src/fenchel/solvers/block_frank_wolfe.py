"""Block-coordinate Frank-Wolfe for losses of several scores.

Problem      max over U of D(U) = -sum_i p_i loss*(u_i) - |sum_i p_i x_i u_i'|^2 / (2 alpha)
Update       one row at a time, u_i <- u_i + t d with the best t:
             "plain"     d = u' - u_i, u' the slopes at the row's scores (the vertex that the linearised dual likes best)
             "away"      that, or away from the worst vertex that u_i is made of, whichever promises more
             "pairwise"  weight moves from the worst vertex straight to the best
             The last two are for losses whose u_i are mixtures of vertices that can be read off: max hinge, cost hinge
Certificate  U itself; W is recomputed from it at every check
Reference    Lacoste-Julien et al. (2013); Lacoste-Julien and Jaggi (2015) for away and pairwise steps
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fenchel.errors import InputError
from fenchel.kernels.block_frank_wolfe import AWAY, PAIRWISE, plain_epoch, vertex_epoch
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.block_ascent import BlockState
from fenchel.solvers.row_order import blocks
from fenchel.solvers.watching import checks

KINDS = {"plain": 0, "away": AWAY, "pairwise": PAIRWISE}


@dataclass(frozen=True)
class BlockFrankWolfe(Solver):
    """Frank-Wolfe steps row by row; steps is None ("pairwise" where the loss has vertices, else "plain"), or one of them.

    >>> import fenchel
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [1.0, 1.0]], [0, 1, 2, 1]
    >>> problem = fenchel.Problem(X, y, loss="max_hinge", alpha=0.1)
    >>> fenchel.solve(problem, solver=BlockFrankWolfe("away"), tol=1e-3).status.name
    'CERTIFIED'
    """

    steps: str | None = None
    seed: int = 0
    slow: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("vector",)
    waits: ClassVar[int] = 2000
    needs: ClassVar[Needs] = Needs(regularizer=("l2",))

    def __post_init__(self) -> None:
        if self.steps is not None and self.steps not in KINDS:
            raise InputError(f"steps must be None or one of {', '.join(map(repr, KINDS))}, got {self.steps!r}")

    def iterates(self, oracle: Any, start: Start) -> Iterator[Iterate]:
        loss = oracle.problem.loss
        vertices = hasattr(loss, "vertex_margins")
        steps = self.steps or ("pairwise" if vertices else "plain")
        if steps != "plain" and not vertices:
            raise InputError(
                f"steps={steps!r} needs a loss with vertices (MaxHinge, CostHinge); {loss} takes 'plain' ones"
            )
        state, rng = BlockState(oracle, start), np.random.default_rng(self.seed)
        yield state.check()
        for due in checks():
            sweep(state, blocks(rng, state.rows), KINDS[steps])
            yield state.check() if due else Iterate(state.coef(), 0.0, None, np.nan)


def sweep(state: BlockState, order: np.ndarray, kind: int) -> None:
    """One step for every row."""
    problem = state.oracle.problem
    state.oracle.passes += order.size / problem.n
    arguments = (problem.compiled_loss, problem.rows, problem.y, problem.weights, order, 1.0 / state.strength)
    if kind == 0:
        plain_epoch(*arguments, state.V, state.U)
    else:
        vertex_epoch(*arguments, state.V, state.U, kind)
