"""Passes for Newton steps over rows on workers: each block keeps its scores and curvatures, and only sums are sent.

An evaluation and a Hessian-vector product send d numbers to each worker and as many back; a Gram matrix brings d^2 from
each, and so is computed only where d is small.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fenchel.solvers.newton_cg.passes import Costs, Point
from fenchel.solvers.newton_cg.settings import SETTINGS


class RemoteLine(NamedTuple):
    """The line from one point to another, by the numbers under which the blocks keep them."""

    point: int
    new: int


class RemotePasses:
    """As `passes.Passes`; a point's z is the number under which the blocks keep it, and its h is the sum of theirs."""

    def __init__(self, oracle: Any):
        self.oracle, self.problem, self.blocks = oracle, oracle.problem, oracle.blocks
        self.name = self.blocks.new_name()
        product, gram = self.blocks.sum("newton_costs", self.name, changes=self.name)
        d = float(self.problem.d)
        factor = gram + SETTINGS.factor_ns_per_product * d**3 / 3.0
        self.costs = Costs(product, gram, factor if d <= SETTINGS.max_remote_factored_features else np.inf)
        self.next = 0

    def evaluate(self, w: np.ndarray, b: float) -> Point:
        """Evaluate a point in one fused pass."""
        self.oracle.count()
        self.next += 1
        asked = ("newton_look", self.name, w, b, self.next)
        risk, g, slopes, curvature_sum, total = self.blocks.sum(*asked, changes=self.name)
        regularizer = self.problem.regularizer
        slopes = slopes if self.problem.fit_intercept else 0.0
        value, gradient = risk + regularizer.value(w), g + regularizer.gradient(w)
        unknown: Any = None  # The slopes at (w, b) stay with the blocks: the certificate computes its own.
        return Point(w, b, value, gradient, slopes, risk, g, self.next, unknown, total, curvature_sum)  # type: ignore[arg-type]

    def line(self, point: Point, new: Point) -> RemoteLine:
        """The line from one point to another."""
        return RemoteLine(point.z, new.z)  # type: ignore[arg-type]

    def secant_curvature(self, point: Point, line: RemoteLine) -> Point:
        """The point, each curvature replaced by its average over a line where that is larger."""
        curvature_sum, total = self.blocks.sum("newton_secant_curvature", self.name, point.z, *line, changes=self.name)
        return point._replace(curvature_sum=curvature_sum if point.curvature_sum.size else point.curvature_sum, h=total)

    def along(self, line: RemoteLine, t: float) -> tuple[float, float]:
        """(risk, its derivative) on a line."""
        value, slope = self.blocks.sum("newton_along", self.name, *line, t)
        return value, slope

    def curvature_of(self, point: Point) -> float:
        """sum h."""
        return float(point.h)

    def farthest(self, point: Point) -> float:
        """sqrt(sum p z^2), the typical magnitude of a score."""
        return math.sqrt(self.blocks.sum("newton_squares", self.name, point.z)[0])

    def product(self, point: Point, v: np.ndarray, shift: float) -> np.ndarray:
        """sum_i h_i (<x_i, v> + shift) x_i."""
        self.oracle.count()
        return self.blocks.sum("newton_product", self.name, point.z, v, shift)[0]

    def gram(self, point: Point) -> np.ndarray:
        """sum_i h_i x_i x_i', in its upper triangle at least."""
        self.oracle.count()
        return self.blocks.sum("newton_gram", self.name, point.z)[0]
