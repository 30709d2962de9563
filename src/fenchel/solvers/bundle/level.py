"""The master problem of a level bundle method.

The minimum of the model jumps from one side of the optimum to the other while the model is poor, more so the smaller alpha is.
A level method takes the point nearest to the best one so far (the centre) at which the model falls to a level between the
lower bound and the best value. That point minimises the model plus mu/2 |w - centre|^2 for some mu, which is searched for: a
warm-started program costs less than a pass over the data. The lower bound comes from the model alone.

While the minima of the model themselves close the gap quickly, as where alpha is large, they are the next points: a level
leaves a fraction of the gap in every step.

Reference    Lemarechal, Nemirovskii and Nesterov (1995)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.solvers.bundle.model import feasible, height_at
from fenchel.solvers.bundle.planes import Planes
from fenchel.solvers.bundle.settings import SETTINGS


class LevelMaster:
    """Steps to a level of the model, around the best point; `model` is one of those of `model.py`."""

    patience = SETTINGS.level_patience

    def __init__(self, regularizer: Any, model: Any):
        self.regularizer, self.model = regularizer, model
        self.centre: np.ndarray | None = None
        self.value = np.inf
        self.bound = -np.inf
        self.mu = self.least = 0.0
        self.gaps: tuple[float, ...] = ()
        self.plain = bool(model.plain_steps)

    @property
    def inner(self) -> tuple[Any, ...]:
        """What else is part of the state."""
        return (self.model,)

    def next(self, planes: Planes, w: np.ndarray, primal: float, gap: float) -> tuple[np.ndarray, np.ndarray, float]:
        """(next point, weights of the planes that prove the bound, lower bound)."""
        if self.centre is None:
            self.mu = self.model.first_weight(planes, primal)
            self.least = self.model.min_weight_ratio * self.mu
        if self.centre is None or primal < self.value:
            self.centre, self.value = w, primal
        found = self.model.minimum(planes, gap)
        self.bound = max(self.bound, found.bound)
        point, step = found.point, found.weights
        if not np.isfinite(self.bound):  # The model has no minimum, as it may be without the plane 0.
            point, step = self.model.near(planes, self.centre, self.mu, planes.weights, SETTINGS.level_gap_ratio * gap)
        gap = self.value - self.bound
        self._judge(gap)
        if 0.0 < gap < np.inf and not self.plain:
            low = max(self.bound, found.height)
            point, step = self._to_level(planes, low if low < self.value else self.bound)
        weights, bound = found.weights, found.bound
        if not self.model.plain_steps:  # The bound is not the best one of these planes.
            weights, bound = max((weights, bound), feasible(planes, self.regularizer, step), key=lambda pair: pair[1])
            self.bound = max(self.bound, bound)
        planes.use(step, also=weights)
        return point, weights, bound

    def _judge(self, gap: float) -> None:
        """Whether the minima of the model still close the gap quickly; if once they do not, they are left for good."""
        count = SETTINGS.judged_steps
        self.gaps = (*self.gaps, gap)[-count - 1 :]
        if len(self.gaps) > count and not gap <= SETTINGS.quick_gap_ratio**count * self.gaps[0]:
            self.plain = False

    def _to_level(self, planes: Planes, low: float) -> tuple[np.ndarray, np.ndarray]:
        """(the point, weights of the planes): mu falls where the model is above the level, and grows where it is below."""
        assert self.centre is not None
        gap, step = self.value - low, planes.weights
        small, large, mu = 0.0, np.inf, self.mu
        for _ in range(SETTINGS.max_level_trials):
            point, step = self.model.near(planes, self.centre, mu, step, SETTINGS.level_gap_ratio * gap)
            self.mu, height = mu, (height_at(planes, self.regularizer, point) - low) / gap
            if SETTINGS.min_level <= height <= SETTINGS.max_level:
                break
            if height < SETTINGS.min_level:
                small = mu
            else:
                large = mu
            if large == np.inf:
                mu *= SETTINGS.level_weight_growth
            elif small == 0.0:
                mu /= SETTINGS.level_weight_growth
            else:
                mu = np.sqrt(small * large)
            if mu < self.least:
                break
        return point, step
