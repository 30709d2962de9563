"""The weights c_j >= 0 of the features in a penalty: absent (all 1), or one number per feature; 0 = not penalised."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fenchel.errors import InputError

Weights = NDArray[np.float64] | None


def checked_vector(name: str, given: Any) -> NDArray[np.float64]:
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


def checked_weights(weights: Any, name: str = "weights") -> Weights:
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


def fit_vector(name: str, given: Any, dim: int) -> None:
    """Raise InputError unless `given` is None or has one entry per feature.

    >>> fit_vector("weights", None, 3)
    """
    if given is not None and given.shape != (dim,):
        raise InputError(f"{name} has {given.size} entries but there are {dim} features; give one per feature.")


def fit_weights(weights: Weights, dim: int) -> None:
    """Raise InputError unless there is one weight > 0 per feature.

    A feature of weight 0 asks for dual points with v_j = 0, which the certificate does not make yet: it is refused rather
    than solved without a useful lower bound.

    >>> fit_weights(np.array([1.0, 2.0]), 2)
    """
    fit_vector("weights", weights, dim)
    if weights is not None and not weights.all():
        j = int(np.argmin(weights))
        raise InputError(
            f"weights[{j}] is 0: a problem with a feature that is not penalised has no useful lower bound here yet; give "
            "the feature a small weight, or pass it as the intercept if it is constant."
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
