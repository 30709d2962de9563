"""The oracle for losses of one score per row: all access of solvers to the data, with passes counted (`pass_count.py`)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from fenchel.certificates.scalar import feasible
from fenchel.data.accept import size
from fenchel.data.dense import Dense
from fenchel.data.row_blocks import slices
from fenchel.data.types import Rows
from fenchel.engines.local import Block, Local, spans
from fenchel.engines.summation_tree import added
from fenchel.kernels import passes
from fenchel.kernels.curvature_passes import curved_pass
from fenchel.kernels.dual_epoch import dual_epoch
from fenchel.kernels.dual_phase import row_scores
from fenchel.kernels.gram import add_gram, squares_pass, symmetric
from fenchel.kernels.intercept import balanced_plane, intercept_bracket, score_size, slope_limits, slope_sum
from fenchel.mirror_maps.coordinatewise import Coordinatewise, Identity
from fenchel.oracles.blockwise import collected, summed
from fenchel.oracles.intercepts import Brackets, NarrowingSums, is_strictly_convex, middle, refuse_without_minimum
from fenchel.oracles.local_dual import LocalDual, Round
from fenchel.oracles.pass_count import PassCount
from fenchel.oracles.row_samples import sample_of, some_rows
from fenchel.oracles.slope_sums import SlopeSums
from fenchel.problems.some_rows import RowProblem

MANY = 1 << 14  # with more rows, a search over all scores must be interruptible


class Plane(NamedTuple):
    """A cutting plane risk(w') >= <gradient, w'> + constant, found at w, with the recipe for its dual variables."""

    value: float
    gradient: np.ndarray
    constant: float
    intercept: float
    recipe: PlaneRecipe


class PlaneRecipe(NamedTuple):
    """u = (1 - share) slopes at (w, low) + share slopes at (w, high), all within reach of the scores at centre."""

    coef: np.ndarray
    low: float
    high: float
    share: float
    centre: tuple[np.ndarray, float] | None
    reach: float


class Mixed(NamedTuple):
    """A dual point of distributed data: weights and recipes from which each block computes its part."""

    parts: tuple[tuple[float, Any], ...]


class Kept(NamedTuple):
    """A dual point whose parts are kept by the blocks under a name (`local_dual.LocalDual`)."""

    name: str


class Oracle(PassCount):
    """The access of solvers to the data."""

    remote = False  # whether the rows are in other processes

    def __init__(self, problem: RowProblem, engine: Any = None):
        self.problem: Any = problem  # each subclass asks its own family
        self.engine = engine if engine is not None else Local()
        self.remote = getattr(self.engine, "remote", False)
        self.blocks = self.engine.blocks(problem)
        self.passes = 0.0
        self.kept: dict[str, Any] = {}  # the state that blocks keep between two operations

    def close(self) -> None:
        """Release what is stored in other processes."""
        if self.remote:
            self.blocks.close()

    @summed(passes=1.0, shapes=lambda problem: ((), (problem.d,), ()))
    def risk(self, w: np.ndarray, b: float = 0.0) -> tuple[float, np.ndarray, float]:
        """(sum p loss, its gradient in w, its derivative in b) in one fused pass."""
        loss = self.problem.compiled_loss

        def work(block: Block) -> tuple[float, np.ndarray, float]:
            gradient = np.zeros(w.size)
            value, slopes = passes.risk_pass(loss, block.rows, block.y, block.p, block.offset, w, b, gradient)
            return value, gradient, slopes

        value, gradient, slopes = self.engine.sum(work, self.blocks)
        return value, gradient, slopes

    @collected(passes=0.5)
    def scores(self, w: np.ndarray) -> np.ndarray:
        """<x_i, w> + offset_i for every row."""
        z = np.empty(self.problem.n)

        def work(block: Block) -> None:
            passes.scores_pass(block.rows, block.offset, w, z[block.start : block.stop])

        self.engine.map(work, self.blocks)
        return z

    def scores_of(self, rows: Rows, p: np.ndarray, w: np.ndarray, b: float, z: np.ndarray) -> None:
        """z_i = <x_i, w> + offset_i + b for the rows with p_i > 0; `rows` is X or another matrix of as many rows."""
        offset = self.problem.offset
        if rows is not self.problem.rows:
            row_scores(Identity(), rows, p, offset, b, w, z)
            return

        def work(block: Block) -> None:
            span = slice(block.start, block.stop)
            row_scores(Identity(), block.rows, p[span], block.offset, b, w, z[span])

        self.engine.map(work, self.blocks)

    @summed(passes=0.5, rows=1, shapes=lambda problem: ((problem.d,),))
    def combine(self, u: np.ndarray) -> np.ndarray:
        """sum_i p_i u_i x_i."""
        return self.combine_here(u)

    def combine_here(self, u: np.ndarray) -> np.ndarray:
        """The same over the rows in this process, without counting passes."""

        def work(block: Block) -> tuple[np.ndarray]:
            out = np.zeros(self.problem.d)
            passes.combine_pass(block.rows, block.p, u[block.start : block.stop], out)
            return (out,)

        return self.engine.sum(work, self.blocks)[0]

    @collected(passes=0.5)
    def norms(self) -> np.ndarray:
        """|x_i|^2 for every row."""
        out = np.empty(self.problem.n)
        self.engine.map(lambda block: passes.norms_pass(block.rows, out[block.start : block.stop]), self.blocks)
        return out

    @cached_property
    def means(self) -> tuple[np.ndarray, float]:
        """(sum p x, sum p offset)."""
        return self.first_means()

    @summed(passes=0.5)
    def first_means(self) -> tuple[np.ndarray, float]:
        """The same, computed from the rows."""
        return self.combine_here(np.ones(self.problem.n)), float(self.problem.weights @ self.problem.offset)

    @summed(passes=0.5)
    def column_squares(self) -> np.ndarray:
        """sum_i p_i x_ij^2 for every column of X."""
        columns = getattr(self.problem, "features", self.problem.d)  # with several scores, d counts all variables

        def work(block: Block) -> tuple[np.ndarray]:
            out = np.zeros(columns)
            squares_pass(block.rows, block.p, out)
            return (out,)

        return self.engine.sum(work, self.blocks)[0]

    def centred(self, w: np.ndarray) -> np.ndarray:
        """The variables for centred features; they differ only if intercepts are among the variables."""
        return w

    def uncentred(self, w: np.ndarray) -> np.ndarray:
        """The inverse of `centred`."""
        return w

    def centred_gradient(self, g: np.ndarray) -> np.ndarray:
        """The gradient in the centred variables from that in the variables."""
        return g

    def balanced_claim(self, w: np.ndarray, losses: float, g: np.ndarray) -> tuple[float, np.ndarray]:
        """(-sum p loss*, sum p u x) after u was balanced; they differ only if several intercepts are free."""
        return losses, g

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """sum_i weights_i x_i x_i', weights >= 0: rows of weight 0 cost nothing."""
        return symmetric(self.upper_gram(weights))

    @summed(passes=0.5, rows=1)
    def upper_gram(self, weights: np.ndarray) -> np.ndarray:
        """The same on and above the diagonal; below, anything."""
        d = self.problem.d

        def work(block: Block) -> tuple[np.ndarray]:
            out = np.zeros((d, d))
            add_gram(block.rows, weights[block.start : block.stop], out)
            return (out,)

        return self.engine.sum(work, self.blocks)[0]

    @property
    def edges(self) -> np.ndarray:
        """Where the blocks of rows begin and end, from 0 to n."""
        return self.blocks.edges if self.remote else np.array([0, *(block.stop for block in self.blocks)])

    @property
    def may_sample(self) -> bool:
        """Whether sums over some rows only may be asked for."""
        return not self.remote or self.blocks.may_sample

    @cached_property
    def storage(self) -> tuple[float, float, float]:
        """(stored values, the sum of the squares of their numbers per row, rows that are stored as dense)."""
        return self.row_sizes()

    @summed(shapes=lambda problem: ((), (), ()))
    def row_sizes(self) -> tuple[float, float, float]:
        """The same, computed from the rows."""
        rows, n = self.problem.rows, float(self.problem.n)
        if isinstance(rows, Dense):
            return float(size(rows)), n * rows.values.shape[1] ** 2, n
        lengths = np.diff(rows.indptr).astype(float)
        return float(lengths.sum()), float(lengths @ lengths), 0.0

    @summed(rows=1, shapes=lambda problem: ((),))
    def weight_of(self, chosen: np.ndarray) -> float:
        """The sum of the weights of the chosen ones of all rows."""
        return self.engine.sum(lambda block: (float(block.p[chosen[block.start : block.stop]].sum()),), self.blocks)[0]

    def sample(self, index: np.ndarray) -> Oracle | None:
        """An oracle of some rows, their weights scaled to a sum of 1 (`row_samples.py`); None if they have no weight."""
        return sample_of(self, index)

    def take(self, index: np.ndarray, scale: float = 1.0) -> Oracle:
        """An oracle for a copy of some rows, with weights multiplied by `scale`; it counts its own passes."""
        return Oracle(some_rows(self.problem, index, scale), self.engine)

    def begin_local_duals(self, transfer: Coordinatewise, strength: float, seed: int) -> tuple[str, np.ndarray]:
        """(the name of) dual variables for rounds of steps within blocks (`oracles/local_dual.py`), and sum p u x."""
        name = self.blocks.new_name(lasting=True) if self.remote else "local duals"
        return name, self.begin_local_dual(name, transfer, strength, seed)

    @summed(keeps=True)
    def begin_local_dual(self, name: str, transfer: Coordinatewise, strength: float, seed: int) -> np.ndarray:
        """sum p u x of new dual variables, which are kept by the blocks."""
        loss = self.problem.compiled_loss
        self.kept[name] = [LocalDual(loss, block, transfer, strength, seed) for block in self.blocks]
        return self.engine.sum(lambda dual: (dual.combined(self.problem.d),), self.kept[name])[0]

    @summed(keeps=True, passes=lambda name, told: 1.0 + told.epochs)
    def local_dual_round(self, name: str, told: Round) -> Any:
        """The sums over all blocks of the results of `LocalDual.round`."""
        return self.engine.sum(lambda dual: dual.round(told), self.kept[name])

    @collected()
    def local_dual_before(self, name: str) -> np.ndarray:
        """The dual variables at which the last round began."""
        return np.concatenate([dual.before for dual in self.kept[name]])

    def local_dual_point(self, name: str) -> Any:
        """The dual point at which the last round began."""
        if self.problem.remote:
            return Kept(name)
        if self.remote:  # Arrays with an entry per row are sent only on request.
            return lambda: self.local_dual_before(name)
        return self.local_dual_before(name)

    def slopes(self, w: np.ndarray, b: float) -> np.ndarray:
        """The slope of every row's loss at (w, b)."""
        z = self.scores(w)
        passes.slopes_at(self.problem.compiled_loss, self.problem.y, z, b, z)
        return z

    def conjugates(self, u: np.ndarray) -> float:
        """sum p (loss*(u) - u offset): no pass over X."""
        problem = self.problem
        return passes.conjugate_sum(problem.compiled_loss, problem.y, problem.weights, problem.offset, u)

    def losses_at(self, z: np.ndarray, b: float) -> tuple[float, float]:
        """(sum p loss, sum p slope) at scores z + b: no pass over X."""
        problem = self.problem
        return passes.loss_sums(problem.compiled_loss, problem.y, problem.weights, z, b)

    def curved(self, z: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """(sum p loss, slopes, curvatures) at scores z of a differentiable loss: no pass over X."""
        problem, u, h = self.problem, np.zeros(z.size), np.zeros(z.size)

        def work(at: slice) -> tuple[float]:
            return (curved_pass(problem.compiled_loss, problem.y[at], problem.weights[at], z[at], u[at], h[at]),)

        return self.engine.sum(work, spans(problem.n))[0], u, h

    def best_intercept(self, z: np.ndarray, b: float) -> float:
        """The intercept that minimises the risk at scores z (0 if it is fixed): no pass over X."""
        if not self.problem.fit_intercept:
            return 0.0
        low, high = self._bracket(z, z, np.inf, b)
        return low if self.losses_at(z, low)[0] <= self.losses_at(z, high)[0] else high

    def middle_intercept(self, w: np.ndarray, b: float) -> tuple[np.ndarray, float]:
        """(w, the middle of the optimal intercepts for w); (w, b) if there is no choice."""
        if not self._intercept_may_vary():
            return w, b
        if self.remote:
            ask = partial(self.slopes_at_intercepts, w)
            size, sums = ask(np.empty(0), ())[3], lambda bs, brackets: ask(bs, brackets)[:3]
        else:
            z = self.scores(w)
            size, sums = self.score_size(z), self.slope_sums(z)
        return w, middle(NarrowingSums(sums, self.problem.n), b, size, smooth=self.problem.smooth_loss)

    @summed()
    def slopes_at_intercepts(
        self, w: np.ndarray, bs: np.ndarray, brackets: Brackets
    ) -> tuple[np.ndarray, np.ndarray, float, float]:
        """(sum p slope, sum p |slope| for every intercept, number of rows undecided after these brackets, sum p |score|)."""
        z = self.scores(w)
        return *self.slope_sums(z)(bs, brackets), self.score_size(z)

    def _intercept_may_vary(self) -> bool:
        """Whether the intercept is free and several values may be optimal."""
        problem = self.problem
        if not problem.fit_intercept:
            return False
        return not (problem.smooth_loss and is_strictly_convex(problem.loss, problem.some_targets()))

    def slope_sums(self, z: np.ndarray) -> Any:
        """The function with which `NarrowingSums` evaluates sums of slopes at scores z + b: no pass over X."""
        loss, rows = self.problem.compiled_loss, float(self.problem.n)
        parts = [SlopeSums(loss, block.y, block.p, z[block.start : block.stop]) for block in self.blocks]

        def ask(bs: np.ndarray, brackets: Brackets) -> tuple[np.ndarray, np.ndarray, float]:
            nonlocal rows
            if rows * bs.size <= MANY:  # too little work for several threads
                total, size, rows = added([part.at(bs, brackets) for part in parts])
            else:
                total, size, rows = self.engine.sum(lambda part: part.at(bs, brackets), parts)
            return total, size, rows

        return ask

    def score_size(self, z: np.ndarray) -> float:
        """sum p |z|."""
        return self.engine.sum(lambda block: (score_size(block.p, z[block.start : block.stop]),), self.blocks)[0]

    def require_minimum(self) -> None:
        """Raise InputError if the risk has no minimum over the free intercept."""
        problem = self.problem
        if problem.fit_intercept:
            falls, rises = self.limits_of_slopes()
            if not falls < 0.0 < rises:
                targets = problem.some_targets() if problem.remote else problem.y[problem.weights > 0.0]
                refuse_without_minimum(problem.loss, np.unique(targets)[:16], falls, rises)

    @summed()
    def limits_of_slopes(self) -> tuple[float, float]:
        """The limits of sum p slope for the intercept to minus and to plus infinity."""
        return slope_limits(self.problem.compiled_loss, self.problem.y, self.problem.weights)

    def plane(self, w: np.ndarray, b: float, centre: tuple[np.ndarray, float] | None, reach: float) -> Plane:
        """A cutting plane of the risk at w with the intercept minimised out.

        The tangents are taken within `reach` of the scores at `centre` = (w', b'), where b' is optimal for w'.
        """
        if not self.problem.fit_intercept and centre is None:
            value, gradient, _ = self.risk(w)
            return Plane(value, gradient, value - float(gradient @ w), 0.0, PlaneRecipe(w, 0.0, 0.0, 0.0, None, np.inf))
        return self.plane_and_dual(w, b, centre, reach)[0]

    def plane_and_dual(
        self, w: np.ndarray, b: float, centre: tuple[np.ndarray, float] | None = None, reach: float = np.inf
    ) -> tuple[Plane, np.ndarray]:
        """(the cutting plane, its dual variables), in one pass."""
        z = self.scores(w)
        b = self.best_intercept(z, b)
        near = self._near(z, centre)
        low = high = share = 0.0
        if self.problem.fit_intercept:
            low, high = self._bracket(z, near, reach, b)
            s_low, s_high = self._slope_sum(z, near, reach, low), self._slope_sum(z, near, reach, high)
            share = -s_low / (s_high - s_low) if s_high > s_low else 0.0
        recipe = PlaneRecipe(w, low, high, share, centre, reach)
        u, constant = self._balanced(z, near, recipe)
        return Plane(self.losses_at(z, b)[0], self.combine(u), constant, b, recipe), u

    def mix(self, parts: Iterable[tuple[float, PlaneRecipe]]) -> Any:
        """The dual point of planes with weights; for distributed rows the recipe for it."""
        if self.problem.remote:
            return Mixed(tuple(parts))
        u = np.zeros(self.problem.dual_shape)
        for weight, recipe in parts:
            u += weight * self.plane_dual(recipe)
        return u

    def feasible(self, u: np.ndarray | None) -> np.ndarray:
        """A feasible dual point near u, or near 0."""
        return feasible(self.problem, np.zeros(self.problem.dual_shape) if u is None else u)

    def plane_dual(self, recipe: PlaneRecipe) -> np.ndarray:
        """The dual variables of a plane, rebuilt from the point at which it was found."""
        z = self.scores(recipe.coef)
        return self._balanced(z, self._near(z, recipe.centre), recipe)[0]

    def _near(self, z: np.ndarray, centre: tuple[np.ndarray, float] | None) -> np.ndarray:
        return z if centre is None else self.scores(centre[0]) + centre[1]

    def _bracket(self, z: np.ndarray, near: np.ndarray, reach: float, b: float) -> tuple[float, float]:
        problem = self.problem
        search = intercept_bracket if z.size <= MANY else intercept_bracket.in_steps
        return search(problem.compiled_loss, problem.y, problem.weights, z, near, reach, b)

    def _slope_sum(self, z: np.ndarray, near: np.ndarray, reach: float, b: float) -> float:
        problem = self.problem
        return slope_sum(problem.compiled_loss, problem.y, problem.weights, z, near, reach, b)

    def _balanced(self, z: np.ndarray, near: np.ndarray, recipe: PlaneRecipe) -> tuple[np.ndarray, float]:
        problem = self.problem
        u = np.empty(problem.n)
        constant = balanced_plane(
            problem.compiled_loss, problem.y, problem.weights, problem.offset, z,
            recipe.low, recipe.high, recipe.share, near, recipe.reach, u,
        )  # fmt: skip
        return u, constant

    def dual_epoch(
        self, transfer: Any, order: np.ndarray, norms: np.ndarray, inverse_strength: float, inverse_bias: float, b: float,
        u: np.ndarray, v: np.ndarray, idle: np.ndarray, rows: Rows | None = None,
    ) -> float:  # fmt: skip
        """One epoch of exact dual coordinate steps over the rows in `order`; returns the new intercept."""
        problem = self.problem
        rows = problem.rows if rows is None else rows
        self.passes += order.size / problem.n
        for part in slices(order, size(rows) / problem.n):
            b = dual_epoch(
                problem.compiled_loss, rows, problem.y, problem.weights, problem.offset,
                transfer, part, norms, inverse_strength, inverse_bias, b, u, v, idle,
            )  # fmt: skip
        return b
