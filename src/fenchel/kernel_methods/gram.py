"""The Gram matrix K: given as a whole, or computed column by column and cached within a memory limit."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from fenchel import deadline
from fenchel.certificates.kernel import refuse_indefinite
from fenchel.data.accept import accept_matrix
from fenchel.data.row_blocks import slices
from fenchel.errors import InputError
from fenchel.kernel_methods.kernel_function import KernelFunction

if TYPE_CHECKING:
    from fenchel.data.types import MatrixLike

BLOCK = 256  # rows computed together
SMALL = 1000  # up to so many rows, a given matrix is factored to check that it is positive semidefinite


class Gram:
    """K_ij = k(x_i, x_j). Columns are computed on demand; the least recently used ones are evicted.

    >>> import numpy as np
    >>> gram = Gram(np.array([[0.0], [1.0], [3.0]]), KernelFunction("linear"))
    >>> store, slots = gram.columns(np.array([2]))
    >>> store[slots[0]]
    array([0., 3., 9.])
    """

    def __init__(self, X: MatrixLike, function: KernelFunction, megabytes: float = 200.0):
        if not megabytes > 0.0:
            raise InputError(f"cache_size must be a number of megabytes greater than 0, got {megabytes!r}")
        self.X, self.function = accept_matrix(X)[0], function
        self.n = self.X.shape[0]
        self.capacity = int(min(self.n, max(2, megabytes * 1e6 // (8 * self.n))))
        self.store = np.empty((0, self.n))
        self.slot: OrderedDict[int, int] = OrderedDict()
        self.diagonal = np.concatenate(
            [np.diagonal(function(self.X[a : a + BLOCK], self.X[a : a + BLOCK])) for a in range(0, self.n, BLOCK)]
        )
        require_diagonal(self.diagonal, "kernel")

    def columns(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(store, slots): column wanted[k] is store[slots[k]], until the next call. At most `capacity` at once."""
        missing = [int(i) for i in wanted if int(i) not in self.slot]
        for i in wanted:
            if int(i) in self.slot:
                self.slot.move_to_end(int(i))
        for some in slices(missing, self.n):
            deadline.check()
            for i, column in zip(some, self.function(self.X[some], self.X), strict=True):
                at = self._room(i)
                self.store[at] = column
        return self.store, np.array([self.slot[int(i)] for i in wanted], dtype=np.int64)

    def _room(self, i: int) -> int:
        """A slot for column i."""
        if len(self.slot) < self.capacity:
            at = len(self.slot)
            if at == self.store.shape[0]:  # memory is allocated as needed
                grown = np.empty((min(self.capacity, max(2 * at, BLOCK)), self.n))
                grown[:at] = self.store
                self.store = grown
        else:
            at = self.slot.popitem(last=False)[1]
        self.slot[i] = at
        return at

    def rows(self, start: int, stop: int, columns: np.ndarray) -> np.ndarray:
        """K[start:stop, columns], recomputed."""
        return self.function(self.X[start:stop], self.X[columns])


class GivenGram:
    """A Gram matrix that the user computed."""

    def __init__(self, K: MatrixLike, name: str = "X"):
        K = accept_matrix(K.toarray() if isinstance(K, (sp.sparray, sp.spmatrix)) else K, name)[0]
        if K.shape[0] != K.shape[1]:
            raise InputError(f"{name} must be a square Gram matrix with kernel='precomputed', got shape {K.shape}")
        precision = float(np.finfo(K.dtype).eps)
        self.store = np.ascontiguousarray(K, dtype=np.float64)
        self.n = self.capacity = K.shape[0]
        self.diagonal = self.store.diagonal().copy()
        require_diagonal(self.diagonal, f"the Gram matrix {name}")
        require_positive(self.store, self.diagonal, precision, name)

    def columns(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(store, slots): column wanted[k] is store[slots[k]]."""
        return self.store, np.asarray(wanted, dtype=np.int64)

    def rows(self, start: int, stop: int, columns: np.ndarray) -> np.ndarray:
        """K[start:stop, columns]."""
        return self.store[start:stop][:, columns]


def require_diagonal(diagonal: np.ndarray, what: str) -> None:
    """k(x, x) >= 0 for every row."""
    if (diagonal < 0.0).any():
        row = int(np.argmax(diagonal < 0.0))
        raise InputError(
            f"{what} is not positive semi-definite: its diagonal is {diagonal[row]:.6g} at row {row}. "
            "Use a kernel that is, or add a constant to the diagonal."
        )


def require_positive(K: np.ndarray, diagonal: np.ndarray, precision: float, name: str) -> None:
    """Symmetry, all 2 x 2 minors, and for small matrices a Cholesky factorisation, all up to rounding."""
    largest = float(diagonal.max()) or 1.0
    slack = 8.0 * precision * largest * K.shape[0] ** 0.5
    for start in range(0, K.shape[0], BLOCK):
        rows = K[start : start + BLOCK]
        apart = np.abs(rows - K[:, start : start + BLOCK].T)
        if apart.max() > slack + 1e-10 * np.abs(rows).max():
            i, j = np.unravel_index(int(apart.argmax()), apart.shape)
            a, b = rows[i, j], K[j, start + i]
            where = f"entry ({start + i}, {j}) is {a:.6g}, entry ({j}, {start + i}) is {b:.6g}"
            raise InputError(
                f"the Gram matrix {name} is not symmetric: {where}. Pass (K + K.T) / 2 if the difference is rounding."
            )
        bound = np.sqrt(diagonal[start : start + BLOCK, None] * diagonal) + slack
        if (np.abs(rows) > (1.0 + 1e-8) * bound).any():
            i, j = np.argwhere(np.abs(rows) > (1.0 + 1e-8) * bound)[0]
            refuse_indefinite(f"rows {start + i} and {j} have |K_ij| > sqrt(K_ii K_jj)", name)
    if K.shape[0] <= SMALL:
        try:
            np.linalg.cholesky(K + K.shape[0] * slack * np.eye(K.shape[0]))
        except np.linalg.LinAlgError:
            refuse_indefinite("it has a negative eigenvalue", name)
