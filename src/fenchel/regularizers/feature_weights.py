"""The weights c_j >= 0 of the features in a penalty: absent (all 1), or one number per feature; 0 = not penalised."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from fenchel.errors import InputError

Weights = NDArray[np.float64] | None


def checked_vector(name: str, given: ArrayLike) -> NDArray[np.float64]:
    """A read-only copy of a 1-D array of finite numbers; InputError otherwise.

    >>> checked_vector("center", [1, 2])
    array([1., 2.])
    """
    try:
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a 1-D array of numbers, got {given!r}.") from None
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{name} must be a 1-D array with at least one entry, got an array of shape {array.shape}.")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise InputError(f"{name} must be finite; {name}[{bad[0]}] is {array[bad[0]]}.")
    array += 0.0  # -0.0 becomes 0.0
    array.flags.writeable = False
    return array


def checked_weights(weights: ArrayLike | None, name: str = "weights") -> Weights:
    """None, or a read-only copy of a 1-D array >= 0; InputError otherwise.

    >>> checked_weights([1, 0])
    array([1., 0.])
    """
    if weights is None:
        return None
    array = checked_vector(name, weights)
    bad = np.flatnonzero(array < 0.0)
    if bad.size:
        raise InputError(f"{name} must be >= 0; {name}[{bad[0]}] is {array[bad[0]]}.")
    return array


def fit_vector(name: str, given: np.ndarray | None, dim: int) -> None:
    """Raise InputError unless `given` is None or has one entry per feature.

    >>> fit_vector("weights", None, 3)
    """
    if given is not None and given.shape != (dim,):
        raise InputError(f"{name} has {given.size} entries but there are {dim} features; give one per feature.")


def fit_weights(weights: Weights, dim: int) -> None:
    """Raise InputError unless there is one weight per feature.

    >>> fit_weights(np.array([1.0, 0.0]), 2)
    """
    fit_vector("weights", weights, dim)


def require_penalised(regularizer: Any, dim: int) -> None:
    """Raise InputError if the regularizer leaves directions free: only problems of one score balance dual points for them.

    >>> from fenchel.regularizers import L2
    >>> require_penalised(L2(1.0), 2)
    """
    N = regularizer.unpenalised(dim)
    if N is not None:
        raise InputError(
            f"{type(regularizer).__name__} does not penalise all coefficients (coefficient {N.indices[0]}, for one): that is "
            "available for losses of one score per row whose rows are in memory; give every "
            "feature a weight > 0, and an alpha > 0."
        )


def axes(columns: NDArray[np.intp], dim: int) -> sp.csc_array | None:
    """The unit vectors of these columns as a d x k matrix; None if there are none.

    >>> axes(np.array([1]), 3).toarray().ravel()
    array([0., 1., 0.])
    """
    if columns.size == 0:
        return None
    return sp.csc_array((np.ones(columns.size), (columns, np.arange(columns.size))), shape=(dim, columns.size))


def unpenalised_axes(weights: Weights, dim: int) -> sp.csc_array | None:
    """The unit vectors of the features of weight 0; None if there are none."""
    return None if weights is None else axes(np.flatnonzero(weights == 0.0), dim)


def scale_into_box(v: NDArray[np.float64], bounds: NDArray[np.float64]) -> float:
    """The largest c in [0, 1] with |c v_j| <= bounds_j for all j, in floats too.

    >>> scale_into_box(np.array([1.0, 4.0]), np.array([2.0, 1.0]))
    0.25
    """
    size = np.abs(v)
    outside = size > bounds
    if not outside.any():
        return 1.0
    with np.errstate(all="ignore"):
        scale = float(np.min(bounds[outside] / size[outside]))
        while np.any(scale * size > bounds) and scale > 0.0:
            scale = float(np.nextafter(scale, 0.0))
    return scale


def penalised_part(regularizer: Any, v: np.ndarray) -> np.ndarray:
    """v without its component along the unpenalised directions, at which R* is finite.

    >>> from fenchel.regularizers import L1
    >>> penalised_part(L1(1.0, weights=[1.0, 0.0]), np.array([2.0, 3.0]))
    array([2., 0.])
    """
    find = getattr(regularizer, "unpenalised", None)
    N = None if find is None else find(v.size)
    return v if N is None else v - N @ (components(N, v))


def components(N: sp.csc_array, x: np.ndarray) -> np.ndarray:
    """The coordinates of x along the columns of N, which are orthogonal."""
    return (N.T @ x) / N.power(2).sum(axis=0)
