"""The Newton systems of a proximal step, in as few unknowns as possible.

    (B J B' + diag(1 / omega)) dl = r,    B = [Xc, 1],  J = blockdiag(step_w M, step_b),  omega_i = p_i / (gamma (D_i + ridge)),

with Xc the rows, centred if the intercept is free. With J = L L' and few columns in L, Woodbury's identity gives

    dl = omega (r - B L c),    (I + L'B' diag(omega) B L) c = L'B' diag(omega) r.

Rows with D = 1 enter the Gram matrix through that of all rows, which is computed once; the others are added to it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.data.dense import Dense
from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.solvers.newton_line_search.search import newton_step
from fenchel.solvers.proximal_point_newton.settings import SETTINGS
from fenchel.solvers.working_set.column_set import ColumnSet


class Metric(NamedTuple):
    """The step sizes of a proximal step: gamma / p_i for scores, step_w for coefficients, step_b for the intercept."""

    gamma: float
    step_w: Any
    step_b: float


class NewtonSystem:
    """Solves the systems of one problem; holds a copy of the active columns and their Gram matrix."""

    def __init__(self, oracle: Any, mean: np.ndarray):
        self.oracle, self.problem, self.mean = oracle, oracle.problem, mean
        self.columns: ColumnSet | None = None
        self.gram_of_all: np.ndarray | None = None

    def solve(self, metric: Metric, M: ProxJacobian, rate: np.ndarray, r: np.ndarray) -> np.ndarray | None:
        """du with dl = p du; None if the factorization fails."""
        moving = 1.0 / (metric.gamma * (rate + SETTINGS.row_ridge))
        active, root = self.root(metric, M)
        unknowns = root.shape[-1] + (metric.step_b > 0.0)
        if unknowns == 0:
            return moving * r
        n = self.problem.n
        if unknowns > n and n <= SETTINGS.max_factored_unknowns:
            return self.by_rows(metric, active, root, moving, r)
        if unknowns > SETTINGS.max_factored_unknowns:
            return self.by_products(metric, active, root, moving, r)
        return self.by_columns(metric, active, root, moving, rate, r)

    def root(self, metric: Metric, M: ProxJacobian) -> tuple[np.ndarray, np.ndarray]:
        """(columns, L) with step_w M = L L' on them and 0 elsewhere; L is the diagonal if M is one."""
        active = M.columns()
        if M.is_diagonal:
            return active, np.sqrt((metric.step_w * M.diagonal)[active])
        values, vectors = np.linalg.eigh(M.restricted(active))
        kept = values > SETTINGS.min_eigenvalue_ratio * float(np.max(values, initial=1e-300))
        return active, vectors[:, kept] * np.sqrt(metric.step_w * values[kept])

    def select(self, active: np.ndarray) -> ColumnSet:
        """A copy of columns that has the active ones, not many more."""
        d, columns = self.problem.d, self.columns
        if d <= SETTINGS.max_columns_without_selection or 2 * active.size > d:
            chosen = None
        else:
            chosen = active
        if columns is not None:
            if columns.chosen is None:
                if chosen is None or active.size * SETTINGS.max_copied_column_ratio >= columns.size:
                    return columns
            elif (
                columns.size <= SETTINGS.max_copied_column_ratio * active.size + SETTINGS.max_columns_without_selection
            ):
                if np.isin(active, columns.chosen, assume_unique=True).all():
                    return columns
                chosen = None if chosen is None else np.union1d(columns.chosen, active)
        self.columns, self.gram_of_all = ColumnSet(self.oracle, chosen), None
        return self.columns

    def by_columns(
        self, metric: Metric, active: np.ndarray, root: np.ndarray, moving: np.ndarray, rate: np.ndarray, r: np.ndarray
    ) -> np.ndarray | None:
        """Woodbury's identity: as many unknowns as columns in L."""
        columns, p = self.select(active), self.problem.weights
        place = active if columns.chosen is None else np.searchsorted(columns.chosen, active)
        least = 1.0 / (metric.gamma * (1.0 + SETTINGS.row_ridge))
        if self.gram_of_all is None:
            self.gram_of_all = columns.gram(p)
        G = columns.gram(p * (moving - least))[np.ix_(place, place)]
        G += least * self.gram_of_all[np.ix_(place, place)]
        side = columns.combine(moving * r)[place]
        free, mean = metric.step_b > 0.0, self.mean[active]
        total, total_r = float(p @ moving), float(p @ (moving * r))
        if free:
            sums = columns.combine(moving)[place]
            G -= np.outer(mean, sums) + np.outer(sums - total * mean, mean)
            side = side - total_r * mean
            border = sums - total * mean
        scaled = lambda A: root[:, None] * A if root.ndim == 1 else root.T @ A  # noqa: E731
        C = scaled(scaled(G).T)
        side = scaled(side[:, None])[:, 0]
        if free:
            edge = np.sqrt(metric.step_b) * scaled(border[:, None])
            C = np.block([[C, edge], [edge.T, np.array([[metric.step_b * total]])]])
            side = np.append(side, np.sqrt(metric.step_b) * total_r)
        C.flat[:: C.shape[0] + 1] += 1.0
        c = newton_step(C.copy, side)
        if c is None:
            return None
        x = np.zeros(columns.size)
        x[place] = root * c[: root.shape[-1]] if root.ndim == 1 else root @ c[: root.shape[-1]]
        shift = np.sqrt(metric.step_b) * c[-1] - float(self.mean[columns.place] @ x) if free else 0.0
        return moving * (r + columns.scores(x) + shift)

    def by_rows(
        self, metric: Metric, active: np.ndarray, root: np.ndarray, moving: np.ndarray, r: np.ndarray
    ) -> np.ndarray | None:
        """The system itself, with as many unknowns as rows."""
        p = self.problem.weights
        A = dense_columns(self.problem.rows, active, self.problem.d)
        if metric.step_b > 0.0:
            A = A - self.mean[active]
        A = A * root if root.ndim == 1 else A @ root
        H = A @ A.T + metric.step_b
        counts = p > 0.0
        H = H[np.ix_(counts, counts)]
        H.flat[:: H.shape[0] + 1] += 1.0 / (p * moving)[counts]
        found = newton_step(H.copy, -r[counts])
        if found is None:
            return None
        out = np.zeros(r.size)
        out[counts] = found / p[counts]
        return out

    def by_products(
        self, metric: Metric, active: np.ndarray, root: np.ndarray, moving: np.ndarray, r: np.ndarray
    ) -> np.ndarray:
        """Conjugate gradients on sqrt(p) du, preconditioned by the diagonal."""
        columns, p = self.select(active), self.problem.weights
        place = active if columns.chosen is None else np.searchsorted(columns.chosen, active)
        free, mean = metric.step_b > 0.0, self.mean[columns.place]
        squared = np.zeros(columns.size)
        if root.ndim == 1:
            squared[place] = root * root
        counts = p > 0.0

        def product(du: np.ndarray) -> np.ndarray:
            g, s = columns.combine(du), float(p @ du)
            g = g - s * mean if free else g
            x = squared * g if root.ndim == 1 else root @ (root.T @ g)
            shift = metric.step_b * s - float(mean @ x) if free else 0.0
            return columns.scores(x) + shift + np.where(counts, du / moving, 0.0)

        du, residual = np.zeros(r.size), np.where(counts, r, 0.0)
        diagonal = p * (row_squares(self.problem.rows, columns, squared) + metric.step_b) + 1.0 / moving
        enough = SETTINGS.cg_tolerance * float(np.sqrt(p @ (residual * residual)))
        y = residual / diagonal
        direction, rho = y.copy(), float(p @ (residual * y))
        for _ in range(SETTINGS.max_cg_products):
            q = product(direction)
            bend = float(p @ (direction * q))
            if not bend > 0.0:
                break
            du += (rho / bend) * direction
            residual = np.where(counts, residual - (rho / bend) * q, 0.0)
            if float(np.sqrt(p @ (residual * residual))) <= enough:
                break
            y = residual / diagonal
            rho, before = float(p @ (residual * y)), rho
            direction = y + (rho / before) * direction
        return du


def dense_columns(rows: Any, active: np.ndarray, d: int) -> np.ndarray:
    """Some columns as a dense matrix; for few rows."""
    if isinstance(rows, Dense):
        return np.asarray(rows.values[:, active], dtype=np.float64)
    X = sp.csr_array((rows.values, rows.indices, rows.indptr), shape=(rows.indptr.size - 1, d))
    return np.asarray(X[:, active].toarray(), dtype=np.float64)


def row_squares(rows: Any, columns: ColumnSet, squared: np.ndarray) -> np.ndarray:
    """sum_j squared_j x_ij^2 for every row, without centring: for a preconditioner."""
    out = []
    for part in columns.parts:
        if columns.dense:
            out.append((np.asarray(part.rows.values, dtype=np.float64) ** 2) @ squared)
        else:
            values = np.asarray(part.rows.values, dtype=np.float64) ** 2 * squared[part.rows.indices.astype(np.int64)]
            sums = np.append(0.0, np.cumsum(values))
            at = (part.rows.indptr - part.rows.indptr[0]).astype(np.int64)
            out.append(sums[at[1:]] - sums[at[:-1]])
    return np.concatenate(out)
