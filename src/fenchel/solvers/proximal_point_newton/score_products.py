"""Conjugate gradients for the Newton systems of several scores: in the unknowns, by the root of J, or in the dual variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.solvers.linear_systems import Apply, conjugate_gradients
from fenchel.solvers.proximal_point_newton.newton_system import Metric
from fenchel.solvers.proximal_point_newton.score_curvature import Entries, ScoreCurvature, gathered, scattered
from fenchel.solvers.proximal_point_newton.settings import SETTINGS
from fenchel.solvers.working_set.column_set import ColumnSet


class Root:
    """The root of J = blockdiag(step_w M, step_b) at the active entries, from that of M."""

    def __init__(self, metric: Metric, root: ProxJacobian, active: np.ndarray):
        self.active, self.border, self.M = active, np.sqrt(metric.step_b), root
        self.steps = np.sqrt(np.broadcast_to(metric.step_w, root.diagonal.shape)[active])

    def __call__(self, y: np.ndarray) -> np.ndarray:
        """The product with a vector."""
        k, out = self.active.size, self.border * y
        full = np.zeros(self.M.diagonal.size)
        full[self.active] = y[:k]
        out[:k] = self.steps * (self.M @ full)[self.active]
        return out

    def diagonal(self, unknowns: int) -> np.ndarray:
        """The diagonal, for a preconditioner."""
        return np.append(self.steps * self.M.entries()[self.active], np.full(unknowns - self.active.size, self.border))


class ScoreProducts:
    """Products with the selected columns, centred if intercepts are free."""

    def __init__(
        self,
        columns: Any,
        mean: np.ndarray,
        metric: Metric,
        M: ProxJacobian,
        active: np.ndarray,
        curvature: ScoreCurvature,
    ):
        self.columns, self.metric, self.M, self.active, self.curvature = columns, metric, M, active, curvature
        self.problem, self.free = columns.oracle.problem, metric.step_b > 0.0
        self.chosen = np.arange(self.problem.features) if columns.chosen is None else columns.chosen
        self.mean, self.shape = mean[self.chosen], (columns.size + 1, self.problem.outputs)

    def scores(self, W: np.ndarray) -> np.ndarray:
        """The scores of centred rows; the last row of W, which is written over, are the intercepts."""
        if not self.free:
            return self.columns.score_matrix(W[:-1])
        W[-1] -= self.mean @ W[:-1]
        return self.columns.score_matrix(W)

    def combine(self, U: np.ndarray) -> np.ndarray:
        """sum p x u' over centred rows, and sum p u in the last row."""
        totals = self.columns.combine_matrix(U)
        if self.free:
            totals[:-1] -= np.outer(self.mean, totals[-1])
        return totals

    def by_columns(self, root: Root, entries: list[Entries], r: np.ndarray) -> np.ndarray:
        """du by (I + J^1/2 G J^1/2) y = J^1/2 B' diag(p omega) r."""
        apply = self.curvature.apply
        unknowns = self.active.size + self.free * self.problem.outputs

        def adjoint(U: np.ndarray) -> np.ndarray:
            return root(gathered(self.combine(apply(U)), entries, unknowns))

        def scores(y: np.ndarray) -> np.ndarray:
            return self.scores(scattered(root(y), entries, self.shape))

        def product(y: np.ndarray) -> np.ndarray:
            return y + adjoint(scores(y))

        y = solved(product, self.blocks(root, entries, unknowns), adjoint(r))
        return apply(r - scores(y))

    def by_rows(self, r: np.ndarray) -> np.ndarray:
        """du = omega e by p omega (B J B' p omega + 1) e = p omega r, where J has no simple root."""
        p = self.problem.weights[:, None]
        counts, m, metric = p > 0.0, self.problem.outputs, self.metric

        def product(e: np.ndarray) -> np.ndarray:
            du = self.curvature.apply(e.reshape(r.shape))
            totals, full = self.combine(du), np.zeros(self.M.diagonal.size)
            out = np.zeros(self.shape)
            full.reshape(-1, m)[self.chosen] = totals[:-1]
            out[:-1] = (metric.step_w * (self.M @ full)).reshape(-1, m)[self.chosen]
            out[-1] = metric.step_b * totals[-1]
            inside = np.where(counts, self.scores(out), 0.0)
            return (p * self.curvature.apply(inside) + p * du).ravel()

        diagonal = np.where(counts, p * (self.curvature.least + self.curvature.diagonal()), 1.0).ravel()
        b = (p * self.curvature.apply(np.where(counts, r, 0.0))).ravel()
        found = solved(product, lambda residual: residual / diagonal, b)
        return self.curvature.apply(found.reshape(r.shape))

    def blocks(self, root: Root, entries: list[Entries], unknowns: int) -> Apply:
        """The inverse of the blocks of I + J^1/2 G J^1/2 that belong to one score each, for the diagonal of J^1/2."""
        p, factors = self.problem.weights, []
        weights = p[:, None] * (self.curvature.least + self.curvature.diagonal())
        scale, own_columns = root.diagonal(unknowns), self.columns.size
        for c, of_score in enumerate(entries):
            own, among = scale[of_score.places], of_score.columns[of_score.columns < own_columns]
            if own.size > SETTINGS.max_block_unknowns:
                squares = np.append(self.columns.squares(weights[:, c]), weights[:, c].sum())
                factors.append(1.0 / (1.0 + own * own * squares[of_score.columns]))
                continue
            C = own[:, None] * self.gram(among, weights[:, c]) * own
            C.flat[:: C.shape[0] + 1] += 1.0
            factors.append(np.linalg.inv(C))

        def apply(residual: np.ndarray) -> np.ndarray:
            out = np.empty(residual.size)
            for of_score, factor in zip(entries, factors, strict=True):
                part = residual[of_score.places]
                out[of_score.places] = factor * part if factor.ndim == 1 else factor @ part
            return out

        return apply

    def gram(self, among: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """sum weights x x' for some of the selected columns, centred and with a column of ones if intercepts are free."""
        part = ColumnSet(self.columns.oracle, self.chosen[among], self.problem.features)
        G, p = part.gram(weights), self.problem.weights
        if not self.free:
            return G
        mean = self.mean[among]
        sums = part.combine(np.where(p > 0.0, weights / np.where(p > 0.0, p, 1.0), 0.0))
        total = float(weights.sum())
        border = sums - total * mean
        G = G - np.outer(mean, sums) - np.outer(border, mean)
        return np.block([[G, border[:, None]], [border, np.array([[total]])]])


def solved(product: Apply, precondition: Apply, b: np.ndarray) -> np.ndarray:
    """x with product(x) = b, about."""
    goal = SETTINGS.cg_tolerance * float(np.linalg.norm(b))
    enough = lambda residual: float(np.linalg.norm(residual)) <= goal  # noqa: E731
    return conjugate_gradients(product, precondition, b, enough, SETTINGS.max_cg_products)[0]
