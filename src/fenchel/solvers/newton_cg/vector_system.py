"""The linear system of a Newton step for losses of several scores: Hessian-vector products and their preconditioner.

H V = R''V + sum_i x_i (J_i V'x_i)' with J_i = p_i times the Jacobian of the row's slopes (`kernels/vector_curvature.py`).
The preconditioner is R'' + G (x) C, G = sum_i h_i x_i x_i', C = sum_i J_i / sum_i h_i, h_i = trace J_i: exact if all
rows have Jacobians of the same shape. It is inverted through the eigenvectors of C and those of G relative to R''.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.data.accept import accept_matrix, block, size
from fenchel.data.dense import Dense
from fenchel.kernels.gram import add_gram, symmetric
from fenchel.kernels.vector_curvature import apply_curvature, curvature_product, shares_of_face, shares_of_slopes
from fenchel.kernels.vector_passes import vector_combine, vector_scores
from fenchel.multiclass import CostHinge, MaxHinge, MoreauVector, MultivariateSquared, Softmax
from fenchel.oracles.vector import CHUNK, dense_scores
from fenchel.solvers.linear_systems import Apply
from fenchel.solvers.newton_cg.settings import SETTINGS

if TYPE_CHECKING:
    from fenchel.multiclass.protocol import VectorLoss
    from fenchel.oracles.vector import VectorOracle
    from fenchel.problems.vector import VectorProblem


def has_face(loss: VectorLoss) -> bool:
    """True if u + e_y is in the simplex and loss* is linear there: then a dual step ends on a face of the simplex."""
    return isinstance(loss, MaxHinge) or (isinstance(loss, CostHinge) and loss.beta == 0.0)


def has_curvature(loss: VectorLoss) -> bool:
    """True if the Jacobian of the slopes, or of those of the loss smoothed, is known here."""
    if isinstance(loss, MoreauVector):
        return has_face(loss.loss)
    return has_face(loss) or isinstance(loss, (Softmax, MultivariateSquared))


def curvature(problem: VectorProblem, U: np.ndarray, gamma: float) -> tuple[np.ndarray, np.ndarray | None]:
    """(S, None) with J_i = diag(s_i) - s_i s_i' / sum s_i, or (p as a column, M) with J_i = p_i M."""
    loss, p = problem.loss, problem.weights
    if isinstance(loss, MultivariateSquared):
        return p[:, None], loss.M if loss.M.size else np.eye(problem.outputs)
    S = np.empty(U.shape)
    if isinstance(loss, Softmax):
        shares_of_slopes(problem.y, p, U, S)
    else:
        shares_of_face(problem.y, p, U, gamma + (loss.gamma if isinstance(loss, MoreauVector) else 0.0), S)
    return S, None


class RowBlock(NamedTuple):
    """Consecutive rows, with the s_i that define their J_i."""

    rows: Any
    S: np.ndarray


class System:
    """Products with the Hessian at one point, in centred variables (`VectorOracle.centred`).

    `damping` is added to the curvature of free intercepts, which may be 0 where all rows are at vertices.
    """

    def __init__(self, oracle: VectorOracle, S: np.ndarray, metric: np.ndarray | None, damping: float = 0.0):
        self.oracle, self.problem, self.metric, self.damping = oracle, oracle.problem, metric, damping
        rows, self.share = self.problem.rows, 1.0
        curved = np.flatnonzero(S.any(axis=1))
        if curved.size < SETTINGS.max_copied_row_fraction * S.shape[0]:
            S, self.share = S[curved], curved.size / S.shape[0]
            rows = accept_matrix(self.problem.X[curved])[1] if curved.size else block(rows, 0, 0)
        self.S = S
        self.work = size(rows) * self.problem.outputs * 2.0
        wanted = max(self.work // SETTINGS.min_products_per_block, 1)
        count = int(min(wanted, SETTINGS.max_blocks, max(S.shape[0], 1)))
        edges = np.linspace(0, S.shape[0], count + 1).astype(int)
        self.blocks = [RowBlock(block(rows, int(a), int(b)), S[a:b]) for a, b in pairwise(edges)]

    def __call__(self, v: np.ndarray) -> np.ndarray:
        """H v."""
        oracle, problem = self.oracle, self.problem
        w = oracle.uncentred(v)
        V = oracle.matrix(w)
        out = oracle.sum_blocks(lambda row_block: (self.product(row_block, V),), self.blocks, self.share)[0].ravel()
        found = oracle.centred_gradient(out + problem.regularizer.gradient(w))
        if self.damping > 0.0:
            oracle.matrix(found)[problem.features :] += self.damping * oracle.matrix(v)[problem.features :]
        return found

    def product(self, row_block: RowBlock, V: np.ndarray) -> np.ndarray:
        """sum x (J V'x)' over the rows of a block."""
        features = self.problem.features
        out: Any = np.zeros(V.shape)
        if isinstance(row_block.rows, Dense):
            for k in range(0, row_block.S.shape[0], CHUNK):
                X = np.asarray(row_block.rows.values[k : k + CHUNK], dtype=np.float64)
                Z = self.apply_jacobians(row_block.S[k : k + CHUNK], dense_scores(X, V, features))
                out[:features] += X.T @ Z
                if out.shape[0] > features:
                    out[features] += Z.sum(axis=0)
        elif self.metric is None:
            curvature_product(row_block.rows, row_block.S, V, features, out)
        else:
            Z = np.empty((row_block.S.shape[0], V.shape[1]))
            vector_scores(row_block.rows, V, features, Z)
            vector_combine(row_block.rows, np.ones(Z.shape[0]), self.apply_jacobians(row_block.S, Z), features, out)
        return out

    def apply_jacobians(self, S: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """J_i z_i for all rows of Z, which may be overwritten."""
        if self.metric is not None:
            return S * (Z @ self.metric)
        apply_curvature(S, Z)
        return Z

    def traces(self) -> tuple[np.ndarray, np.ndarray]:
        """(trace J_i of every row, sum_i J_i)."""
        if self.metric is not None:
            h = self.S[:, 0] * np.trace(self.metric)
            return h, self.S.sum() * self.metric
        total = self.S.sum(axis=1)
        scaled = self.S / np.maximum(total, 1e-300)[:, None]
        return total - np.einsum("ij,ij->i", self.S, scaled), np.diag(self.S.sum(axis=0)) - self.S.T @ scaled

    def gram(self, h: np.ndarray) -> np.ndarray:
        """sum h x x' over centred features, with a constant feature at the end if intercepts are free."""
        features, free, starts = (
            self.problem.features,
            self.problem.free,
            np.cumsum([0] + [rows.S.shape[0] for rows in self.blocks]),
        )

        def work(pair: Any) -> Any:
            row_block, weights = pair
            first, total = np.zeros((features, 1)), np.zeros((features, features))
            if free:
                vector_combine(row_block.rows, weights, np.ones((weights.size, 1)), features, first)
            add_gram(row_block.rows, weights, total)
            return total, first

        pairs = [(rows, h[a:b]) for rows, (a, b) in zip(self.blocks, pairwise(starts), strict=True)]
        total, first = self.oracle.engine.sum(work, pairs)
        total = symmetric(total)
        if not free:
            return total
        mean, sum_h, r = self.oracle.mean_row, float(h.sum()), first[:, 0]
        cross = np.outer(r, mean)
        centred = total - cross - cross.T + sum_h * np.outer(mean, mean)
        return np.block([[centred, (r - sum_h * mean)[:, None]], [r - sum_h * mean, np.array([sum_h])]])


def relative_eigenvectors(G: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(D, V) with V'B V = I and V'G V = diag(D); B is positive definite."""
    diagonal = np.diag(B)
    if np.count_nonzero(B) == diagonal.size:
        root = 1.0 / np.sqrt(diagonal)
        values, V = np.linalg.eigh(G * root * root[:, None])
        return values, V * root[:, None]
    values, vectors = np.linalg.eigh(B)
    root = vectors / np.sqrt(values)
    values, V = np.linalg.eigh(root.T @ G @ root)
    return values, root @ V


def kronecker(system: System) -> Apply:
    """v -> (R'' + G (x) C)^-1 v."""
    problem = system.problem
    h, J = system.traces()
    size = float(h.sum())
    if not size > 0.0:
        return lambda v: v
    levels, Q = np.linalg.eigh(J / size)
    G = system.gram(h)
    B = np.zeros(G.shape)
    B[: problem.features, : problem.features] = problem.given.hessian(problem.features)
    if problem.free:
        B[-1, -1] = SETTINGS.intercept_curvature_ratio * size + system.damping
    D, V = relative_eigenvectors(G, B)
    divisor = 1.0 + np.maximum(D, 0.0)[:, None] * np.maximum(levels, 0.0)

    def apply(v: np.ndarray) -> np.ndarray:
        R = v.reshape(-1, problem.outputs)
        return (V @ ((V.T @ (R @ Q)) / divisor) @ Q.T).ravel()

    return apply
