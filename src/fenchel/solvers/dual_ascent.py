"""Dual coordinate ascent with exact steps.

Problem      max over u of D(u); R has a quadratic part: L2, ElasticNet, Quadratic
Update       for one row at a time, u_i <- the maximiser of D over u_i (for ElasticNet of a quadratic minorant), rows in
             shuffled blocks of 16, in a fresh order every epoch; rows whose u_i stays put are left out for a while
             With a free intercept, D has the constraint sum p u = 0. It is met in the limit by proximal point steps in
             b (the method of multipliers): b enters as a feature around a centre, which follows it every epoch
Certificate  u itself; v is recomputed from u at every check, so nothing drifts
Reference    Hsieh et al. (2008), Shalev-Shwartz and Zhang (2013); Zhang (2002) for the dual and the transfer function
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from fenchel.certify import feasible
from fenchel.data.accept import accept_matrix
from fenchel.data.transfer import Identity, Soft
from fenchel.errors import InputError
from fenchel.regularizers import ElasticNet, Quadratic
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver, Start

RUN = 16  # rows that are shuffled together: 10-15 % more epochs, but each takes little more than half the time
PATIENCE = 3  # epochs without change after which a row is left out
BIAS = 1.0  # weight of the intercept in a row's curvature, relative to its features
MOST_DENSE = 4000  # features up to which a dense factor of K is reasonable


@dataclass(frozen=True)
class DualAscent(Solver):
    """Exact dual coordinate steps for every loss, with L2, Quadratic or ElasticNet.

    >>> import fenchel
    >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="hinge", alpha=0.1)
    >>> fenchel.solve(problem, solver=DualAscent(seed=1)).status.name
    'CERTIFIED'
    """

    seed: int = 0
    needs: ClassVar[Needs] = Needs(regularizer=("quadratic_part",))

    def iterates(self, oracle: Any, start: Start) -> Iterator[Iterate]:
        state = State(oracle, start)
        rng = np.random.default_rng(self.seed)
        yield state.check()
        epoch, due = 0, 1
        while True:
            state.epoch(rng, full=epoch >= due - 1)
            epoch += 1
            if epoch < due:
                yield Iterate(state.coef, state.b, None, np.nan)
                continue
            yield state.check()
            due = epoch + max(2, epoch // 6)


class State:
    """u, the vector v that goes with it, and the intercept."""

    def __init__(self, oracle: Any, start: Start):
        problem = oracle.problem
        self.oracle = oracle
        self.change, self.strength, self.transfer = quadratic_form(problem)
        self.norms = self.change.norms(oracle)
        typical = float(problem.weights @ self.norms) or 1.0
        self.inverse_bias = BIAS * typical / self.strength if problem.fit_intercept else 0.0
        self.rows = np.flatnonzero(problem.weights > 0.0).astype(np.uint64)
        self.active = self.rows
        self.idle = np.zeros(problem.n, dtype=np.int64)
        u = np.zeros(problem.n) if start.dual_point is None else start.dual_point
        self.u = feasible(problem, u)
        self.centre = self.b = start.intercept
        self.recompute()

    def recompute(self) -> None:
        """v from u, without the drift of many small updates."""
        self.v = -self.change.combine(self.oracle, self.u) / self.strength
        self.b = self.centre - float(self.oracle.problem.weights @ self.u) * self.inverse_bias

    @property
    def coef(self) -> np.ndarray:
        return self.change.coef(apply_to(self.transfer, self.v))

    def epoch(self, rng: np.random.Generator, full: bool) -> None:
        """Steps for the rows that still move, or for all of them."""
        if full or self.active.size == 0:
            self.active = self.rows
        self.b = self.oracle.dual_epoch(
            self.transfer, shuffled(rng, self.active), self.norms, 1.0 / self.strength, self.inverse_bias,
            self.b, self.u, self.v, self.idle, self.change.rows,
        )  # fmt: skip
        self.active = self.active[self.idle[self.active] < PATIENCE]
        self.centre, self.b = (
            self.b,
            self.b - (self.centre - self.b),
        )  # the multiplier step (0 without intercept)

    def check(self) -> Iterate:
        """P and D at the present u, made feasible, with the intercept that is best for its w."""
        problem = self.oracle.problem
        self.recompute()
        u, v = self.u, self.v
        if problem.fit_intercept:
            u = feasible(problem, u)
            v = -self.change.combine(self.oracle, u) / self.strength
        w = self.change.coef(apply_to(self.transfer, v))
        z = self.oracle.scores(w)
        b = self.oracle.best_intercept(z, self.b)
        primal = self.oracle.losses_at(z, b)[0] + problem.regularizer.value(w)
        dual = -self.oracle.conjugates(u) - problem.regularizer.conjugate(self.change.dual(v * self.strength))
        return Iterate(w, b, primal, dual, u.copy())


def apply_to(transfer: Any, v: np.ndarray) -> np.ndarray:
    if isinstance(transfer, Soft):
        return np.sign(v) * np.maximum(np.abs(v) - transfer.threshold, 0.0)
    return v.copy()


def shuffled(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """The rows in shuffled runs of RUN; one by one when there are few."""
    if rows.size < 64 * RUN:
        return rng.permutation(rows)
    offset = int(rng.integers(RUN))  # so that runs do not always hold the same rows
    edges = np.arange(offset, rows.size, RUN)
    head, body, tail = rows[:offset], rows[edges[0] : edges[0] + (edges.size - 1) * RUN], rows[edges[-1] :]
    order = rng.permutation(edges.size - 1)
    return np.concatenate([tail, body.reshape(-1, RUN)[order].ravel(), head])


class Same:
    """The data as they are."""

    def __init__(self, rows: Any):
        self.rows = rows

    def norms(self, oracle: Any) -> np.ndarray:
        return oracle.norms()

    def combine(self, oracle: Any, u: np.ndarray) -> np.ndarray:
        return oracle.combine(u)

    def coef(self, w: np.ndarray) -> np.ndarray:
        return w

    def dual(self, v: np.ndarray) -> np.ndarray:
        return v


class Changed:
    """Rows L^-1 x for K = L L': the regularizer becomes L2 in L'w. Holds a copy of X (dense unless K is diagonal)."""

    def __init__(self, X: Any, factor: np.ndarray):
        self.factor = factor
        if factor.ndim == 1:
            self.X: Any = (X @ sp.diags(1.0 / factor)).tocsr() if sp.issparse(X) else X / factor
        else:
            dense = X.toarray() if sp.issparse(X) else X
            self.X = np.ascontiguousarray(self._solve(dense.T).T)
        self.rows = accept_matrix(self.X)[1]

    def _solve(self, right: np.ndarray, transposed: bool = False) -> np.ndarray:
        from scipy.linalg import solve_triangular

        return solve_triangular(self.factor, right, lower=True, trans="T" if transposed else "N")

    def norms(self, oracle: Any) -> np.ndarray:
        oracle.passes += 0.5
        squares = self.X.multiply(self.X) if sp.issparse(self.X) else self.X * self.X
        return np.asarray(squares.sum(axis=1), dtype=float).ravel()

    def combine(self, oracle: Any, u: np.ndarray) -> np.ndarray:
        oracle.passes += 0.5
        return np.asarray(self.X.T @ (oracle.problem.weights * u), dtype=float)

    def coef(self, w: np.ndarray) -> np.ndarray:
        return w / self.factor if self.factor.ndim == 1 else self._solve(w, transposed=True)

    def dual(self, v: np.ndarray) -> np.ndarray:
        return self.factor * v if self.factor.ndim == 1 else self.factor @ v


def quadratic_form(problem: Any) -> tuple[Same | Changed, float, Any]:
    """(change of variables, strength, transfer): R is strength/2 |w|^2 + threshold |w|_1 in the new variables."""
    regularizer = problem.regularizer
    if isinstance(regularizer, ElasticNet):
        strength = regularizer.alpha * (1.0 - regularizer.l1_ratio)
        return Same(problem.rows), strength, Soft(regularizer.alpha * regularizer.l1_ratio / strength)
    if isinstance(regularizer, Quadratic):
        return Changed(problem.X, cholesky(regularizer.K, problem.d)), regularizer.alpha, Identity()
    return Same(problem.rows), regularizer.alpha, Identity()


def cholesky(K: Any, d: int) -> np.ndarray:
    """The lower factor of K (its square root if K is diagonal)."""
    if not sp.issparse(K) and np.ndim(K) == 1:
        return np.sqrt(np.asarray(K, dtype=float))
    if d > MOST_DENSE:
        raise InputError(
            f"DualAscent factors K densely, which {d} features do not allow; use solver='bundle' or 'lbfgs'"
        )
    return np.linalg.cholesky(K.toarray() if sp.issparse(K) else np.asarray(K, dtype=float))
