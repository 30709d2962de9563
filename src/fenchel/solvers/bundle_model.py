"""The model of a bundle method: its planes, and the master problems that give the next point and a lower bound."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.oracle import Plane, PlaneRecipe
from fenchel.regularizers import L2
from fenchel.solvers.simplex_qp import convex, quadratic

ACCURACY = 0.02  # inner gap as a fraction of the outer one


class Planes:
    """Cutting planes <A_j, w> + c_j with their Gram matrix, kept up to date by one row per new plane."""

    def __init__(self, d: int, lowest: float):
        self.A = np.zeros((d, 0))
        self.c = np.zeros(0)
        self.gram = np.zeros((0, 0))
        self.recipes: list[PlaneRecipe | None] = []
        self.weights = np.zeros(0)
        self.idle = np.zeros(0, dtype=int)
        if np.isfinite(lowest):
            self._append(np.zeros(d), lowest, None)  # the risk is never below this: a plane for free, with u = 0
            self.weights[0] = 1.0

    def add(self, plane: Plane) -> None:
        if np.isfinite(plane.constant) and np.isfinite(plane.gradient).all():
            self._append(plane.gradient, plane.constant, plane.recipe)
            if self.c.size == 1:
                self.weights[0] = 1.0

    def _append(self, gradient: np.ndarray, constant: float, recipe: PlaneRecipe | None) -> None:
        products = self.A.T @ gradient
        m = self.c.size
        gram = np.empty((m + 1, m + 1))
        gram[:m, :m], gram[m, :m], gram[:m, m], gram[m, m] = self.gram, products, products, gradient @ gradient
        self.gram = gram
        self.A = np.column_stack([self.A, gradient])
        self.c = np.append(self.c, constant)
        self.recipes.append(recipe)
        self.weights = np.append(self.weights, 0.0)
        self.idle = np.append(self.idle, 0)

    def use(self, weights: np.ndarray, also: np.ndarray | None = None) -> None:
        """Remember the weights for the next warm start, and which planes did nothing."""
        self.weights = weights
        active = weights > 0.0 if also is None else (weights > 0.0) | (also > 0.0)
        self.idle = np.where(active, 0, self.idle + 1)

    def drop(self, patience: int) -> None:
        """Forget planes without weight for too long; the weights stay feasible, so the bound stays valid."""
        keep = (self.idle <= patience) | np.array([recipe is None for recipe in self.recipes])
        if keep.all():
            return
        self.A, self.c, self.gram = self.A[:, keep], self.c[keep], self.gram[np.ix_(keep, keep)]
        self.weights, self.idle = self.weights[keep], self.idle[keep]
        self.recipes = [recipe for recipe, k in zip(self.recipes, keep, strict=True) if k]


class SmoothMaster:
    """max over the simplex of c'a - R*(-A a), for a regularizer with a differentiable conjugate."""

    def __init__(self, regularizer: Any):
        self.regularizer = regularizer

    def next(self, planes: Planes, w: np.ndarray, primal: float, gap: float) -> tuple[np.ndarray, np.ndarray, float]:
        """(next point, weights of the planes, lower bound)."""
        tol = ACCURACY * gap
        if isinstance(self.regularizer, L2):
            weights = quadratic(planes.gram / self.regularizer.alpha, planes.c, planes.weights, tol)
        else:
            weights = convex(
                lambda a: dual_objective(self.regularizer, planes, a),
                lambda a: self.regularizer.conjugate_hessian(-(planes.A @ a), planes.A),
                planes.weights,
                tol,
            )
        planes.use(weights)
        v = -(planes.A @ weights)
        bound = float(planes.c @ weights) - self.regularizer.conjugate(v)
        return self.regularizer.primal_from_dual(v), weights, bound


def dual_objective(regularizer: Any, planes: Planes, a: np.ndarray) -> tuple[float, np.ndarray]:
    """R*(-A a) - c'a and its gradient."""
    v = -(planes.A @ a)
    return regularizer.conjugate(v) - float(planes.c @ a), -(planes.A.T @ regularizer.primal_from_dual(v)) - planes.c


class Centred:
    """R(w) = alpha |w|_1 + mu/2 |w - centre|^2."""

    def __init__(self, alpha: float, mu: float, centre: np.ndarray):
        self.alpha, self.mu, self.centre = alpha, mu, centre

    def _soft(self, v: np.ndarray) -> np.ndarray:
        t = v + self.mu * self.centre
        return np.sign(t) * np.maximum(np.abs(t) - self.alpha, 0.0)

    def conjugate(self, v: np.ndarray) -> float:
        soft = self._soft(v)
        return float(soft @ soft) / (2.0 * self.mu) - 0.5 * self.mu * float(self.centre @ self.centre)

    def primal_from_dual(self, v: np.ndarray) -> np.ndarray:
        return self._soft(v) / self.mu

    def conjugate_hessian(self, v: np.ndarray, A: np.ndarray) -> np.ndarray:
        active = A[np.abs(v + self.mu * self.centre) > self.alpha]
        return active.T @ active / self.mu


class L1Master:
    """A proximal bundle step for the next point, a linear program for the bound."""

    def __init__(self, regularizer: Any):
        self.alpha = regularizer.alpha
        self.centre: np.ndarray | None = None
        self.value = np.inf
        self.predicted = 0.0
        self.mu = 0.0

    def next(self, planes: Planes, w: np.ndarray, primal: float, gap: float) -> tuple[np.ndarray, np.ndarray, float]:
        """(next point, weights of the planes that prove the bound, lower bound)."""
        self._move_centre(planes, w, primal)
        assert self.centre is not None
        model = Centred(self.alpha, self.mu, self.centre)
        step = convex(
            lambda a: dual_objective(model, planes, a),
            lambda a: model.conjugate_hessian(-(planes.A @ a), planes.A),
            planes.weights,
            ACCURACY * gap * 0.1,
        )
        new = model.primal_from_dual(-(planes.A @ step))
        self.predicted = self.value - float(np.max(planes.A.T @ new + planes.c)) - self.alpha * float(np.abs(new).sum())
        weights, bound = self._linear_program(planes)
        planes.use(step, also=weights)
        return new, weights, bound

    def _move_centre(self, planes: Planes, w: np.ndarray, primal: float) -> None:
        """Accept w if it keeps a tenth of what the model promised; bolder after success, more careful after failure."""
        if self.centre is None:
            self.centre, self.value = w, primal
            size = float(np.max(np.abs(planes.A))) or 1.0
            self.mu = size * size / max(abs(primal), 1e-300)
            return
        gain = self.value - primal
        if gain >= 0.1 * self.predicted:
            if gain >= 0.5 * self.predicted:
                self.mu *= 0.3
            self.centre, self.value = w, primal
        else:
            self.mu *= 1.15

    def _linear_program(self, planes: Planes) -> tuple[np.ndarray, float]:
        """max c'a over the simplex with |A a| <= alpha in every coordinate."""
        from scipy.optimize import linprog

        m = planes.c.size
        rows = np.abs(planes.A).max(axis=1) > self.alpha  # the others cannot be violated
        A = planes.A[rows]
        found = linprog(
            -planes.c, A_ub=np.vstack([A, -A]), b_ub=np.full(2 * A.shape[0], self.alpha),
            A_eq=np.ones((1, m)), b_eq=[1.0], bounds=(0.0, None), method="highs",
        )  # fmt: skip
        if found.x is None:  # without a zero plane there may be no feasible combination yet
            return np.zeros(m), -np.inf
        weights = np.maximum(found.x, 0.0)
        weights /= weights.sum()
        excess = float(np.abs(planes.A @ weights).max()) / self.alpha
        bound = float(planes.c @ weights)
        if excess > 1.0:  # the solver's own tolerance: scale back, which the certificate would do too
            weights, bound = weights / excess, bound / excess
        return weights, bound
