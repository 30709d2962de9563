"""KernelProblem: a Problem whose features are those of a kernel, never written down."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel import losses
from fenchel.compile.dispatch import compilable
from fenchel.errors import InputError
from fenchel.kernel_methods.gram import GivenGram, Gram
from fenchel.kernel_methods.kernel_function import KernelFunction
from fenchel.problems.scalar import Problem
from fenchel.regularizers import DEFAULT_ALPHA, L2


class KernelProblem(Problem):
    """min over f, b of (1/S) sum_i s_i loss(f(x_i) + b, y_i) + alpha/2 |f|^2, f in the kernel's space.

    f = sum_j c_j k(x_j, .), so f(x_i) = (K c)_i and |f|^2 = c'Kc. The dual is that of the linear problem with K for
    X X': D(u) = -sum p loss*(u) - (p u)'K(p u) / (2 alpha), and c = -(p u) / alpha. A certificate rests on K being positive
    semi-definite: a given matrix is checked as far as that is cheap, and the solver refuses negative curvature.

    Parameters
    ----------
    X : rows, dense or sparse; with kernel="precomputed" the n x n Gram matrix.
    y, loss, alpha, fit_intercept, sample_weight : as in `fenchel.Problem`.
    kernel : a name of `sklearn.metrics.pairwise.pairwise_kernels`, a callable k(A, B) of two blocks of rows that returns
        the matrix of values, or "precomputed".
    kernel_params : the kernel's own parameters, such as {"gamma": 0.5}.
    cache_size : megabytes for kept columns of K.
    gram : columns to share with another problem on the same rows and kernel, instead of X.

    Examples
    --------
    >>> import fenchel
    >>> from fenchel.kernel_methods import KernelProblem
    >>> problem = KernelProblem([[0.0], [1.0], [2.0]], [1, -1, 1], loss="hinge", alpha=0.1, kernel="rbf")
    >>> fenchel.solve(problem).status.name
    'CERTIFIED'
    """

    family = "kernel"
    is_scalar, is_kernel, is_linear = False, True, False

    def __init__(
        self, X: Any, y: Any = None, loss: Any = "hinge", alpha: float | None = None, fit_intercept: bool = False,
        sample_weight: Any = None, kernel: Any = "rbf", kernel_params: Mapping[str, Any] | None = None,
        cache_size: float = 200.0, gram: Gram | GivenGram | None = None,
    ):  # fmt: skip
        self.loss = losses.make(loss)
        self.regularizer = L2(DEFAULT_ALPHA if alpha is None else alpha)
        self.alpha = self.regularizer.alpha
        self.fit_intercept = bool(fit_intercept)
        self.kernel, self.kernel_params = kernel, dict(kernel_params or {})
        self.gram = make_gram(X, kernel, self.kernel_params, cache_size) if gram is None else gram
        self.n = self.d = self.gram.n
        self.y = self._accept_targets(y)
        self.weights, self.total_weight = self._accept_weights(sample_weight)
        self.has_offset = False
        self.offset = np.zeros(self.n)
        losses.check_foreign(self.loss, self.some_targets())
        self.compiled_loss = compilable(self.loss)
        self._frozen = True

    def choices(self, solver: Any, remote: bool) -> Any:
        """The solvers that `fenchel.solve` tries."""
        from fenchel.kernel_methods.ascent import kernel_choices

        return kernel_choices(solver, remote)

    @cached_property
    def digest(self) -> str:
        """sha256 of the rows (or the given matrix), the targets, the weights and all names and parameters."""
        digest = hashlib.sha256(b"fenchel kernel problem 2")
        for array in (*arrays_of(self.gram), self.y, self.weights):
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        kernel = self.kernel if isinstance(self.kernel, str) else getattr(self.kernel, "__qualname__", "")
        digest.update(repr((self.loss, self.alpha, self.fit_intercept, kernel, self.kernel_params)).encode())
        return digest.hexdigest()

    def part(self, a: int, b: int) -> Problem:
        """Rows of a kernel problem cannot be taken apart: each has to do with all others."""
        raise InputError("the rows of a KernelProblem cannot be spread over workers: solve it on one machine")

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"compiled_loss": None}

    def settle(self) -> None:
        """After a journey: the loss is made ready to be compiled."""
        self.__dict__["compiled_loss"] = compilable(self.loss)

    def __repr__(self) -> str:
        intercept = ", free intercept" if self.fit_intercept else ""
        return f"KernelProblem({self.n} rows, kernel {self.kernel!r}; {self.loss} + L2({self.alpha}){intercept})"


def arrays_of(gram: Gram | GivenGram) -> list[np.ndarray]:
    """What K is computed from."""
    if isinstance(gram, GivenGram):
        return [gram.store]
    X = gram.X
    return [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]


def make_gram(X: Any, kernel: Any, params: Mapping[str, Any], cache_size: float) -> Gram | GivenGram:
    """Columns of K, computed or given."""
    if isinstance(kernel, str) and kernel == "precomputed":
        if params:
            raise InputError(f"kernel='precomputed' has no parameters, got {sorted(params)}")
        return GivenGram(X)
    return Gram(X, KernelFunction(kernel, params), cache_size)
