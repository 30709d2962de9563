"""Passes over the data for Newton steps with a differentiable measure of all scores: scores, its slopes or Hessian product in
the scores, then the sum of rows. They take the place of `passes.py` in the steps for losses of one score."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.oracles.blockwise import BlockState, summed
from fenchel.result import Iterate
from fenchel.solvers.base import Start
from fenchel.solvers.dual_estimates import dual_estimate
from fenchel.solvers.newton_cg.passes import Costs, Line, Point, costs_from
from fenchel.solvers.newton_cg.scalar import descend
from fenchel.solvers.newton_cg.scalar_systems import Systems
from fenchel.solvers.newton_cg.settings import SETTINGS

if TYPE_CHECKING:
    from fenchel.oracles.measure import QueryBlock, SetOracle
    from fenchel.oracles.scalar import Oracle


def costs_of_measure(oracle: Oracle) -> Costs:
    """Costs of a product, in which scores are sorted, and of a Gram matrix, a product for each feature."""
    problem, (stored, squares, dense) = oracle.problem, oracle.storage
    rows = costs_from(stored, squares, 2.0 * dense > problem.n, problem.d)
    product = rows.product + SETTINGS.measure_product_ns_per_row * problem.n
    d = float(problem.d)
    most = SETTINGS.max_remote_factored_features if oracle.remote else SETTINGS.max_factored_features
    factor = d * product + SETTINGS.factor_ns_per_product * d**3 / 3.0
    return Costs(product, d * product, factor if d <= most else np.inf)


class MeasurePasses:
    """The rows of a problem whose loss is a measure of all scores, which are brought to one thread."""

    def __init__(self, oracle: Oracle):
        self.oracle, self.problem, self.costs = oracle, oracle.problem, costs_of_measure(oracle)
        self.at: np.ndarray | None = None  # The scores for which `in_scores` is the Hessian product.
        self.in_scores: Callable[[np.ndarray], np.ndarray] | None = None

    def evaluate(self, w: np.ndarray, b: float) -> Point:
        """Evaluate a point, known by its scores; the curvature is no number per row, so there are no sums of it."""
        z, regularizer = self.oracle.scores(w), self.problem.regularizer
        u = np.empty(z.size)
        risk = self.problem.loss.value_and_slope(z, self.problem.prepared, u)
        g = self.oracle.combine(z.size * u)
        value = risk + regularizer.value(w)
        return Point(w, 0.0, value, g + regularizer.gradient(w), 0.0, risk, g, np.empty(0), 0.0, z)

    def line(self, point: Point, new: Point) -> Line:
        """The line from one point to another."""
        return Line(point.at, new.at - point.at, np.empty(0))

    def along(self, line: Line, t: float) -> tuple[float, float]:
        """(the measure, its derivative) on a line, from stored scores."""
        slope = np.empty(line.z.size)
        value = self.problem.loss.value_and_slope(line.z + t * line.dz, self.problem.prepared, slope)
        return value, float(slope @ line.dz)

    def product(self, point: Point, v: np.ndarray, shift: float) -> np.ndarray:
        """X'K X v with the Hessian K in the scores; a measure has no intercept, so the shift is 0."""
        if self.at is not point.at or self.in_scores is None:
            self.at, self.in_scores = point.at, self.problem.loss.hessian_product(point.at, self.problem.prepared)
        return self.oracle.combine(self.problem.n * self.in_scores(self.oracle.scores(v)))

    def gram(self, point: Point) -> np.ndarray:
        """X'K X, a product for each column."""
        columns = np.eye(self.problem.d)
        return np.array([self.product(point, column, 0.0) for column in columns])


class QueryPasses(BlockState):
    """The same for a mean over queries: scores stay with the rows of their queries."""

    kind = "query_newton"

    def __init__(self, oracle: SetOracle):
        super().__init__(oracle)
        self.costs, self.number = costs_of_measure(oracle), 0

    def begin(self) -> None:
        """Nothing is known of the rows yet."""
        self.points: dict[int, dict[int, np.ndarray]] = {}  # Scores by the numbers of the point and of the block.
        self.last_line: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.in_scores: tuple[int, dict[int, Callable[[np.ndarray], np.ndarray]]] = (0, {})

    def evaluate(self, w: np.ndarray, b: float) -> Point:
        """Evaluate a point in one pass. Of the points before, the last two are kept."""
        regularizer = self.problem.regularizer
        self.number += 1
        risk, g = self.sums_at(self.number, w)
        value, gradient = risk + regularizer.value(w), g + regularizer.gradient(w)
        return Point(w, 0.0, value, gradient, 0.0, risk, g, np.empty(0), 0.0, self.number)

    @summed(passes=1.0, keeps=True, shapes=lambda problem: ((), (problem.d,)))
    def sums_at(self, number: int, w: np.ndarray) -> tuple[float, np.ndarray]:
        """(the mean over queries, its gradient) at a point, kept under a number."""
        self.points.pop(number - SETTINGS.kept_points, None)
        scores = self.points[number] = {}
        loss = self.problem.loss

        def work(block: QueryBlock) -> tuple[float, np.ndarray]:
            z, slope = block.scores(w), np.empty(block.p.size)
            scores[block.number] = z
            value = block.queries.value_and_slope(loss, z, slope)
            return value, block.combined(slope, w.size)

        return self.engine.sum(work, self.oracle.query_blocks)

    def line(self, point: Point, new: Point) -> tuple[int, int]:
        """The line from the point before the last one to the last one; it is kept until there is another one."""
        self.keep_line(point.at, new.at)
        return point.at, new.at

    @summed(keeps=True)
    def keep_line(self, point: int, new: int) -> tuple[()]:
        """Keep the line between two points."""
        a, b = self.points[point], self.points[new]
        self.last_line = {k: (a[k], b[k] - a[k]) for k in a}
        return ()

    def along(self, line: Any, t: float) -> tuple[float, float]:
        """(the loss, its derivative) on the last line, from stored scores."""
        return self.risk_on_line(t)

    @summed(shapes=lambda problem: ((), ()))
    def risk_on_line(self, t: float) -> tuple[float, float]:
        """The same, asked of the rows."""

        def work(block: QueryBlock) -> tuple[float, float]:
            (z, dz), slope = self.last_line[block.number], np.empty(block.p.size)
            value = block.queries.value_and_slope(self.problem.loss, z + t * dz, slope)
            return value, float(slope @ dz)

        return self.engine.sum(work, self.oracle.query_blocks)

    def product(self, point: Point, v: np.ndarray, shift: float) -> np.ndarray:
        """X'K X v with the Hessian K in the scores; a measure has no intercept, so the shift is 0."""
        return self.hessian_product(point.at, v)

    @summed(passes=1.0, shapes=lambda problem: ((problem.d,),))
    def hessian_product(self, number: int, v: np.ndarray) -> np.ndarray:
        """The same at a point that is kept."""
        products = self._in_scores(number)
        return self.engine.sum(lambda block: (self._product(block, products, v),), self.oracle.query_blocks)[0]

    def gram(self, point: Point) -> np.ndarray:
        """X'K X, a product for each column."""
        self.count(float(self.problem.d))
        return self.columns_of_hessian(point.at)

    @summed(shapes=lambda problem: ((problem.d, problem.d),))
    def columns_of_hessian(self, number: int) -> np.ndarray:
        """The same at a point that is kept."""
        products, columns = self._in_scores(number), np.eye(self.problem.d)

        def work(block: QueryBlock) -> tuple[np.ndarray]:
            return (np.array([self._product(block, products, column) for column in columns]),)

        return self.engine.sum(work, self.oracle.query_blocks)[0]

    def _in_scores(self, number: int) -> dict[int, Callable[[np.ndarray], np.ndarray]]:
        """For every block, the Hessian product in its scores, which are sorted once for a point."""
        if self.in_scores[0] != number:
            loss, scores = self.problem.loss, self.points[number]
            blocks = self.oracle.query_blocks
            self.in_scores = (
                number,
                {block.number: block.queries.hessian_product(loss, scores[block.number]) for block in blocks},
            )
        return self.in_scores[1]

    def _product(self, block: QueryBlock, products: dict[int, Any], v: np.ndarray) -> np.ndarray:
        return block.combined(products[block.number](block.scores(v)), v.size)


def measure_iterates(oracle: SetOracle, start: Start) -> Iterator[Iterate]:
    """Iterates of `NewtonCG` for differentiable measures."""
    passes: Any = QueryPasses(oracle) if oracle.is_by_query else MeasurePasses(oracle)
    for point, _ in descend(passes, passes.evaluate(start.coef, 0.0), Systems(oracle.problem)):
        yield Iterate(point.w.copy(), 0.0, point.value, dual_estimate(oracle, point.w, 0.0, point.risk, point.g, 0.0))
