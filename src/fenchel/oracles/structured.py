"""The oracle of problems with structured outputs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fenchel.certificates.structured import bad_example
from fenchel.engines.summation_tree import added
from fenchel.kernels import structured_passes as passes
from fenchel.oracles.blockwise import collected, summed
from fenchel.oracles.scalar import Mixed, Oracle, Plane
from fenchel.problems.structured import Examples
from fenchel.structured import Gibbs, Pool
from fenchel.structured.pool import pool_of


class LabelRecipe(NamedTuple):
    """The point at which a plane was found, and its labels (None for a log-loss)."""

    coef: np.ndarray
    labels: np.ndarray | None


class StructuredOracle(Oracle):
    """The access of solvers to the examples. A pass calls the max-oracle, or the log partition, of each example once."""

    def risk(self, w: np.ndarray, b: float = 0.0) -> tuple[float, np.ndarray, float]:
        """(sum p loss, its gradient, 0)."""
        return *self.risk_alone(w), 0.0

    @summed(passes=1.0, shapes=lambda problem: ((), (problem.d,)))
    def risk_alone(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """(sum p loss, its gradient)."""
        return self._best_labels(w)[:2]

    @collected(passes=1.0, per_row=False)
    def labels(self, w: np.ndarray) -> np.ndarray:
        """The best labels of the examples in these blocks, flat."""
        _, _, labels = self._best_labels(w)
        first = self.problem.first
        return labels[first[self.blocks[0].start] : first[self.blocks[-1].stop]]  # type: ignore[index]

    def labels_at(self, w: np.ndarray) -> tuple[float, np.ndarray, np.ndarray | None]:
        """(sum p loss, its gradient, the best labels, flat)."""
        self.count()
        return self._best_labels(w)

    def _best_labels(self, w: np.ndarray) -> tuple[float, np.ndarray, np.ndarray | None]:
        problem = self.problem
        room = problem.model.workspace_size
        labels = None if problem.log else np.zeros(int(problem.first[-1]), dtype=np.int32)

        def work(block: Examples) -> tuple[float, np.ndarray, int]:
            gradient = np.zeros(problem.d)
            if labels is None:
                value, bad = problem.run(passes.log_pass, block.p, block.start, w, room, gradient)
            else:
                part = labels[problem.first[block.start] : problem.first[block.stop]]
                value, bad = problem.run(
                    passes.hinge_pass, block.p, block.start, w, room, problem.first, part, gradient
                )
            return value, gradient, bad

        results = self.engine.map(work, self.blocks)
        for _, _, bad in results:
            if bad >= 0:
                raise bad_example(problem, int(bad), w)
        value, gradient = added([(value, gradient) for value, gradient, _ in results])
        return value, gradient, labels

    def plane(self, w: np.ndarray, b: float, centre: Any = None, reach: float = np.inf) -> Plane:
        """The cutting plane of the risk at w; for distributed examples, labels are sent only if needed."""
        value, gradient, labels = (*self.risk_alone(w), None) if self.remote else self.labels_at(w)
        return Plane(value, gradient, value - float(gradient @ w), 0.0, LabelRecipe(np.array(w), labels))  # type: ignore[arg-type]

    def mix(self, parts: Iterable[tuple[float, Any]]) -> Any:
        """The dual point of planes with weights: their labels, or the points at which they were found. The rest of the weight
        belongs to the plane 0, which may be the only one."""
        parts = list(parts)
        if self.problem.remote:
            return Mixed(tuple(parts))
        weights, recipes = np.array([weight for weight, _ in parts]), [recipe for _, recipe in parts]
        if self.problem.log:
            coefs = np.array([recipe.coef for recipe in recipes]).reshape(len(recipes), self.problem.d)
            return Gibbs(weights, coefs)
        labels = [self.labels(recipe.coef) if recipe.labels is None else recipe.labels for recipe in recipes]
        return pool_of(self.problem.model.sizes, labels, weights)

    def pool_sums(self, pool: Pool) -> tuple[float, np.ndarray]:
        """(sum p a L, sum p a f psi) of a pool."""
        self.count(directions=1)
        out = np.zeros(self.problem.d)
        return self.problem.run(passes.pool_pass, self.problem.weights, *pool, out), out

    def conjugates(self, u: Any) -> float:
        """Structured losses are never negative."""
        return 0.0

    @cached_property
    def means(self) -> tuple[np.ndarray, float]:
        """Not needed: there is no intercept."""
        return np.zeros(self.problem.d), 0.0
