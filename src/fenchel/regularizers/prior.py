"""The prior weights of the two entropies: absent, one number for all, or one number per feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.errors import InputError
from fenchel.regularizers.numerics import positive, quiet

Prior = float | NDArray[np.float64] | None


def checked_prior(prior: Any) -> Prior:
    """None, a float > 0, or a read-only copy of a 1-D array > 0; InputError otherwise.

    >>> checked_prior([1, 2])
    array([1., 2.])
    """
    if prior is None:
        return None
    if np.ndim(prior) == 0:
        return positive("prior", prior)
    try:
        array = np.array(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"prior must be None, a number > 0 or a 1-D array of them, got {prior!r}.") from None
    if array.ndim != 1:
        raise InputError(f"prior must be one number or a 1-D array, got an array of shape {array.shape}.")
    bad = np.flatnonzero(~((array > 0.0) & np.isfinite(array)))
    if bad.size:
        raise InputError(f"prior must be > 0 and finite; prior[{bad[0]}] is {array[bad[0]]}.")
    array.flags.writeable = False
    return array


def fit_prior(prior: Prior, dim: int) -> None:
    """Raise InputError unless the prior has one number, or one per feature.

    >>> fit_prior(None, 3)
    """
    if isinstance(prior, np.ndarray) and prior.shape != (dim,):
        raise InputError(f"prior has {prior.size} entries but there are {dim} features; give one per feature.")


def resolve_prior(prior: Prior, default: float, dim: int) -> NDArray[np.float64]:
    """The prior of each of `dim` features.

    >>> resolve_prior(None, 0.5, 2)
    array([0.5, 0.5])
    """
    fit_prior(prior, dim)
    return prior if isinstance(prior, np.ndarray) else np.full(dim, default if prior is None else prior)


@quiet
def relative_entropy(w: NDArray[np.float64], p: NDArray[np.float64], log_p: NDArray[np.float64]) -> float:
    """sum_j (w_j ln(w_j / p_j) - w_j + p_j) for w >= 0, accurate near w = p and for ratios that are no floats.

    >>> p = np.array([0.5, 0.5])
    >>> relative_entropy(p, p, np.log(p))
    0.0
    """
    # Near p the terms are of second order in delta: log1p keeps their rounding at eps delta instead of eps.
    delta = (w - p) / p
    near = p * ((1.0 + delta) * np.log1p(delta) - delta)
    far = np.where(w > 0.0, w * (np.log(w) - log_p), 0.0) - w + p
    return float(np.sum(np.maximum(np.where(np.abs(delta) < 0.5, near, far), 0.0)))
