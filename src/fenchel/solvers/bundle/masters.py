"""The master problems of bundle methods, and which of them a regularizer allows."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.regularizers import L1, L2
from fenchel.regularizers.derived import subgradient
from fenchel.solvers.bundle.level import LevelMaster
from fenchel.solvers.bundle.model import (
    BoxModel,
    DifferencedModel,
    ProximalModel,
    QuadraticModel,
    SmoothModel,
    feasible,
)
from fenchel.solvers.bundle.planes import Planes
from fenchel.solvers.bundle.settings import SETTINGS
from fenchel.solvers.bundle.simplex_qp import two_simplices


def master_of(regularizer: Any, d: int, level: bool) -> Any:
    """The master problem that the methods of a regularizer allow; without `level`, the minimum of the model if it is known."""
    if type(regularizer) is L1:
        model: Any = BoxModel(regularizer)
    elif type(regularizer) is L2 and regularizer.weights is None:
        model = QuadraticModel(regularizer)
    elif hasattr(regularizer, "primal_from_dual"):
        model = SmoothModel(regularizer)
    elif hasattr(regularizer, "prox"):
        return LevelMaster(regularizer, ProximalModel(regularizer))
    elif has_finite_conjugate(regularizer, d):
        return MinimumMaster(DifferencedModel(regularizer))
    else:
        return KnownByValueMaster(regularizer)
    if level and hasattr(regularizer, "prox"):
        return LevelMaster(regularizer, model)
    return MinimumMaster(model)


def has_finite_conjugate(regularizer: Any, d: int) -> bool:
    """Whether the conjugate is finite at random points far from 0."""
    rng = np.random.default_rng(0)
    far = (size * regularizer.alpha * rng.standard_normal(d) for size in SETTINGS.conjugate_probe_ratios)
    return all(np.isfinite(regularizer.conjugate(v)) for v in far)


class MinimumMaster:
    """The next point is the minimum of the model."""

    patience = SETTINGS.patience

    def __init__(self, model: Any):
        self.model = model

    @property
    def inner(self) -> tuple[Any, ...]:
        """What else is part of the state."""
        return (self.model,)

    def next(self, planes: Planes, w: np.ndarray, primal: float, gap: float) -> tuple[np.ndarray, np.ndarray, float]:
        """(next point, weights of the planes that prove the bound, lower bound)."""
        found = self.model.minimum(planes, gap)
        planes.use(found.weights)
        return found.point, found.weights, found.bound


class KnownByValueMaster:
    """The next point minimises planes of the risk, planes of R and mu/2 |w - centre|^2, for a regularizer that is known by
    `value` and `conjugate` alone. A plane of R is <r, w> - R*(r), with r found by differences of values: it lies below R for
    any r. In the dual: max over two simplices of c'a + e'b + <centre, Aa + Bb> - |Aa + Bb|^2 / (2 mu)."""

    patience = SETTINGS.patience
    inner: tuple[Any, ...] = ()

    def __init__(self, regularizer: Any):
        self.regularizer = regularizer
        self.centre: np.ndarray | None = None
        self.value = np.inf
        self.predicted = 0.0
        self.mu = 0.0
        self.B = np.zeros((0, 0))
        self.e = np.zeros(0)
        self.idle = np.zeros(0, dtype=int)

    def next(self, planes: Planes, w: np.ndarray, primal: float, gap: float) -> tuple[np.ndarray, np.ndarray, float]:
        """(next point, weights of the planes that prove the bound, lower bound)."""
        self._move_centre(planes, w, primal)
        self._add(w)
        assert self.centre is not None
        m = planes.c.size
        tol = SETTINGS.master_gap_ratio * gap * SETTINGS.proximal_master_gap_ratio
        both = np.column_stack([planes.A, self.B])
        linear = np.concatenate([planes.c, self.e]) + both.T @ self.centre
        first = np.arange(both.shape[1]) < m
        weights = two_simplices(both.T @ both / self.mu, linear, first, tol)
        new = self._inside(self.centre - both @ weights / self.mu)
        model = float(np.max(planes.A.T @ new + planes.c)) + float(np.max(self.B.T @ new + self.e))
        self.predicted = self.value - model
        small_mu = SETTINGS.bound_weight_ratio * self.mu
        nearly_free = two_simplices(both.T @ both / small_mu, linear, first, tol)
        self.idle = np.where((weights[m:] > 0.0) | (nearly_free[m:] > 0.0), 0, self.idle + 1)
        planes.use(weights[:m], also=nearly_free[:m])
        bounds = (feasible(planes, self.regularizer, weights[:m]), feasible(planes, self.regularizer, nearly_free[:m]))
        return new, *max(bounds, key=lambda found: found[1])

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
