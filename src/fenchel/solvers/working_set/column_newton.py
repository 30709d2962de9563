"""min over d of <q, d> + d'(B'B + ridge) d / 2 + sum_j lam_j |x_j + d_j| with the columns of B: for sets too large for B'B.

Sweeps of coordinate descent find the support; conjugate gradients on it, cut off where signs would change, finish.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.data.accept import size
from fenchel.data.row_blocks import slices
from fenchel.kernels.column_descent import column_descent, column_products, normal_product
from fenchel.solvers.working_set.sparse_quadratic import shortened, violation

SWEEPS = 8  # over the coordinates that are not 0, between two over all
ROUNDS, ROUGH_ROUNDS = 20, 2
MOST_STEPS = 200  # of conjugate gradients


class ColumnModel:
    """The model at one point x, its gradient there q; `residual` = B (x - where it began)."""

    def __init__(self, columns: Any, rows: int, ridge: np.ndarray, q: np.ndarray, x: np.ndarray, lam: np.ndarray):
        self.columns, self.ridge, self.q, self.lam = columns, ridge, q, lam
        self.every = np.arange(x.size, dtype=np.uint64)
        self.x, self.moved, self.residual, self.work = x.copy(), np.zeros(x.size), np.zeros(rows), np.empty(rows)
        self.diagonal = squares(columns) + ridge
        self.diagonal += 1e-12 * self.diagonal.max()

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
        """Conjugate gradients on the support; True if no sign stopped the step."""
        inside = np.flatnonzero((self.x != 0.0) | (self.lam == 0.0)).astype(np.uint64)
        if inside.size == 0:
            return True
        sign = np.sign(self.x[inside]) * (self.lam[inside] > 0.0)
        out = np.empty(inside.size)
        column_products(self.columns, inside, self.residual, out)
        slope = out + self.q[inside] + self.ridge[inside] * self.moved[inside] + self.lam[inside] * sign

        def product(v: np.ndarray) -> np.ndarray:
            out = np.empty(inside.size)
            normal_product(self.columns, inside, v, self.ridge, self.work, out)
            return out

        step = gradients(product, self.diagonal[inside], -slope, eta)
        step, whole = shortened(self.x[inside], step, sign, slope, product)
        product(step)  # leaves B step behind
        self.residual += self.work
        self.moved[inside] += step
        self.x[inside] = np.where(step == -self.x[inside], 0.0, self.x[inside] + step)
        return whole


def squares(columns: Any) -> np.ndarray:
    """|B_j|^2 of every column."""
    if hasattr(columns, "indptr"):
        sums = np.concatenate([[0.0], np.cumsum(columns.values * columns.values)])
        return np.maximum(np.diff(sums[columns.indptr.astype(np.int64)]), 0.0)
    return np.einsum("ij,ij->i", columns.values, columns.values)


def minimise_columns(model: ColumnModel, eta: float, rough: bool) -> np.ndarray:
    """The minimiser x, to a small part `eta` of the violation at the beginning; if `rough`, by a few sweeps only."""
    first = violation(model.x, model.q, model.lam)
    for _ in range(ROUGH_ROUNDS if rough else ROUNDS):
        model.sweep(model.every)
        inside = np.flatnonzero((model.x != 0.0) | (model.lam == 0.0)).astype(np.uint64)
        for _ in range(SWEEPS):
            if model.sweep(inside) <= 0.1 * eta * first:
                break
        for _ in range(0 if rough else ROUNDS):
            if model.support_step(0.3 * eta * first):
                break
        if violation(model.x, model.gradient(), model.lam) <= eta * first:
            break
    return model.x


def gradients(product: Any, diagonal: np.ndarray, b: np.ndarray, small: float) -> np.ndarray:
    """x with |product(x) - b| <= small in every place, nearly, by conjugate gradients with the diagonal in front."""
    x, r = np.zeros(b.size), b.copy()
    s = r / diagonal
    v, rs = s, float(r @ s)
    for _ in range(MOST_STEPS):
        if np.abs(r).max() <= small:
            break
        Hv = product(v)
        curve = float(v @ Hv)
        if not curve > 0.0:
            break
        t = rs / curve
        x += t * v
        r -= t * Hv
        s = r / diagonal
        rs, old = float(r @ s), rs
        v = s + (rs / old) * v
    return x
