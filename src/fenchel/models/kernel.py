"""KernelModel: what a fit with a kernel leaves behind, ready to predict, to be written to a file and to be verified again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.data.accept import fault
from fenchel.data.dtypes import is_signed_integer
from fenchel.errors import InputError
from fenchel.kernel_methods.kernel_function import KernelFunction
from fenchel.kernel_methods.scores import kernel_scores
from fenchel.measures import is_measure
from fenchel.models.check import good_names
from fenchel.models.model import Scored, current_versions, plain_label
from fenchel.models.parts import model_rows
from fenchel.multiclass import is_vector_loss
from fenchel.regularizers import L2
from fenchel.result import Certificate, Result, Status


@dataclass(frozen=True, eq=False)
class KernelModel(Scored):
    """f(x) = sum_j coef_j k(x_j, x) + intercept over the rows x_j that carry weight, with its certificate.

    Attributes
    ----------
    coef, intercept : (s,) and a float; of k scores, one against the rest each, (k, s) and (k,).
    support : which of the n training rows carry weight, s of them, ascending; `vectors` has their features, dense or CSR.
    kernel, kernel_params : a name of scikit-learn's pairwise kernels and its parameters, numbers. With "precomputed" there
        are no vectors, and rows to be predicted are rows of k(x, x_j) for all n training rows.
    loss, regularizer, fit_intercept : the problem that was solved; the regularizer is L2(alpha), the norm that of the kernel.
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

    family = "kernel"
    is_kernel = True
    thresholds = None
    constant = None
    index_base = None
    offset = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel_params", plain_params(self.kernel, self.kernel_params))
        _check(self)

    @classmethod
    def from_result(cls, result: Result, **about: Any) -> KernelModel:
        """The model of the Result of a `KernelProblem`; `about` as in `from_results`."""
        return cls.from_results([result], **about)

    @classmethod
    def from_results(
        cls,
        results: Sequence[Result],
        *,
        labels: Sequence[Any] | None = None,
        feature_names: Sequence[str] | None = None,
        keep_dual: bool = True,
    ) -> KernelModel:
        """The model of one Result, or of one per label (one label against the rest, on the same rows and kernel)."""
        first: Any = results[0]
        problem, coef = first.problem, np.array([result.coef for result in results])
        if not problem.is_kernel:
            raise InputError(
                "KernelModel is for the Result of a KernelProblem; fenchel.Model is for those of a Problem"
            )
        support = np.flatnonzero(coef.any(axis=0))
        points = [result.dual_point for result in results] if keep_dual else [None]
        X = getattr(problem.gram, "X", None)
        several = len(results) > 1
        coef = np.ascontiguousarray(coef[:, support])
        return cls(
            coef=coef if several else coef[0],
            intercept=np.array([r.intercept for r in results]) if several else float(first.intercept),
            support=support,
            vectors=None if X is None else X[support],
            kernel=problem.kernel,
            kernel_params=problem.kernel_params,
            loss=problem.loss,
            regularizer=problem.regularizer,
            fit_intercept=problem.fit_intercept,
            labels=None if labels is None else tuple(plain_label(label) for label in labels),
            certificates=tuple(result.certificate for result in results),
            statuses=tuple(result.status for result in results),
            tol=float(first.tol),
            solvers=tuple(result.solver for result in results),
            digests=tuple(result.digest for result in results),
            n=problem.n,
            weighted=bool((problem.weights != problem.weights[0]).any()),
            dual_points=None
            if any(u is None for u in points)
            else np.array(points)
            if several
            else np.array(points[0]),
            feature_names=None if feature_names is None else tuple(str(name) for name in feature_names),
        )

    @property
    def d(self) -> int:
        """The number of features of a row; with a precomputed kernel the number of training rows."""
        return self.n if self.vectors is None else self.vectors.shape[1]

    @property
    def k(self) -> int:
        """The number of scores per row."""
        return 1 if self.coef.ndim == 1 else self.coef.shape[0]

    @property
    def full_coef(self) -> np.ndarray:
        """The coefficients of all n training rows, (n,) or (k, n): what `fenchel.certify` takes."""
        full = np.zeros((*self.coef.shape[:-1], self.n))
        full[..., self.support] = self.coef
        return full

    def scores(self, X: Any) -> np.ndarray:
        """f(x) + intercept for every row: (n,), or (n, k) for k scores."""
        rows = model_rows(X, self.d)
        return kernel_scores(
            self.kernel, self.kernel_params, rows, self.vectors, self.support, self.coef, self.intercept
        )


def plain_params(kernel: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """The kernel's parameters as plain numbers; a kernel that is no name cannot be written."""
    if not isinstance(kernel, str):
        raise InputError(
            f"the kernel is a function of your own ({getattr(kernel, '__name__', kernel)!r}), and a model holds nothing that "
            "can be run: name one of scikit-learn's kernels, or compute the Gram matrix and use kernel='precomputed'"
        )
    plain = {key: value.item() if isinstance(value, np.generic) else value for key, value in params.items()}
    for key, value in plain.items():
        if not isinstance(value, (int, float, type(None))):
            raise InputError(f"parameter {key!r} of kernel {kernel!r} must be a number to be in a model, got {value!r}")
    return plain


def _check(model: KernelModel) -> None:
    """Raise InputError unless the parts fit together."""
    if not _good_vectors(model):
        raise InputError(
            "vectors must be finite rows of numbers, one per row of support; None with a precomputed kernel"
        )
    coef, k, s = np.asarray(model.coef), model.k, int(np.size(model.support))
    intercept, point = np.asarray(model.intercept), model.dual_points
    count = k if k > 1 else 2
    rules = {
        "coef must be a finite float64 array with an entry per row of support, (s,) or (k, s) with k > 1": coef.ndim
        in (1, 2)
        and coef.dtype == np.float64
        and coef.shape[-1] == s
        and (coef.ndim == 1 or k > 1)
        and bool(np.isfinite(coef).all()),
        "n must be at least 1": model.n >= 1,
        "support must be different rows of the n, ascending": model.support.ndim == 1
        and is_signed_integer(model.support)
        and (
            s == 0 or bool(model.support[0] >= 0 and model.support[-1] < model.n and (np.diff(model.support) > 0).all())
        ),
        f"intercept must be {'a finite number' if k == 1 else f'{k} finite numbers'}": intercept.shape
        == (() if k == 1 else (k,))
        and bool(np.isfinite(intercept).all()),
        "intercept must be 0 when fit_intercept is False": model.fit_intercept or not intercept.any(),
        "the loss must be one of a score per row": not is_measure(model.loss) and not is_vector_loss(model.loss),
        "labels must be None or as many different numbers or strings as there are classes": k == 1
        if model.labels is None
        else good_names(model.labels, count),
        f"certificates, statuses, solvers and digests must have {k} entries": {k}
        == {len(part) for part in (model.certificates, model.statuses, model.solvers, model.digests)},
        "tol must be a number greater than 0": 0.0 < model.tol < np.inf,
        "the regularizer must be L2: that of a kernel's space": isinstance(model.regularizer, L2),
        "dual_points must be None or have an entry per row": point is None
        or point.shape == ((model.n,) if k == 1 else (k, model.n)),
        f"feature_names must be None or {model.d} strings": model.feature_names is None
        or (len(model.feature_names) == model.d and all(isinstance(name, str) for name in model.feature_names)),
    }
    for rule, kept in rules.items():
        if not kept:
            raise InputError(rule)
    if model.kernel != "precomputed":
        KernelFunction(model.kernel, model.kernel_params)
    elif model.kernel_params:
        raise InputError(f"kernel='precomputed' has no parameters, got {sorted(model.kernel_params)}")


def _good_vectors(model: KernelModel) -> bool:
    vectors = model.vectors
    if vectors is None or model.kernel == "precomputed":
        return vectors is None and model.kernel == "precomputed"
    if vectors.ndim != 2 or vectors.shape[0] != model.support.size or vectors.shape[1] < 1:
        return False
    if vectors.dtype not in (np.float32, np.float64):
        return False
    if sp.issparse(vectors):
        return vectors.format == "csr" and not fault(vectors) and bool(np.isfinite(vectors.data).all())
    return bool(np.isfinite(vectors).all())
