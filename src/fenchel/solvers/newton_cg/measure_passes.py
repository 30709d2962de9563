"""Passes over the data for Newton steps with a differentiable measure of all scores: scores, its slopes or Hessian product in
the scores, then the sum of rows. They take the place of `passes.py` in the steps for losses of one score."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from fenchel.result import Iterate
from fenchel.solvers.base import Start
from fenchel.solvers.dual_estimates import dual_estimate
from fenchel.solvers.newton_cg.passes import Costs, Line, Point, costs_of
from fenchel.solvers.newton_cg.scalar import descend
from fenchel.solvers.newton_cg.scalar_systems import Systems
from fenchel.solvers.newton_cg.settings import SETTINGS

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


class MeasurePasses:
    """The rows of a problem whose loss is a measure."""

    def __init__(self, oracle: Oracle):
        self.oracle, self.problem = oracle, oracle.problem
        product = costs_of(self.problem).product + SETTINGS.measure_product_ns_per_row * self.problem.n
        d = float(self.problem.d)
        gram = d * product  # A column of the Hessian for each feature.
        factor = gram + SETTINGS.factor_ns_per_product * d**3 / 3.0
        self.costs = Costs(product, gram, factor if d <= SETTINGS.max_factored_features else np.inf)
        self.at: np.ndarray | None = None  # The scores for which `in_scores` is the Hessian product.
        self.in_scores: Callable[[np.ndarray], np.ndarray] | None = None

    def evaluate(self, w: np.ndarray, b: float) -> Point:
        """Evaluate a point; `h` is empty, since the curvature is no number per row."""
        z, regularizer = self.oracle.scores(w), self.problem.regularizer
        u = np.empty(z.size)
        risk = self.problem.loss.value_and_slope(z, self.problem.prepared, u)
        g = self.oracle.combine(z.size * u)
        value = risk + regularizer.value(w)
        return Point(w, 0.0, value, g + regularizer.gradient(w), 0.0, risk, g, z, u, np.empty(0), np.empty(0))

    def line(self, point: Point, new: Point) -> Line:
        """The line from one point to another."""
        return Line(point.z, new.z - point.z, np.empty(0))

    def along(self, line: Line, t: float) -> tuple[float, float]:
        """(the measure, its derivative) on a line, from stored scores."""
        slope = np.empty(line.z.size)
        value = self.problem.loss.value_and_slope(line.z + t * line.dz, self.problem.prepared, slope)
        return value, float(slope @ line.dz)

    def product(self, point: Point, v: np.ndarray, shift: float) -> np.ndarray:
        """X'K X v with the Hessian K in the scores; a measure has no intercept, so the shift is 0."""
        if self.at is not point.z or self.in_scores is None:
            self.at, self.in_scores = point.z, self.problem.loss.hessian_product(point.z, self.problem.prepared)
        return self.oracle.combine(self.problem.n * self.in_scores(self.oracle.scores(v)))

    def gram(self, point: Point) -> np.ndarray:
        """X'K X, a product for each column."""
        columns = np.eye(self.problem.d)
        return np.array([self.product(point, column, 0.0) for column in columns])


def measure_iterates(oracle: Oracle, start: Start) -> Iterator[Iterate]:
    """Iterates of `NewtonCG` for differentiable measures."""
    passes = MeasurePasses(oracle)
    for point, _ in descend(passes, passes.evaluate(start.coef, 0.0), Systems(oracle.problem)):
        yield Iterate(point.w.copy(), 0.0, point.value, dual_estimate(oracle, point.w, 0.0, point.risk, point.g, 0.0))
