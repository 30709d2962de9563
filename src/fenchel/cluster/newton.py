"""What a block answers to Newton's method (`solvers/newton_cg/remote_passes.py`): it keeps what it knows at some points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fenchel.solvers.newton_cg.passes import Passes, Point

LAST = 4  # points that are kept


def newton_costs(holder: Any, name: str) -> tuple[float, float]:
    """Nanoseconds of a product with the Hessian and of a Gram matrix."""
    passes = Passes(holder.oracle, holder.problem)
    holder.oracle.kept[name] = (passes, {})
    return passes.costs.product, passes.costs.gram


def newton_look(
    holder: Any, name: str, w: np.ndarray, b: float, number: int
) -> tuple[float, np.ndarray, float, np.ndarray, float]:
    """(sum p loss, its gradient, its derivative in b, sum h x, sum h) at a point, kept under a number."""
    passes, points = holder.oracle.kept[name]
    found = passes.evaluate(w, b)
    points[number] = found._replace(z=found.z.copy(), h=found.h.copy())
    for old in [k for k in points if k <= number - LAST]:
        del points[old]
    return found.risk, found.g, found.slopes, found.curvature_sum, float(found.h.sum())


def newton_secant_curvature(holder: Any, name: str, number: int, point: int, new: int) -> tuple[np.ndarray, float]:
    """(sum h x, sum h) after the curvatures of a point were made at least those averaged over a line."""
    passes, points = holder.oracle.kept[name]
    points[number] = passes.secant_curvature(points[number], passes.line(points[point], points[new]))
    return points[number].curvature_sum, float(points[number].h.sum())


def newton_along(holder: Any, name: str, point: int, new: int, t: float) -> tuple[float, float]:
    """(sum p loss, its derivative) on the line from one point to another."""
    passes, points = holder.oracle.kept[name]
    return passes.along(passes.line(points[point], points[new]), t)


def newton_squares(holder: Any, name: str, number: int) -> tuple[float]:
    """(sum p z^2,): a sum, which owners give, where the largest |score| would be about a single row."""
    passes, z = holder.oracle.kept[name][0], _point(holder, name, number).z
    return (float(passes.sample.weights @ (z * z)),)


def newton_product(holder: Any, name: str, number: int, v: np.ndarray, shift: float) -> tuple[np.ndarray]:
    """(sum h (<x, v> + shift) x,)."""
    return (holder.oracle.kept[name][0].product(_point(holder, name, number), v, shift),)


def newton_gram(holder: Any, name: str, number: int) -> tuple[np.ndarray]:
    """(sum h x x',)."""
    return (holder.oracle.kept[name][0].gram(_point(holder, name, number)),)


def _point(holder: Any, name: str, number: int) -> Point:
    return holder.oracle.kept[name][1][number]


QUESTIONS: dict[str, Callable[..., Any]] = {
    question.__name__: question
    for question in (
        newton_costs, newton_look, newton_secant_curvature, newton_along, newton_squares, newton_product, newton_gram,
    )
}  # fmt: skip
