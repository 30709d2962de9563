"""The model of a bundle method: its planes, and the master problems that give the next point and a lower bound."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.oracles.scalar import Plane, PlaneRecipe
from fenchel.regularizers import L1, L2
from fenchel.regularizers.derived import conjugate_gradient, subgradient
from fenchel.solvers.bundle.settings import SETTINGS
from fenchel.solvers.bundle.simplex_qp import convex, quadratic, two_simplices


class Planes:
    """Cutting planes <A_j, w> + c_j with their Gram matrix, kept up to date by one row per new plane."""

    def __init__(self, d: int, lowest: float):
        self.A = np.zeros((d, 0))
        self.c = np.zeros(0)
        self.gram = np.zeros((0, 0))
        self.recipes: list[PlaneRecipe | None] = []
        self.weights = np.zeros(0)
        self.bound_weights = np.zeros(0)
        self.idle = np.zeros(0, dtype=int)
        if np.isfinite(lowest):
            self._append(np.zeros(d), lowest, None)  # The risk is never below this: a plane without a pass, with u = 0.
            self.weights[0] = self.bound_weights[0] = 1.0

    def add(self, plane: Plane) -> None:
        if np.isfinite(plane.constant) and np.isfinite(plane.gradient).all():
            self._append(plane.gradient, plane.constant, plane.recipe)
            if self.c.size == 1:
                self.weights[0] = self.bound_weights[0] = 1.0

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
        self.bound_weights = np.append(self.bound_weights, 0.0)
        self.idle = np.append(self.idle, 0)

    def use(self, weights: np.ndarray, also: np.ndarray | None = None) -> None:
        """Keep the weights (of the step, and of the bound if those are others) for the next warm start, and count for how
        long each plane has had none."""
        self.weights, self.bound_weights = weights, weights if also is None else also
        active = weights > 0.0 if also is None else (weights > 0.0) | (also > 0.0)
        self.idle = np.where(active, 0, self.idle + 1)

    def drop(self, patience: int) -> None:
        """Drop planes without weight for more than `patience` steps; the bound stays valid, as the weights are feasible."""
        keep = (self.idle <= patience) | np.array([recipe is None for recipe in self.recipes])
        if keep.all():
            return
        self.A, self.c, self.gram = self.A[:, keep], self.c[keep], self.gram[np.ix_(keep, keep)]
        self.weights, self.bound_weights = self.weights[keep], self.bound_weights[keep]
        self.idle = self.idle[keep]
        self.recipes = [recipe for recipe, k in zip(self.recipes, keep, strict=True) if k]


def master_of(regularizer: Any, d: int) -> Any:
    """The master problem that the methods of a regularizer allow."""
    if type(regularizer) is L1:
        return L1Master(regularizer)
    if hasattr(regularizer, "primal_from_dual"):
        return SmoothMaster(regularizer)
    if hasattr(regularizer, "prox"):
        return ProximalMaster(regularizer)
    rng = np.random.default_rng(0)
    far = (size * regularizer.alpha * rng.standard_normal(d) for size in SETTINGS.conjugate_probe_ratios)
    if all(np.isfinite(regularizer.conjugate(v)) for v in far):
        return SmoothMaster(Differenced(regularizer))
    return PlainMaster(regularizer)


class Differenced:
    """A regularizer with a conjugate that is finite everywhere, and whose gradient is found by differences."""

    def __init__(self, regularizer: Any):
        self.conjugate, self.regularizer = regularizer.conjugate, regularizer

    def primal_from_dual(self, v: np.ndarray) -> np.ndarray:
        return conjugate_gradient(self.regularizer, v)

    def point(self, v: np.ndarray) -> np.ndarray:
        """The point, moved towards the starting point of the regularizer if rounding has left it just outside the domain."""
        w, start = self.primal_from_dual(v), np.asarray(self.regularizer.start(v.size), dtype=float)
        new, shift = w, SETTINGS.domain_shift_ratio
        while not np.isfinite(self.regularizer.value(new)) and shift < 1.0:
            shift *= SETTINGS.domain_shift_growth
            new = w + shift * (start - w)
        return new


def hessian_of(regularizer: Any, v: np.ndarray, A: np.ndarray) -> np.ndarray:
    """A' (Hessian of R* at v) A, by differences of its gradient where the regularizer does not have it."""
    if hasattr(regularizer, "conjugate_hessian"):
        return regularizer.conjugate_hessian(v, A)
    sizes = np.max(np.abs(A), axis=0)
    H = np.zeros((A.shape[1], A.shape[1]))
    for k in np.flatnonzero(sizes > 0.0):
        h = SETTINGS.hessian_difference_ratio * (float(np.max(np.abs(v))) or float(sizes[k])) / sizes[k]
        change = regularizer.primal_from_dual(v + h * A[:, k]) - regularizer.primal_from_dual(v - h * A[:, k])
        H[:, k] = A.T @ change / (2.0 * h)
    H = 0.5 * (H + H.T)
    values, vectors = np.linalg.eigh(H)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


class SmoothMaster:
    """max over the simplex of c'a - R*(-A a), for a regularizer with a differentiable conjugate."""

    def __init__(self, regularizer: Any):
        self.regularizer = regularizer

    def next(self, planes: Planes, w: np.ndarray, primal: float, gap: float) -> tuple[np.ndarray, np.ndarray, float]:
        """(next point, weights of the planes, lower bound)."""
        tol = SETTINGS.master_gap_ratio * gap
        if type(self.regularizer) is L2 and self.regularizer.weights is None:
            weights = quadratic(planes.gram / self.regularizer.alpha, planes.c, planes.weights, tol)
        else:
            weights = minimise_dual(self.regularizer, planes, tol)
        planes.use(weights)
        v = -(planes.A @ weights)
        bound = float(planes.c @ weights) - self.regularizer.conjugate(v)
        point = (
            self.regularizer.point if isinstance(self.regularizer, Differenced) else self.regularizer.primal_from_dual
        )
        return point(v), weights, bound


def dual_objective(regularizer: Any, planes: Planes, a: np.ndarray) -> tuple[float, np.ndarray]:
    """R*(-A a) - c'a and its gradient."""
    v = -(planes.A @ a)
    return regularizer.conjugate(v) - float(planes.c @ a), -(planes.A.T @ regularizer.primal_from_dual(v)) - planes.c


def minimise_dual(regularizer: Any, planes: Planes, tol: float) -> np.ndarray:
    """The weights of the planes that minimise `dual_objective` over the simplex, to a gap of tol."""
    return convex(
        lambda a: dual_objective(regularizer, planes, a),
        lambda a: hessian_of(regularizer, -(planes.A @ a), planes.A),
        planes.weights,
        tol,
    )


class ProximalL1:
    """R(w) = sum_j alpha_j |w_j| + mu/2 |w - centre|^2, alpha one number or one per coordinate."""

    def __init__(self, alpha: float | np.ndarray, mu: float, centre: np.ndarray):
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


def proximal_tolerance(gap: float) -> float:
    """The gap to which a master problem with a proximal term is solved."""
    return SETTINGS.master_gap_ratio * gap * SETTINGS.proximal_master_gap_ratio


class Centre:
    """The centre of a proximal bundle method, with the weight mu of the distance from it."""

    def __init__(self, regularizer: Any):
        self.regularizer = regularizer
        self.centre: np.ndarray | None = None
        self.value = np.inf
        self.predicted = 0.0
        self.mu = 0.0

    def _move_centre(self, planes: Planes, w: np.ndarray, primal: float) -> None:
        """Accept w if it gains enough of what the model predicted; mu falls after good steps and grows after null steps."""
        if self.centre is None:
            self.centre, self.value = w, primal
            size = float(np.max(np.abs(planes.A))) or 1.0
            self.mu = size * size / max(abs(primal), 1e-300)
            return
        gain = self.value - primal
        if gain >= SETTINGS.min_serious_step_gain_ratio * self.predicted:
            if gain >= SETTINGS.min_good_step_gain_ratio * self.predicted:
                self.mu *= SETTINGS.good_step_weight_ratio
            self.centre, self.value = w, primal
        else:
            self.mu *= SETTINGS.null_step_weight_growth

    def _proximal_step(self, model: Any, planes: Planes, gap: float) -> tuple[np.ndarray, np.ndarray]:
        """(weights of the planes, next point), `model` being R plus the proximal term."""
        step = minimise_dual(model, planes, proximal_tolerance(gap))
        new = model.primal_from_dual(-(planes.A @ step))
        self.predicted = self.value - float(np.max(planes.A.T @ new + planes.c)) - self.regularizer.value(new)
        return step, new

    def bound(self, planes: Planes, weights: np.ndarray) -> tuple[np.ndarray, float]:
        """(weights scaled into the domain of R*, their lower bound): the rest goes to the plane 0, if there is one."""
        v = -(planes.A @ weights)
        scale = self.regularizer.dual_scale(v)
        if scale < 1.0:
            zero = next((k for k, recipe in enumerate(planes.recipes) if recipe is None), None)
            if zero is None:
                return weights, -np.inf
            weights = scale * weights
            weights[zero] += 1.0 - scale
        return weights, float(planes.c @ weights) - self.regularizer.conjugate(scale * v)


class ProximalConjugate:
    """R(w) + mu/2 |w - centre|^2, whose conjugate has the gradient prox(centre + v / mu, 1 / mu)."""

    def __init__(self, regularizer: Any, mu: float, centre: np.ndarray):
        self.regularizer, self.mu, self.centre = regularizer, mu, centre

    def primal_from_dual(self, v: np.ndarray) -> np.ndarray:
        return self.regularizer.prox(self.centre + v / self.mu, 1.0 / self.mu)

    def conjugate(self, v: np.ndarray) -> float:
        w = self.primal_from_dual(v)
        away = w - self.centre
        return float(v @ w) - self.regularizer.value(w) - 0.5 * self.mu * float(away @ away)


class ProximalMaster(Centre):
    """The next point minimises the model plus R(w) + mu/2 |w - centre|^2, for a regularizer with a prox."""

    def next(self, planes: Planes, w: np.ndarray, primal: float, gap: float) -> tuple[np.ndarray, np.ndarray, float]:
        """(next point, weights of the planes that prove the bound, lower bound)."""
        self._move_centre(planes, w, primal)
        assert self.centre is not None
        step, new = self._proximal_step(ProximalConjugate(self.regularizer, self.mu, self.centre), planes, gap)
        planes.use(step)
        return new, *self.bound(planes, step)


class PlainMaster(Centre):
    """The next point minimises planes of the risk, planes of R and mu/2 |w - centre|^2, for a regularizer that is known by
    `value` and `conjugate` alone. A plane of R is <r, w> - R*(r), with r found by differences of values: it lies below R for
    any r. In the dual: max over two simplices of c'a + e'b + <centre, Aa + Bb> - |Aa + Bb|^2 / (2 mu)."""

    def __init__(self, regularizer: Any):
        super().__init__(regularizer)
        self.B = np.zeros((0, 0))
        self.e = np.zeros(0)
        self.idle = np.zeros(0, dtype=int)

    def next(self, planes: Planes, w: np.ndarray, primal: float, gap: float) -> tuple[np.ndarray, np.ndarray, float]:
        """(next point, weights of the planes that prove the bound, lower bound)."""
        self._move_centre(planes, w, primal)
        self._add(w)
        assert self.centre is not None
        m = planes.c.size
        both = np.column_stack([planes.A, self.B])
        linear = np.concatenate([planes.c, self.e]) + both.T @ self.centre
        first = np.arange(both.shape[1]) < m
        weights = two_simplices(both.T @ both / self.mu, linear, first, proximal_tolerance(gap))
        new = self._inside(self.centre - both @ weights / self.mu)
        model = float(np.max(planes.A.T @ new + planes.c)) + float(np.max(self.B.T @ new + self.e))
        self.predicted = self.value - model
        small_mu = SETTINGS.bound_weight_ratio * self.mu
        nearly_free = two_simplices(both.T @ both / small_mu, linear, first, proximal_tolerance(gap))
        self.idle = np.where((weights[m:] > 0.0) | (nearly_free[m:] > 0.0), 0, self.idle + 1)
        planes.use(weights[:m], also=nearly_free[:m])
        bounds = self.bound(planes, weights[:m]), self.bound(planes, nearly_free[:m])
        return new, *max(bounds, key=lambda found: found[1])

    def _add(self, w: np.ndarray) -> None:
        """The plane of R at w; those without weight for long are dropped."""
        keep = self.idle <= SETTINGS.max_idle_regularizer_plane_steps
        r = subgradient(self.regularizer, w)
        r = self.regularizer.dual_scale(r) * r
        B = self.B[:, keep] if self.e.size else np.zeros((w.size, 0))
        self.B = np.column_stack([B, r])
        self.e = np.append(self.e[keep], -self.regularizer.conjugate(r))
        self.idle = np.append(self.idle[keep], 0)

    def _inside(self, w: np.ndarray) -> np.ndarray:
        """w, or a point between it and the centre that lies in the domain of R."""
        t, value = 1.0, self.regularizer.value
        while not np.isfinite(value(self.centre + t * (w - self.centre))) and t > SETTINGS.min_domain_step_ratio:
            t *= SETTINGS.domain_backtrack_ratio
        return self.centre + t * (w - self.centre)


class L1Master(Centre):
    """A proximal bundle step for the next point, a linear program for the bound."""

    def __init__(self, regularizer: Any):
        super().__init__(regularizer)
        weights = regularizer.weights
        self.alpha = regularizer.alpha if weights is None else regularizer.alpha * weights  # the bound of every |v_j|

    def next(self, planes: Planes, w: np.ndarray, primal: float, gap: float) -> tuple[np.ndarray, np.ndarray, float]:
        """(next point, weights of the planes that prove the bound, lower bound)."""
        self._move_centre(planes, w, primal)
        assert self.centre is not None
        step, new = self._proximal_step(ProximalL1(self.alpha, self.mu, self.centre), planes, gap)
        weights, bound = self._linear_program(planes)
        planes.use(step, also=weights)
        return new, weights, bound

    def _linear_program(self, planes: Planes) -> tuple[np.ndarray, float]:
        """max c'a over the simplex with |A a|_j <= alpha c_j in every coordinate j."""
        from scipy.optimize import linprog

        m = planes.c.size
        rows = np.abs(planes.A).max(axis=1) > self.alpha  # The constraints of the other coordinates cannot be violated.
        A, limits = planes.A[rows], np.broadcast_to(self.alpha, rows.shape)[rows]
        found = linprog(
            -planes.c, A_ub=np.vstack([A, -A]), b_ub=np.concatenate([limits, limits]),
            A_eq=np.ones((1, m)), b_eq=[1.0], bounds=(0.0, None), method="highs",
        )  # fmt: skip
        if found.x is None:  # Without a zero plane no combination may be feasible yet.
            return np.zeros(m), -np.inf
        weights = np.maximum(found.x, 0.0)
        weights /= weights.sum()
        excess = float((np.abs(planes.A @ weights) / self.alpha).max())
        bound = float(planes.c @ weights)
        if excess > 1.0:  # The tolerance of the LP solver is scaled away, as a certificate would do.
            weights, bound = weights / excess, bound / excess
        return weights, bound
