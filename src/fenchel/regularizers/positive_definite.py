"""Three storages of a symmetric positive definite K behind the same operations: K x, K^-1 x and (I + t K)^-1 x."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fenchel.errors import InputError
from fenchel.regularizers.numerics import Vector, quiet

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Matrix = Any  # a 1-D or 2-D array, or a sparse matrix
KEPT_FACTORS = 4  # a line search goes back and forth between a few steps


def checked_matrix(K: ArrayLike) -> Matrix:
    """A read-only float64 copy of K (1-D, 2-D, or CSC in canonical form), symmetric and finite; InputError otherwise.

    >>> checked_matrix([1, 2])
    array([1., 2.])
    """
    if sp.issparse(K):
        return _checked_sparse(K)
    try:
        array = np.array(K, dtype=np.float64) + 0.0
    except (TypeError, ValueError):
        raise InputError("K must be a real array: 1-D (diagonal), square 2-D or scipy.sparse.") from None
    if array.ndim not in (1, 2) or array.size == 0 or (array.ndim == 2 and array.shape[0] != array.shape[1]):
        raise InputError(f"K must be 1-D (diagonal) or square and not empty, got shape {array.shape}.")
    _require_finite(array)
    if array.ndim == 2:
        _require_symmetric(np.argwhere(array != array.T), array)
    array.flags.writeable = False
    return array


def _checked_sparse(K: Any) -> sp.csc_array:
    if K.ndim != 2 or K.shape[0] != K.shape[1] or K.shape[0] == 0:
        raise InputError(f"K must be square and not empty, got shape {K.shape}.")
    if np.issubdtype(K.dtype, np.complexfloating):
        raise InputError("K must be real, got a complex matrix.")
    matrix = sp.csc_array(K, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    _require_finite(matrix.data)
    difference = sp.coo_array(matrix - matrix.T)
    wrong = difference.data != 0.0
    _require_symmetric(np.column_stack([difference.row[wrong], difference.col[wrong]]), matrix)
    if matrix.nnz < np.iinfo(np.int32).max:  # SuperLU indexes with 32 bits
        matrix.indptr, matrix.indices = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return matrix


def _require_finite(entries: Vector) -> None:
    if not np.all(np.isfinite(entries)):
        raise InputError("K must be finite, but it has NaN or infinite entries.")


def _require_symmetric(wrong: NDArray[np.intp], K: Any) -> None:
    if len(wrong):
        i, j = (int(index) for index in wrong[0])
        message = f"K must be symmetric: K[{i}, {j}] = {K[i, j]} but K[{j}, {i}] = {K[j, i]}."
        raise InputError(f"{message} If the difference is rounding, pass (K + K.T) / 2.")


def _not_definite(reason: str) -> InputError:
    return InputError(f"K must be positive definite: {reason}. Adding a small multiple of the identity makes it so.")


class Diagonal:
    """K = diag(k).

    >>> Diagonal(np.array([2.0, 4.0])).solve(np.ones(2))
    array([0.5 , 0.25])
    """

    def __init__(self, k: Vector):
        bad = np.flatnonzero(k <= 0.0)
        if bad.size:
            raise _not_definite(f"K[{bad[0]}] = {k[bad[0]]} is not > 0")
        self.k = k

    def apply(self, x: Vector) -> Vector:
        """K x."""
        return self.k * x

    def solve(self, x: Vector) -> Vector:
        """K^-1 x."""
        return x / (self.k if x.ndim == 1 else self.k[:, None])

    def shifted_solve(self, x: Vector, t: float) -> Vector:
        """(I + t K)^-1 x."""
        return x / (1.0 + t * self.k)


class Dense:
    """K as a full matrix: Cholesky for solves, eigenvectors for the prox at any step.

    >>> Dense(np.array([[2.0, 0.0], [0.0, 4.0]])).solve(np.ones(2))
    array([0.5 , 0.25])
    """

    def __init__(self, K: Vector):
        from scipy.linalg import cho_factor

        self.K = K
        try:
            self._cholesky = cho_factor(K, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            raise _not_definite(f"its smallest eigenvalue is {np.linalg.eigvalsh(K)[0]:.6g}") from None

    @cached_property
    def _eigen(self) -> tuple[Vector, Vector]:
        values, vectors = np.linalg.eigh(self.K)
        return np.maximum(values, 0.0), vectors  # Cholesky succeeded, so a negative eigenvalue is rounding

    def apply(self, x: Vector) -> Vector:
        """K x."""
        return self.K @ x

    def solve(self, x: Vector) -> Vector:
        """K^-1 x."""
        from scipy.linalg import cho_solve

        return cho_solve(self._cholesky, x, check_finite=False)

    def shifted_solve(self, x: Vector, t: float) -> Vector:
        """(I + t K)^-1 x."""
        values, vectors = self._eigen
        shift = np.where(values > 0.0, t * values, 0.0)
        return vectors @ ((vectors.T @ x) / (1.0 + shift))


class Sparse:
    """K in CSC form: one symmetric-mode LU for solves, one more per prox step, the last few kept.

    >>> Sparse(sp.csc_array(np.diag([2.0, 4.0]))).solve(np.ones(2))
    array([0.5 , 0.25])
    """

    def __init__(self, K: sp.csc_array):
        self.K = K
        self._shifted: dict[float, Any] = {}
        self._lu = _symmetric_lu(K)
        # Without row exchanges P K P' = L U = L D L', and by Sylvester's law K is positive definite iff D > 0.
        if self._lu is None or np.any(self._lu.perm_r != self._lu.perm_c) or np.any(self._lu.U.diagonal() <= 0.0):
            raise _not_definite("its factorisation meets a pivot that is not > 0")

    def apply(self, x: Vector) -> Vector:
        """K x."""
        return self.K @ x

    def solve(self, x: Vector) -> Vector:
        """K^-1 x."""
        return self._lu.solve(x)

    @quiet
    def shifted_solve(self, x: Vector, t: float) -> Vector:
        """(I + t K)^-1 x, computed as (I/t + K)^-1 x/t for t > 1 so that no entry overflows."""
        lu = self._shifted.get(t)
        if lu is None:
            shift, weight = (1.0, t) if t <= 1.0 else (1.0 / t, 1.0)
            matrix = sp.csc_array(weight * self.K + shift * sp.eye_array(self.K.shape[0], format="csc"))
            lu = _symmetric_lu(matrix)
            # a new dictionary, never a changed one: threads may share this object
            self._shifted = dict([*self._shifted.items()][1 - KEPT_FACTORS :]) | {t: lu}
        return lu.solve(x if t <= 1.0 else x / t)


def _symmetric_lu(K: sp.csc_array) -> Any:
    from scipy.sparse.linalg import splu

    try:
        return splu(K, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:  # exactly singular
        return None


def form(K: Matrix) -> Diagonal | Dense | Sparse:
    """The operations for K by its storage; InputError unless K is positive definite.

    >>> type(form(np.ones(3))).__name__
    'Diagonal'
    """
    if sp.issparse(K):
        return Sparse(K)
    return Diagonal(K) if K.ndim == 1 else Dense(K)
