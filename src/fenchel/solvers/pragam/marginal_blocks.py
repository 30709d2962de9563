"""Sums over the examples and proximal steps on their marginals, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.data.row_blocks import slices
from fenchel.kernels import marginal_passes as passes
from fenchel.solvers.pragam.settings import SETTINGS
from fenchel.structured.marginals import part_starts, parts_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from fenchel.engines.local import Block
    from fenchel.oracles.structured import StructuredOracle


class Cliques:
    """The parts of a structured problem. A pass over the data is one call of scores and one of sums."""

    def __init__(self, oracle: StructuredOracle):
        self.oracle, self.problem = oracle, oracle.problem
        self.parts = parts_of(oracle.problem.model)
        self.start, self.workspace_size = part_starts(self.parts), self.parts.workspace_size

    def run(self, kernel: Any, *arguments: Any) -> Any:
        """Call a kernel whose first argument is the parts, as plain Python if those of a custom model are."""
        return (kernel if getattr(self.parts, "compiled", True) else kernel.py_func)(self.parts, *arguments)

    def _sum(self, directions: int, work: Callable[..., Any], *shapes: int) -> tuple[Any, ...]:
        """Sums over blocks, in block order, of what work(block, *zeros) returns and adds to arrays of these shapes."""

        def one(block: Block) -> tuple[Any, ...]:
            arrays = [np.zeros(n) for n in shapes]
            return sum(work(piece, *arrays) for piece in self._pieces(block)), *arrays

        return self.oracle.sum_blocks(one, self.oracle.blocks, directions=directions)

    def _pieces(self, block: Block) -> Iterator[Any]:
        """A block in pieces of so few parts that each takes about a tenth of a second at most."""
        n = block.stop - block.start
        cost = SETTINGS.values_per_part_step * float(self.start[block.stop] - self.start[block.start]) / max(n, 1)
        for some in slices(range(n), cost):
            a, b = block.start + some.start, block.start + some.stop
            yield block._replace(p=block.p[some.start : some.stop], start=a, stop=b)

    def combine(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        """(sum p <c, mu>, sum p (F mu - phi(gold)))."""

        def work(block: Block, out: np.ndarray) -> float:
            return self.run(passes.marginal_pass, block.p, block.start, self.workspace_size, self.start, values, out)

        return self._sum(1, work, self.problem.d)

    def proximal(self, w: np.ndarray, q: float, centre: np.ndarray) -> np.ndarray:
        """argmax of <theta, mu> - q/2 |mu - centre|^2 for every example, theta its scores at w."""
        values = np.empty(int(self.start[-1]))

        def work(block: Block) -> int:
            self.run(passes.proximal_pass, block.p, block.start, self.workspace_size, w, q, self.start, centre, values)
            return 0

        self._sum(1, work)
        return values

    def uniform(self) -> np.ndarray:
        """Marginals of uniform distributions."""
        values = np.empty(int(self.start[-1]))

        def work(block: Block) -> int:
            self.run(passes.uniform_pass, block.p, block.start, self.start, values)
            return 0

        self._sum(0, work)
        return values

    def cheapest(self) -> np.ndarray:
        """Marginals of the labels of least cost: those of the gold labels, unless others cost nothing, too."""
        values, w = np.zeros(int(self.start[-1])), np.zeros(self.problem.d)

        def work(block: Block) -> int:
            self.run(passes.cheapest_pass, block.p, block.start, self.workspace_size, w, self.start, values)
            return 0

        self._sum(0, work)
        return values

    def reaches(self) -> np.ndarray:
        """A bound on |phi(y) - phi(gold)| for every example."""
        return np.array(self.run(passes.reaches_pass, self.problem.n))

    def norm(self) -> float:
        """The square root of the largest eigenvalue of sum p F F', by power iteration, with a safety factor."""

        def work(block: Block, out: np.ndarray) -> int:
            self.run(passes.square_pass, block.p, block.start, self.workspace_size, w, out)
            return 0

        w, last = np.random.default_rng(0).normal(size=self.problem.d), 0.0
        for _ in range(SETTINGS.max_power_iterations):
            w /= np.linalg.norm(w)
            _, w = self._sum(2, work, self.problem.d)
            value = float(np.linalg.norm(w))
            if value <= (1.0 + SETTINGS.power_iteration_tolerance) * last:
                break
            last = value
        return SETTINGS.norm_safety_factor * float(np.sqrt(value))

    def reach(self) -> float:
        """The square root of sum p (a bound on |phi(y) - phi(gold)|)^2."""
        return float(np.sqrt(self._sum(0, lambda block: self.run(passes.reach_pass, block.p, block.start))[0]))

    def extragradient(
        self,
        w_bar: np.ndarray,
        w: np.ndarray,
        times: float,
        step: float,
        entropic: bool,
        kept: np.ndarray | None = None,
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """(sum p <c, u>, sum p (F v - phi(gold)), the same for u) of the two steps; u goes to `kept`."""
        keep = np.empty(0) if kept is None else kept

        def work(block: Block, rough: np.ndarray, fine: np.ndarray) -> float:
            return self.run(
                passes.extragradient_pass,
                block.p,
                block.start,
                self.workspace_size,
                w_bar,
                w,
                times,
                step,
                entropic,
                rough,
                fine,
                self.start,
                keep,
            )

        return self._sum(4, work, self.problem.d, self.problem.d)
