"""The oracle of problems with several scores per row.

Dense rows are processed by BLAS, some at a time; sparse rows by the fused pass. Solvers see flat vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.certificates.vector import even_transfer, feasible_matrix, making_up
from fenchel.data.accept import as_rows, block, size
from fenchel.data.csr import csr_block
from fenchel.data.dense import Dense
from fenchel.data.dual_matrix import DualMatrix
from fenchel.data.row_blocks import slices
from fenchel.engines.local import Block
from fenchel.kernels import vector_passes as passes
from fenchel.kernels.passes import combine_pass
from fenchel.kernels.sparse_duals import sparse_combine, sparse_conjugates
from fenchel.oracles.blockwise import collected, summed
from fenchel.oracles.intercepts import NarrowingSums, middle
from fenchel.oracles.scalar import Oracle, Plane, PlaneRecipe
from fenchel.oracles.slope_sums import ClassSlopeSums
from fenchel.problems.measure import Mixture

SWEEPS = 3  # rounds over the intercepts
CHUNK = 512  # dense rows that are passed to BLAS at a time, so that their scores stay in the cache


class VectorOracle(Oracle):
    """The access of solvers to the data, for losses of several scores."""

    def matrix(self, w: np.ndarray) -> np.ndarray:
        """The variables as (features and intercepts) x outputs."""
        return w.reshape(-1, self.problem.outputs)

    def pieces(self, part: Any) -> Iterator[tuple[slice, Any]]:
        """(row numbers, rows) of a block, in portions that take about a tenth of a second at most."""
        n = part.p.size
        for numbers in slices(range(n), self.problem.outputs * size(part.rows) / max(n, 1)):
            yield slice(numbers.start, numbers.stop), block(part.rows, numbers.start, numbers.stop)

    def risk(self, w: np.ndarray, b: float = 0.0) -> tuple[float, np.ndarray, float]:
        """(sum p loss, its gradient, 0) in one fused pass."""
        return *self.risk_alone(w), 0.0

    @summed(passes=1.0, shapes=lambda problem: ((), (problem.d,)))
    def risk_alone(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """(sum p loss, its gradient)."""
        problem, W = self.problem, self.matrix(w)

        def work(block: Block) -> tuple[float, np.ndarray]:
            if isinstance(block.rows, Dense):
                return self.dense_pass(block, W, None)
            gradient, value = np.zeros(W.shape), 0.0
            for at, rows in self.pieces(block):
                arguments = (rows, block.y[at], block.p[at], W, problem.features, gradient)
                value += passes.vector_risk(problem.compiled_loss, *arguments)
            return value, gradient

        value, gradient = self.engine.sum(work, self.blocks)
        return value, gradient.ravel()

    def dense_pass(self, block: Block, W: np.ndarray, U: np.ndarray | None) -> tuple[float, np.ndarray]:
        """(sum p loss, its gradient) of a block of dense rows; the slopes are written into U, if it is given."""
        problem, gradient, value = self.problem, np.zeros(W.shape), 0.0
        for k in range(0, block.p.size, CHUNK):
            X, y, p = block.rows.values[k : k + CHUNK], block.y[k : k + CHUNK], block.p[k : k + CHUNK]
            Z = dense_scores(X, W, problem.features)
            slopes = Z if U is None else U[k : k + CHUNK]
            value += passes.vector_losses(problem.compiled_loss, y, p, Z, slopes)
            add_dense(X, p, slopes, problem.features, gradient)
        return value, gradient

    def middle_intercept(self, w: np.ndarray, b: float) -> tuple[np.ndarray, float]:
        """Move each intercept in turn to the middle of the optimal ones while the others are fixed; their mean becomes 0.

        For nonsmooth losses only: for the others, all but the mean is (nearly) determined by the data.
        """
        problem = self.problem
        if not problem.free or problem.smooth_loss:
            return w, b
        Z, changed = self.score_matrix(w), np.zeros(problem.outputs)
        for _ in range(SWEEPS):
            before = changed.copy()
            for c in range(problem.outputs):
                size = max(-float(Z.min(initial=0.0)), float(Z.max(initial=0.0)))
                rows = ClassSlopeSums(problem.compiled_loss, problem.y, problem.weights, Z, c)
                step = middle(NarrowingSums(rows.at, problem.n), 0.0, size)
                if step:
                    Z[:, c] += step
                    changed[c] += step
            if np.array_equal(before, changed):
                break
        if not changed.any():
            return w, b
        W = self.matrix(w).copy()
        W[problem.features] += changed
        W[problem.features] -= W[problem.features].mean()
        return W.ravel(), b

    @collected(passes=0.5)
    def score_matrix(self, w: np.ndarray) -> np.ndarray:
        """The scores of every row, n x m."""
        problem, W = self.problem, self.matrix(w)
        Z = np.empty(problem.dual_shape)

        def work(block: Block) -> None:
            out = Z[block.start : block.stop]
            if not isinstance(block.rows, Dense):
                for at, rows in self.pieces(block):
                    passes.vector_scores(rows, W, problem.features, out[at])
                return
            for k in range(0, block.p.size, CHUNK):
                out[k : k + CHUNK] = dense_scores(block.rows.values[k : k + CHUNK], W, problem.features)

        self.engine.map(work, self.blocks)
        return Z

    def losses(self, w: np.ndarray) -> float:
        """sum p loss; the scores of a few rows at a time are kept, not those of all."""
        self.passes += 0.5
        problem, W = self.problem, self.matrix(w)

        def work(part: Block) -> tuple[float]:
            total = 0.0
            for k in range(0, part.p.size, CHUNK):
                y, p = part.y[k : k + CHUNK], part.p[k : k + CHUNK]
                if isinstance(part.rows, Dense):
                    Z = dense_scores(part.rows.values[k : k + CHUNK], W, problem.features)
                else:
                    Z = np.empty((p.size, problem.outputs))
                    passes.vector_scores(block(part.rows, k, k + p.size), W, problem.features, Z)
                total += passes.vector_values(problem.compiled_loss, y, p, Z)
            return (total,)

        return self.engine.sum(work, self.blocks)[0]

    def combine_here(self, u: Any) -> np.ndarray:
        """sum_i p_i x_i u_i', flat; u may be a CSR matrix."""
        problem, duals = self.problem, as_rows(u) if sp.issparse(u) else None

        def work(block: Block) -> tuple[np.ndarray]:
            out = np.zeros((problem.d // problem.outputs, problem.outputs))
            if duals is not None:
                part = csr_block(duals, block.start, block.stop)
                sparse_combine(block.rows, block.p, part, problem.features, out)
                return (out,)
            U = u[block.start : block.stop]
            if not isinstance(block.rows, Dense):
                for at, rows in self.pieces(block):
                    passes.vector_combine(rows, block.p[at], U[at], problem.features, out)
                return (out,)
            for k in range(0, block.p.size, CHUNK):
                add_dense(
                    block.rows.values[k : k + CHUNK], block.p[k : k + CHUNK], U[k : k + CHUNK], problem.features, out
                )
            return (out,)

        return self.engine.sum(work, self.blocks)[0].ravel()

    @cached_property
    def mean_row(self) -> np.ndarray:
        """sum p x."""
        return self.sum_of_rows()

    @summed()
    def sum_of_rows(self) -> np.ndarray:
        """The same, computed from the rows."""

        def work(block: Block) -> tuple[np.ndarray]:
            out = np.zeros(self.problem.features)
            combine_pass(block.rows, block.p, np.ones(block.p.size), out)
            return (out,)

        return self.engine.sum(work, self.blocks)[0]

    def centred(self, w: np.ndarray) -> np.ndarray:
        """The free intercepts for centred features: b + W'(mean row)."""
        return self._shifted(w, 1.0)

    def uncentred(self, w: np.ndarray) -> np.ndarray:
        """The inverse of `centred`."""
        return self._shifted(w, -1.0)

    def _shifted(self, w: np.ndarray, sign: float) -> np.ndarray:
        if not self.problem.free:
            return w
        W, features = self.matrix(w).copy(), self.problem.features
        W[features] += sign * (self.mean_row @ W[:features])
        return W.ravel()

    def centred_gradient(self, g: np.ndarray) -> np.ndarray:
        """The gradient in the centred variables."""
        if not self.problem.free:
            return g
        G, features = self.matrix(g).copy(), self.problem.features
        G[:features] -= np.outer(self.mean_row, G[features])
        return G.ravel()

    @cached_property
    def masses(self) -> np.ndarray:
        """The weight of the rows of every class."""
        return self.problem.masses()

    @cached_property
    def class_rows(self) -> np.ndarray:
        """sum p x over the rows of each class, a row per class."""
        return self.sums_of_classes()

    @summed(passes=0.5)
    def sums_of_classes(self) -> np.ndarray:
        """The same, computed from the rows."""
        found = self.combine_here(np.eye(self.problem.outputs)[self.problem.y])
        return np.ascontiguousarray(self.matrix(found)[: self.problem.features].T)

    def balanced_claim(self, w: np.ndarray, losses: float, g: np.ndarray) -> tuple[float, np.ndarray]:
        """The certificate's method of balancing, from sums alone; for classes a bound, because loss* is convex."""
        problem = self.problem
        if not problem.free:
            return losses, g
        G, W, features = self.matrix(g).copy(), self.matrix(w), problem.features
        rest = G[features].copy()
        if problem.several_targets:
            losses += float(rest @ (self.mean_row @ W[:features] + W[features])) - float(rest @ rest)
            G[:features] -= np.outer(self.mean_row, rest)
        else:
            mass = self.masses
            share, towards = making_up(mass, rest, even_transfer(problem))
            mixed_in = passes.vector_conjugates(problem.compiled_loss, np.arange(mass.size), mass, towards)
            losses = (1.0 - share) * losses - share * mixed_in
            G[:features] = (1.0 - share) * G[:features] + share * (self.class_rows.T @ towards)
        return losses, G.ravel()

    @cached_property
    def means(self) -> tuple[np.ndarray, float]:
        """Not needed, because intercepts are among the variables."""
        return np.zeros(self.problem.d), 0.0

    def slopes_at(self, Z: np.ndarray, U: np.ndarray, loss: Any = None) -> float:
        """sum p loss at the scores Z, and the slopes of every row in U, which may be Z; `loss` is another compiled one."""
        problem = self.problem
        loss = problem.compiled_loss if loss is None else loss
        if self.remote:  # targets and weights are here, as the scores are
            return passes.vector_losses(loss, problem.y, problem.weights, Z, U)

        def work(part: Block) -> tuple[float]:
            rows = slice(part.start, part.stop)
            return (passes.vector_losses(loss, part.y, part.p, Z[rows], U[rows]),)

        return self.engine.sum(work, self.blocks)[0]

    def conjugates(self, u: DualMatrix) -> float:
        """sum p loss*(u): no pass over X; u may be a CSR matrix. It is unknown, inf, for a custom loss."""
        problem = self.problem
        if problem.own:
            return np.inf
        if sp.issparse(u):
            work = np.empty(problem.outputs)
            return sparse_conjugates(problem.compiled_loss, problem.y, problem.weights, as_rows(u), work)
        return self.conjugates_of(problem.compiled_loss, u)

    def conjugates_of(self, loss: Any, u: np.ndarray) -> float:
        """sum p loss*(u) for a compiled loss of the same targets."""

        def work(part: Block) -> tuple[float]:
            return (passes.vector_conjugates(loss, part.y, part.p, u[part.start : part.stop]),)

        return self.engine.sum(work, self.blocks)[0]

    def feasible(self, u: DualMatrix | None) -> Any:
        """A feasible dual point near u, or near 0; a CSR matrix if u is one."""
        return feasible_matrix(self.problem, np.zeros(self.problem.dual_shape) if u is None else u)

    def plane(self, w: np.ndarray, b: float, centre: Any = None, reach: float = np.inf) -> Plane:
        """The cutting plane of the risk at w."""
        value, gradient, _ = self.risk(w)
        return Plane(value, gradient, value - float(gradient @ w), 0.0, PlaneRecipe(w, 0.0, 0.0, 0.0, None, np.inf))

    def plane_and_dual(
        self, w: np.ndarray, b: float, centre: Any = None, reach: float = np.inf
    ) -> tuple[Plane, np.ndarray]:
        """(the cutting plane, the slopes of every row), in one pass."""
        U, W = np.empty(self.problem.dual_shape), self.matrix(w)
        if isinstance(self.problem.rows, Dense):
            self.count(1.0)
            value, gradient = self.engine.sum(
                lambda part: self.dense_pass(part, W, U[part.start : part.stop]), self.blocks
            )
            gradient = gradient.ravel()
        else:
            value = self.slopes_at(self.score_matrix(w), U)
            gradient = self.combine(U)
        recipe = PlaneRecipe(w, 0.0, 0.0, 0.0, None, np.inf)
        return Plane(value, gradient, value - float(gradient @ w), 0.0, recipe), U

    def mix(self, parts: Iterable[tuple[float, PlaneRecipe]]) -> Any:
        """The dual point of planes with weights; for a custom loss the scores at which they were found."""
        if not self.problem.own:
            return super().mix(parts)
        parts = list(parts)
        if not parts:  # the plane 0 alone
            return Mixture(np.zeros(1), np.zeros((1, *self.problem.dual_shape)))
        weights, scores = zip(*((weight, self.score_matrix(recipe.coef)) for weight, recipe in parts), strict=True)
        return Mixture(np.array(weights), np.array(scores))

    def plane_dual(self, recipe: PlaneRecipe) -> np.ndarray:
        """The dual variables of a plane: the slopes where it was found."""
        Z = self.score_matrix(recipe.coef)
        self.slopes_at(Z, Z)
        return Z


def dense_scores(X: np.ndarray, W: np.ndarray, features: int) -> np.ndarray:
    """X W, with the intercepts if there are any."""
    Z = np.asarray(X, dtype=np.float64) @ W[:features]
    if W.shape[0] > features:
        Z += W[features]
    return Z


def add_dense(X: np.ndarray, p: np.ndarray, U: np.ndarray, features: int, out: np.ndarray) -> None:
    """out += sum_i p_i x_i u_i'."""
    weighted = p[:, None] * U
    out[:features] += np.asarray(X, dtype=np.float64).T @ weighted
    if out.shape[0] > features:
        out[features] += weighted.sum(axis=0)
