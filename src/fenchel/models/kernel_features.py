"""KernelFeatures: the model of a fitted IncompleteCholesky."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.data.dtypes import is_signed_integer
from fenchel.kernel_methods.kernel_function import KernelFunction
from fenchel.models.base import BaseModel, Rules, current_versions, name_rules
from fenchel.models.kernel import are_rows, plain_params
from fenchel.models.parts import model_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    import scipy.sparse as sp
    from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False)
class KernelFeatures(BaseModel):
    """L^-1 k(pivots, x) for every row x: the features of `fenchel.IncompleteCholesky`.

    Attributes
    ----------
    vectors : the rows that were chosen as pivots, dense or CSR; `pivots` holds their numbers among the training rows.
    factor : lower triangular L with L L' = K[pivots, pivots].
    kernel, kernel_params : a name of scikit-learn's pairwise kernels and its parameters.
    trace, trace_error : trace(K) of the training rows, and the part of it that the features do not explain.
    feature_names, versions : as in `fenchel.Model`.

    Examples
    --------
    >>> import fenchel
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> fitted = fenchel.IncompleteCholesky(gamma=1.0).fit(X)
    >>> bool((fitted.to_model().transform(X) == fitted.transform(X)).all())
    True
    """

    vectors: Any
    pivots: np.ndarray
    factor: np.ndarray
    kernel: str
    kernel_params: dict[str, Any]
    trace: float
    trace_error: float
    feature_names: tuple[str, ...] | None = None
    versions: dict[str, str] = field(default_factory=current_versions)

    kind = "features"
    is_kernel = True
    content = "features of a kernel"

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel_params", plain_params(self.kernel, self.kernel_params))
        super().__post_init__()

    def rules(self) -> Rules:
        """The conditions on the parts."""
        factor, rank = self.factor, self.factor.shape[0]
        yield (
            "factor must be a finite square float64 matrix",
            factor.shape == (rank, rank)
            and factor.dtype == np.float64
            and rank > 0
            and bool(np.isfinite(factor).all()),
        )
        yield (
            "factor must be lower triangular without zeros on its diagonal",
            not np.triu(factor, 1).any() and bool(factor.diagonal().all()),
        )
        yield "pivots must be as many integers", is_signed_integer(self.pivots) and self.pivots.shape == (rank,)
        yield "vectors must be finite rows of numbers, one per pivot", are_rows(self.vectors, rank)
        yield from name_rules(self.feature_names, self.d)
        KernelFunction(self.kernel, self.kernel_params)

    @property
    def d(self) -> int:
        """The number of features of an input row."""
        return self.vectors.shape[1]

    def transform(self, X: ArrayLike | sp.csr_matrix) -> np.ndarray:
        """The features of rows: (n, rank)."""
        return cholesky_features(self.kernel, self.kernel_params, model_rows(X, self.d), self.vectors, self.factor)


def cholesky_features(
    kernel: str | Callable[..., float],
    params: dict[str, Any],
    X: np.ndarray | sp.csr_matrix,
    vectors: np.ndarray | sp.csr_matrix,
    factor: np.ndarray,
) -> np.ndarray:
    """L^-1 k(pivots, x) for every row x. Estimator and model share this function, so that their results are bit-identical."""
    from scipy.linalg import solve_triangular

    if X.shape[0] == 0:
        return np.zeros((0, factor.shape[0]))
    K = KernelFunction(kernel, params)(vectors, X)
    return np.ascontiguousarray(solve_triangular(factor, K, lower=True).T)
