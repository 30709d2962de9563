"""Cutting planes of the risk at given points."""

from __future__ import annotations

import numpy as np

from fenchel.oracles.scalar import Oracle, Plane
from fenchel.solvers.frank_wolfe.settings import SETTINGS


class Tangents:
    """Planes at given points; for exponentially growing losses the tangents stay near the best point so far."""

    def __init__(self, oracle: Oracle):
        self.oracle = oracle
        self.capped = getattr(oracle.problem.loss, "grows_exponentially", False)
        self.centre: tuple[np.ndarray, float] | None = None
        self.best = np.inf

    def plane(self, w: np.ndarray, b: float) -> Plane:
        reach = SETTINGS.max_score_distance
        plane = self.oracle.plane(w, b, self.centre if self.capped else None, reach if self.capped else np.inf)
        if not np.isfinite(plane.constant) and self.centre is not None:
            self.capped = True
            plane = self.oracle.plane(w, b, self.centre, reach)
        primal = plane.value + self.oracle.problem.regularizer.value(w)
        if primal < self.best:
            self.best, self.centre = primal, (w, plane.intercept)
        return plane
