"""A kernel made linear: pivoted incomplete Cholesky factorisation of the Gram matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fenchel.data.accept import accept_matrix
from fenchel.errors import InputError
from fenchel.estimators.kernel import kernel_params
from fenchel.estimators.parameters import documented, keep
from fenchel.estimators.plain_state import PlainState
from fenchel.estimators.saving import Saving
from fenchel.kernel_methods.gram import BLOCK, refuse_indefinite, require_diagonal
from fenchel.kernel_methods.kernel_function import KernelFunction
from fenchel.models.base import feature_names_of
from fenchel.models.kernel_features import KernelFeatures, cholesky_features

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import ArrayLike

ROUNDING = 1e-8  # a residual below minus this share of the largest diagonal is not rounding


@documented({})
class IncompleteCholesky(
    Saving[KernelFeatures], PlainState, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Features Phi with Phi Phi' ~ K and trace(K - Phi Phi') <= tolerance * trace(K), K the kernel matrix of the rows.

    One row after another becomes a pivot, always the one whose k(x, x) is worst explained so far; the residual
    K - Phi Phi' stays positive semi-definite, so its trace bounds every entry of it. A linear model on Phi is then the
    kernel model restricted to the span of the pivots: the regularizer is the same, w'w = |f|^2.

    Parameters
    ----------
    kernel, gamma, degree, coef0, kernel_params : as in `fenchel.KernelClassifier` (not "precomputed").
    tolerance : the trace error that is allowed, as a share of trace(K).
    max_rank : at most so many features; the tolerance may then be missed (see trace_error_). None: as many as needed.

    Attributes
    ----------
    pivots_ : rows that were chosen, in order; components_ holds their features.
    trace_error_, trace_ : trace(K - Phi Phi') and trace(K) of the training rows.
    factor_ : lower triangular L with L L' = K[pivots, pivots]; a row's features are L^-1 k(pivots, x).

    Examples
    --------
    >>> import numpy as np, fenchel
    >>> from sklearn.pipeline import make_pipeline
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> model = make_pipeline(IncompleteCholesky(gamma=1.0, tolerance=1e-6), fenchel.Regressor(alpha=1e-3))
    >>> bool(model.fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.99), model[0].pivots_.size < 30
    (True, True)
    """

    def __init__(
        self, kernel="rbf", gamma="scale", degree=3, coef0=0.0, kernel_params=None, tolerance=1e-6, max_rank=None
    ):
        keep(self, locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def fit(self, X, y=None):
        """Choose the pivots."""
        self._fit_transform(X)
        return self

    def fit_transform(self, X, y=None):
        """Choose the pivots and return the features of the rows."""
        return self._fit_transform(X)

    def transform(self, X):
        """L^-1 k(pivots, x) for every row x: shape (n, rank)."""
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        return cholesky_features(self.kernel, self.kernel_params_, X, self.components_, self.factor_)

    _model_class = KernelFeatures

    def _to_model(self) -> KernelFeatures:
        """The pivots and the factor without the estimator around them."""
        return KernelFeatures(
            vectors=self.components_, pivots=self.pivots_, factor=self.factor_, kernel=self.kernel,
            kernel_params=self.kernel_params_, trace=self.trace_, trace_error=self.trace_error_,
            feature_names=feature_names_of(self),
        )  # fmt: skip

    @classmethod
    def _is_own(cls, model: KernelFeatures) -> bool:
        return True

    @classmethod
    def _parameters_of(cls, model: KernelFeatures) -> dict[str, Any]:
        return {"kernel": model.kernel, "kernel_params": model.kernel_params}

    def _restore(self, model: KernelFeatures) -> None:
        self._restore_names(model.feature_names, model.d)
        self.components_, self.pivots_, self.factor_ = model.vectors, model.pivots, model.factor
        self.kernel_params_, self.trace_, self.trace_error_ = model.kernel_params, model.trace, model.trace_error

    @property
    def _n_features_out(self) -> int:
        return int(self.pivots_.size)

    def _rows(self, X: ArrayLike | sp.csr_matrix, reset: bool = True) -> Any:
        found = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False, reset=reset
        )
        return accept_matrix(found)[0]

    def _fit_transform(self, X: np.ndarray | sp.csr_matrix) -> np.ndarray:
        if not (np.isreal(self.tolerance) and 0.0 <= float(self.tolerance) < 1.0):
            raise InputError(
                f"tolerance must be at least 0 and less than 1 (a share of trace(K)), got {self.tolerance!r}"
            )
        if self.max_rank is not None and not (isinstance(self.max_rank, (int, np.integer)) and self.max_rank >= 1):
            raise InputError(f"max_rank must be None or an integer of at least 1, got {self.max_rank!r}")
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise InputError("IncompleteCholesky needs the kernel itself, not a Gram matrix: it must map new rows too")
        X = self._rows(X)
        params = kernel_params(self, X, None)
        function = KernelFunction(self.kernel, params)
        n = X.shape[0]
        diagonal = np.concatenate(
            [np.diagonal(function(X[a : a + BLOCK], X[a : a + BLOCK])) for a in range(0, n, BLOCK)]
        )
        require_diagonal(diagonal, "kernel")
        most = n if self.max_rank is None else min(n, int(self.max_rank))
        phi, pivots, rest = factor(function, X, diagonal, float(self.tolerance), most)
        self.kernel_params_, self.pivots_ = params, pivots
        self.components_, self.factor_ = X[pivots], phi[pivots]
        self.trace_, self.trace_error_ = float(diagonal.sum()), float(rest.sum())
        return phi


def factor(
    function: KernelFunction, X: np.ndarray | sp.csr_matrix, diagonal: np.ndarray, tolerance: float, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(Phi, pivots, diagonal of K - Phi Phi')."""
    n, goal, largest = diagonal.size, tolerance * float(diagonal.sum()), float(diagonal.max())
    phi, rest = np.zeros((n, min(most, 64))), diagonal.copy()
    pivots: list[int] = []
    floor = n * np.finfo(float).eps * largest  # what is left below this is rounding
    while len(pivots) < most:
        k, i = len(pivots), int(rest.argmax())
        if (rest.sum() <= goal or rest[i] <= floor) and k > 0:
            break
        if k == phi.shape[1]:
            phi = np.hstack([phi, np.zeros((n, min(most, 2 * k) - k))])
        column = function(X[i : i + 1], X)[0] - phi[:, :k] @ phi[i, :k]
        root = np.sqrt(rest[i]) if rest[i] > 0.0 else 1.0
        phi[:, k] = column / root
        phi[i, k] = root
        phi[np.array(pivots, dtype=np.intp), k] = 0.0  # exact: earlier pivots are explained already
        rest -= phi[:, k] ** 2
        pivots.append(i)
        rest[pivots] = 0.0
        if rest.min() < -ROUNDING * largest:
            refuse_indefinite(f"the residual of row {int(rest.argmin())} is {rest.min():.3g}")
        np.maximum(rest, 0.0, out=rest)
    return np.ascontiguousarray(phi[:, : len(pivots)]), np.array(pivots, dtype=np.int64), rest
