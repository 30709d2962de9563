"""Proximal steps by block-coordinate Frank-Wolfe, for structured hinge losses with L1.

Problem      min over w of sum_i p_i max_y [L_i(y) + f <w, psi_i(y)>] + l1 |w|_1 + l2/2 |w|^2
Update       w_(k+1) is near the minimum of the same + |w - w_k|^2 / (2 sigma). Its dual, in weights a of labels, is smooth:
               w(a) = soft(w_k - sigma g(a), sigma l1) / (1 + sigma l2),   g(a) = sum p a f psi
             and is increased by pairwise Frank-Wolfe steps on single examples, as in `block_frank_wolfe`: with a cache of
             labels, drawn in proportion to their last gaps. Along a direction the slope of the dual is piecewise linear, and a
             step ends where it is nearly 0. sigma keeps two parts of the gap in balance: that of the steps on labels, which
             grows with sigma, and that of |g| > l1, which is |w_(k+1) - w_k| / sigma
Certificate  the labels with their weights, scaled so that |g| <= l1 (the rest belongs to the gold labels); w, or an average of
             the last ones on the features of w
Reference    Rockafellar (1976) for proximal steps with inexact minima; Lacoste-Julien et al. (2013), Osokin et al. (2016)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from fenchel.kernels.structured_epoch import ASK, CACHE_FIRST, PAIRWISE
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.block_frank_wolfe.solver import draw
from fenchel.solvers.proximal_frank_wolfe.settings import SETTINGS
from fenchel.solvers.proximal_frank_wolfe.state import ProximalState

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


@dataclass(frozen=True)
class ProximalFrankWolfe(Solver):
    """Sparse structured models: proximal steps, each by Frank-Wolfe steps on one example after another.

    Parameters
    ----------
    seed : of the order of the examples.

    >>> import fenchel
    >>> model = fenchel.structured.Multiclass()
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [0, 1, 2]
    >>> problem = fenchel.Problem(X, y, loss=model, regularizer="l1", alpha=0.1)
    >>> fenchel.solve(problem, solver=ProximalFrankWolfe(), tol=1e-4).status.name
    'CERTIFIED'
    """

    seed: int = 0
    cost = "an epoch of steps on single examples, with a threshold of all coefficients after each"
    convergence = "the dual value of a proximal step increases with every step on an example"
    slow = True
    kinds = ("structured",)
    waits = 2000
    needs = Needs(regularizer=("soft_threshold",))

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        state, rng = ProximalState(oracle, start), np.random.default_rng(self.seed)
        found = state.look()
        yield found
        assert found.primal is not None
        mean, enough = found.coef, SETTINGS.inner_tol_share * start.tol
        for number in count():
            for epoch in range(SETTINGS.max_epochs):
                fresh = epoch % SETTINGS.epochs_per_full_epoch == 0
                order = rng.permutation(oracle.problem.n) if fresh else draw(rng, state)
                state.epoch(order, PAIRWISE, ASK if fresh else CACHE_FIRST)
                goal = max(SETTINGS.inner_gap_ratio * state.proximal_term(), enough * found.primal)
                if epoch > 0 and state.estimate() <= goal:
                    break
                yield Iterate(state.w.copy(), 0.0, None, np.nan)
            found = state.look()
            weight = 1.0 if number == 0 else SETTINGS.average_weight
            mean = (1.0 - weight) * mean + weight * found.coef
            yield better(state, found, np.where(found.coef != 0.0, mean, 0.0))
            state.advance(found)


def better(state: ProximalState, found: Iterate, w: np.ndarray) -> Iterate:
    """The iterate, or the same with w if P is lower there."""
    primal = state.primal(w)
    assert found.primal is not None
    return found._replace(coef=w.copy(), primal=primal) if primal < found.primal else found
