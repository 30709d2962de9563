"""Pegasos: subgradient steps of length 1 / (alpha t) for the support vector machine.

Problem      min over w of sum p max(0, margin - y <x, w>) + alpha/2 |w|^2, no intercept
Update       w <- (1 - 1/t) w - (1 / (alpha t)) sum p u x, u the slopes at w: of all rows, or of `batch` rows drawn with
             probability p (then the mean of u x). Optionally w is scaled into the ball alpha |w|^2 <= risk(0),
             which contains the optimum: there P = D, and D <= risk(0) - alpha/2 |w|^2.
Certificate  free: the average of the slopes, scaled as w is, is the dual point of w. With all rows it is feasible; that
             of drawn rows may leave the box and is clipped
Reference    Shalev-Shwartz, Singer and Srebro (2007)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fenchel.certificates.scalar import feasible
from fenchel.data.accept import size
from fenchel.errors import InputError
from fenchel.kernels.pegasos_epoch import pegasos_epoch
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


@dataclass(frozen=True)
class Pegasos(Solver):
    """The classical baseline for the hinge with L2; gap O(log t / (alpha t)).

    Parameters
    ----------
    batch : rows per step; None takes all of them. With a batch, one iteration is n / batch steps.
    project : whether w is kept in the ball that contains the optimum.
    seed : seed of the random draws.

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="hinge", alpha=0.1)
    >>> fenchel.solve(problem, solver=Pegasos(batch=1), tol=1e-2).status.name
    'CERTIFIED'
    """

    batch: int | None = None
    project: bool = False
    seed: int = 0
    cost = "the rows of one batch, by default all rows"
    convergence = "expected suboptimality O(log(steps)/(alpha steps))"
    slow = True
    waits = 2000
    segment_growth = 2.0
    needs = Needs(loss=("hinge",), regularizer=("l2",), problem=("no_intercept",))

    def __post_init__(self) -> None:
        if self.batch is not None and not (isinstance(self.batch, int | np.integer) and self.batch >= 1):
            raise InputError(f"batch must be None (all rows) or an integer of at least 1, got {self.batch!r}")

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        problem = oracle.problem
        radius = np.inf
        if self.project:
            radius = np.sqrt(oracle.losses_at(problem.offset, 0.0)[0] / problem.regularizer.alpha)
        if self.batch is None:
            return all_rows(oracle, start, radius)
        return drawn_rows(oracle, start, radius, min(self.batch, problem.n), np.random.default_rng(self.seed))


def begin(oracle: Oracle, start: Start) -> Iterate:
    """P at the start and D at its dual point, if it came with one."""
    u = np.zeros(oracle.problem.n) if start.dual_point is None else feasible(oracle.problem, start.dual_point)
    return measured(oracle, start.coef, oracle.scores(start.coef), u, oracle.combine(u))


def measured(oracle: Oracle, w: np.ndarray, z: np.ndarray, u: np.ndarray, g: np.ndarray) -> Iterate:
    """P at w from its scores z, D at u from g = sum p u x."""
    regularizer = oracle.problem.regularizer
    primal = oracle.losses_at(z, 0.0)[0] + regularizer.value(w)
    return Iterate(w, 0.0, primal, -oracle.conjugates(u) - regularizer.conjugate(-g), u)


def all_rows(oracle: Oracle, start: Start, radius: float) -> Iterator[Iterate]:
    """Pegasos-n: w = -sum p u x / alpha throughout, u the average of all slopes so far."""
    problem = oracle.problem
    alpha = problem.regularizer.alpha
    yield begin(oracle, start)
    u, g, w = np.zeros(problem.n), np.zeros(problem.d), np.zeros(problem.d)
    t = 0
    while True:
        t += 1
        new = oracle.slopes(w, 0.0)
        u = (1.0 - 1.0 / t) * u + new / t
        g = (1.0 - 1.0 / t) * g + oracle.combine(new) / t
        w = -g / alpha
        length = float(np.linalg.norm(w))
        if length > radius:
            u, g, w = (radius / length) * u, (radius / length) * g, (radius / length) * w
        yield measured(oracle, w, oracle.scores(w), u, g)


def drawn_rows(oracle: Oracle, start: Start, radius: float, batch: int, rng: np.random.Generator) -> Iterator[Iterate]:
    """Pegasos-1 and mini-batches; P and D are evaluated at growing intervals, since that costs as much as an epoch."""
    problem = oracle.problem
    p, alpha = problem.weights, problem.regularizer.alpha
    yield begin(oracle, start)
    V, A = np.zeros(problem.d), np.zeros(problem.n)
    t, factor, squares = 0.0, 1.0, 0.0
    epoch, due = 0, 1
    steps = problem.n // batch
    while True:
        order = rng.choice(problem.n, size=steps * batch, p=p).astype(np.uint64)
        for part in oracle.visits(order, size(problem.rows) / problem.n, batch):
            t, factor, squares = pegasos_epoch(
                problem.compiled_loss, problem.rows, problem.y, problem.offset, part, batch, alpha, radius,
                t, factor, squares, V, A,
            )  # fmt: skip
        epoch += 1
        w = V * (factor / (alpha * t))
        if epoch < due:
            yield Iterate(w, 0.0, None, np.nan)
            continue
        due = epoch + max(1, epoch // 6)
        u = np.divide(A * (factor / t), p, out=np.zeros(problem.n), where=p > 0.0)
        u = feasible(problem, u)
        yield measured(oracle, w, oracle.scores(w), u, oracle.combine(u))
