"""The oracle of problems whose loss is a measure of all scores: scores, sort, coefficients, one transposed pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from fenchel.oracles.scalar import Oracle, Plane, PlaneRecipe
from fenchel.problems.measure import Mixture


class SetOracle(Oracle):
    """All access of a solver to the data, for measures."""

    def risk(self, w: np.ndarray, b: float = 0.0) -> tuple[float, np.ndarray, float]:
        """(the measure, its subgradient in w, 0)."""
        problem, slope = self.problem, np.empty(self.problem.n)
        value = problem.loss.value_and_slope(self.scores(w), problem.prepared, slope)
        return value, self.combine(problem.n * slope), 0.0

    def plane(self, w: np.ndarray, b: float, centre: Any = None, reach: float = np.inf) -> Plane:
        """The cutting plane of the measure at w."""
        value, gradient, _ = self.risk(w)
        recipe = PlaneRecipe(np.array(w), 0.0, 0.0, 0.0, None, np.inf)
        return Plane(value, gradient, value - float(gradient @ w), 0.0, recipe)

    def mix(self, parts: Iterable[tuple[float, PlaneRecipe]]) -> Mixture:
        """The dual point of planes with weights: the scores at which they were found."""
        parts = list(parts)
        if not parts:  # the plane 0 alone
            return Mixture(np.zeros(1), np.zeros((1, self.problem.n)))
        weights, scores = zip(*((weight, self.scores(recipe.coef)) for weight, recipe in parts), strict=True)
        return Mixture(np.array(weights), np.array(scores))

    def conjugates(self, u: np.ndarray) -> float:
        """Not known for a measure in general: inf, as for a loss without a lower bound."""
        return np.inf
