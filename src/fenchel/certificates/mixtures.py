"""Dual points that are mixtures of planes below a convex risk: for measures, log-losses and custom losses of several scores.

A mixture bounds the risk if its weights are nonnegative and sum to 1; for a nonnegative risk the sum may be less than 1, and
the rest of the weight belongs to the plane 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.errors import InputError
from fenchel.problems.measure import Mixture, SetProblem

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def usable_weights(weights: ArrayLike, nonnegative: bool) -> np.ndarray | None:
    """The weights, scaled to sum to 1 (to at most 1 for a nonnegative risk); None if some are invalid.

    >>> usable_weights(np.array([1.0, 3.0]), nonnegative=False), usable_weights(np.array([2.0, -1.0]), nonnegative=True)
    (array([0.25, 0.75]), None)
    """
    weights = np.asarray(weights, dtype=np.float64)
    total = float(weights.sum())
    if not (weights >= 0.0).all() or not np.isfinite(total) or not (nonnegative or total > 0.0):
        return None
    return weights / (max(total, 1.0) if nonnegative else total)


def usable_mixture(mixture: Any, z: np.ndarray, nonnegative: bool) -> Mixture:
    """The mixture with valid weights, or else the plane at scores z alone."""
    weights = usable_weights(mixture.weights, nonnegative) if isinstance(mixture, Mixture) else None
    return Mixture(np.ones(1), z[None]) if weights is None else Mixture(weights, mixture.scores)


def mixed_plane(
    weights: np.ndarray, points: Iterable[Any], plane: Callable[[Any], tuple[np.ndarray, float, float]], shape: Any
) -> tuple[np.ndarray, float, float]:
    """(slope, constant, magnitude) of the mixture of the planes plane(point)."""
    slope, constant, size = np.zeros(shape), 0.0, 0.0
    for weight, point in zip(weights, points, strict=True):
        g, c, s = plane(point)
        slope += weight * g
        constant += weight * c
        size += weight * s
    return slope, constant, size


def accept_mixture(problem: SetProblem, dual_point: Any) -> Mixture:
    """A user's dual point, checked."""
    return Mixture(*accept_planes(dual_point, problem.dual_shape, "scores"))


def accept_planes(dual_point: Any, shape: tuple[int, ...], what: str) -> tuple[np.ndarray, np.ndarray]:
    """(weights, a point of this shape for each weight), checked; `what` is the name of the points in messages."""
    try:
        weights, points = (np.ascontiguousarray(part, dtype=np.float64) for part in dual_point)
    except (TypeError, ValueError):
        raise InputError(
            f"the dual point of this loss is (weights, {what}): {what} of shape {shape} for each weight"
        ) from None
    if weights.ndim != 1 or points.shape != (weights.size, *shape):
        raise InputError(f"the {what} of a mixture must have shape {(weights.size, *shape)}, got {points.shape}")
    if not (np.isfinite(points).all() and np.isfinite(weights).all()):
        raise InputError("the dual point contains NaN or infinity")
    if weights.min() < 0.0 or not weights.sum() > 0.0:
        raise InputError("the weights of a mixture must be at least 0 and not all 0")
    return weights, points
