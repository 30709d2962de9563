"""Dual ascent for losses of several scores: all dual variables of a row at once.

Problem      max over U of D(U) = -sum_i p_i loss*(u_i) - R*(-sum_i p_i x_i u_i'), R with a quadratic part: L2, L1 + L2
Update       u_i <- argmin over u of loss*(u) - <z_i + q u_i, u> + q/2 |u|^2, q = p_i |x_i|^2 / strength: the exact
             maximum over the row (for L1 + L2: of a quadratic minorant), so D never falls. Rows in shuffled blocks;
             rows whose variables stay put are left out for a while, rows that gained most have some epochs of their own
Certificate  U itself; W is recomputed from it now and then, so nothing drifts
Memory       U, rows x scores, and a copy of it in the certificate; the scores of a few rows at a time. With a loss whose
             dual variables are mostly zero (`sparse_duals`) and MANY scores, what is not zero of U, with room to grow, and CSR
             copies of it; as soon as that would be as large as all of U, all of U
Reference    Shalev-Shwartz and Zhang (2013); Lapin, Hein and Schiele (2015) for top-k; Tajima et al. (2020) for the sets
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from fenchel.data.accept import size
from fenchel.data.dense import Dense
from fenchel.data.row_blocks import slices
from fenchel.kernels.sparse_duals import SparseDuals, as_csr, grown, stored
from fenchel.kernels.vector_passes import block_epoch, row_curvatures
from fenchel.mirror_maps.coordinatewise import Soft
from fenchel.regularizers import ElasticNet
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start
from fenchel.solvers.row_order import blocks

PATIENCE = 3  # epochs without change after which a row is left out
LOOK = 2.5  # passes over the rows between evaluations of P and D, at least: one costs about half a pass
LONG = 8  # epochs between them, at least
SETTLED = 0.1  # as far as this, beside an epoch with all rows, the steps of the others go when they are done with
DRIFT = 50.0  # passes over the rows after which V is computed anew
REPEATS = (
    2  # epochs for the high-gain rows alone, which gained more than the mean: they have most of what is left to gain
)
MAX_HIGH_GAIN_SHARE = 0.5  # of the rows; more of them have none
EARLY = 8.0  # passes over the rows in which all of them have much to gain
MANY = 100  # scores from which on zeros of U are not stored: with fewer it takes time, with 1000 it saves some


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
    cost: ClassVar[str] = "an epoch of steps on all scores of a row, one or two passes over the data"
    convergence: ClassVar[str] = "expected gap O(1/(alpha epochs)); geometric for differentiable losses"
    kinds: ClassVar[tuple[str, ...]] = ("vector",)
    sparse_duals: ClassVar[bool] = True
    needs: ClassVar[Needs] = Needs(loss=("dual_prox",), regularizer=("separable_quadratic",))

    def iterates(self, oracle: Any, start: Start) -> Iterator[Iterate]:
        state = BlockState(oracle, start, mostly_zero(oracle.problem))
        rng = np.random.default_rng(self.seed)
        shown = state.check()
        yield shown
        for due in state.looks():
            state.repeats(rng)
            state.epoch(rng, full=due)
            shown = state.check() if due else shown._replace(primal=None, dual=np.nan, dual_point=None)
            yield shown


def mostly_zero(problem: Any) -> bool:
    """Whether the dual variables are stored without zeros."""
    return problem.outputs >= MANY and getattr(problem.loss, "sparse_duals", False)


class BlockState:
    """U, and V = -sum p x u' / strength that goes with it."""

    def __init__(self, oracle: Any, start: Start, sparse: bool = False):
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
        self.gains = np.zeros(problem.n)  # of every row by its last step
        self.walked = 0.0  # passes over the rows that epochs made
        self.moved = np.inf  # how far the steps of the last epoch went
        self.made: Any = None  # the dual variables as a CSR matrix, if there is one
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
        """The dual variables: the array that is being changed, or a CSR matrix made of what there is now."""
        if isinstance(self.duals, Dense):
            return self.duals.values
        if self.made is None:
            self.made = as_csr(self.duals, self.oracle.problem.outputs)
        return self.made

    def looks(self) -> Iterator[bool]:
        """For epoch after epoch, whether all rows are walked, and P and D evaluated after it.

        That costs about a pass, so it is due after a few passes over rows that still move, ever more of them; but also
        when those rows have settled, or for a long time, because only the others can bring news then.
        """
        epoch, looked, walked, moved = 0, 0, 0.0, np.inf
        while True:
            due = (
                epoch == 0
                or self.walked - walked >= max(LOOK, self.walked / 8)
                or self.moved <= SETTLED * moved
                or epoch - looked >= max(LONG, epoch // 4)
            )
            yield due
            epoch += 1
            if due:
                looked, walked, moved = epoch, self.walked, self.moved

    def recompute(self) -> None:
        """V from U, without the drift of many small updates."""
        self.V = self.oracle.matrix(-self.oracle.combine(self.U) / self.strength)
        self.computed = self.walked

    def coef(self) -> np.ndarray:
        """W = transfer(V), flat."""
        v = self.V.ravel()
        if isinstance(self.transfer, Soft):
            return np.sign(v) * np.maximum(np.abs(v) - self.transfer.threshold, 0.0)
        return v.copy()

    def repeats(self, rng: np.random.Generator) -> None:
        """Steps for the rows that gained most in the last epoch, some times over."""
        if self.walked < EARLY or not self.active.size:
            return
        gains = self.gains[self.active]
        high_gain = self.active[gains > gains.mean()]
        if high_gain.size <= MAX_HIGH_GAIN_SHARE * self.active.size:
            for _ in range(REPEATS):
                self.walk(blocks(rng, high_gain))

    def epoch(self, rng: np.random.Generator, full: bool) -> None:
        """Steps for the rows that still move, or for all of them."""
        if full or self.active.size == 0:
            self.active = self.rows
        self.moved = self.walk(blocks(rng, self.active))
        self.active = self.active[self.idle[self.active] < PATIENCE]

    def walk(self, order: np.ndarray) -> float:
        """A step for each of these rows; returns how far they went."""
        problem, total = self.oracle.problem, 0.0
        self.oracle.passes += order.size / problem.n
        self.walked += order.size / problem.n
        self.made = None
        for part in slices(order, problem.outputs * size(problem.rows) / problem.n):
            while part.size:
                done, moved = block_epoch(
                    problem.compiled_loss, problem.rows, problem.y, problem.weights, self.transfer, part,
                    self.curvature, 1.0 / self.strength, self.V, self.duals, self.idle, self.gains,
                )  # fmt: skip
                total += moved
                part = part[done:]
                if part.size:  # the next row has no room
                    self.duals = grown(self.duals, self.V.shape[1])
        return total

    def check(self) -> Iterate:
        """P and D at the present U; U itself is handed out, as D never falls."""
        if self.walked - self.computed > DRIFT:
            self.recompute()
        w, problem = self.coef(), self.oracle.problem
        primal = self.oracle.losses(w) + problem.regularizer.value(w)
        dual = -self.oracle.conjugates(self.U) - problem.regularizer.conjugate(self.V.ravel() * self.strength)
        return Iterate(w, 0.0, primal, dual, lambda: self.U)
