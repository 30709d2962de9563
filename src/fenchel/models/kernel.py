"""KernelModel: a fitted model with a kernel, for predictions, saving and verification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from fenchel.data.accept import fault
from fenchel.data.dtypes import is_signed_integer
from fenchel.errors import InputError
from fenchel.kernel_methods.kernel_function import KernelFunction
from fenchel.kernel_methods.scores import kernel_scores
from fenchel.models.base import Rules, current_versions, good_names, name_rules, score_rules, solve_rules
from fenchel.models.parts import model_rows
from fenchel.models.scored import Certified, weights_and_intercepts
from fenchel.problems.families import family_of
from fenchel.regularizers import L2
from fenchel.result import Certificate, Result, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False)
class KernelModel(Certified):
    """f(x) = sum_j coef_j k(x_j, x) + intercept over the rows x_j with nonzero coefficients, with its certificate.

    Attributes
    ----------
    coef, intercept : (s,) and a float; for k scores (one-vs-rest, or a loss of several scores), (k, s) and (k,).
    support : indices of the s training rows with nonzero coefficients, ascending; `vectors` has their features, dense or CSR.
    kernel, kernel_params : a name of scikit-learn's pairwise kernels and its parameters, numbers. With "precomputed" there
        are no vectors, and predictions take rows of k(x, x_j) for all n training rows.
    loss, regularizer, fit_intercept : the problem that was solved; the regularizer is L2(alpha) in the norm of the kernel.
    labels : (label of negative scores, label of positive scores), or one per score; None for regression.
    certificates, statuses, tol, solvers, digests, n, weighted, dual_points, feature_names, versions : as in `fenchel.Model`.

    Examples
    --------
    >>> import fenchel
    >>> from fenchel.kernel_methods import KernelProblem
    >>> problem = KernelProblem([[0.0], [1.0], [2.0]], [1, -1, 1], loss="hinge", alpha=0.1, kernel="rbf")
    >>> model = KernelModel.from_result(fenchel.solve(problem), labels=("no", "yes"))
    >>> model.predict([[0.0], [1.0]]).tolist(), model.status.name
    (['yes', 'no'], 'CERTIFIED')
    """

    coef: np.ndarray
    intercept: Any
    support: np.ndarray
    vectors: Any
    kernel: str
    kernel_params: dict[str, Any]
    loss: Any
    regularizer: Any
    fit_intercept: bool
    labels: tuple[Any, ...] | None
    certificates: tuple[Certificate, ...]
    statuses: tuple[Status, ...]
    tol: float
    solvers: tuple[str, ...]
    digests: tuple[str | None, ...]
    n: int
    weighted: bool = False
    dual_points: Any = field(default=None, repr=False)
    feature_names: tuple[str, ...] | None = None
    target: str | None = None
    dropped: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=current_versions)

    kind = "kernel"
    is_kernel = True
    thresholds = None
    constant = None
    index_base = None
    offset = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel_params", plain_params(self.kernel, self.kernel_params))
        super().__post_init__()

    def rules(self) -> Rules:
        """The conditions on the parts."""
        yield (
            "vectors must be finite rows of numbers, one per row of support; None with a precomputed kernel",
            (self.vectors is None) == (self.kernel == "precomputed")
            and (self.vectors is None or are_rows(self.vectors, self.support.size)),
        )
        k, coef, support = self.k, self.coef, self.support
        yield from score_rules(coef, self.intercept, k, "s")
        yield "coef must have an entry per row of support", coef.shape[-1] == support.size
        yield "n must be at least 1", self.n >= 1
        yield (
            "support must be distinct row numbers below n, ascending",
            support.ndim == 1
            and is_signed_integer(support)
            and bool(((support >= 0) & (support < self.n)).all() and (np.diff(support) > 0).all()),
        )
        joint = self.is_vector
        yield "the loss must be a loss of one or of several scores per row", joint or family_of(self.loss) == "scalar"
        yield "a loss of several scores needs a row of coef for each", not joint or coef.ndim == 2
        yield (
            "labels must be None or as many distinct numbers or strings as there are classes",
            k == 1 if self.labels is None else good_names(self.labels, k if k > 1 else 2),
        )
        yield from solve_rules(self, 1 if joint else k)
        yield "the regularizer must be L2", isinstance(self.regularizer, L2)
        yield (
            "dual_points must be None or have an entry per row",
            self.dual_points is None
            or self.dual_points.shape == ((self.n, k) if joint else (*coef.shape[:-1], self.n)),
        )
        yield from name_rules(self.feature_names, self.d)
        if self.kernel != "precomputed":
            KernelFunction(self.kernel, self.kernel_params)
        yield (
            f"kernel='precomputed' has no parameters, got {sorted(self.kernel_params)}",
            self.kernel != "precomputed" or not self.kernel_params,
        )

    @classmethod
    def _weights_of(cls, results: Sequence[Result]) -> dict[str, Any]:
        problem: Any = results[0].problem
        if not problem.is_kernel:
            raise InputError(
                "KernelModel is for the Result of a KernelProblem; fenchel.Model is for those of a Problem"
            )
        coef, intercept = weights_and_intercepts(results)
        support, X = np.flatnonzero(np.atleast_2d(coef).any(axis=0)), getattr(problem.gram, "X", None)
        return {
            "coef": np.ascontiguousarray(coef[..., support]),
            "intercept": intercept,
            "support": support,
            "vectors": None if X is None else X[support],
            "kernel": problem.kernel,
            "kernel_params": problem.kernel_params,
        }

    @property
    def d(self) -> int:
        """The number of features of a row; with a precomputed kernel the number of training rows."""
        return self.n if self.vectors is None else self.vectors.shape[1]

    def facts(self) -> dict[str, Any]:
        """Facts about the data, as text."""
        kernel = f"{self.kernel!r} {self.kernel_params or ''}".strip()
        return super().facts() | {"Kernel": kernel, "Rows with nonzero coefficients": self.support.size}

    @property
    def is_vector(self) -> bool:
        """Whether the loss is of several scores: one problem for all of them."""
        return family_of(self.loss) == "vector"

    @property
    def full_coef(self) -> np.ndarray:
        """The coefficients of all n training rows, (n,) or (k, n), for `fenchel.certify`."""
        full = np.zeros((*self.coef.shape[:-1], self.n))
        full[..., self.support] = self.coef
        return full

    def scores(self, X: ArrayLike | sp.csr_matrix) -> np.ndarray:
        """f(x) + intercept for every row: (n,), or (n, k) for k scores."""
        rows = model_rows(X, self.d)
        return kernel_scores(
            self.kernel, self.kernel_params, rows, self.vectors, self.support, self.coef, self.intercept
        )


def plain_params(kernel: str | Callable[..., float], params: Mapping[str, Any]) -> dict[str, Any]:
    """The kernel's parameters as plain numbers; InputError for a callable kernel."""
    if not isinstance(kernel, str):
        raise InputError(
            f"the kernel is a function ({getattr(kernel, '__name__', kernel)!r}), and a model contains no "
            "executable code: name one of scikit-learn's kernels, or compute the Gram matrix and use kernel='precomputed'"
        )
    plain = {key: value.item() if isinstance(value, np.generic) else value for key, value in params.items()}
    for key, value in plain.items():
        if not isinstance(value, (int, float, type(None))):
            raise InputError(f"parameter {key!r} of kernel {kernel!r} must be a number to be saved, got {value!r}")
    return plain


def are_rows(vectors: Any, count: int) -> bool:
    """Whether it is a valid matrix of finite numbers with so many rows, dense or CSR."""
    if vectors.ndim != 2 or vectors.shape[0] != count or vectors.shape[1] < 1:
        return False
    if vectors.dtype not in (np.float32, np.float64):
        return False
    if sp.issparse(vectors):
        return vectors.format == "csr" and not fault(vectors) and bool(np.isfinite(vectors.data).all())
    return bool(np.isfinite(vectors).all())
