"""The minimum of the model of a bundle method, max over j of <A_j, w> + c_j, plus R: the point, and the weights of the planes
that prove its value. In the dual: max over the simplex of c'a - R*(-A a).

`minimum` gives both; `near` the minimum of the model plus R plus mu/2 |w - centre|^2, for level steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.regularizers.derived import conjugate_gradient
from fenchel.solvers.bundle.l1_kernels import box_program
from fenchel.solvers.bundle.planes import Planes
from fenchel.solvers.bundle.settings import SETTINGS
from fenchel.solvers.bundle.simplex_qp import convex, quadratic


class Minimum(NamedTuple):
    """A point, the weights of the planes that prove `bound`, and the value of model plus R at the point: at least `bound`."""

    point: np.ndarray
    weights: np.ndarray
    bound: float
    height: float


def height_at(planes: Planes, regularizer: Any, w: np.ndarray) -> float:
    """The model plus R at w."""
    return float(np.max(planes.A.T @ w + planes.c)) + float(regularizer.value(w))


def feasible(planes: Planes, regularizer: Any, weights: np.ndarray) -> tuple[np.ndarray, float]:
    """(weights scaled into the domain of R*, their lower bound): the rest goes to the plane 0, if there is one."""
    v = -(planes.A @ weights)
    scale = regularizer.dual_scale(v)
    if scale < 1.0:
        zero = planes.zero
        if zero is None:
            return weights, -np.inf
        weights = scale * weights
        weights[zero] += 1.0 - scale
    return weights, float(planes.c @ weights) - regularizer.conjugate(scale * v)


def dual_objective(regularizer: Any, planes: Planes, a: np.ndarray) -> tuple[float, np.ndarray]:
    """R*(-A a) - c'a and its gradient."""
    v = -(planes.A @ a)
    return regularizer.conjugate(v) - float(planes.c @ a), -(planes.A.T @ regularizer.primal_from_dual(v)) - planes.c


def minimise_dual(regularizer: Any, planes: Planes, warm: np.ndarray, tol: float) -> np.ndarray:
    """The weights of the planes that minimise `dual_objective` over the simplex, to a gap of tol."""
    return convex(
        lambda a: dual_objective(regularizer, planes, a),
        lambda a: hessian_of(regularizer, -(planes.A @ a), planes.A),
        warm,
        tol,
    )


def hessian_of(regularizer: Any, v: np.ndarray, A: np.ndarray) -> np.ndarray:
    """A' (Hessian of R* at v) A, by differences of its gradient where the regularizer does not have it."""
    found = regularizer.conjugate_hessian(v, A) if hasattr(regularizer, "conjugate_hessian") else None
    if found is not None:
        return found
    sizes = np.max(np.abs(A), axis=0)
    H = np.zeros((A.shape[1], A.shape[1]))
    for k in np.flatnonzero(sizes > 0.0):
        h = SETTINGS.hessian_difference_ratio * (float(np.max(np.abs(v))) or float(sizes[k])) / sizes[k]
        change = regularizer.primal_from_dual(v + h * A[:, k]) - regularizer.primal_from_dual(v - h * A[:, k])
        H[:, k] = A.T @ change / (2.0 * h)
    H = 0.5 * (H + H.T)
    values, vectors = np.linalg.eigh(H)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


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

    def conjugate_hessian(self, v: np.ndarray, A: np.ndarray) -> np.ndarray | None:
        """A' J A / mu with J the Jacobian of the prox; None if the regularizer does not have it."""
        if not hasattr(self.regularizer, "prox_jacobian"):
            return None
        J = self.regularizer.prox_jacobian(self.centre + v / self.mu, 1.0 / self.mu)
        if not J.is_diagonal:
            return A.T @ (J @ A) / self.mu
        active = J.columns()
        part = A[active]
        return part.T @ (J.diagonal[active][:, None] * part) / self.mu


class SmoothModel:
    """For a regularizer with a differentiable conjugate."""

    plain_steps = True  # whether the minimum is exact, so that it may be the next point
    min_weight_ratio = SETTINGS.min_proximal_weight_ratio

    def __init__(self, regularizer: Any):
        self.regularizer = regularizer

    def minimum(self, planes: Planes, gap: float) -> Minimum:
        weights = minimise_dual(self.regularizer, planes, planes.bound_weights, SETTINGS.master_gap_ratio * gap)
        v = -(planes.A @ weights)
        bound = float(planes.c @ weights) - self.regularizer.conjugate(v)
        return Minimum(self._point(v), weights, bound, bound)

    def _point(self, v: np.ndarray) -> np.ndarray:
        return self.regularizer.primal_from_dual(v)

    def near(
        self, planes: Planes, centre: np.ndarray, mu: float, warm: np.ndarray, tol: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """(the point, weights of the planes)."""
        model = ProximalConjugate(self.regularizer, mu, centre)
        weights = minimise_dual(model, planes, warm, tol)
        return model.primal_from_dual(-(planes.A @ weights)), weights

    def first_weight(self, planes: Planes, primal: float) -> float:
        """The mu to begin with."""
        size = float(np.max(np.abs(planes.A), initial=0.0)) or 1.0
        return size * size / max(abs(primal), 1e-300) if np.isfinite(primal) else size * size


class QuadraticModel(SmoothModel):
    """For L2: quadratic programs with the Gram matrix of the planes."""

    min_weight_ratio = SETTINGS.min_level_weight_ratio

    def minimum(self, planes: Planes, gap: float) -> Minimum:
        alpha = float(self.regularizer.alpha)
        weights = quadratic(planes.gram / alpha, planes.c, planes.bound_weights, SETTINGS.master_gap_ratio * gap)
        point = -(planes.A @ weights) / alpha
        bound = float(planes.c @ weights) - 0.5 * alpha * float(point @ point)
        return Minimum(point, weights, bound, bound)

    def near(
        self, planes: Planes, centre: np.ndarray, mu: float, warm: np.ndarray, tol: float
    ) -> tuple[np.ndarray, np.ndarray]:
        total = float(self.regularizer.alpha) + mu
        weights = quadratic(planes.gram / total, planes.c + (mu / total) * (planes.A.T @ centre), warm, tol)
        return (mu * centre - planes.A @ weights) / total, weights

    def first_weight(self, planes: Planes, primal: float) -> float:
        return float(self.regularizer.alpha)


class DifferencedModel(SmoothModel):
    """For a regularizer with a conjugate that is finite everywhere, and whose gradient is found by differences."""

    def __init__(self, regularizer: Any):
        super().__init__(Differenced(regularizer))

    def _point(self, v: np.ndarray) -> np.ndarray:
        return self.regularizer.point(v)


class Differenced:
    """A conjugate with its gradient by differences."""

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


class BoxModel(SmoothModel):
    """For L1, whose conjugate is 0 in a box: a linear program by the simplex method, which goes on from its last basis."""

    def __init__(self, regularizer: Any):
        super().__init__(regularizer)
        self.basis: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None = None
        self.peak: np.ndarray | None = None  # the largest entry of a plane so far, for every coordinate
        self.seen = 0

    def minimum(self, planes: Planes, gap: float) -> Minimum:
        limit = np.broadcast_to(self._limits(), planes.A.shape[0]).copy()
        zero = planes.zero
        if zero is None:
            weights, point = general_program(planes, limit)
        else:
            weights, point = self._simplex(planes, limit, zero, SETTINGS.master_gap_ratio * gap)
        weights = np.maximum(weights, 0.0)
        total = weights.sum()
        weights, bound = feasible(planes, self.regularizer, weights / total) if total else (weights, -np.inf)
        return Minimum(point, weights, bound, max(bound, height_at(planes, self.regularizer, point)))

    def _simplex(self, planes: Planes, limit: np.ndarray, zero: int, tol: float) -> tuple[np.ndarray, np.ndarray]:
        """(weights, point) from the last basis or, where that is of no use, from the plane 0 alone."""
        m, coords = planes.c.size, np.flatnonzero(self._peaks(planes) > limit)  # The others cannot reach their limits.
        steps, weights, point = SETTINGS.min_pivots + SETTINGS.pivots_per_plane * m, np.zeros(m), np.zeros(limit.size)
        for basis in (self.basis, None):
            state = self._arrays(planes, basis, zero, 2 + min(m, coords.size))
            if state is None:
                continue
            size = 0 if basis is None else len(basis[1])
            k, _ = box_program(planes.A.T, planes.c, limit, coords, *state, size, weights, point, tol, steps)
            places, tight, sides, inverse = state
            if k >= 0:
                break
        self.basis = (planes.numbers[places[: k + 1]], tight[:k], sides[:k], inverse[: k + 1, : k + 1].copy())
        return weights, point

    def _limits(self) -> Any:
        """The bound of every |v_j|."""
        weights = self.regularizer.weights
        return self.regularizer.alpha if weights is None else self.regularizer.alpha * weights

    def _peaks(self, planes: Planes) -> np.ndarray:
        new = planes.A[:, planes.numbers >= self.seen] if self.peak is not None else planes.A
        top = np.abs(new).max(axis=1, initial=0.0)
        self.peak = top if self.peak is None else np.maximum(self.peak, top)
        self.seen = planes.added
        return self.peak

    def _arrays(self, planes: Planes, basis: Any, zero: int, room: int) -> tuple[np.ndarray, ...] | None:
        """The basis with room to grow, planes by their places; without one, the plane 0 alone. None: a plane is gone."""
        places, tight = np.zeros(room, dtype=np.int64), np.zeros(room, dtype=np.int64)
        sides, inverse = np.zeros(room), np.empty((room, room))
        if basis is None:
            places[0], inverse[0, 0] = zero, 1.0
            return places, tight, sides, inverse
        numbers, k = basis[0], len(basis[1])
        found = np.minimum(np.searchsorted(planes.numbers, numbers), planes.c.size - 1)
        if not (planes.numbers[found] == numbers).all():
            return None
        places[: k + 1], tight[:k], sides[:k], inverse[: k + 1, : k + 1] = found, basis[1], basis[2], basis[3]
        return places, tight, sides, inverse


def general_program(planes: Planes, limit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(weights, point) of the same linear program for planes without the plane 0, whose first point is not known: all
    weights are 0 if there is none."""
    from scipy.optimize import linprog

    inside = (1.0 - SETTINGS.program_tolerance) * limit  # The solver's tolerance must not lead out of the box.
    found = linprog(
        -planes.c, A_ub=np.vstack([planes.A, -planes.A]), b_ub=np.concatenate([inside, inside]),
        A_eq=np.ones((1, planes.c.size)), b_eq=[1.0], bounds=(0.0, None), method="highs",
    )  # fmt: skip
    if found.x is None:
        return np.zeros(planes.c.size), np.zeros(limit.size)
    above, below = found.ineqlin.marginals[: limit.size], found.ineqlin.marginals[limit.size :]
    return found.x, above - below


class ProximalModel(SmoothModel):
    """For a regularizer with a prox: proximal points, whose weights are in the domain of R* in the limit, and are scaled into
    it. They go on from the last ones, and mu falls until the bound is close to the value of the model."""

    plain_steps = False

    def __init__(self, regularizer: Any):
        super().__init__(regularizer)
        self.centre: np.ndarray | None = None
        self.mu = self.least = 0.0

    def minimum(self, planes: Planes, gap: float) -> Minimum:
        if self.centre is None:
            self.centre = np.asarray(self.regularizer.start(planes.A.shape[0]), dtype=float)
            self.mu = self.first_weight(planes, gap)
            self.least = SETTINGS.least_proximal_weight_ratio * self.mu
        weights, best = planes.bound_weights, None
        for _ in range(SETTINGS.max_proximal_points):
            tol = SETTINGS.level_gap_ratio * gap
            point, weights = self.near(planes, self.centre, self.mu, weights, tol)
            scaled, bound = feasible(planes, self.regularizer, weights)
            height = height_at(planes, self.regularizer, point)
            if best is None or bound >= best.bound:
                best = Minimum(point, scaled, bound, height)
            self.centre = point
            if height - bound <= SETTINGS.max_bound_lag * gap:
                break
            self.mu = max(SETTINGS.proximal_weight_fall * self.mu, self.least)
        assert best is not None
        return best
