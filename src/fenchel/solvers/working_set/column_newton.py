"""min over d of <q, d> + d'(B'B + ridge) d / 2 + sum_j lam_j |x_j + d_j| with the columns of B: for sets too large for B'B.

Sweeps of coordinate descent find the support; conjugate gradients on it, truncated where signs would change, converge to the
minimum on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.data.accept import size
from fenchel.data.row_blocks import slices
from fenchel.kernels.column_descent import column_descent, column_products, normal_product
from fenchel.solvers.linear_systems import conjugate_gradients
from fenchel.solvers.working_set.settings import SETTINGS
from fenchel.solvers.working_set.sparse_quadratic import truncated, violation


class ColumnModel:
    """The model at one point x, its gradient there q; `residual` = B (x - the initial x)."""

    def __init__(self, columns: Any, rows: int, ridge: np.ndarray, q: np.ndarray, x: np.ndarray, lam: np.ndarray):
        self.columns, self.ridge, self.q, self.lam = columns, ridge, q, lam
        self.every = np.arange(x.size, dtype=np.uint64)
        self.x, self.moved, self.residual, self.work = x.copy(), np.zeros(x.size), np.zeros(rows), np.empty(rows)
        self.diagonal = squares(columns) + ridge
        self.diagonal += SETTINGS.column_ridge_ratio * self.diagonal.max()

    def sweep(self, order: np.ndarray) -> float:
        """One sweep of coordinate descent."""
        return max(
            (
                column_descent(
                    self.columns, part, self.diagonal, self.ridge, self.q, self.lam, self.x, self.moved, self.residual
                )
                for part in slices(order, size(self.columns) / max(self.x.size, 1))
            ),
            default=0.0,
        )

    def gradient(self) -> np.ndarray:
        """At x."""
        out = np.empty(self.x.size)
        column_products(self.columns, self.every, self.residual, out)
        return out + self.q + self.ridge * self.moved

    def support_step(self, eta: float) -> bool:
        """Conjugate gradients on the support; True if no change of sign truncated the step."""
        support = np.flatnonzero((self.x != 0.0) | (self.lam == 0.0)).astype(np.uint64)
        if support.size == 0:
            return True
        sign = np.sign(self.x[support]) * (self.lam[support] > 0.0)
        out = np.empty(support.size)
        column_products(self.columns, support, self.residual, out)
        slope = out + self.q[support] + self.ridge[support] * self.moved[support] + self.lam[support] * sign

        def product(v: np.ndarray) -> np.ndarray:
            out = np.empty(support.size)
            normal_product(self.columns, support, v, self.ridge, self.work, out)
            return out

        diagonal = self.diagonal[support]
        step, _ = conjugate_gradients(
            product, lambda r: r / diagonal, -slope, lambda r: np.abs(r).max() <= eta, SETTINGS.max_cg_steps
        )
        step, complete = truncated(self.x[support], step, sign, slope, product)
        product(step)  # It also writes B step to `work`.
        self.residual += self.work
        self.moved[support] += step
        self.x[support] = np.where(step == -self.x[support], 0.0, self.x[support] + step)
        return complete


def squares(columns: Any) -> np.ndarray:
    """|B_j|^2 of every column."""
    if hasattr(columns, "indptr"):
        sums = np.concatenate([[0.0], np.cumsum(columns.values * columns.values)])
        return np.maximum(np.diff(sums[columns.indptr.astype(np.int64)]), 0.0)
    return np.einsum("ij,ij->i", columns.values, columns.values)


def minimise_columns(model: ColumnModel, eta: float, inexact: bool) -> np.ndarray:
    """The minimiser x, to a violation of `eta` times the initial one; if `inexact`, by a few sweeps only."""
    first = violation(model.x, model.q, model.lam)
    for _ in range(SETTINGS.max_inexact_column_rounds if inexact else SETTINGS.max_column_rounds):
        model.sweep(model.every)
        support = np.flatnonzero((model.x != 0.0) | (model.lam == 0.0)).astype(np.uint64)
        for _ in range(SETTINGS.max_support_sweeps_per_round):
            if model.sweep(support) <= SETTINGS.column_sweep_tolerance_ratio * eta * first:
                break
        for _ in range(0 if inexact else SETTINGS.max_support_steps_per_round):
            if model.support_step(SETTINGS.cg_tolerance_ratio * eta * first):
                break
        if violation(model.x, model.gradient(), model.lam) <= eta * first:
            break
    return model.x
