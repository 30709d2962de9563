"""Kernel problems whose loss is of several scores per row, or a measure of all scores.

A row is replaced by its coordinates in the span of the rows' images, Phi from a pivoted Cholesky factorisation K = Phi Phi' to
rounding errors. The problem is then a linear one with |w| = |f| which the solvers of its family solve; its coefficients are
turned into those of f = sum_j c_j k(x_j, .), and these are certified with K itself. Phi has n times the rank of K entries.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import solve_triangular

from fenchel.certificates.joint_kernel import MEASURES, VECTORS
from fenchel.data.accept import accept_vector
from fenchel.errors import IncompatibleError, InputError
from fenchel.kernel_methods.factor import factor
from fenchel.kernel_methods.problem import KernelProblem, arrays_of, make_gram
from fenchel.problems.measure import SetProblem
from fenchel.problems.scalar import Problem, _arrays
from fenchel.problems.vector import VectorProblem
from fenchel.regularizers import DEFAULT_ALPHA, L2

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import MatrixLike
    from fenchel.kernel_methods.kernel_function import Kernel


class JointKernelProblem(KernelProblem):
    """What the two kinds have in common."""

    pivots: np.ndarray

    def __init__(
        self, X: MatrixLike | None, y: ArrayLike | None = None, loss: Any = None,
        alpha: float | None = None, fit_intercept: bool = False, sample_weight: ArrayLike | None = None,
        kernel: Kernel = "rbf", kernel_params: Mapping[str, Any] | None = None, cache_size: float = 200.0,
        gram: Any = None, groups: ArrayLike | None = None,
    ):  # fmt: skip
        phi = self._embed(X, kernel, kernel_params or {}, cache_size, gram)
        self.alpha = L2(DEFAULT_ALPHA if alpha is None else alpha).alpha
        linear: Any = super(KernelProblem, self)  # VectorProblem or SetProblem
        linear.__init__(phi, y, loss, L2(self.alpha), None, fit_intercept, sample_weight, None, groups)

    def _embed(self, X: Any, kernel: Kernel, params: Mapping[str, Any], cache_size: float, gram: Any) -> np.ndarray:
        """Phi; the attributes of the kernel are set."""
        self.kernel, self.kernel_params = kernel, dict(params)
        self.gram = make_gram(X, kernel, self.kernel_params, cache_size) if gram is None else gram
        n, every = self.gram.n, np.arange(self.gram.n)
        phi, self.pivots, _ = factor(lambda i: self.gram.rows(i, i + 1, every)[0], self.gram.diagonal, 0.0, n)
        return phi

    def choices(self, solver: Any, remote: bool, tol: float) -> Any:
        """The solvers of the linear problem with the rows Phi."""
        from fenchel.solving.solve import choices_of

        if remote:
            raise IncompatibleError(
                "a KernelProblem is solved on one machine, because each row interacts with all others"
            )
        return choices_of(self, solver, False, tol)

    def kernel_coef(self, W: np.ndarray) -> np.ndarray:
        """The c of each f whose coordinates are a row of W: nonzero at the pivots only."""
        factor_rows = self.X[self.pivots]  # lower triangular
        C = np.zeros((W.shape[0], self.n))
        C[:, self.pivots] = solve_triangular(factor_rows, W.T, lower=True, trans="T", check_finite=False).T
        return C

    def part(self, a: int, b: int) -> Any:
        """InputError, as for every kernel problem."""
        return KernelProblem.part(self, a, b)

    @cached_property
    def digest(self) -> str:
        """sha256 of the rows (or the given matrix), the targets, the weights and all names and parameters."""
        digest = hashlib.sha256(b"fenchel joint kernel problem 1")
        for array in (*arrays_of(self.gram), *self._digest_parts(), self.weights, *_arrays(self.loss)):
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        kernel = self.kernel if isinstance(self.kernel, str) else getattr(self.kernel, "__qualname__", "")
        digest.update(repr((self.loss, self.alpha, self.has_intercept, kernel, self.kernel_params)).encode())
        return digest.hexdigest()

    __getstate__ = Problem.__getstate__
    settle = Problem.settle

    def __repr__(self) -> str:
        intercept = ", free intercepts" if self.has_intercept else ""
        return f"KernelProblem({self.n} rows, kernel {self.kernel!r}; {self.loss} + L2({self.alpha}){intercept})"


class KernelVectorProblem(JointKernelProblem, VectorProblem):
    """min over f_1 .. f_m, b of (1/S) sum_i s_i loss(f(x_i) + b, y_i) + alpha/2 sum_c |f_c|^2, the f_c in a kernel's space.

    Made by `KernelProblem` for a loss of `fenchel.multiclass`. Coefficients are an (m, n) matrix, a row for each f_c.
    """

    family = "vector"
    certifier = VECTORS

    def __init__(self, *arguments: Any, **named: Any):
        super().__init__(*arguments, **named)
        if self.own:
            raise InputError(
                f"loss {type(self.loss).__name__} is a custom one of several scores: kernels do not support those"
            )

    def with_regularizer(self, regularizer: Any) -> KernelVectorProblem:
        """The same rows with an L2 of another strength."""
        new = VectorProblem.with_regularizer(KernelProblem.with_regularizer(self, regularizer), regularizer)  # type: ignore[arg-type]
        assert isinstance(new, KernelVectorProblem)
        return new

    def present(self, w: np.ndarray, b: float) -> tuple[np.ndarray, Any]:
        """(C, a row for each f_c; intercepts) from a solver's variables."""
        W, intercept = VectorProblem.present(self, w, b)
        return self.kernel_coef(W), intercept

    def variables(self, coef: ArrayLike, intercept: ArrayLike = 0.0) -> tuple[np.ndarray, float]:
        """The inverse of `present`, with checks."""
        C = np.asarray(coef, dtype=np.float64)
        if C.shape != (self.outputs, self.n) or not np.isfinite(C).all():
            raise InputError(
                f"coef must be finite, with a row per score and an entry per row ({self.outputs} x {self.n})"
            )
        return VectorProblem.variables(self, C @ self.X, intercept)


class KernelMeasureProblem(JointKernelProblem, SetProblem):
    """min over f of measure(f(x_1), ..., f(x_n); y, groups) + alpha/2 |f|^2, f in the space of a kernel.

    Made by `KernelProblem` for a measure of `fenchel.measures`.
    """

    family = "set"
    certifier = MEASURES

    def present(self, w: np.ndarray, b: float) -> tuple[np.ndarray, Any]:
        """(c of f = sum_j c_j k(x_j, .), 0)."""
        return self.kernel_coef(w[None])[0], 0.0

    def variables(self, coef: ArrayLike, intercept: ArrayLike = 0.0) -> tuple[np.ndarray, float]:
        """The inverse of `present`, with checks."""
        return SetProblem.variables(self, accept_vector(coef, self.n, "coef") @ self.X, intercept)
