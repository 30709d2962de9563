"""The model of a bundle method: its cutting planes."""

from __future__ import annotations

import numpy as np

from fenchel.oracles.scalar import Plane, PlaneRecipe
from fenchel.solvers.bundle.settings import SETTINGS


class Planes:
    """Cutting planes <A_j, w> + c_j with their Gram matrix, kept up to date by one row per new plane.

    A is a view of rows that are reserved ahead, so that a new plane copies no old one.
    """

    def __init__(self, d: int, lowest: float):
        self.rows = np.zeros((0, d))
        self.A = self.rows.T
        self.c = np.zeros(0)
        self.gram = np.zeros((0, 0))
        self.recipes: list[PlaneRecipe | None] = []
        self.weights = np.zeros(0)
        self.bound_weights = np.zeros(0)
        self.idle = np.zeros(0, dtype=int)
        self.numbers = np.zeros(0, dtype=int)  # in the order in which they were added
        self.added = 0
        if np.isfinite(lowest):
            self._append(np.zeros(d), lowest, None)  # The risk is never below this: a plane without a pass, with u = 0.
            self.weights[0] = self.bound_weights[0] = 1.0

    @property
    def zero(self) -> int | None:
        """The place of the plane 0, if there is one."""
        return next((k for k, recipe in enumerate(self.recipes) if recipe is None), None)

    def add(self, plane: Plane) -> None:
        if np.isfinite(plane.constant) and np.isfinite(plane.gradient).all():
            self._append(plane.gradient, plane.constant, plane.recipe)
            if self.c.size == 1:
                self.weights[0] = self.bound_weights[0] = 1.0

    def _append(self, gradient: np.ndarray, constant: float, recipe: PlaneRecipe | None) -> None:
        products = self.A.T @ gradient
        m = self.c.size
        gram = np.empty((m + 1, m + 1))
        gram[:m, :m], gram[m, :m], gram[:m, m], gram[m, m] = self.gram, products, products, gradient @ gradient
        self.gram = gram
        if m == len(self.rows):
            self._reserve(max(SETTINGS.min_reserved_planes, 2 * m))
        self.rows[m] = gradient
        self.A = self.rows[: m + 1].T
        self.c = np.append(self.c, constant)
        self.recipes.append(recipe)
        self.weights = np.append(self.weights, 0.0)
        self.bound_weights = np.append(self.bound_weights, 0.0)
        self.idle = np.append(self.idle, 0)
        self.numbers = np.append(self.numbers, self.added)
        self.added += 1

    def _reserve(self, count: int) -> None:
        rows = np.empty((count, self.A.shape[0]))
        rows[: self.c.size] = self.A.T
        self.rows = rows

    def own(self) -> None:
        """Stop sharing rows with the planes that these were copied from: a plane that either adds is then its own."""
        self._reserve(self.c.size)
        self.A = self.rows.T

    def use(self, weights: np.ndarray, also: np.ndarray | None = None) -> None:
        """Keep the weights (of the step, and of the bound if those are others) for the next warm start, and count for how
        long each plane has had none."""
        self.weights, self.bound_weights = weights, weights if also is None else also
        active = weights > 0.0 if also is None else (weights > 0.0) | (also > 0.0)
        self.idle = np.where(active, 0, self.idle + 1)

    def drop(self, patience: int) -> None:
        """Drop planes without weight for more than `patience` steps; the bound stays valid, as the weights are feasible."""
        keep = (self.idle <= patience) | np.array([recipe is None for recipe in self.recipes])
        if keep.all():
            return
        kept = np.flatnonzero(keep)
        self.rows, self.c, self.gram = self.A.T[kept], self.c[kept], self.gram[np.ix_(kept, kept)]
        self.A = self.rows.T
        self.weights, self.bound_weights = self.weights[kept], self.bound_weights[kept]
        self.idle, self.numbers = self.idle[kept], self.numbers[kept]
        self.recipes = [self.recipes[k] for k in kept]
