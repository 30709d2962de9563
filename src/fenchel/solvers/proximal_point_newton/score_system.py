"""The Newton systems of a proximal step in several scores per row.

As in `newton_system.py`, with unknowns that are pairs of a column and a score, and a matrix omega_i for every row:

    (I + J G) c = J B' diag(p omega) r,    G = sum_i p_i omega_i (x) x_i x_i' at the active entries,    du = omega (r - B c).

Few unknowns are solved for by a factor of G; many by conjugate gradients on the root of J, preconditioned by the factors of
the blocks of G that belong to one score each; more than there are dual variables by the system of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.kernels.vector_passes import vector_combine, vector_scores
from fenchel.oracles.vector import CHUNK, add_dense, dense_scores
from fenchel.regularizers.jacobian import ProxJacobian
from fenchel.solvers.proximal_point_newton.newton_system import Metric, dense_columns, place_in, woodbury
from fenchel.solvers.proximal_point_newton.score_curvature import Entries, ScoreCurvature, gathered, scattered
from fenchel.solvers.proximal_point_newton.score_products import Root, ScoreProducts
from fenchel.solvers.proximal_point_newton.settings import SETTINGS
from fenchel.solvers.working_set.column_set import ColumnSet


class ScoreColumns(ColumnSet):
    """A copy of some columns, with products for several scores."""

    def __init__(self, oracle: Any, chosen: np.ndarray | None):
        super().__init__(oracle, chosen, oracle.problem.features)

    def score_matrix(self, W: np.ndarray) -> np.ndarray:
        """A W, with the intercepts in a last row of W if there is one more."""
        Z = np.empty((self.oracle.problem.n, W.shape[1]))

        def work(part: Any) -> None:
            out = Z[part.start : part.stop]
            if not self.dense:
                vector_scores(part.rows, W, self.size, out)
                return
            for k in range(0, out.shape[0], CHUNK):
                out[k : k + CHUNK] = dense_scores(part.rows.values[k : k + CHUNK], W, self.size)

        self.oracle.map_blocks(work, self.parts, self.fraction, directions=1)
        return Z

    def combine_matrix(self, U: np.ndarray) -> np.ndarray:
        """A'(p U), and sum p u in one more row."""
        p = self.oracle.problem.weights

        def work(part: Any) -> tuple[np.ndarray]:
            out, at = np.zeros((self.size + 1, U.shape[1])), slice(part.start, part.stop)
            if not self.dense:
                vector_combine(part.rows, p[at], U[at], self.size, out)
                return (out,)
            for k in range(part.start, part.stop, CHUNK):
                at = slice(k, min(k + CHUNK, part.stop))
                X = part.rows.values[k - part.start : at.stop - part.start]
                add_dense(X, p[at], U[at], self.size, out)
            return (out,)

        return self.oracle.sum_blocks(work, self.parts, self.fraction, directions=1)[0]


class ScoreSystem:
    """Solves the systems of one problem; holds a copy of the active columns."""

    def __init__(self, oracle: Any, mean: np.ndarray):
        self.oracle, self.problem, self.mean = oracle, oracle.problem, mean
        self.columns: ScoreColumns | None = None
        self.matrix: np.ndarray | None = None  # the same columns as a dense matrix, centred, with a column of ones
        self.gram_of_all: np.ndarray | None = None

    def solve(self, metric: Metric, M: ProxJacobian, curvature: ScoreCurvature, r: np.ndarray) -> np.ndarray | None:
        """du; None if the factorization fails."""
        active, m, n = M.columns(), self.problem.outputs, self.problem.n
        unknowns = active.size + m * (metric.step_b > 0.0)
        if unknowns == 0:
            return curvature.apply(r)
        columns = self.select(np.unique(active // m))
        stored = n * (columns.size + 1)
        factored = unknowns <= SETTINGS.max_factored_unknowns and stored <= SETTINGS.max_dense_values
        if factored and n * unknowns * unknowns <= SETTINGS.max_gram_products:
            return self.by_factor(metric, M, active, curvature, r)
        return self.by_products(metric, M, active, curvature, r)

    def select(self, features: np.ndarray) -> ScoreColumns:
        """A copy of columns that has these features, not many more."""
        d, columns = self.problem.features, self.columns
        few = d > SETTINGS.max_columns_without_selection and 2 * features.size <= d
        most = SETTINGS.max_copied_column_ratio * features.size + SETTINGS.max_columns_without_selection
        if columns is not None and columns.size <= most:
            if columns.chosen is None or np.isin(features, columns.chosen, assume_unique=True).all():
                return columns
            features = np.union1d(columns.chosen, features)
        self.columns, self.matrix, self.gram_of_all = ScoreColumns(self.oracle, features if few else None), None, None
        return self.columns

    def centred_matrix(self) -> np.ndarray:
        """The selected columns as a dense matrix, centred, and a column of ones."""
        if self.matrix is None:
            assert self.columns is not None
            chosen = np.arange(self.problem.features) if self.columns.chosen is None else self.columns.chosen
            X = dense_columns(self.problem.rows, chosen, self.problem.features)
            self.matrix = np.column_stack([X - self.mean[chosen], np.ones(self.problem.n)])
        return self.matrix

    def entries(self, active: np.ndarray, free: bool) -> list[Entries]:
        """For every score its unknowns; those of the intercepts are the last."""
        assert self.columns is not None
        m, places = self.problem.outputs, place_in(self.columns, active // self.problem.outputs)
        scores, found = active % m, []
        for c in range(m):
            own = np.flatnonzero(scores == c)
            columns = places[own]
            if free:
                own, columns = np.append(own, active.size + c), np.append(columns, self.columns.size)
            found.append(Entries(own, columns))
        return found

    def by_factor(
        self, metric: Metric, M: ProxJacobian, active: np.ndarray, curvature: ScoreCurvature, r: np.ndarray
    ) -> np.ndarray | None:
        """Woodbury's identity, with the matrix G, in which the unknowns of a score are neighbours."""
        p, X, free = self.problem.weights, self.centred_matrix(), metric.step_b > 0.0
        entries, order = neighbours(self.entries(active, free))
        if self.gram_of_all is None:
            self.gram_of_all = (X * p[:, None]).T @ X
        G = np.zeros((order.size, order.size))
        for of_score in entries:
            part = self.gram_of_all[of_score.columns][:, of_score.columns]
            G[of_score.places, of_score.places] = curvature.least * part
        curvature.add_to(G, X, p, entries)
        totals = X.T @ (p[:, None] * curvature.apply(r))
        c = woodbury(G, gathered(totals, entries, order.size), metric, M, active, order)
        if c is None:
            return None
        return curvature.apply(r + X @ scattered(c, entries, totals.shape))

    def by_products(
        self, metric: Metric, M: ProxJacobian, active: np.ndarray, curvature: ScoreCurvature, r: np.ndarray
    ) -> np.ndarray:
        """Conjugate gradients."""
        assert self.columns is not None
        products = ScoreProducts(self.columns, self.mean, metric, M, active, curvature)
        root = M.root()
        if root is None:
            return products.by_rows(r)
        entries = self.entries(active, metric.step_b > 0.0)
        return products.by_columns(Root(metric, root, active), entries, r)


def neighbours(entries: list[Entries]) -> tuple[list[Entries], np.ndarray]:
    """(the entries with the unknowns of one score after the other, the places where these were)."""
    ends = np.cumsum([of_score.places.size for of_score in entries])
    ranges = [Entries(slice(end - e.places.size, end), e.columns) for e, end in zip(entries, ends, strict=True)]
    return ranges, np.concatenate([of_score.places for of_score in entries])
