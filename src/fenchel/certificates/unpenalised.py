"""Dual points for regularizers that leave some directions of w free, like an intercept: R(w + N t) = R(w) for all t.

R*(v) is inf unless N'v = 0, that is E'(p u) = 0 with E = X N, and a column of ones if the intercept is free. A dual point is
moved there by u' = clip(u + E h): E'(p u') is the gradient of a convex function of h that is quadratic in pieces, whose
minimum Newton's method finds. What is left of N'v is of the size of rounding errors; it is taken off v, and the floor is
charged with it times the coefficients along N, as with the intercept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.errors import InputError
from fenchel.regularizers.feature_weights import components

MAX_STEPS = 100  # of Newton's method
MAX_HALVINGS = 60  # of a Newton step
ENOUGH = 4.0 * 2.0**-52  # of the size of its terms, at which a sum counts as 0
LARGEST_REST = 1e-9  # of the size of its terms, that may be left of a sum
DAMPING = 1e-6  # weight of the rows at an end of their domain in the Newton matrix
FLATTEST = 1e-12  # relative, below which a direction in which no row can move is left alone
LARGEST_DENSE = 100_000_000  # numbers
DECREASE = 0.1  # of the slope along a step, with which a search for its length ends


def directions(problem: Any) -> sp.csc_array | None:
    """N with R(w + N t) = R(w) for all t; None if there is no such direction."""
    find = getattr(problem.regularizer, "unpenalised", None)
    return None if find is None else find(problem.d)


class Split(NamedTuple):
    """v without its component along N, and what the floor is charged with for it."""

    v: np.ndarray
    charge: float


def split(problem: Any, v: np.ndarray, size: float, coef: np.ndarray | None = None) -> Split:
    """v with N'v = 0, if it was so up to rounding; v as it is if not: R* is then inf. `size` is that of the terms of v."""
    N = directions(problem)
    if N is None or not np.isfinite(v).all():
        return Split(v, 0.0)
    rest = np.abs(N.T @ v)
    if np.any(rest > LARGEST_REST * size):
        return Split(v, 0.0)
    along = 0.0 if coef is None else np.abs(components(N, coef))
    return Split(v - N @ components(N, v), float(np.sum(rest * np.maximum(1.0, along))))


def free_columns(problem: Any, N: sp.csc_array) -> np.ndarray:
    """E = X N, with a column of ones if the intercept is free; InputError if it is too large to be dense."""
    if problem.n * N.shape[1] > LARGEST_DENSE:
        raise InputError(
            f"{N.shape[1]} unpenalised coefficients with {problem.n} rows: dual points are balanced with a dense matrix, of at "
            f"most {LARGEST_DENSE} numbers; give features a weight > 0."
        )
    E = np.asarray(
        (N.T @ problem.X.T).T.toarray() if sp.issparse(problem.X) else (N.T @ problem.X.T).T, dtype=np.float64
    )
    return np.column_stack([E, np.ones(problem.n)]) if problem.fit_intercept else E


def balance_on(E: np.ndarray, u: np.ndarray, low: np.ndarray, high: np.ndarray, p: np.ndarray) -> np.ndarray | None:
    """u' = clip(u + E h, low, high) with E'(p u') = 0 up to rounding; None if none was found.

    Rows strictly inside their domain are moved first, the others only if these cannot do it: a row at the end of its domain
    is usually there for a reason.
    """
    inside = (u > low) & (u < high)
    for movable in (inside, np.ones(u.size, dtype=bool)):
        found = _newton(E, u, np.where(movable, low, u), np.where(movable, high, u), p)
        if found is not None:
            return found
    return None


def _newton(E: np.ndarray, u: np.ndarray, low: np.ndarray, high: np.ndarray, p: np.ndarray) -> np.ndarray | None:
    h, moved = np.zeros(E.shape[1]), u
    for _ in range(MAX_STEPS):
        t = u + E @ h
        moved = np.clip(t, low, high)
        rest, sizes = E.T @ (p * moved), np.abs(E).T @ (p * np.abs(moved))
        if np.all(np.abs(rest) <= ENOUGH * sizes):
            return moved
        weights = p * np.where((t > low) & (t < high), 1.0, np.where(low < high, DAMPING, 0.0))
        scale = np.sqrt((weights[:, None] * E * E).sum(axis=0))
        scale = np.where(scale > 0.0, scale, 1.0)
        H = (E / scale).T @ (weights[:, None] * (E / scale))
        step = -np.linalg.lstsq(H, rest / scale, rcond=FLATTEST)[0] / scale
        length = _length(E, u, low, high, p, h, step, float(rest @ step))
        if not length > 0.0:
            break
        h = h + length * step
    rest, sizes = E.T @ (p * moved), np.abs(E).T @ (p * np.abs(moved))
    return moved if np.all(np.abs(rest) <= LARGEST_REST * sizes) else None


def _length(
    E: np.ndarray, u: np.ndarray, low: np.ndarray, high: np.ndarray, p: np.ndarray, h: np.ndarray, step: np.ndarray,
    slope: float,
) -> float:  # fmt: skip
    """How far to go along a Newton step: 1, or to about where the function no longer falls if that is earlier."""
    if not slope < 0.0:
        return 0.0
    start, change = u + E @ h, E @ step
    left, right = 0.0, 1.0
    for _ in range(MAX_HALVINGS):
        here = float(change @ (p * np.clip(start + right * change, low, high)))
        if here <= -DECREASE * slope:
            return right
        middle = 0.5 * (left + right)
        if float(change @ (p * np.clip(start + middle * change, low, high))) > 0.0:
            right = middle
        else:
            left = middle
            if right - left <= DECREASE * right:
                return left
    return left
