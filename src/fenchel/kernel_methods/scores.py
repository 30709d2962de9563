"""Scores of new rows from the rows with nonzero coefficients, shared by estimators and models (bit-identical results)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.kernel_methods.kernel_function import Kernel, KernelFunction

if TYPE_CHECKING:
    from fenchel.data.types import Matrix


def kernel_scores(
    kernel: Kernel,
    params: Mapping[str, Any],
    X: Matrix,
    vectors: Matrix | None,
    support: np.ndarray,
    coef: np.ndarray,
    intercept: np.ndarray | float,
) -> np.ndarray:
    """sum_j coef_j k(x_j, x) + intercept over the rows j in `support`: (n,), or (n, k) if coef is (k, rows).

    With kernel="precomputed" X holds k(x, x_j) for all training rows x_j, and `vectors` is None.

    >>> x = np.array([[1.0], [3.0]])
    >>> kernel_scores("linear", {}, x, x[1:], np.array([1]), np.array([2.0]), 0.5)
    array([ 6.5, 18.5])
    """
    if isinstance(kernel, str) and kernel == "precomputed":
        K = (X if isinstance(X, np.ndarray) else X.toarray())[:, support]
    elif support.size and X.shape[0]:
        K = KernelFunction(kernel, params)(X, vectors)
    else:
        K = np.zeros((X.shape[0], support.size))
    z = K @ np.atleast_2d(coef).T
    return (z if coef.ndim == 2 else z[:, 0]) + intercept
