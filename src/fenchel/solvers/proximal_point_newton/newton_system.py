"""The Newton systems of a proximal step, in as few unknowns as possible.

    (B J B' + diag(1 / omega)) dl = r,    B = [Xc, 1],  J = blockdiag(step_w M, step_b),  omega_i = p_i / (gamma D_i + sigma),

with Xc the rows, centred if the intercept is free. With few active columns, Woodbury's identity gives

    dl = omega (r - B c),    (I + J B' diag(omega) B) c = J B' diag(omega) r.

Where coefficients move together (sorted or fused ones), M = Q Q' with a column of Q for each set of them, and Woodbury's
identity needs as many unknowns as there are sets:

    dl = omega (r - A y),    (I + A' diag(omega) A) y = A' diag(omega) r,    A = [sqrt(step_w) Xc Q, sqrt(step_b) 1].

Rows with D = 1 enter the Gram matrix through that of all rows, which is computed once; the others are added to it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.data.dense import Dense
from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.solvers.linear_systems import conjugate_gradients
from fenchel.solvers.newton_line_search.search import newton_step
from fenchel.solvers.proximal_point_newton.settings import SETTINGS
from fenchel.solvers.working_set.column_set import ColumnSet


class Metric(NamedTuple):
    """Of a proximal step: the step sizes gamma / p_i of scores, step_w of coefficients and step_b of the intercept; and the
    weights sigma p_i of the squared distance to the last dual variables."""

    gamma: float
    step_w: Any
    step_b: float
    sigma: float


class NewtonSystem:
    """Solves the systems of one problem; holds a copy of the active columns and their Gram matrix."""

    def __init__(self, oracle: Any, mean: np.ndarray):
        self.oracle, self.problem, self.mean = oracle, oracle.problem, mean
        self.columns: ColumnSet | None = None
        self.gram_of_all: np.ndarray | None = None

    def solve(self, metric: Metric, M: ProxJacobian, rate: np.ndarray, r: np.ndarray) -> np.ndarray | None:
        """du with dl = p du; None if the factorization fails."""
        moving = 1.0 / (metric.gamma * rate + metric.sigma)
        active, n = M.columns(), self.problem.n
        unknowns = active.size + (metric.step_b > 0.0)
        if unknowns == 0:
            return moving * r
        if unknowns > n and n <= SETTINGS.max_factored_unknowns:
            return self.by_rows(metric, active, M, moving, r)
        sets = self.few_sets(M, unknowns)
        if sets is not None:
            return self.by_sets(metric, sets, moving, r)
        if unknowns > SETTINGS.max_factored_unknowns:
            return self.by_products(metric, active, M, moving, r)
        return self.by_columns(metric, active, M, moving, r)

    def few_sets(self, M: ProxJacobian, unknowns: int) -> sp.csc_array | None:
        """Q with M = Q Q', if it has few columns."""
        Q = M.factor() if not M.is_diagonal else None
        if Q is None or Q.shape[1] > min(SETTINGS.max_set_ratio * unknowns, SETTINGS.max_factored_unknowns):
            return None
        return Q if self.problem.n * Q.shape[1] <= SETTINGS.max_dense_values else None

    def by_sets(self, metric: Metric, Q: sp.csc_array, moving: np.ndarray, r: np.ndarray) -> np.ndarray | None:
        """Woodbury's identity: as many unknowns as sets of coefficients that move together; the step in w is one number."""
        p = self.problem.weights
        A = np.empty((self.problem.n, Q.shape[1] + (metric.step_b > 0.0)), order="F")
        A[:, : Q.shape[1]] = times_sets(self.problem.rows, Q)
        if metric.step_b > 0.0:
            A[:, : Q.shape[1]] -= self.mean @ Q
            A[:, -1] = np.sqrt(metric.step_b)
        A[:, : Q.shape[1]] *= np.sqrt(metric.step_w)
        weighted = A * np.sqrt(p * moving)[:, None]
        H = weighted.T @ weighted
        H.flat[:: H.shape[0] + 1] += 1.0
        y = newton_step(H, -(A.T @ (p * moving * r)))
        return None if y is None else moving * (r - A @ y)

    def select(self, active: np.ndarray) -> ColumnSet:
        """A copy of columns that has the active ones, not many more."""
        d, columns = self.problem.d, self.columns
        few = d > SETTINGS.max_columns_without_selection and 2 * active.size <= d
        if columns is not None and columns.size <= self.most_columns(active):
            if columns.chosen is None or np.isin(active, columns.chosen, assume_unique=True).all():
                return columns
            active = np.union1d(columns.chosen, active)
        self.columns, self.gram_of_all = ColumnSet(self.oracle, active if few else None), None
        return self.columns

    def most_columns(self, active: np.ndarray) -> float:
        """Up to how many columns a copy is kept."""
        return SETTINGS.max_copied_column_ratio * active.size + SETTINGS.max_columns_without_selection

    def by_columns(
        self, metric: Metric, active: np.ndarray, M: ProxJacobian, moving: np.ndarray, r: np.ndarray
    ) -> np.ndarray | None:
        """Woodbury's identity: as many unknowns as active columns."""
        columns, p = self.select(active), self.problem.weights
        place = place_in(columns, active)
        free, mean = metric.step_b > 0.0, self.mean[active]
        G = self.gram(columns, metric, moving)[np.ix_(place, place)]
        side, total_r = columns.combine(moving * r)[place], float(p @ (moving * r))
        if free:
            sums, total = columns.combine(moving)[place], float(p @ moving)
            border = sums - total * mean
            G -= np.outer(mean, sums) + np.outer(border, mean)
            G = np.block([[G, border[:, None]], [border, np.array([[total]])]])
            side = np.append(side - total_r * mean, total_r)
        c = woodbury(G, side, metric, M, active)
        if c is None:
            return None
        x, shift = np.zeros(columns.size), 0.0
        x[place] = c[: active.size]
        if free:
            shift = c[-1] - float(mean @ x[place])
        return moving * (r + columns.scores(x) + shift)

    def gram(self, columns: ColumnSet, metric: Metric, moving: np.ndarray) -> np.ndarray:
        """X' diag(p moving) X of the copied columns: that of all rows is kept, so that rows with D = 1 cost nothing."""
        p, least = self.problem.weights, 1.0 / (metric.gamma + metric.sigma)
        if self.gram_of_all is None:
            self.gram_of_all = columns.gram(
                p.copy()
            )  # The weights are read-only, and kernels are compiled for weights that are not.
        return columns.gram(p * (moving - least)) + least * self.gram_of_all

    def by_rows(
        self, metric: Metric, active: np.ndarray, M: ProxJacobian, moving: np.ndarray, r: np.ndarray
    ) -> np.ndarray | None:
        """The system itself, with as many unknowns as rows."""
        p = self.problem.weights
        counts = p > 0.0
        A = dense_columns(self.problem.rows, active, self.problem.d)[counts]
        if metric.step_b > 0.0:
            A = A - self.mean[active]
        H = A @ moved(metric, M, active, A.T) + metric.step_b
        H.flat[:: H.shape[0] + 1] += 1.0 / (p * moving)[counts]
        found = newton_step(H, -r[counts])
        if found is None:
            return None
        out = np.zeros(r.size)
        out[counts] = found / p[counts]
        return out

    def by_products(
        self, metric: Metric, active: np.ndarray, M: ProxJacobian, moving: np.ndarray, r: np.ndarray
    ) -> np.ndarray:
        """Conjugate gradients on sqrt(p) du, preconditioned by the diagonal."""
        columns, p = self.select(active), self.problem.weights
        place, free, mean = place_in(columns, active), metric.step_b > 0.0, self.mean[active]
        counts = p > 0.0

        def product(du: np.ndarray) -> np.ndarray:
            g, s, x = columns.combine(du)[place], float(p @ du), np.zeros(columns.size)
            g = g - s * mean if free else g
            x[place] = moved(metric, M, active, g)
            shift = metric.step_b * s - float(mean @ x[place]) if free else 0.0
            return np.where(counts, columns.scores(x) + shift + du / moving, 0.0)

        squared = np.zeros(columns.size)
        squared[place] = np.broadcast_to(metric.step_w, M.diagonal.shape)[active] * M.diagonal[active]
        diagonal = p * (row_squares(columns, squared) + metric.step_b) + 1.0 / moving
        inner = lambda a, b: float(p @ (a * b))  # noqa: E731
        right = np.where(counts, r, 0.0)
        goal = SETTINGS.cg_tolerance * float(np.sqrt(inner(right, right)))
        enough = lambda residual: float(np.sqrt(inner(residual, residual))) <= goal  # noqa: E731
        return conjugate_gradients(
            product, lambda residual: residual / diagonal, right, enough, SETTINGS.max_cg_products, inner
        )[0]


def woodbury(
    G: np.ndarray,
    side: np.ndarray,
    metric: Metric,
    M: ProxJacobian,
    active: np.ndarray,
    order: np.ndarray | None = None,
) -> np.ndarray | None:
    """-J (I + G J)^-1 side, with J = blockdiag(step_w M, step_b) on the active columns, in this order."""
    steps = np.broadcast_to(metric.step_w, M.diagonal.shape)[active]
    border = np.full(side.size - active.size, metric.step_b)
    if M.is_diagonal:
        root = np.sqrt(np.concatenate([steps * M.diagonal[active], border]))
        root = root if order is None else root[order]
        C = root[:, None] * G * root
        C.flat[:: C.shape[0] + 1] += 1.0
        c = newton_step(C, root * side)
        return None if c is None else root * c
    J = np.diag(np.concatenate([np.zeros(active.size), border]))
    J[: active.size, : active.size] = M.restricted(active) * steps
    J = J if order is None else J[order][:, order]
    C = G @ J
    C.flat[:: C.shape[0] + 1] += 1.0
    c = -J @ np.linalg.solve(C, side)
    return c if np.isfinite(c).all() else None


def moved(metric: Metric, M: ProxJacobian, active: np.ndarray, g: np.ndarray) -> np.ndarray:
    """step_w M g for the active columns, of a vector or a matrix of columns."""
    full = np.zeros((M.diagonal.size, *g.shape[1:]))
    full[active] = g
    steps = np.broadcast_to(metric.step_w, M.diagonal.shape)[active]
    return ((M @ full)[active].T * steps).T


def place_in(columns: ColumnSet, active: np.ndarray) -> np.ndarray:
    """Where the active columns are among those copied."""
    return active if columns.chosen is None else np.searchsorted(columns.chosen, active)


def times_sets(rows: Any, Q: sp.csc_array) -> np.ndarray:
    """X Q, dense."""
    if isinstance(rows, Dense):
        return np.asarray((Q.T @ rows.values.T).T, dtype=np.float64)
    X = sp.csr_array((rows.values, rows.indices, rows.indptr), shape=(rows.indptr.size - 1, Q.shape[0]))
    return np.asarray((X @ Q).toarray(), dtype=np.float64)


def dense_columns(rows: Any, active: np.ndarray, d: int) -> np.ndarray:
    """Some columns as a dense matrix; for few rows."""
    if isinstance(rows, Dense):
        return np.asarray(rows.values[:, active], dtype=np.float64)
    X = sp.csr_array((rows.values, rows.indices, rows.indptr), shape=(rows.indptr.size - 1, d))
    return np.asarray(X[:, active].toarray(), dtype=np.float64)


def row_squares(columns: ColumnSet, squared: np.ndarray) -> np.ndarray:
    """sum_j squared_j x_ij^2 for every row, without centring: for a preconditioner."""
    out = []
    for part in columns.parts:
        values = np.asarray(part.rows.values, dtype=np.float64) ** 2
        if columns.dense:
            out.append(values @ squared)
        else:
            sums = np.append(0.0, np.cumsum(values * squared[part.rows.indices.astype(np.int64)]))
            at = (part.rows.indptr - part.rows.indptr[0]).astype(np.int64)
            out.append(sums[at[1:]] - sums[at[:-1]])
    return np.concatenate(out)
