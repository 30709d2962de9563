"""Explicit features for a kernel, by pivoted incomplete Cholesky factorisation of the Gram matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fenchel.data.accept import accept_matrix
from fenchel.errors import InputError
from fenchel.estimators.kernel import kernel_params
from fenchel.estimators.parameters import documented, keep
from fenchel.estimators.plain_state import PlainState
from fenchel.estimators.saving import Saving
from fenchel.kernel_methods.factor import factor
from fenchel.kernel_methods.gram import BLOCK, require_diagonal
from fenchel.kernel_methods.kernel_function import KernelFunction
from fenchel.models.base import feature_names_of
from fenchel.models.kernel_features import KernelFeatures, cholesky_features

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import ArrayLike

    from fenchel.data.types import MatrixLike


@documented({})
class IncompleteCholesky(
    Saving[KernelFeatures], PlainState, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Features Phi with Phi Phi' ~ K and trace(K - Phi Phi') <= tolerance * trace(K), K the kernel matrix of the rows.

    Pivots are chosen greedily: the next one is the row with the largest diagonal entry of the residual K - Phi Phi'. The
    residual stays positive semidefinite, so that its trace bounds each of its entries. A linear model on Phi is the kernel
    model restricted to the span of the pivots, with the same regularizer: w'w = |f|^2.

    Parameters
    ----------
    kernel, gamma, degree, coef0, kernel_params : as in `fenchel.KernelClassifier` (not "precomputed").
    tolerance : the allowed trace error, as a fraction of trace(K).
    max_rank : maximum number of features; the tolerance may then not be reached (see trace_error_). None: no limit.

    Attributes
    ----------
    pivots_ : the chosen rows, in order; components_ holds their features.
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

    def fit(self, X: MatrixLike, y: ArrayLike | None = None) -> Self:
        """Choose the pivots."""
        self._fit_transform(X)
        return self

    def fit_transform(self, X: MatrixLike, y: ArrayLike | None = None) -> np.ndarray:
        """Choose the pivots and return the features of the rows."""
        return self._fit_transform(X)

    def transform(self, X: MatrixLike) -> np.ndarray:
        """L^-1 k(pivots, x) for every row x: shape (n, rank)."""
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        return cholesky_features(self.kernel, self.kernel_params_, X, self.components_, self.factor_)

    _model_class = KernelFeatures

    def _to_model(self) -> KernelFeatures:
        """The pivots and the factor as a model."""
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
                f"tolerance must be at least 0 and less than 1 (a fraction of trace(K)), got {self.tolerance!r}"
            )
        if self.max_rank is not None and not (isinstance(self.max_rank, (int, np.integer)) and self.max_rank >= 1):
            raise InputError(f"max_rank must be None or an integer of at least 1, got {self.max_rank!r}")
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise InputError("IncompleteCholesky needs a kernel, not a Gram matrix, because it also maps new rows")
        X = self._rows(X)
        params = kernel_params(self, X, None)
        function = KernelFunction(self.kernel, params)
        n = X.shape[0]
        diagonal = np.concatenate(
            [np.diagonal(function(X[a : a + BLOCK], X[a : a + BLOCK])) for a in range(0, n, BLOCK)]
        )
        require_diagonal(diagonal, "kernel")
        most = n if self.max_rank is None else min(n, int(self.max_rank))
        phi, pivots, rest = factor(lambda i: function(X[i : i + 1], X)[0], diagonal, float(self.tolerance), most)
        self.kernel_params_, self.pivots_ = params, pivots
        self.components_, self.factor_ = X[pivots], phi[pivots]
        self.trace_, self.trace_error_ = float(diagonal.sum()), float(rest.sum())
        return phi
