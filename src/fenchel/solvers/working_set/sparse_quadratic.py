"""min over d of <q, d> + d'H d / 2 + sum_j lam_j |x_j + d_j| with H a matrix: coordinate descent, then Newton on the support.

Coordinate descent finds most of the support in a few sweeps, but converges slowly where columns are correlated. Newton steps on
the support, truncated where signs would change, find the exact solution. It is needed because the gap of an L1 problem is of
first order in the gradient's error.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, repeat
from operator import mul

import numpy as np

from fenchel.kernels.column_descent import gram_descent, largest_violation
from fenchel.solvers.linear_systems import factors
from fenchel.solvers.working_set.settings import SETTINGS


def violation(x: np.ndarray, q: np.ndarray, lam: np.ndarray) -> float:
    """The largest distance of -q_j from the subdifferential of lam_j |x_j|."""
    return largest_violation(x, q, lam)


def minimise(
    H: np.ndarray, q: np.ndarray, x: np.ndarray, lam: np.ndarray, eta: float = SETTINGS.exact_violation_ratio
) -> np.ndarray:
    """The minimiser x + d, to a violation of eta times that at x."""
    x, q = x.copy(), q.copy()
    first, complete, inexact = violation(x, q, lam), True, eta > SETTINGS.exact_violation_ratio
    max_sweeps = SETTINGS.max_inexact_gram_sweeps if inexact else SETTINGS.max_gram_sweeps
    for _ in range(SETTINGS.max_support_steps):
        if complete:
            gram_descent(H, lam, x, q, max_sweeps, SETTINGS.gram_sweep_tolerance_ratio * eta * first)
            if inexact and violation(x, q, lam) <= eta * first:
                break
        d, complete = support_step(H, q, x, lam)
        if d is None:
            break
        x += d
        q += H @ d
        if complete and violation(x, q, lam) <= eta * first:
            break
    return x


def support_step(H: np.ndarray, q: np.ndarray, x: np.ndarray, lam: np.ndarray) -> tuple[np.ndarray | None, bool]:
    """(a Newton step on the support, whether no change of sign truncated it); None if there is none."""
    support = np.flatnonzero((x != 0.0) | (lam == 0.0))
    if support.size == 0:
        return None, True
    sign = np.sign(x[support]) * (lam[support] > 0.0)
    slope = q[support] + lam[support] * sign
    A = H[np.ix_(support, support)]
    step = solved(A, -slope)
    if step is None:
        return None, True
    step, complete = truncated(x[support], step, sign, slope, lambda v: A @ v)
    return spread(step, support, x.size), complete


def truncated(
    x: np.ndarray, step: np.ndarray, sign: np.ndarray, slope: np.ndarray, product: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, bool]:
    """The step, truncated where signs would change, and whether none does; `slope` and `product` are those of the model.

    Several coordinates are set to zero at once if the model decreases then, else only the first to change its sign.
    """
    crossing = np.flatnonzero((x + step) * sign < 0.0)
    if crossing.size == 0:
        return step, True
    reach = np.sort(-x[crossing] / step[crossing])
    for t in (1.0, *(reach[crossing.size // divisor] for divisor in SETTINGS.crossing_divisors)):
        d = stopped_at_zero(x, t * step, sign)
        linear = float(slope @ d)
        if linear + 0.5 * float(d @ product(d)) <= SETTINGS.truncated_step_decrease_ratio * linear < 0.0:
            return d, False
    return stopped_at_zero(x, reach[0] * step, sign), False


def stopped_at_zero(x: np.ndarray, step: np.ndarray, sign: np.ndarray) -> np.ndarray:
    """The step, ending at 0 where a sign would change, or the result is zero up to rounding."""
    reached = (x + step) * sign <= SETTINGS.zero_coordinate_ratio * np.abs(x)
    return np.where((sign != 0.0) & reached, -x, step)


def spread(values: np.ndarray, places: np.ndarray, size: int) -> np.ndarray:
    """A vector with these values at these places and 0 elsewhere."""
    out = np.zeros(size)
    out[places] = values
    return out


def solved(A: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """A^-1 b, A symmetric, with as much ridge as its Cholesky factorization needs; None if there is none."""
    diagonal = np.diag(A)
    first = SETTINGS.factorization_ridge_ratio * float(diagonal.max())
    growths = repeat(SETTINGS.factorization_ridge_growth, SETTINGS.max_factorization_attempts - 1)
    ridges = accumulate(growths, mul, initial=first)
    solve = next(factors(A.copy(), (diagonal + ridge for ridge in ridges)), None)
    return None if solve is None else solve(b)
