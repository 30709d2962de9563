"""Cutting planes at asked-for points."""

from __future__ import annotations

import numpy as np

from fenchel.oracles.scalar import Oracle, Plane

REACH = 2.0  # how far from the best scores tangents of an exponentially growing loss are taken


class Tangents:
    """Planes at asked-for points; for exponentially growing losses the tangents stay near the best point so far."""

    def __init__(self, oracle: Oracle):
        self.oracle = oracle
        self.capped = getattr(oracle.problem.loss, "grows_exponentially", False)
        self.centre: tuple[np.ndarray, float] | None = None
        self.best = np.inf

    def plane(self, w: np.ndarray, b: float) -> Plane:
        plane = self.oracle.plane(w, b, self.centre if self.capped else None, REACH if self.capped else np.inf)
        if not np.isfinite(plane.constant) and self.centre is not None:
            self.capped = True
            plane = self.oracle.plane(w, b, self.centre, REACH)
        primal = plane.value + self.oracle.problem.regularizer.value(w)
        if primal < self.best:
            self.best, self.centre = primal, (w, plane.intercept)
        return plane
