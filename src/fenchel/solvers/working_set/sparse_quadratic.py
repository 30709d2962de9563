"""min over d of <q, d> + d'H d / 2 + sum_j lam_j |x_j + d_j| with H a matrix: coordinate descent, then Newton on the support.

Coordinate descent finds most of the support in a few sweeps and takes for ever to finish where columns are alike. The direct
solve on the support, cut off where signs would change, finishes: the gap of an L1 problem is of first order in the
gradient's error, so only an exact solution makes the certificate follow.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fenchel.kernels.column_descent import gram_descent, largest_violation

SWEEPS, ROUGH_SWEEPS = 30, 100  # the latter for solutions that need not be exact, and may so do without a factor
ROUNDS = 60  # solves on the support, at most
RIDGE = 1e-12  # relative to the largest entry of the diagonal: columns may be copies of each other
EXACT = 1e-3  # violation, relative to that at the beginning, at which a solution counts as exact


def violation(x: np.ndarray, q: np.ndarray, lam: np.ndarray) -> float:
    """The largest distance of -q_j from the subdifferential of lam_j |x_j|."""
    return largest_violation(x, q, lam)


def minimise(H: np.ndarray, q: np.ndarray, x: np.ndarray, lam: np.ndarray, eta: float = EXACT) -> np.ndarray:
    """The minimiser x + d, to the part eta of the violation at x."""
    x, q = x.copy(), q.copy()
    first, whole, rough = violation(x, q, lam), True, eta > EXACT
    for _ in range(ROUNDS):
        if whole:
            gram_descent(H, lam, x, q, ROUGH_SWEEPS if rough else SWEEPS, 1e-3 * eta * first)
            if rough and violation(x, q, lam) <= eta * first:
                break
        d, whole = support_step(H, q, x, lam)
        if d is None:
            break
        x += d
        q += H @ d
        if whole and violation(x, q, lam) <= eta * first:
            break
    return x


def support_step(H: np.ndarray, q: np.ndarray, x: np.ndarray, lam: np.ndarray) -> tuple[np.ndarray | None, bool]:
    """(a Newton step on the support, whether no sign stopped it); None if there is none to make."""
    inside = np.flatnonzero((x != 0.0) | (lam == 0.0))
    if inside.size == 0:
        return None, True
    sign = np.sign(x[inside]) * (lam[inside] > 0.0)
    slope = q[inside] + lam[inside] * sign
    A = H[np.ix_(inside, inside)]
    step = solved(A, -slope)
    if step is None:
        return None, True
    step, whole = shortened(x[inside], step, sign, slope, lambda v: A @ v)
    return spread(step, inside, x.size), whole


def shortened(
    x: np.ndarray, step: np.ndarray, sign: np.ndarray, slope: np.ndarray, product: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, bool]:
    """The step, cut off where signs would change, and whether none does; `slope` and `product` are those of the model.

    Many signs at once if the model goes down there, in the end only the first.
    """
    crossing = np.flatnonzero((x + step) * sign < 0.0)
    if crossing.size == 0:
        return step, True
    reach = np.sort(-x[crossing] / step[crossing])
    for t in (1.0, reach[crossing.size // 2], reach[crossing.size // 8]):
        d = cut(x, t * step, sign)
        linear = float(slope @ d)
        if linear + 0.5 * float(d @ product(d)) <= 0.1 * linear < 0.0:
            return d, False
    return cut(x, reach[0] * step, sign), False


def cut(x: np.ndarray, step: np.ndarray, sign: np.ndarray) -> np.ndarray:
    """The step, ending at 0 where a sign would change (or nearly: rounding must not keep what was to be dropped)."""
    return np.where((sign != 0.0) & ((x + step) * sign <= 1e-12 * np.abs(x)), -x, step)


def spread(values: np.ndarray, places: np.ndarray, size: int) -> np.ndarray:
    """A vector with the values at their places, else 0."""
    out = np.zeros(size)
    out[places] = values
    return out


def solved(A: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """A^-1 b, A symmetric, with as much ridge as it needs to have a factor."""
    from scipy.linalg.lapack import dpotrf, dpotrs

    ridge = RIDGE * float(np.diag(A).max())
    for _ in range(5):
        ridged = A.copy()
        ridged.flat[:: A.shape[0] + 1] += ridge
        factor, failed = dpotrf(ridged.T, lower=1, clean=0, overwrite_a=1)  # its transpose is as LAPACK wants it
        if not failed:
            return dpotrs(factor, b, lower=1)[0]
        ridge *= 100.0
    return None
