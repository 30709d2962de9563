"""Kernel functions: a name of scikit-learn's pairwise kernels, a callable, or "precomputed"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from fenchel.data.types import Matrix
from fenchel.errors import InputError, UnknownNameError

Kernel: TypeAlias = str | Callable[..., Any]


class KernelFunction:
    """k(A, B) for blocks of rows, as a float64 array of shape (len(A), len(B)).

    A callable takes two blocks, as in scikit-learn's `SVC`, not two rows.

    >>> import numpy as np
    >>> KernelFunction("polynomial", {"degree": 2, "gamma": 1.0, "coef0": 0.0})(np.eye(2), np.array([[3.0, 1.0]]))
    array([[9.],
           [1.]])
    """

    def __init__(self, kernel: Kernel = "rbf", params: Mapping[str, Any] | None = None):
        self.kernel, self.params = kernel, dict(params or {})
        if callable(kernel):
            return
        from sklearn.metrics.pairwise import KERNEL_PARAMS, kernel_metrics

        if not isinstance(kernel, str) or kernel not in kernel_metrics():
            raise UnknownNameError("kernel", kernel, [*kernel_metrics(), "precomputed"])
        unknown = sorted(set(self.params) - set(KERNEL_PARAMS[kernel]))
        if unknown:
            known = ", ".join(sorted(KERNEL_PARAMS[kernel])) or "none"
            raise InputError(f"kernel {kernel!r} has no parameter {unknown[0]!r}; its parameters: {known}")

    def __call__(self, A: Matrix, B: Matrix) -> np.ndarray:
        if callable(self.kernel):
            values = self.kernel(A, B, **self.params)
        else:
            from sklearn.metrics.pairwise import pairwise_kernels

            values = pairwise_kernels(A, B, metric=self.kernel, **self.params)
        values = values.toarray() if sp.issparse(values) else np.asarray(values)
        if values.shape != (A.shape[0], B.shape[0]):
            raise InputError(
                f"kernel returned an array of shape {values.shape} for blocks of {A.shape[0]} and {B.shape[0]} rows; "
                "it must take two blocks of rows and return one value per pair"
            )
        values = np.ascontiguousarray(values, dtype=np.float64)
        if not np.isfinite(values).all():
            raise InputError("kernel returned NaN or infinity: scale the features, or change its parameters")
        return values
