"""Scores of new rows from the rows that carry weight: one place, so that estimators and models agree to the last bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.kernel_methods.kernel_function import KernelFunction


def kernel_scores(
    kernel: Any, params: Mapping[str, Any], X: Any, vectors: Any, support: np.ndarray, coef: np.ndarray, intercept: Any
) -> np.ndarray:
    """sum_j coef_j k(x_j, x) + intercept over the rows j in `support`: (n,), or (n, k) if coef is (k, rows).

    With kernel="precomputed" X holds k(x, x_j) for all training rows x_j, and `vectors` is None.

    >>> x = np.array([[1.0], [3.0]])
    >>> kernel_scores("linear", {}, x, x[1:], np.array([1]), np.array([2.0]), 0.5)
    array([ 6.5, 18.5])
    """
    if isinstance(kernel, str) and kernel == "precomputed":
        K = (X.toarray() if sp.issparse(X) else X)[:, support]
    elif support.size and X.shape[0]:
        K = KernelFunction(kernel, params)(X, vectors)
    else:
        K = np.zeros((X.shape[0], support.size))
    z = K @ np.atleast_2d(coef).T
    return (z if coef.ndim == 2 else z[:, 0]) + intercept
