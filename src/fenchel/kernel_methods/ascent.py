"""Dual steps with a kernel, a working set at a time.

Problem      max over u of D(u) = -sum p loss*(u) - (p u)'K(p u) / (2 alpha), with sum p u = 0 if the intercept is free
Update       the rows that would gain most from a step of their own form the working set; on its small kernel matrix
             exact steps are taken, greedily: of single rows, or of pairs that keep sum p u when the intercept is free.
             Then the scores K c of all rows are updated, O(n) per changed row. Rows without a violation for a while are
             left out (shrinking) until all rows are checked again
Certificate  u itself; scores are kept, so P and D cost O(n); the reported values are recomputed from the kernel
Reference    Zhang (2002), section 4; Joachims (1999) for working sets; Fan, Chen and Lin (2005) for the choice of pairs
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.certificates.kernel import own_dual, products, refuse_indefinite
from fenchel.certificates.scalar import feasible
from fenchel.data.accept import read_only
from fenchel.errors import IncompatibleError
from fenchel.kernel_methods.settings import SETTINGS
from fenchel.kernels.working_set import FLAT, add_columns, balance, solve_block, violations
from fenchel.result import Iterate
from fenchel.selection.rules import Choice, Choices
from fenchel.solvers.base import Solver, Start

if TYPE_CHECKING:
    from fenchel.oracles.scalar import Oracle


@dataclass(frozen=True)
class KernelAscent(Solver):
    """Working sets of `size` rows (at most what the cache holds); None takes many for nonsmooth losses, whose steps
    are inexpensive, and few for smooth ones.

    >>> import fenchel
    >>> from fenchel.kernel_methods import KernelProblem
    >>> problem = KernelProblem([[0.0], [1.0], [2.0]], [1.0, 2.0, 0.0], loss="absolute", alpha=0.1, fit_intercept=True)
    >>> fenchel.solve(problem, tol=1e-8).solver
    'KernelAscent'
    """

    size: int | None = None

    kinds = ("kernel",)

    def iterates(self, oracle: Oracle, start: Start) -> Iterator[Iterate]:
        rows = SETTINGS.smooth_set_rows if oracle.problem.smooth_loss else SETTINGS.nonsmooth_set_rows
        state = State(oracle, start, self.size or rows)
        yield state.check()
        rounds = 0
        while True:
            state.round(full=rounds % SETTINGS.sets_per_evaluation == 0)
            rounds += 1
            if rounds % SETTINGS.sets_per_score_refresh == 0:
                state.refresh()
            due = rounds % SETTINGS.sets_per_evaluation == 0
            yield state.check() if due else Iterate(state.coef, state.b, None, np.nan)


class State:
    """u, the scores z = K c without intercept, and the intercept."""

    def __init__(self, oracle: Oracle, start: Start, size: int):
        problem = self.problem = oracle.problem
        self.oracle = oracle
        self.size = max(2, min(size, problem.gram.capacity))
        self.inverse_alpha = 1.0 / problem.alpha
        typical = float(problem.weights @ problem.gram.diagonal) or 1.0
        curvature = np.maximum(problem.gram.diagonal, FLAT * typical)
        self.q = problem.weights * curvature * self.inverse_alpha
        self.rows = np.flatnonzero(problem.weights > 0.0)
        self.active, self.idle = self.rows, np.zeros(problem.n, dtype=np.int64)
        self.change = np.zeros(problem.n)
        self.b = start.intercept
        self.u = feasible(problem, own_dual(problem, start.coef) if start.dual_point is None else start.dual_point)
        self.refresh()

    @property
    def coef(self) -> np.ndarray:
        return -self.inverse_alpha * self.problem.weights * self.u

    def refresh(self) -> None:
        """Recompute all scores, without the rounding errors of many updates."""
        c = self.coef
        self.z = products(self.problem.gram, c[:, None])[0][:, 0]
        self.oracle.count_rows(int(np.count_nonzero(c)))

    def round(self, full: bool) -> None:
        """One working set."""
        if full or self.active.size < self.size:
            self.active = self.rows
        problem = self.problem
        arguments = (problem.compiled_loss, problem.y, problem.weights, self.z, self.u, self.q, self.b, self.active)
        if problem.fit_intercept:
            self.b = balance(*arguments, self.change)[0]
        else:
            violations(*arguments, self.change)
        chosen = self.choose()
        if chosen.size:
            self.solve_on(chosen)
        still = self.change[self.active] == 0.0
        self.idle[self.active] = np.where(still, self.idle[self.active] + 1, 0)
        self.active = self.active[self.idle[self.active] < SETTINGS.max_idle_sets]

    def choose(self) -> np.ndarray:
        """The rows that gain most by a step of their own; half of them in each direction if they must be paired."""
        change = self.change[self.active]
        gain = self.problem.weights[self.active] * self.q[self.active] * change * change
        if not self.problem.fit_intercept:
            return self.active[largest(gain, self.size)]
        up, down = np.flatnonzero(change > 0.0), np.flatnonzero(change < 0.0)
        half = self.size // 2
        up, down = up[largest(gain[up], max(half, self.size - down.size))], down[largest(gain[down], half)]
        return self.active[np.concatenate([up, down])] if up.size and down.size else self.active[:0]

    def solve_on(self, chosen: np.ndarray) -> None:
        problem = self.problem
        store, slots = problem.gram.columns(chosen)
        K = store[slots[:, None], chosen]
        u, z = self.u[chosen], self.z[chosen]
        complete = chosen.size == np.count_nonzero(self.change)  # Whether the set holds every row with a violation.
        max_steps, min_ratio = step_limits(chosen.size, complete)
        rows, change = np.arange(chosen.size), np.zeros(chosen.size)
        self.b, steps = solve_block(
            problem.compiled_loss, problem.y[chosen], read_only(problem.weights[chosen]), K, self.inverse_alpha,
            self.q[chosen], z, u, self.b, problem.fit_intercept, min_ratio, max_steps, rows, change,
        )  # fmt: skip
        if steps < 0:
            refuse_indefinite("two rows have K_ii + K_jj - 2 K_ij < 0")
        step = -self.inverse_alpha * problem.weights[chosen] * (u - self.u[chosen])
        self.u[chosen] = u
        add_columns(store, slots, step, self.z)
        self.oracle.count_rows(chosen.size)

    def check(self) -> Iterate:
        """P and D at the present u, in O(n)."""
        c = self.coef
        b = self.oracle.best_intercept(self.z, self.b)
        norm = 0.5 * self.problem.alpha * float(c @ self.z)
        if norm < -SETTINGS.indefinite_ratio * float(np.abs(c) @ np.abs(self.z)) * self.problem.alpha:
            refuse_indefinite("c'Kc < 0 was met during the solve")
        primal = self.oracle.losses_at(self.z, b)[0] + norm
        return Iterate(c, b, primal, -self.oracle.conjugates(self.u) - norm, self.u.copy())


def step_limits(rows: int, complete: bool) -> tuple[int, float]:
    """(largest number of steps, fraction of the first gain at which to stop) on a working set of so many rows."""
    usual = SETTINGS.max_steps_per_row * rows
    if not complete:
        return usual, SETTINGS.min_gain_ratio
    more = int(min(SETTINGS.max_complete_steps_per_row * rows, SETTINGS.max_complete_work / rows))
    return max(usual, more), SETTINGS.min_complete_gain_ratio


def largest(values: np.ndarray, count: int) -> np.ndarray:
    """The indices of the `count` largest positive values."""
    if values.size > count:
        at = np.argpartition(values, values.size - count)[values.size - count :]
        return at[values[at] > 0.0]
    return np.flatnonzero(values > 0.0)


def kernel_choices(solver: Any, remote: bool) -> Choices:
    """The only solver for kernels; IncompatibleError if another solver, or an engine for distributed rows, is requested."""
    if remote:
        raise IncompatibleError("a KernelProblem is solved on one machine, because each row interacts with all others")
    if isinstance(solver, str) and solver in ("auto", "kernel_ascent"):
        solver = KernelAscent()
    if not isinstance(solver, KernelAscent):
        name = solver if isinstance(solver, str) else type(solver).__name__
        raise IncompatibleError(
            f"{name} cannot solve this problem: it has a kernel, and the method needs rows of features. "
            "Solvers that can: KernelAscent (solver='auto'). fenchel.IncompleteCholesky computes features of a kernel."
        )
    choices = Choices([Choice(solver, "the only solver for kernels")])
    choices.get(0)
    return choices
