"""Projection onto the intersection of a box and a hyperplane.

    alpha = argmin 1/2 sum_i d_i^2 (alpha_i - m_i)^2   subject to   lower <= alpha <= upper,  sum_i sigma_i alpha_i = z

By the KKT conditions alpha_i = clip(m_i + nu sigma_i / d_i^2, lower_i, upper_i) for one number nu, the multiplier of
the equality; `multiplier.py` finds it in O(n), `repair.py` removes the rounding errors.
The time is linear in n; the memory is that of the result and a copy of the undecided coordinates.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.errors import InputError
from fenchel.projections.blocks import inverse_squares, two_sum, widen
from fenchel.projections.multiplier import find_multiplier
from fenchel.projections.repair import free_slope, move

EPS = float(np.finfo(float).eps)
OK, INFEASIBLE, INVALID = 0, 1, 2
FEASIBLE = 1e-12  # a sum z this close (relatively) to the end of the attainable range counts as the end
ATTEMPTS = 4
SWEEPS = 2

Vector: TypeAlias = NDArray[np.float64]


def project_box_equality(
    m: Vector, lower: Vector, upper: Vector, sigma: Vector, inv_d2: Vector, z: float, out: Vector
) -> tuple[int, float, int, float]:
    """Write the projection of m into `out`; (status, nu, coordinates touched by the search, sum sigma alpha - z).

    Contiguous float64 arrays of the size of m, or of size 1 for a constant (m and out are always full, and distinct).
    inv_d2 = 1 / d^2. Status OK, INFEASIBLE or INVALID; `out` is the projection only if OK.

    The search works in plain arithmetic. The rounding error of its nu matters when |nu g| is far larger than the width of the
    box. Since the projection is the same for every m + t g, nu is stored in two doubles, and the small remainder is removed by
    Newton steps over the free set (usually none is needed). If those leave the piece on which F is linear, the search runs
    again on the moved point m + nu g, where its rounding error is only that of the remainder.
    """
    box = tuple(widen(values, m.size) for values in (lower, upper, sigma, inv_d2))
    nu, low, touched = find_multiplier((m, *box), z)
    for attempt in range(ATTEMPTS):
        for _ in range(1 + SWEEPS):
            residual, size = move((m, *box), nu, low, z, out)
            slope = free_slope(out, *box) if abs(residual) > 2.0 * EPS * size else 0.0
            if not slope > 0.0:
                break
            nu, low = two_sum.py_func(nu, low + residual / slope)
        if math.isnan(residual):
            return INVALID, nu, touched, -residual
        if abs(residual) <= 2.0 * EPS * size:
            break
        least, greatest, least_size, greatest_size = attainable(lower, upper, sigma, m.size)
        if z < least - FEASIBLE * (least_size + abs(z)) or z > greatest + FEASIBLE * (greatest_size + abs(z)):
            return INFEASIBLE, nu, touched, -residual
        if attempt + 1 < ATTEMPTS:
            moved, endless = np.empty(m.size), np.full(box[0].size, math.inf)
            move((m, -endless, endless, *box[2:]), nu, low, z, moved)
            step, _, more = find_multiplier((moved, *box), z)
            touched += more
            nu, low = two_sum.py_func(nu, low + step)
    return OK, nu, touched, -residual


def attainable(lower: Vector, upper: Vector, sigma: Vector, n: int) -> tuple[float, float, float, float]:
    """Least and greatest value of sum sigma alpha over the box, and the sum of the absolute terms of each."""
    low, high, weights = np.broadcast_arrays(lower, upper, sigma)
    live = weights != 0.0  # 0 times an infinite bound would be NaN
    first, second = weights[live] * low[live], weights[live] * high[live]
    times = n if weights.size < n else 1
    least, greatest = times * np.minimum(first, second), times * np.maximum(first, second)
    return float(np.sum(least)), float(np.sum(greatest)), float(np.sum(np.abs(least))), float(np.sum(np.abs(greatest)))


def box_equality(
    m: ArrayLike, lower: ArrayLike, upper: ArrayLike, sigma: ArrayLike, z: float, d: ArrayLike | None = None
) -> NDArray[np.float64]:
    """argmin 1/2 sum_i d_i^2 (alpha_i - m_i)^2 subject to lower <= alpha <= upper and sum_i sigma_i alpha_i = z.

    Exact, in O(n). `lower`, `upper`, `sigma` and `d` are numbers or arrays like m; bounds may be infinite or equal,
    sigma may be negative or zero (such a coordinate is only clipped), d is positive and 1 if left out. The box holds
    exactly, the equality to a few units in the last place of sum |sigma_i alpha_i|.

    Raises `InputError` if the box is empty, if no point of it has the sum z, or if a number is NaN.

    >>> from fenchel.projections import box_equality
    >>> box_equality([3.0, 1.0, 0.0], lower=0.0, upper=2.0, sigma=1.0, z=3.0)
    array([2., 1., 0.])
    >>> box_equality([0.5, 0.25], 0.0, 1.0, sigma=[1.0, -1.0], z=0.0)
    array([0.375, 0.375])
    """
    point = _vector("m", m)
    n = point.size
    low, high, weights = _like("lower", lower, n), _like("upper", upper, n), _like("sigma", sigma, n)
    scale = np.ones(1) if d is None else _like("d", d, n)
    inv_d2 = scale if d is None else np.empty_like(scale)
    if d is not None and not inverse_squares(scale, inv_d2):
        raise InputError(_first_bad("d", scale, ~((scale > 0) & (scale < np.inf)), "must be positive and finite"))
    target = float(z)
    out = np.empty(n)
    if n == 0:
        if target != 0.0:
            raise InputError(f"z = {target} is not attainable: m is empty, so the sum is 0. Pass z=0.")
        return out
    status, *_ = project_box_equality(point, low, high, weights, inv_d2, target, out)
    if status != OK:
        raise InputError(_explain(status, point, low, high, weights, target))
    return out


def _vector(name: str, value: ArrayLike) -> NDArray[np.float64]:
    try:
        array = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be an array of numbers: {error}") from None
    if array.ndim != 1 or np.ndim(value) != 1:
        raise InputError(f"{name} must have one dimension, got shape {np.shape(value)}; use {name}.ravel().")
    return array if array.flags.writeable else array.copy()  # numba would compile a second time for read-only arrays


def _like(name: str, value: ArrayLike, n: int) -> NDArray[np.float64]:
    array = np.full(1, value, dtype=np.float64) if np.ndim(value) == 0 else _vector(name, value)
    if array.size != n and np.ndim(value) != 0:
        raise InputError(f"{name} has {array.size} entries but m has {n}; pass a number or an array like m.")
    return array


def _first_bad(name: str, array: NDArray[np.float64], bad: NDArray[np.bool_], rule: str) -> str:
    i = int(np.argmax(bad))
    where = f"{name}[{i}]" if array.size > 1 else name
    return f"{where} {rule}, got {array[i]}."


def _explain(
    status: int,
    m: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    sigma: NDArray[np.float64],
    z: float,
) -> str:
    if status == INFEASIBLE:
        least, greatest, _, _ = attainable(lower, upper, sigma, m.size)
        return (
            f"no point of the box has sum sigma_i alpha_i = z: the sum can be anything from {least:.17g} to "
            f"{greatest:.17g}, but z = {z:.17g}. Move z into that range or widen the bounds."
        )
    for name, array in (("m", m), ("sigma", sigma)):
        if not np.all(np.isfinite(array)):
            return _first_bad(name, array, ~np.isfinite(array), "must be finite")
    for name, array, wrong in (("lower", lower, np.inf), ("upper", upper, -np.inf)):
        bad = np.isnan(array) | (array == wrong)
        if bad.any():
            return _first_bad(name, array, bad, f"must be a number, not NaN or {wrong}")
    if not np.isfinite(z):
        return f"z must be finite, got {z}."
    low, high = np.broadcast_arrays(lower, upper)
    if (low > high).any():
        i = int(np.argmax(low > high))
        return f"the box is empty: lower[{i}] = {low[i]} is above upper[{i}] = {high[i]}."
    return "the numbers are too large or too small for double precision (a product overflows); rescale m, sigma or d."
