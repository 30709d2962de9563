"""Dual points for regularizers that do not penalise some directions of w (as for an intercept): R(w + N t) = R(w) for all t.

R*(v) is inf unless N'v = 0, that is E'(p u) = 0 with E = X N, and a column of ones if the intercept is free. A dual point is
moved there by u' = clip(u + E h): E'(p u') is the gradient of a convex, piecewise quadratic function of h, whose minimum is
found by Newton's method. The rest of N'v is of the magnitude of rounding errors: it is removed from v, and its product with
the coefficients along N is added to the floor, as for the intercept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.errors import InputError
from fenchel.problems.scalar import Problem
from fenchel.problems.some_rows import RowProblem
from fenchel.regularizers.feature_weights import components

MAX_STEPS = 100  # maximum number of Newton steps
MAX_HALVINGS = 60  # maximum number of trials of a line search
ENOUGH = 4.0 * 2.0**-52  # a sum counts as 0 up to this fraction of the magnitude of its terms
LARGEST_REST = 1e-9  # the fraction of the magnitude of its terms that may remain of a sum
DAMPING = 1e-6  # weight of the rows at an end of their domain in the Newton matrix
FLATTEST = 1e-12  # relative threshold below which a direction in which no row can move is ignored
FLATTEST_PIVOT = (
    1e-9  # of a Cholesky factorization, below which least squares find the step: about thirty times the time
)
LARGEST_DENSE = 100_000_000  # numbers
DECREASE = 0.1  # a line search ends when the slope has fallen to this fraction


def directions(problem: RowProblem) -> sp.csc_array | None:
    """N with R(w + N t) = R(w) for all t; None if there is no such direction."""
    find = getattr(problem.regularizer, "unpenalised", None)
    return None if find is None else find(problem.d)


class Split(NamedTuple):
    """v without its component along N, and the amount to add to the floor."""

    v: np.ndarray
    charge: float


def split(problem: RowProblem, v: np.ndarray, size: float, coef: np.ndarray | None = None) -> Split:
    """v with N'v = 0, if that holds up to rounding; otherwise v, at which R* is inf. `size` is the magnitude of its terms."""
    N = directions(problem)
    if N is None or not np.isfinite(v).all():
        return Split(v, 0.0)
    rest = np.abs(N.T @ v)
    if np.any(rest > LARGEST_REST * size):
        return Split(v, 0.0)
    along = 0.0 if coef is None else np.abs(components(N, coef))
    return Split(v - N @ components(N, v), float(np.sum(rest * np.maximum(1.0, along))))


def free_columns(problem: Problem, N: sp.csc_array) -> np.ndarray:
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

    Rows strictly inside their domain are moved first, the others only if that is not enough: at the optimum, a row at the end
    of its domain usually stays there.
    """
    inside = (u > low) & (u < high)
    for movable in (inside, np.ones(u.size, dtype=bool)):
        found = _newton(E, u, np.where(movable, low, u), np.where(movable, high, u), p)
        if found is not None:
            return found
    return None


def _newton(E: np.ndarray, u: np.ndarray, low: np.ndarray, high: np.ndarray, p: np.ndarray) -> np.ndarray | None:
    h, moved, magnitudes, squares = np.zeros(E.shape[1]), u, np.abs(E), E * E
    for _ in range(MAX_STEPS):
        t = u + E @ h
        moved = np.clip(t, low, high)
        rest, sizes = E.T @ (p * moved), magnitudes.T @ (p * np.abs(moved))
        if np.all(np.abs(rest) <= ENOUGH * sizes):
            return moved
        weights = p * np.where((t > low) & (t < high), 1.0, np.where(low < high, DAMPING, 0.0))
        scale = np.sqrt(weights @ squares)
        scale = np.where(scale > 0.0, scale, 1.0)
        H = ((E.T * weights) @ E) / np.outer(scale, scale)
        step = -_solved(H, rest / scale) / scale
        length = _length(E, u, low, high, p, h, step, float(rest @ step))
        if not length > 0.0:
            break
        h = h + length * step
    rest, sizes = E.T @ (p * moved), magnitudes.T @ (p * np.abs(moved))
    return moved if np.all(np.abs(rest) <= LARGEST_REST * sizes) else None


def _solved(H: np.ndarray, right: np.ndarray) -> np.ndarray:
    """H^-1 right for a matrix with ones on its diagonal; of least length where columns depend on each other."""
    from scipy.linalg.lapack import dpotrf, dpotrs  # Imported here, because few problems need it.

    factor, failed = dpotrf(H, lower=1, clean=0)
    if not failed and float(np.min(np.diagonal(factor))) ** 2 > FLATTEST_PIVOT:
        return np.asarray(dpotrs(factor, right, lower=1)[0])
    return np.linalg.lstsq(H, right, rcond=FLATTEST)[0]


def _length(
    E: np.ndarray, u: np.ndarray, low: np.ndarray, high: np.ndarray, p: np.ndarray, h: np.ndarray, step: np.ndarray,
    slope: float,
) -> float:  # fmt: skip
    """The length of a Newton step: 1, or about where the function stops decreasing, if that is shorter."""
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
