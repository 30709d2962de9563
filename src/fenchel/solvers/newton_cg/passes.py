"""Passes over the data for Newton steps with losses of one score, on all rows or on a sample of them.

Scores, slopes and curvatures of a row stay with it (`BlockState`): a step sees sums over rows, and the number under which a
point is kept. With a free intercept the Hessian is that of the problem with b minimised out (the Schur complement): rows are
centred at their mean, weighted by curvature.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.data.accept import block, size
from fenchel.data.dense import Dense
from fenchel.data.mapped import release
from fenchel.kernels.curvature_passes import hessian_product_pass, line_pass, newton_pass
from fenchel.kernels.gram import CHUNK, add_gram
from fenchel.oracles.blockwise import BlockState, summed
from fenchel.solvers.newton_cg.settings import SETTINGS
from fenchel.solvers.subsampling.samples import sizes, strided

if TYPE_CHECKING:
    from fenchel.engines.local import Block
    from fenchel.oracles.scalar import Oracle
    from fenchel.problems.some_rows import RowProblem

FACTOR = SETTINGS.factor_ns_per_product  # The working-set solver compares its own factorizations by the same number.


class Point(NamedTuple):
    """The state at (w, b): P, its gradients, the risk and its gradient, and sums of the curvatures times p."""

    w: np.ndarray
    b: float
    value: float
    gradient: np.ndarray
    slopes: float
    risk: float
    g: np.ndarray
    curvature_sum: np.ndarray  # This is sum h x, and empty unless the intercept is free.
    total: float  # This is sum h, and 0 unless the intercept is free.
    at: Any  # What the passes know it by.


class RowsAt(NamedTuple):
    """Scores, slopes, and curvatures times p of the rows at a point."""

    z: np.ndarray
    u: np.ndarray
    h: np.ndarray


class Line(NamedTuple):
    """Scores z + t dz, and the curvatures averaged from t = 0 to 1, (u' - u) / (z' - z)."""

    z: np.ndarray
    dz: np.ndarray
    between: np.ndarray


class Passes(BlockState):
    """Passes over the rows of an oracle, which keep the last three points and the last line."""

    kind = "newton"

    def __init__(self, oracle: Oracle):
        super().__init__(oracle)
        self.costs, self.number = self._costs(), 0

    def begin(self) -> None:
        """Nothing is known of the rows yet."""
        self.points: dict[int, RowsAt] = {}
        self.last_line: Line | None = None
        cut = getattr(self.engine, "cut", None)
        self.by_blocks = cut is not None or self.problem.d <= SETTINGS.max_block_gram_features

    def _costs(self) -> Costs:
        problem = self.problem
        stored, squares, dense = self.oracle.storage
        costs = costs_from(stored, squares, 2.0 * dense > problem.n, problem.d)
        too_large = self.remote and problem.d > SETTINGS.max_remote_factored_features
        return costs._replace(factor=math.inf) if too_large else costs

    def evaluate(self, w: np.ndarray, b: float) -> Point:
        """Evaluate a point in one fused pass. Of the points before, the last two are kept."""
        problem, regularizer = self.problem, self.problem.regularizer
        self.number += 1
        risk, g, slopes, curvature_sum, total = self.sums_at(self.number, w, b)
        value, slopes = risk + regularizer.value(w), slopes if problem.fit_intercept else 0.0
        gradient = g + regularizer.gradient(w)
        return Point(w, b, value, gradient, slopes, risk, g, curvature_sum, total, self.number)

    @summed(
        passes=1.0, keeps=True,
        shapes=lambda problem: ((), (problem.d,), (), (problem.d if problem.fit_intercept else 0,), ()),
    )  # fmt: skip
    def sums_at(self, number: int, w: np.ndarray, b: float) -> tuple[float, np.ndarray, float, np.ndarray, float]:
        """(sum p loss, its gradient, its derivative in b, sum h x, sum h) at a point, kept under a number."""
        problem = self.problem
        old = self.points.pop(number - SETTINGS.kept_points, None)
        n = problem.n
        z, h = (np.zeros(n), np.zeros(n)) if old is None else (old.z, old.h)
        self.points[number] = at = RowsAt(z, np.zeros(n), h)

        def work(block: Block) -> tuple[Any, ...]:
            rows = slice(block.start, block.stop)
            sums = np.zeros((2, w.size))
            gradient, curvature_sum = sums[0], sums[1] if problem.fit_intercept else sums[1, :0]
            value, slopes = newton_pass(
                problem.compiled_loss, block.rows, block.y, block.p, block.offset,
                w, b, at.z[rows], at.u[rows], at.h[rows], gradient, curvature_sum,
            )  # fmt: skip
            total = float(at.h[rows].sum()) if problem.fit_intercept else 0.0
            return value, gradient, slopes, curvature_sum, total

        return self.engine.sum(work, self.blocks)

    def line(self, point: Point, new: Point) -> tuple[int, int]:
        """The line from the point before the last one to the last one; it is kept until there is another one."""
        self.keep_line(point.at, new.at)
        return point.at, new.at

    @summed(keeps=True)
    def keep_line(self, point: int, new: int) -> tuple[()]:
        """Keep the line between two points in copies, so that both may be forgotten."""
        a, b = self.points[point], self.points[new]
        dz = b.z - a.z
        self.last_line = Line(a.z.copy(), dz, np.divide(b.u - a.u, dz, out=np.zeros(dz.size), where=dz != 0.0))
        return ()

    def secant_curvature(self, point: Point, line: Any) -> Point:
        """The point, each curvature replaced by its average over the last line where that is larger."""
        if not self.problem.fit_intercept:
            self.raise_curvature(point.at)
            return point
        self.count(1.0)
        curvature_sum, total = self.raise_curvature(point.at)
        return point._replace(curvature_sum=curvature_sum, total=total)

    @summed(keeps=True)
    def raise_curvature(self, number: int) -> tuple[Any, ...]:
        """Make the curvatures of a point at least those averaged over the last line; (sum h x, sum h) if b is free."""
        at, between = self.points[number], self.last_line.between  # type: ignore[union-attr]
        np.maximum(at.h, self.problem.weights * np.where(np.isfinite(between), between, 0.0), out=at.h)
        if not self.problem.fit_intercept:
            return ()
        d = self.problem.d
        return self._product(at.h, np.zeros(d), 1.0), self.engine.sum(self._sum_of(at.h), self.blocks)[0]

    def along(self, line: Any, t: float) -> tuple[float, float]:
        """(risk, its derivative) on the last line, from stored scores."""
        return self.risk_on_line(t)

    @summed(shapes=lambda problem: ((), ()))
    def risk_on_line(self, t: float) -> tuple[float, float]:
        """(sum p loss, its derivative) at z + t dz."""
        loss, line = self.problem.compiled_loss, self.last_line
        assert line is not None

        def work(block: Block) -> tuple[float, float]:
            rows = slice(block.start, block.stop)
            return line_pass(loss, block.y, block.p, line.z[rows], line.dz[rows], t)

        return self.engine.sum(work, self.blocks)

    def magnitude(self, point: Point) -> float:
        """sqrt(sum p z^2), the typical magnitude of a score. It is a sum, as the largest one would be about a single row."""
        return math.sqrt(self.squares(point.at))

    @summed(shapes=lambda problem: ((),))
    def squares(self, number: int) -> float:
        """sum p z^2 at a point."""
        return self.engine.sum(self._sum_of(self.problem.weights * self.points[number].z ** 2), self.blocks)[0]

    def all_curved(self, point: Point) -> bool:
        """Whether every row has curvature."""
        return self.flat_rows(point.at) == 0

    @summed(shapes=lambda problem: ((),))
    def flat_rows(self, number: int) -> float:
        """How many rows have no curvature at a point."""
        h = self.points[number].h
        return float(h.size - np.count_nonzero(h))

    def slopes(self, point: Point) -> np.ndarray | None:
        """The slope of every row; None where rows are elsewhere: the certificate makes its own there."""
        return None if self.remote else self.points[point.at].u

    def product(self, point: Point, v: np.ndarray, shift: float) -> np.ndarray:
        """sum_i h_i (<x_i, v> + shift) x_i."""
        return self.hessian_product(point.at, v, shift)

    @summed(passes=1.0, shapes=lambda problem: ((problem.d,),))
    def hessian_product(self, number: int, v: np.ndarray, shift: float) -> np.ndarray:
        """The same at a point that is kept."""
        return self._product(self.points[number].h, v, shift)

    def _product(self, h: np.ndarray, v: np.ndarray, shift: float) -> np.ndarray:
        def work(block: Block) -> tuple[np.ndarray]:
            out = np.zeros(v.size)
            hessian_product_pass(block.rows, h[block.start : block.stop], v, shift, out)
            return (out,)

        return self.engine.sum(work, self.blocks)[0]

    def _sum_of(self, values: np.ndarray) -> Any:
        return lambda block: (float(values[block.start : block.stop].sum()),)

    def gram(self, point: Point) -> np.ndarray:
        """sum_i h_i x_i x_i' on and above the diagonal."""
        return self.upper_gram(point.at)

    @summed(passes=1.0, shapes=lambda problem: ((problem.d, problem.d),))
    def upper_gram(self, number: int) -> np.ndarray:
        """The same at a point that is kept. Blocks are summed one by one, as they are on a cluster, where their d x d matrices
        are small or the engine was told where to cut; else in few parts, to save memory and additions."""
        d, rows, h = self.problem.d, self.problem.rows, self.points[number].h
        edges = self.oracle.edges if self.by_blocks else np.linspace(0, h.size, self._gram_parts() + 1).astype(int)
        step = max(CHUNK, int(SETTINGS.stored_values_per_release * h.size / max(size(rows), 1)))

        def work(k: int) -> tuple[np.ndarray]:
            out = np.zeros((d, d))
            for a in range(int(edges[k]), int(edges[k + 1]), step):
                b = min(a + step, int(edges[k + 1]))
                part = block(rows, a, b)
                add_gram(part, h[a:b], out)
                release(part)
            return (out,)

        return self.engine.sum(work, list(range(len(edges) - 1)))[0]

    def _gram_parts(self) -> int:
        small = self.problem.d <= SETTINGS.max_small_features
        max_parts = SETTINGS.max_gram_parts if small else SETTINGS.max_large_gram_parts
        wanted = int(min(max(self.costs.gram // SETTINGS.min_gram_part_ns, 1), max_parts))
        return 1 << (wanted.bit_length() - 1)  # A power of two divides evenly among 2, 4, ... threads.


class Costs(NamedTuple):
    """Nanoseconds of a Hessian-vector product, of a Gram matrix, and of a Gram matrix with its factor (inf: too large)."""

    product: float
    gram: float
    factor: float


def costs_of(sample: RowProblem) -> Costs:
    """Estimated costs for a problem or a sample of it, whose rows are in this process."""
    rows, d = sample.rows, float(sample.d)
    if isinstance(rows, Dense):
        return costs_from(float(size(rows)), sample.n * d * d, True, sample.d)
    lengths = np.diff(rows.indptr).astype(float)
    return costs_from(float(size(rows)), float(lengths @ lengths), False, sample.d)


def costs_from(stored: float, squares: float, dense: bool, features: int) -> Costs:
    """Estimated costs from the number of stored values and the sum of the squares of their numbers per row."""
    d, products = float(features), 0.5 * squares
    per_value = SETTINGS.dense_product_ns_per_value if dense else SETTINGS.sparse_product_ns_per_value
    product = per_value * stored + SETTINGS.product_ns_per_feature * d
    per_product = SETTINGS.dense_gram_ns_per_product if dense else SETTINGS.sparse_gram_ns_per_product
    gram = per_product * products + (SETTINGS.dense_gram_ns_per_value * stored if dense else 0.0)
    larger_than_data = d > SETTINGS.max_small_features and d * d > SETTINGS.max_factor_size_ratio * stored
    too_large = d > SETTINGS.max_factored_features or larger_than_data
    return Costs(product, gram, math.inf if too_large else gram + SETTINGS.factor_ns_per_product * d**3 / 3.0)


def sample_sizes(oracle: Oracle) -> list[int]:
    """How many rows samples to begin with have; none if there are too few rows, or if sums over some of them are refused."""
    problem = oracle.problem
    return sizes(problem.n, problem.d, int(oracle.storage[0])) if oracle.may_sample else []


def samples(oracle: Oracle) -> Iterator[Oracle]:
    """Growing samples of the rows with weights that sum to 1; none if there are too few rows."""
    for m in sample_sizes(oracle):
        sample = oracle.sample(strided(oracle.problem.n, m))
        if sample is not None:
            yield sample
            sample.close()
