"""Dual ascent for losses of several scores: all dual variables of a row at once.

Problem      max over U of D(U) = -sum_i p_i loss*(u_i) - R*(-sum_i p_i x_i u_i'), R with a quadratic part: L2, L1 + L2
Update       u_i <- argmin over u of loss*(u) - <z_i + q u_i, u> + q/2 |u|^2, q = p_i |x_i|^2 / strength: the exact
             maximum over the row (for L1 + L2: of a quadratic minorant), so D never falls. Rows in shuffled blocks;
             rows whose variables do not change are left out for a while, high-gain rows have some epochs of their own
Certificate  U itself; W is recomputed from it from time to time, which removes drift
Memory       U, rows x scores, and a copy of it in the certificate; the scores of a few rows at a time. With many scores and
             a loss whose dual variables are mostly zero (`sparse_duals`), only the nonzeros of U, with spare capacity, and
             CSR copies of them; once that would be as large as a dense U, a dense U
Reference    Shalev-Shwartz and Zhang (2013); Lapin, Hein and Schiele (2015) for top-k; Tajima et al. (2020) for the sets
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse as sp

from fenchel.data.accept import size
from fenchel.data.dense import Dense
from fenchel.kernels.sparse_duals import SparseDuals, as_csr, grown, stored
from fenchel.kernels.vector_passes import block_epoch, row_curvatures
from fenchel.mirror_maps.coordinatewise import Soft
from fenchel.regularizers import ElasticNet
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.block_ascent.settings import SETTINGS
from fenchel.solvers.row_order.orders import blocks

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle
    from fenchel.oracles.vector import VectorOracle
    from fenchel.problems.vector import VectorProblem


@dataclass(frozen=True)
class BlockAscent(Solver):
    """Exact steps on all scores of a row, for every loss of `fenchel.multiclass` that has a `dual_prox`.

    >>> import fenchel
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [1.0, 1.0]], [0, 1, 2, 1]
    >>> problem = fenchel.Problem(X, y, loss="max_hinge", alpha=0.1)
    >>> fenchel.solve(problem, solver=BlockAscent()).status.name
    'CERTIFIED'
    """

    seed: int = 0
    cost = "an epoch of steps on all scores of a row, one or two passes over the data"
    convergence = "expected gap O(1/(alpha epochs)); geometric for differentiable losses"
    kinds = ("vector",)
    sparse_duals = True
    needs = Needs(loss=("dual_prox",), regularizer=("separable_quadratic",))

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        state = BlockState(cast("VectorOracle", oracle), start, mostly_zero(oracle.problem))
        rng = np.random.default_rng(self.seed)
        latest = state.check()
        yield latest
        for due in state.evaluations():
            state.repeats(rng)
            state.epoch(rng, full=due)
            latest = state.check() if due else latest._replace(primal=None, dual=np.nan, dual_point=None)
            yield latest


def mostly_zero(problem: VectorProblem) -> bool:
    """Whether the dual variables are stored without zeros."""
    return problem.outputs >= SETTINGS.min_sparse_scores and getattr(problem.loss, "sparse_duals", False)


class BlockState:
    """U, and V = -sum p x u' / strength that goes with it."""

    def __init__(self, oracle: VectorOracle, start: Start, sparse: bool = False):
        self.oracle, problem = oracle, oracle.problem
        regularizer = problem.regularizer
        self.strength = regularizer.alpha
        self.transfer: Any = None
        if isinstance(regularizer, ElasticNet):
            self.strength = regularizer.alpha * (1.0 - regularizer.l1_ratio)
            self.transfer = Soft(regularizer.alpha * regularizer.l1_ratio / self.strength)
        self.rows = self.active = np.flatnonzero(problem.weights > 0.0).astype(np.uint64)
        self.curvature = np.empty(problem.n)
        row_curvatures(problem.rows, problem.weights, 1.0 / self.strength, self.curvature)
        self.idle = np.zeros(problem.n, dtype=np.int64)
        self.gains = np.zeros(problem.n)  # The gain of every row by its last step.
        self.visited = 0.0  # Passes over the rows by all epochs so far.
        self.moved = np.inf  # The length of the steps of the last epoch.
        self.materialized: Any = None  # The dual variables as a CSR matrix, if it is up to date.
        self.duals: Dense | SparseDuals = self.first(start.dual_point, sparse)
        self.recompute()

    def first(self, point: Any, sparse: bool) -> Dense | SparseDuals:
        """The storage of the dual variables to start from."""
        if not sparse:
            return Dense(self.oracle.feasible(point))
        shape = self.oracle.problem.dual_shape
        return stored(self.oracle.feasible(sp.csr_matrix(shape if point is None else point)))

    @property
    def U(self) -> Any:
        """The dual variables: the array that epochs update, or a CSR matrix of their current values."""
        if isinstance(self.duals, Dense):
            return self.duals.values
        if self.materialized is None:
            self.materialized = as_csr(self.duals, self.oracle.problem.outputs)
        return self.materialized

    def evaluations(self) -> Iterator[bool]:
        """For each epoch, whether it visits all rows and P and D are evaluated after it.

        That costs about a pass, so it is due after a few passes over the active rows, at growing intervals; but also when
        the active rows have converged, or after many epochs, because only the others can make progress then.
        """
        epoch, evaluated, visited, moved = 0, 0, 0.0, np.inf
        min_passes, min_epochs = SETTINGS.min_passes_per_evaluation, SETTINGS.min_epochs_per_evaluation
        while True:
            due = (
                epoch == 0
                or self.visited - visited >= max(min_passes, self.visited / SETTINGS.passes_per_evaluation_divisor)
                or self.moved <= SETTINGS.converged_step_ratio * moved
                or epoch - evaluated >= max(min_epochs, epoch // SETTINGS.epochs_per_evaluation_divisor)
            )
            yield due
            epoch += 1
            if due:
                evaluated, visited, moved = epoch, self.visited, self.moved

    def recompute(self) -> None:
        """V from U, without the drift of many small updates."""
        self.V = self.oracle.matrix(-self.oracle.combine(self.U) / self.strength)
        self.computed = self.visited

    def coef(self) -> np.ndarray:
        """W = transfer(V), flat."""
        v = self.V.ravel()
        if isinstance(self.transfer, Soft):
            return np.sign(v) * np.maximum(np.abs(v) - self.transfer.threshold, 0.0)
        return v.copy()

    def repeats(self, rng: np.random.Generator) -> None:
        """Some epochs over the rows that gained most in the last one."""
        if self.visited < SETTINGS.min_passes_before_repeats or not self.active.size:
            return
        gains = self.gains[self.active]
        high_gain = self.active[gains > gains.mean()]
        if high_gain.size <= SETTINGS.max_high_gain_fraction * self.active.size:
            for _ in range(SETTINGS.high_gain_epochs):
                self.visit(blocks(rng, high_gain))

    def epoch(self, rng: np.random.Generator, full: bool) -> None:
        """Steps on the active rows, or on all rows if `full`."""
        if full or self.active.size == 0:
            self.active = self.rows
        self.moved = self.visit(blocks(rng, self.active))
        self.active = self.active[self.idle[self.active] < SETTINGS.max_idle_epochs]

    def visit(self, order: np.ndarray) -> float:
        """A step on each of these rows; returns the total length of the steps."""
        problem, total = self.oracle.problem, 0.0
        self.visited += order.size / problem.n
        self.materialized = None
        for part in self.oracle.visits(order, problem.outputs * size(problem.rows) / problem.n):
            while part.size:
                done, moved = block_epoch(
                    problem.compiled_loss, problem.rows, problem.y, problem.weights, self.transfer, part,
                    self.curvature, 1.0 / self.strength, self.V, self.duals, self.idle, self.gains,
                )  # fmt: skip
                total += moved
                part = part[done:]
                if part.size:  # The duals of the next row do not fit.
                    self.duals = grown(self.duals, self.V.shape[1])
        return total

    def check(self) -> Iterate:
        """P and D at the current U, which is passed on without a copy, as D never falls."""
        if self.visited - self.computed > SETTINGS.max_passes_per_recomputation:
            self.recompute()
        w, problem = self.coef(), self.oracle.problem
        primal = self.oracle.losses(w) + problem.regularizer.value(w)
        dual = -self.oracle.conjugates(self.U) - problem.regularizer.conjugate(self.V.ravel() * self.strength)
        return Iterate(w, 0.0, primal, dual, lambda: self.U)
