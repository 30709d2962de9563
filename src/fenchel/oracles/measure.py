"""The oracle of problems whose loss is a measure: scores, sort, coefficients, one transposed pass.

A mean over queries is a sum over blocks of rows, if these keep every query whole: then a block's share of the value and of the
gradient is computed where its rows are. The blocks of an engine that was not told where to cut begin where queries begin.
Other measures need the scores of all rows in one place: 8 n bytes to it, and the slopes, 8 n bytes, back.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fenchel.data.types import Rows
from fenchel.kernels import passes
from fenchel.oracles.blockwise import summed
from fenchel.oracles.scalar import Mixed, Oracle, Plane, PlaneRecipe
from fenchel.problems.measure import Mixture, WholeQueries

log = logging.getLogger("fenchel")
TRAVEL = (
    "measure %s is of the scores of all %d rows: in every pass the workers send %d bytes of scores, and get as many of "
    "slopes (a mean over queries needs neither, if no query has rows in two blocks)"
)


class QueryBlock(NamedTuple):
    """A block of rows, its number, and what its queries add to the loss."""

    number: int
    rows: Rows
    p: np.ndarray
    offset: np.ndarray
    mapped: bool
    queries: WholeQueries

    def scores(self, w: np.ndarray) -> np.ndarray:
        """<x_i, w> of its rows."""
        z = np.empty(self.p.size)
        passes.scores_pass(self.rows, self.offset, w, z)
        return z

    def combined(self, slope: np.ndarray, d: int) -> np.ndarray:
        """sum_i slope_i x_i."""
        out = np.zeros(d)
        passes.combine_pass(self.rows, self.p, slope / self.p, out)
        return out


class SetOracle(Oracle):
    """The access of solvers to the data, for measures."""

    @cached_property
    def is_by_query(self) -> bool:
        """Whether the loss is a sum over blocks."""
        return self.problem.keeps_queries_whole(self.edges)

    @cached_property
    def query_blocks(self) -> list[QueryBlock]:
        """The blocks of rows in this process with their queries."""
        queries = (self.problem.whole_queries(block.start, block.stop) for block in self.blocks)
        return [
            QueryBlock(k, block.rows, block.p, block.offset, block.mapped, found)
            for k, (block, found) in enumerate(zip(self.blocks, queries, strict=True))
        ]

    def risk(self, w: np.ndarray, b: float = 0.0) -> tuple[float, np.ndarray, float]:
        """(the measure, its subgradient in w, 0)."""
        if self.is_by_query:
            return *self.risk_alone(w), 0.0
        if self.remote and not self.passes:
            log.info(TRAVEL, type(self.problem.loss).__name__, self.problem.n, 8 * self.problem.n)
        problem, slope = self.problem, np.empty(self.problem.n)
        value = problem.loss.value_and_slope(self.scores(w), problem.prepared, slope)
        return value, self.combine(problem.n * slope), 0.0

    @summed(passes=1.0, shapes=lambda problem: ((), (problem.d,)))
    def risk_alone(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """(the mean over queries, its subgradient), added up from what every block gives."""
        loss = self.problem.loss

        def work(block: QueryBlock) -> tuple[float, np.ndarray]:
            slope = np.empty(block.p.size)
            value = block.queries.value_and_slope(loss, block.scores(w), slope)
            return value, block.combined(slope, w.size)

        return self.engine.sum(work, self.query_blocks)

    def plane(self, w: np.ndarray, b: float, centre: Any = None, reach: float = np.inf) -> Plane:
        """The cutting plane of the measure at w."""
        value, gradient, _ = self.risk(w)
        recipe = PlaneRecipe(np.array(w), 0.0, 0.0, 0.0, None, np.inf)
        return Plane(value, gradient, value - float(gradient @ w), 0.0, recipe)

    def mix(self, parts: Iterable[tuple[float, PlaneRecipe]]) -> Mixture | Mixed:
        """The dual point of planes with weights: the scores at which they were found, or, where the rows stay elsewhere and
        their queries are whole, the coefficients."""
        parts = list(parts)
        if self.problem.remote and self.is_by_query:
            return Mixed(tuple(parts))
        if not parts:  # the plane 0 alone
            return Mixture(np.zeros(1), np.zeros((1, self.problem.n)))
        weights, scores = zip(*((weight, self.scores(recipe.coef)) for weight, recipe in parts), strict=True)
        return Mixture(np.array(weights), np.array(scores))

    def conjugates(self, u: np.ndarray) -> float:
        """Infinite, because it is unknown for measures in general, as for a loss without a lower bound."""
        return np.inf
