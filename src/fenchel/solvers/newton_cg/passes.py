"""Passes over the data for Newton steps with losses of one score, on all rows or on a sample of them.

With a free intercept the Hessian is that of the problem with b minimised out (the Schur complement): rows are centred at
their mean, weighted by curvature.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.data.accept import block, size
from fenchel.data.dense import Dense
from fenchel.data.mapped import release
from fenchel.engines.local import spans
from fenchel.kernels.curvature_passes import hessian_product_pass, line_pass, newton_pass
from fenchel.kernels.gram import CHUNK, add_gram
from fenchel.solvers.newton_cg.settings import SETTINGS
from fenchel.solvers.subsampling.samples import drawn, sizes

if TYPE_CHECKING:
    from fenchel.engines.local import Block
    from fenchel.oracles.scalar import Oracle, SomeRows
    from fenchel.problems.scalar import Problem

FACTOR = SETTINGS.factor_ns_per_product  # The working-set solver compares its own factorizations by the same number.


class Point(NamedTuple):
    """The state at (w, b): P, its gradients, the risk and its gradient, scores, slopes, and curvatures times p."""

    w: np.ndarray
    b: float
    value: float
    gradient: np.ndarray
    slopes: float
    risk: float
    g: np.ndarray
    z: np.ndarray
    u: np.ndarray
    h: np.ndarray
    curvature_sum: np.ndarray  # This is sum h x, and empty unless the intercept is free.


class Line(NamedTuple):
    """Scores z + t dz, and the curvatures averaged from t = 0 to 1, (u' - u) / (z' - z)."""

    z: np.ndarray
    dz: np.ndarray
    between: np.ndarray


class Passes:
    """Passes over the rows of a problem or of a sample of it."""

    def __init__(self, oracle: Oracle, sample: SomeRows | Problem):
        self.oracle, self.problem, self.sample = oracle, oracle.problem, sample
        self.blocks = oracle.engine.blocks(sample)
        self.share = sample.n / self.problem.n
        self.costs = costs_of(sample)
        self.workspaces = [(np.zeros(sample.n), np.zeros(sample.n)) for _ in range(2)]

    def evaluate(self, w: np.ndarray, b: float) -> Point:
        """Evaluate a point in one fused pass. Scores and curvatures of the point before the last one are overwritten."""
        problem, oracle = self.problem, self.oracle
        z, h = self.workspaces.pop(0)
        self.workspaces.append((z, h))
        u = np.zeros(z.size)

        def work(block: Block) -> tuple[Any, ...]:
            at = slice(block.start, block.stop)
            sums = np.zeros((2, w.size))
            gradient, curvature_sum = sums[0], sums[1] if problem.fit_intercept else sums[1, :0]
            value, slopes = newton_pass(
                problem.compiled_loss, block.rows, block.y, block.p, block.offset,
                w, b, z[at], u[at], h[at], gradient, curvature_sum,
            )  # fmt: skip
            return value, gradient, slopes, curvature_sum

        risk, g, slopes, curvature_sum = oracle.sum_blocks(work, self.blocks, self.share)
        value = risk + problem.regularizer.value(w)
        slopes = slopes if problem.fit_intercept else 0.0
        return Point(w, b, value, g + problem.regularizer.gradient(w), slopes, risk, g, z, u, h, curvature_sum)

    def line(self, point: Point, new: Point) -> Line:
        """The line from one point to another. It keeps copies, so that both points may be overwritten."""
        dz = new.z - point.z
        between = np.divide(new.u - point.u, dz, out=np.zeros(dz.size), where=dz != 0.0)
        return Line(point.z.copy(), dz, between)

    def secant_curvature(self, point: Point, line: Line) -> Point:
        """The point, each curvature replaced by its average over a line where that is larger."""
        between = np.where(np.isfinite(line.between), line.between, 0.0)
        point = point._replace(h=np.maximum(point.h, self.sample.weights * between))
        return point._replace(
            curvature_sum=self.product(point, np.zeros(point.w.size), 1.0)
            if point.curvature_sum.size
            else point.curvature_sum
        )

    def along(self, line: Line, t: float) -> tuple[float, float]:
        """(risk, its derivative) on a line, from stored scores."""
        loss, y, p, z, dz = self.problem.compiled_loss, self.sample.y, self.sample.weights, line.z, line.dz
        return self.oracle.engine.sum(lambda at: line_pass(loss, y[at], p[at], z[at], dz[at], t), spans(z.size))

    def curvature_of(self, point: Point) -> float:
        """sum h."""
        return float(point.h.sum())

    def farthest(self, point: Point) -> float:
        """The largest |score|."""
        return float(np.abs(point.z).max())

    def product(self, point: Point, v: np.ndarray, shift: float) -> np.ndarray:
        """sum_i h_i (<x_i, v> + shift) x_i."""
        h = point.h

        def work(block: Block) -> tuple[Any, ...]:
            out = np.zeros(v.size)
            hessian_product_pass(block.rows, h[block.start : block.stop], v, shift, out)
            return (out,)

        return self.oracle.sum_blocks(work, self.blocks, self.share)[0]

    def gram(self, point: Point) -> np.ndarray:
        """sum_i h_i x_i x_i' on and above the diagonal."""
        d, rows, h = self.problem.d, self.sample.rows, point.h
        small = d <= SETTINGS.max_small_features
        max_parts = SETTINGS.max_gram_parts if small else SETTINGS.max_large_gram_parts
        wanted = int(min(max(self.costs.gram // SETTINGS.min_gram_part_ns, 1), max_parts))
        parts = 1 << (wanted.bit_length() - 1)  # A power of two divides evenly among 2, 4, ... threads.
        edges = np.linspace(0, self.sample.n, parts + 1).astype(int)

        step = max(CHUNK, int(SETTINGS.stored_values_per_release * self.sample.n / max(size(rows), 1)))

        def work(k: int) -> tuple[np.ndarray]:
            out = np.zeros((d, d))
            for a in range(int(edges[k]), int(edges[k + 1]), step):
                b = min(a + step, int(edges[k + 1]))
                part = block(rows, a, b)
                add_gram(part, h[a:b], out)
                release(part)
            return (out,)

        return self.oracle.sum_blocks(work, list(range(parts)), self.share)[0]


class Costs(NamedTuple):
    """Nanoseconds of a Hessian-vector product, of a Gram matrix, and of a Gram matrix with its factor (inf: too large)."""

    product: float
    gram: float
    factor: float


def costs_of(sample: SomeRows | Problem) -> Costs:
    """Estimated costs for a problem or a sample of it."""
    rows, d = sample.rows, float(sample.d)
    dense = isinstance(rows, Dense)
    if dense:
        products = 0.5 * sample.n * d * d
    else:
        lengths = np.diff(rows.indptr).astype(float)
        products = 0.5 * float(lengths @ lengths)
    per_value = SETTINGS.dense_product_ns_per_value if dense else SETTINGS.sparse_product_ns_per_value
    product = per_value * size(rows) + SETTINGS.product_ns_per_feature * d
    per_product = SETTINGS.dense_gram_ns_per_product if dense else SETTINGS.sparse_gram_ns_per_product
    gram = per_product * products + (SETTINGS.dense_gram_ns_per_value * size(rows) if dense else 0.0)
    larger_than_data = d > SETTINGS.max_small_features and d * d > SETTINGS.max_factor_size_ratio * size(rows)
    too_large = d > SETTINGS.max_factored_features or larger_than_data
    return Costs(product, gram, np.inf if too_large else gram + SETTINGS.factor_ns_per_product * d**3 / 3.0)


def any_sample(problem: Problem) -> bool:
    """Whether there are enough rows to begin with a sample of them."""
    return bool(sizes(problem.n, problem.d, size(problem.rows)))


def samples(oracle: Oracle) -> Iterator[Any]:
    """Growing samples of the rows with weights that sum to 1; none if there are too few rows."""
    problem = oracle.problem
    for m in sizes(problem.n, problem.d, size(problem.rows)):
        chosen = drawn(problem.rows, problem.n, m)
        total = float(problem.weights[chosen].sum())
        if total > 0.0:
            yield oracle.take(chosen, 1.0 / total).problem
