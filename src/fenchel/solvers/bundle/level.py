"""The master problem of a level bundle method, for L2.

The minimum of the model jumps from one side of the optimum to the other while the model is poor, more so the smaller alpha is.
A level method takes the point nearest to the best one so far (the centre) at which the model falls to a level between the
lower bound and the best value. That point minimises the model plus mu/2 |w - centre|^2 for some mu, which is searched for: a
warm-started quadratic program costs far less than a pass over the data. The lower bound comes from the model alone.

Reference    Lemarechal, Nemirovskii and Nesterov (1995)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.solvers.bundle.model import Planes
from fenchel.solvers.bundle.settings import SETTINGS
from fenchel.solvers.bundle.simplex_qp import quadratic


class LevelMaster:
    """Steps to a level of the model, around the best point."""

    def __init__(self, regularizer: Any):
        self.alpha = float(regularizer.alpha)
        self.centre: np.ndarray | None = None
        self.value = np.inf
        self.bound = -np.inf
        self.mu = self.alpha

    def next(self, planes: Planes, w: np.ndarray, primal: float, gap: float) -> tuple[np.ndarray, np.ndarray, float]:
        """(next point, weights of the planes that prove the bound, lower bound)."""
        if self.centre is None or primal < self.value:
            self.centre, self.value = w, primal
        free = quadratic(planes.gram / self.alpha, planes.c, planes.bound_weights, SETTINGS.master_gap_ratio * gap)
        point = -(planes.A @ free) / self.alpha
        bound = float(planes.c @ free) - 0.5 * self.alpha * float(point @ point)
        self.bound = max(self.bound, bound)
        gap = self.value - self.bound
        step = planes.weights
        if 0.0 < gap < np.inf:
            point, step = self._to_level(planes, gap)
        planes.use(step, also=free)
        return point, free, bound

    def _to_level(self, planes: Planes, gap: float) -> tuple[np.ndarray, np.ndarray]:
        """(the point, weights of the planes): mu falls where the model is above the level, and grows where it is below."""
        assert self.centre is not None
        at_centre, step = planes.A.T @ self.centre, planes.weights
        small, large, mu = 0.0, np.inf, self.mu
        for _ in range(SETTINGS.max_level_trials):
            total = self.alpha + mu
            step = quadratic(
                planes.gram / total, planes.c + (mu / total) * at_centre, step, SETTINGS.level_gap_ratio * gap
            )
            point = (mu * self.centre - planes.A @ step) / total
            model = float(np.max(planes.A.T @ point + planes.c)) + 0.5 * self.alpha * float(point @ point)
            self.mu, height = mu, (model - self.bound) / gap
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
            if mu < SETTINGS.min_level_weight_ratio * self.alpha:
                break
        return point, step
