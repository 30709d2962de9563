"""The state of `ProximalFrankWolfe`: a pool of labels, and coefficients that follow from it by a soft threshold."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.regularizers import ElasticNet
from fenchel.regularizers.numerics import soft_threshold
from fenchel.result import Iterate
from fenchel.solvers.base import Start
from fenchel.solvers.block_frank_wolfe.label_state import LabelState
from fenchel.solvers.proximal_frank_wolfe.settings import SETTINGS
from fenchel.structured.pool import enlarged


class ProximalState(LabelState):
    """v = centre - sigma sum p a f psi, and w = v after the soft threshold sigma l1, divided by 1 + sigma l2."""

    def __init__(self, oracle: Any, start: Start):
        regularizer = oracle.problem.regularizer
        ratio = regularizer.l1_ratio if isinstance(regularizer, ElasticNet) else 1.0
        self.l1, self.l2 = ratio * regularizer.alpha, (1.0 - ratio) * regularizer.alpha
        self.centre, self.v = start.coef.copy(), start.coef.copy()
        super().__init__(oracle, start)
        self.first = self.first_length()
        self.strength, self.inner = 1.0 / self.first, np.inf

    def first_length(self) -> float:
        """A sigma for which the first proximal step is long."""
        risk, g, _ = self.oracle.risk(np.zeros(self.problem.d))
        excess = float(np.sum(np.maximum(np.abs(g) - self.l1, 0.0) ** 2)) + (SETTINGS.min_excess_ratio * self.l1) ** 2
        length = SETTINGS.first_length_ratio * risk / excess if excess > 0.0 else 1.0
        return length if 0.0 < length < np.inf else 1.0

    def threshold(self) -> tuple[np.ndarray, float, float]:
        sigma = 1.0 / self.strength
        return self.v, sigma * self.l1, 1.0 / (1.0 + sigma * self.l2)

    def recompute(self) -> tuple[float, np.ndarray]:
        gain, g = self.oracle.pool_sums(self.pool)
        self.v = self.centre - g / self.strength
        _, threshold, shrink = self.threshold()
        self.w = shrink * soft_threshold(self.v, threshold)
        return gain, g

    def proximal_term(self) -> float:
        """|w - centre|^2 / (2 sigma)."""
        step = self.w - self.centre
        return 0.5 * self.strength * float(step @ step)

    def look(self) -> Iterate:
        """P at w, and D at the pool; with L1 the pool is scaled into the domain of R*. `inner` becomes the gap of the proximal
        step, in which w minimises <g, w> and everything but the losses."""
        gain, g = self.recompute()
        regularizer, risk = self.problem.regularizer, self.oracle.risk(self.w)[0]
        primal, self.inner = risk + regularizer.value(self.w), risk - gain - float(g @ self.w)
        largest = float(np.max(np.abs(g)))
        if self.l2 > 0.0:
            dual = gain - regularizer.conjugate(-g)
        else:
            dual = gain * min(1.0, self.l1 / largest) if largest > 0.0 else gain
        pool = enlarged(self.pool, self.sizes, np.zeros(self.problem.n, dtype=np.int64))
        return Iterate(self.w.copy(), 0.0, primal, dual, pool)

    def primal(self, w: np.ndarray) -> float:
        return self.oracle.risk(w)[0] + self.problem.regularizer.value(w)

    def advance(self, found: Iterate) -> None:
        """Centre the next proximal step at w, and choose its length."""
        assert found.primal is not None
        gap = found.primal - found.dual
        if self.inner > SETTINGS.high_share * gap:
            self.strength *= SETTINGS.length_decay
        elif self.inner < SETTINGS.low_share * gap and 1.0 / self.strength < SETTINGS.max_length_ratio * self.first:
            self.strength /= SETTINGS.length_growth
        self.centre = self.w.copy()
        self.recompute()
