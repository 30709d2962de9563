"""Dual coordinate ascent within blocks of rows, for rows on several machines (CoCoA+).

Problem      max over u of -sum_i p_i (loss*(u_i) - u_i offset_i) - R*(v), v = -sum_i p_i u_i x_i; R* has a quadratic bound
Update       v / strength goes to all blocks. Each makes `epochs` epochs of exact dual coordinate steps on its own rows, as if
             its change of v counted c times, and sends back the change d_k. With d = sum_k d_k, and the loss part of D
             concave, t = ((loss part's gain) - strength <w, d>) / (strength |d|^2), at most 1, maximizes a lower
             bound of D: v <- v + t d, and each block keeps the fraction t of its change. The dual value never falls.
             c follows |d|^2 / sum_k |d_k|^2, a measure of how much the changes of the blocks overlap: between 1 (not at all)
             and the number of blocks (which CoCoA+ takes). When blocks react to each other's last change, w oscillates, so
             the midpoint of the last two points is evaluated too. One round sends d numbers to and from each worker,
             whatever the number of epochs.
Certificate  the dual variables, which stay with the blocks
Reference    Ma, Smith, Jaggi, Jordan, Richtarik, Takac (2015), "Adding vs. averaging in distributed primal-dual optimization"
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.errors import InputError
from fenchel.mirror_maps.coordinatewise import Identity, Soft, apply_to
from fenchel.oracles.local_dual import Round, halfway
from fenchel.regularizers import ElasticNet
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


@dataclass(frozen=True)
class Cocoa(Solver):
    """CoCoA+ for L2 and ElasticNet, where messages cost more than passes over the rows.

    Parameters
    ----------
    epochs : passes over its rows that every block makes between two messages.
    seed : of the order in which rows are visited.

    It pays with few blocks and weak coupling between them (many features, sparse rows). With many blocks, strongly correlated
    features or small gaps to reach, the steps become short, and L-BFGS or a bundle method needs fewer rounds.

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="hinge", alpha=0.1)
    >>> fenchel.solve(problem, solver=Cocoa(epochs=5)).status.name
    'CERTIFIED'
    """

    epochs: int = 3
    seed: int = 0
    needs = Needs(regularizer=("separable_quadratic",), problem=("no_intercept",))
    remote = ("scalar",)
    slow = True
    cost = "some epochs of dual steps on every block, and one message of d numbers to and from each worker"
    convergence = (
        "as dual ascent if blocks are weakly coupled; otherwise slower, by a factor of up to the number of blocks"
    )

    def __post_init__(self) -> None:
        if not isinstance(self.epochs, (int, np.integer)) or self.epochs < 1:
            raise InputError(f"epochs must be an integer of at least 1, got {self.epochs!r}")

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        regularizer = oracle.problem.regularizer
        strength: float = regularizer.alpha
        transfer: Any = Identity()
        if isinstance(regularizer, ElasticNet):
            strength = regularizer.alpha * (1.0 - regularizer.l1_ratio)
            transfer = Soft(regularizer.alpha * regularizer.l1_ratio / strength)
        name, combined = oracle.begin_local_duals(transfer, strength, self.seed)
        v = -combined / strength
        request, last = Round(v, 0.0, 1.0, self.epochs), None
        rounds: list[Round] = []
        for request in start.memory["rounds"] if start.memory is not None else ():
            if rounds:  # Replaying the rounds restores the state of the blocks.
                oracle.local_dual_round(name, rounds[-1])
                last = rounds[-1].v
            rounds.append(request)
        while True:
            v, middle = request.v, apply_to(transfer, halfway(request.v, last))
            w = apply_to(transfer, v)
            losses, between, before, after, change, squares = oracle.local_dual_round(name, request)
            rounds = [*rounds, request] if not rounds or rounds[-1] is not request else rounds
            at_w, at_middle = losses + regularizer.value(w), between + regularizer.value(middle)
            dual = -before - regularizer.conjugate(strength * v)
            best, primal = (w, at_w) if at_w <= at_middle else (middle, at_middle)
            yield Iterate(best, 0.0, primal, dual, oracle.local_dual_point(name), partial(dict, rounds=rounds))
            square = float(change @ change)
            if not square > 0.0:
                return
            kept = min(max((before - after - strength * float(w @ change)) / (strength * square), 0.0), 1.0)
            coupling = max(float(np.sqrt(request.coupling * square / squares)), 1.0)
            request, last = Round(v + kept * change, kept, coupling, self.epochs), v
