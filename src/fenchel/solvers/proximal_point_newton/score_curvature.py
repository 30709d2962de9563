"""How the dual variables of a proximal step in several scores move the rows' scores: the matrices of its Newton systems.

omega_i = (gamma (I - gamma S_i) + sigma I)^-1 = least I + K_i,   least = 1 / (gamma + sigma),   K_i >= 0,

with S_i the Jacobian of `dual_prox`. Rows that can move freely have S_i = 0 and K_i = 0. There are four kinds: where the dual
variables lie in a simplex, S_i and K_i are of the form diag(s) - s s' / sum(s); S_i is the same for all rows of a quadratic
loss; a loss may tell its second derivatives (`hessians`); otherwise S_i is measured by differences.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.kernels.vector_curvature import apply_curvature, shares_of_face, shares_of_slopes
from fenchel.multiclass import MoreauVector, MultivariateSquared, Softmax
from fenchel.solvers.newton_cg.vector_system import has_face
from fenchel.solvers.proximal_point_newton.score_duals import ScoreDuals
from fenchel.solvers.proximal_point_newton.settings import SETTINGS


class Entries(NamedTuple):
    """The unknowns of one score: their places among all unknowns (a slice if they are neighbours), and their columns."""

    places: Any
    columns: np.ndarray


class ScoreCurvature:
    """omega_i of every row; `of_class` has K_i's diagonal, and `add_to` adds sum p (K_i (x) x_i x_i') for chosen entries."""

    def __init__(self, least: float):
        self.least = least

    def apply(self, R: np.ndarray) -> np.ndarray:
        """omega_i r_i for every row."""
        raise NotImplementedError("abstract")

    def diagonal(self) -> np.ndarray:
        """The diagonal of K_i for every row."""
        raise NotImplementedError("abstract")

    def add_to(self, G: np.ndarray, X: np.ndarray, p: np.ndarray, entries: list[Entries]) -> None:
        """G += the sum over rows of p K_i (x) x_i x_i', at the entries of every score, which are neighbours."""
        raise NotImplementedError("abstract")


def gathered(totals: np.ndarray, entries: list[Entries], unknowns: int) -> np.ndarray:
    """The unknowns among sums for all selected columns and scores."""
    out = np.empty(unknowns)
    for c, of_score in enumerate(entries):
        out[of_score.places] = totals[of_score.columns, c]
    return out


def scattered(x: np.ndarray, entries: list[Entries], shape: tuple[int, ...]) -> np.ndarray:
    """The coefficients of all selected columns and scores, from the unknowns; the others are 0."""
    out = np.zeros(shape)
    for c, of_score in enumerate(entries):
        out[of_score.columns, c] = x[of_score.places]
    return out


class SimplexCurvature(ScoreCurvature):
    """K_i = diag(s_i) - s_i s_i' / sum s_i; s_i = 0 for rows with no curvature."""

    def __init__(self, least: float, s: np.ndarray):
        super().__init__(least)
        self.s = s

    def apply(self, R: np.ndarray) -> np.ndarray:
        moved = R.copy()
        apply_curvature(self.s, moved)
        return moved + self.least * R

    def diagonal(self) -> np.ndarray:
        total = self.s.sum(axis=1, keepdims=True)
        return self.s - self.s * self.s / np.maximum(total, 1e-300)

    def add_to(self, G: np.ndarray, X: np.ndarray, p: np.ndarray, entries: list[Entries]) -> None:
        total = self.s.sum(axis=1)
        curved = np.flatnonzero(total > 0.0)
        X, s = X[curved], self.s[curved]
        root, mean = np.sqrt(p[curved])[:, None], np.sqrt(p[curved] / total[curved])[:, None]
        means = np.empty((curved.size, G.shape[0]))
        for c, of_class in enumerate(entries):
            part = X[:, of_class.columns]
            scaled = part * (root * np.sqrt(s[:, c : c + 1]))
            G[of_class.places, of_class.places] += scaled.T @ scaled
            means[:, of_class.places] = part * (mean * s[:, c : c + 1])
        G -= means.T @ means


class ConstantCurvature(ScoreCurvature):
    """The same K for every row."""

    def __init__(self, least: float, K: np.ndarray, n: int):
        super().__init__(least)
        self.K, self.n = K, n

    def apply(self, R: np.ndarray) -> np.ndarray:
        return R @ self.K + self.least * R

    def diagonal(self) -> np.ndarray:
        return np.broadcast_to(np.diag(self.K), (self.n, self.K.shape[0]))

    def add_to(self, G: np.ndarray, X: np.ndarray, p: np.ndarray, entries: list[Entries]) -> None:
        whole = (X * p[:, None]).T @ X
        for c, one in enumerate(entries):
            for k, other in enumerate(entries):
                G[one.places, other.places] += self.K[c, k] * whole[one.columns][:, other.columns]


class MeasuredCurvature(ScoreCurvature):
    """K_i as a matrix for each of the rows `curved`; the others have none."""

    def __init__(self, least: float, K: np.ndarray, curved: np.ndarray, shape: tuple[int, ...]):
        super().__init__(least)
        self.K, self.curved, self.shape = K, curved, shape

    def apply(self, R: np.ndarray) -> np.ndarray:
        out = self.least * R
        out[self.curved] += np.matmul(self.K, R[self.curved, :, None])[:, :, 0]
        return out

    def diagonal(self) -> np.ndarray:
        out = np.zeros(self.shape)
        out[self.curved] = np.einsum("icc->ic", self.K)
        return out

    def add_to(self, G: np.ndarray, X: np.ndarray, p: np.ndarray, entries: list[Entries]) -> None:
        parts = [X[self.curved][:, one.columns] for one in entries]
        weights = p[self.curved, None, None] * self.K
        for c, one in enumerate(entries):
            for k in range(c + 1):
                other = entries[k]
                found = (parts[c] * weights[:, c, k, None]).T @ parts[k]
                G[one.places, other.places] += found
                if k < c:
                    G[other.places, one.places] += found.T


def curvature_at(problem: Any, duals: ScoreDuals, gamma: float, sigma: float, T: np.ndarray, s: np.ndarray) -> Any:
    """The curvature where `dual_prox` of T is s."""
    loss, least = problem.loss, 1.0 / (gamma + sigma)
    if isinstance(loss, MultivariateSquared):
        metric = loss.M if loss.M.size else np.eye(problem.outputs)
        values, vectors = np.linalg.eigh(metric)
        rates = 1.0 / (1.0 + gamma * np.maximum(values, 0.0))
        K = (vectors * (1.0 / (gamma * rates + sigma) - least)) @ vectors.T
        return ConstantCurvature(least, K, problem.n)
    inner, smoothing = (loss.loss, loss.gamma) if isinstance(loss, MoreauVector) else (loss, 0.0)
    if isinstance(inner, Softmax) or has_face(inner):
        return SimplexCurvature(least, shares(problem, inner, smoothing, gamma, sigma, s))
    if hasattr(loss, "hessians"):
        return from_hessians(loss.hessians(problem.y, s), gamma, sigma)
    return measured(duals, gamma, sigma, T, s)


def shares(problem: Any, loss: Any, smoothing: float, gamma: float, sigma: float, s: np.ndarray) -> np.ndarray:
    """The s_i of K_i, from the probabilities of a softmax or the face of the simplex; without differences of large numbers.

    S_i has a = P / (1 + (gamma + smoothing) P) in the place of s, with P = inf on a face, and K_i has
    gamma^2 least a / (gamma (1 - gamma a) + sigma).
    """
    out, ones = np.empty(s.shape), np.ones(problem.n)
    square = gamma * gamma / (gamma + sigma)
    if isinstance(loss, Softmax):
        shares_of_slopes(problem.y, ones, s, out)
        return square * out / (gamma * (1.0 + smoothing * out) + sigma * (1.0 + (gamma + smoothing) * out))
    shares_of_face(problem.y, ones, s, (gamma * smoothing + sigma * (gamma + smoothing)) / square, out)
    return out


def measured(duals: ScoreDuals, gamma: float, sigma: float, T: np.ndarray, s: np.ndarray) -> MeasuredCurvature:
    """The curvature by differences of `dual_prox`, for rows at which it changes."""
    J, rounding = duals.jacobians(T, gamma, s), SETTINGS.jacobian_rounding
    curved = np.flatnonzero(np.abs(J).max(axis=(1, 2)) > rounding)
    values, vectors = np.linalg.eigh(0.5 * (J[curved] + J[curved].transpose(0, 2, 1)))
    rates = 1.0 - values
    rates = np.where(rates < rounding, 0.0, np.where(rates > 1.0 - rounding, 1.0, rates))
    return by_rates(rates, vectors, gamma, sigma, curved, s.shape)


def from_hessians(hessians: np.ndarray, gamma: float, sigma: float) -> MeasuredCurvature:
    """The curvature of a loss with these second derivatives at z: I - gamma S = (I + gamma hessian)^-1."""
    values, vectors = np.linalg.eigh(hessians)
    rates, every = 1.0 / (1.0 + gamma * np.maximum(values, 0.0)), np.arange(values.shape[0])
    return by_rates(rates, vectors, gamma, sigma, every, values.shape)


def by_rates(
    rates: np.ndarray, vectors: np.ndarray, gamma: float, sigma: float, curved: np.ndarray, shape: tuple[int, ...]
) -> MeasuredCurvature:
    """K_i of the rows `curved`, from the eigenvalues `rates` and the eigenvectors of I - gamma S_i."""
    least = 1.0 / (gamma + sigma)
    sizes = 1.0 / (gamma * rates + sigma) - least
    return MeasuredCurvature(least, (vectors * sizes[:, None, :]) @ vectors.transpose(0, 2, 1), curved, shape)
