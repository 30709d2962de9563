"""KernelProblem: a Problem in the feature space of a kernel, whose features are never computed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from fenchel import losses
from fenchel.compile.dispatch import compilable
from fenchel.errors import InputError
from fenchel.kernel_methods.gram import GivenGram, Gram
from fenchel.kernel_methods.kernel_function import Kernel, KernelFunction
from fenchel.problems.families import family_of
from fenchel.problems.scalar import Problem
from fenchel.regularizers import DEFAULT_ALPHA, L2

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import MatrixLike
    from fenchel.problems.kinds_of_loss import AnyLoss


class KernelProblem(Problem):
    """min over f, b of (1/S) sum_i s_i loss(f(x_i) + b, y_i) + alpha/2 |f|^2, f in the kernel's space.

    f = sum_j c_j k(x_j, .), so f(x_i) = (K c)_i and |f|^2 = c'Kc. The dual is that of the linear problem with K for
    X X': D(u) = -sum p loss*(u) - (p u)'K(p u) / (2 alpha), and c = -(p u) / alpha. A certificate rests on K being positive
    semidefinite: a given matrix is checked as far as that is inexpensive, and the solver raises an error at negative curvature.

    Parameters
    ----------
    X : rows, dense or sparse; with kernel="precomputed" the n x n Gram matrix.
    y, loss, alpha, fit_intercept, sample_weight : as in `fenchel.Problem`.
    kernel : a name of `sklearn.metrics.pairwise.pairwise_kernels`, a callable k(A, B) of two blocks of rows that returns
        the matrix of values, or "precomputed".
    kernel_params : the kernel's own parameters, such as {"gamma": 0.5}.
    cache_size : megabytes for cached columns of K.
    gram : columns to share with another problem on the same rows and kernel, instead of X.
    groups : the query of each row, for measures of each query.

    A loss of `fenchel.multiclass` makes a problem with an f for each score (coefficients are then a matrix with a row for
    each), a measure of `fenchel.measures` one whose loss is of the scores of all rows. Both are solved with a factor of the
    Gram matrix, n times its rank numbers, made here; their certificates rest on the matrix itself.

    Examples
    --------
    >>> import fenchel
    >>> from fenchel.kernel_methods import KernelProblem
    >>> problem = KernelProblem([[0.0], [1.0], [2.0]], [1, -1, 1], loss="hinge", alpha=0.1, kernel="rbf")
    >>> fenchel.solve(problem).status.name
    'CERTIFIED'
    >>> areas = KernelProblem([[0.0], [1.0], [2.0]], [1, -1, 1], loss="roc_area", alpha=0.1, kernel="rbf")
    >>> fenchel.solve(areas).status.name
    'CERTIFIED'
    """

    family = "kernel"
    is_scalar, is_kernel, is_linear = False, True, False

    def __new__(cls, X: Any = None, y: Any = None, loss: Any = "hinge", *args: Any, **kwargs: Any) -> KernelProblem:
        """Create a problem of the class for the loss."""
        family = family_of(loss) if cls is KernelProblem else "scalar"
        if family == "scalar":
            return object.__new__(cls)
        from fenchel.kernel_methods import joint

        classes: dict[str, type[KernelProblem]] = {
            "vector": joint.KernelVectorProblem,
            "set": joint.KernelMeasureProblem,
        }
        if family not in classes:
            raise InputError(f"{type(loss).__name__} has structured outputs, whose features have no kernel here")
        return object.__new__(classes[family])

    def __init__(
        self, X: MatrixLike | None, y: ArrayLike | None = None, loss: str | AnyLoss = "hinge",
        alpha: float | None = None, fit_intercept: bool = False, sample_weight: ArrayLike | None = None,
        kernel: Kernel = "rbf", kernel_params: Mapping[str, Any] | None = None, cache_size: float = 200.0,
        gram: Gram | GivenGram | None = None, groups: ArrayLike | None = None,
    ):  # fmt: skip
        if groups is not None:
            raise InputError(f"groups are only for measures (fenchel.measures); loss {loss!r} is a sum over rows")
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

    def choices(self, solver: Any, remote: bool, tol: float) -> Any:
        """The solvers that `fenchel.solve` tries."""
        from fenchel.kernel_methods.ascent import kernel_choices

        return kernel_choices(solver, remote)

    def with_regularizer(self, regularizer: Any) -> KernelProblem:
        """The same rows with an L2 of another strength; they share the columns of K."""
        if type(regularizer) is not L2 or regularizer.weights is not None:
            raise InputError(
                f"the regularizer of a kernel problem is alpha/2 |f|^2, got {regularizer!r}: pass L2(alpha)"
            )
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__ | {"regularizer": regularizer, "alpha": regularizer.alpha})
        new.__dict__.pop("digest", None)
        return new

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
        """InputError: the rows of a kernel problem cannot be distributed, because each interacts with all others."""
        raise InputError("the rows of a KernelProblem cannot be distributed over workers: solve it on one machine")

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"compiled_loss": None}

    def settle(self) -> None:
        """After unpickling, prepare the loss for compilation."""
        self.__dict__["compiled_loss"] = compilable(self.loss)

    def __repr__(self) -> str:
        intercept = ", free intercept" if self.fit_intercept else ""
        return f"KernelProblem({self.n} rows, kernel {self.kernel!r}; {self.loss} + L2({self.alpha}){intercept})"


def arrays_of(gram: Gram | GivenGram) -> list[np.ndarray]:
    """The data from which K is computed."""
    if isinstance(gram, GivenGram):
        return [gram.store]
    X = gram.X
    return [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]


def make_gram(X: MatrixLike, kernel: Kernel, params: Mapping[str, Any], cache_size: float) -> Gram | GivenGram:
    """Columns of K, computed or given."""
    if isinstance(kernel, str) and kernel == "precomputed":
        if params:
            raise InputError(f"kernel='precomputed' has no parameters, got {sorted(params)}")
        return GivenGram(X)
    return Gram(X, KernelFunction(kernel, params), cache_size)
