"""A problem with m scores per row: many classes, several targets."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from fenchel import multiclass, regularizers
from fenchel.compile.dispatch import compilable, is_builtin
from fenchel.data.accept import accept_matrix, read_only
from fenchel.data.dtypes import is_number_or_bool
from fenchel.data.dual_matrix import accept_dual_matrix
from fenchel.data.stored import folder_of, targets_of
from fenchel.errors import InputError
from fenchel.multiclass.example_costs import with_costs
from fenchel.problems.scalar import Problem
from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.certified import resting_on
from fenchel.regularizers.feature_weights import require_penalised

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import MatrixLike
    from fenchel.multiclass.protocol import VectorLoss


def has_matrix_targets(loss: Any) -> bool:
    """Whether the targets of a loss of Fenchel's own are vectors by themselves."""
    return bool(getattr(loss, "several_targets", False))


class VectorProblem(Problem):
    """min over W, b of (1/S) sum_i s_i loss(W x_i + b, y_i) + R(W), with one row of W and one entry of b per score.

    Created by `Problem` if the loss is one of `fenchel.multiclass`. Targets are classes 0 .. m - 1 (integers), or a matrix
    with a row per row of X: several targets or, for MaxHinge, TopK, Usunier, their weighted forms and Moreau envelopes of
    these, the cost of every class for each row, 0 for its right class alone. The regularizer is applied to all entries of W:
    the sum of all squares for L2, the sum of w'Kw over the rows w of W. Solvers see one vector of d = features * m variables
    (W transposed, row by row), followed by m free intercepts, if there are any.
    """

    family = "vector"
    is_scalar, is_vector = False, True

    def __init__(
        self, X: MatrixLike, y: ArrayLike | None = None, loss: str | VectorLoss = "max_hinge",
        regularizer: str | Regularizer = "l2", alpha: float | None = None, fit_intercept: bool = False,
        sample_weight: ArrayLike | None = None, offset: ArrayLike | None = None, groups: ArrayLike | None = None,
    ):  # fmt: skip
        y, _ = targets_of(X, y)
        if groups is not None:
            raise InputError("groups are only for measures (fenchel.measures), not for losses that are sums over rows")
        if offset is not None:
            raise InputError("offset is for losses of one score per row; losses of several scores do not support it")
        self.loss = multiclass.make(loss)
        self.fit_intercept = False  # the single intercept; solvers see those of several scores as variables
        self.free = bool(fit_intercept)
        self.X, self.rows = accept_matrix(X)
        self.folder = folder_of(X)
        self.n, self.features = self.X.shape
        if np.ndim(y) == 2 and is_builtin(self.loss) and not has_matrix_targets(self.loss):
            self.loss, y = with_costs(self.loss, y, self.n)
        self.y = read_only(self._accept_targets(y))
        self.outputs = multiclass.outputs(self.loss, self.y)
        self.own = not is_builtin(self.loss)
        multiclass.check_foreign(self.loss, self.outputs, self.y)
        self.weights, self.total_weight = self._accept_weights(sample_weight)
        self.given = regularizers.make(regularizer, alpha)  # for one score; `penalty` is that of all scores
        self.given.validate(self.features)
        require_penalised(self.given, self.features)
        self.penalty = self.given.for_outputs(self.features, self.outputs)
        regularizers.check_foreign(self.penalty, self.features * self.outputs)
        self.regularizer: Any = Unpenalised(self.penalty, self.outputs) if self.free else self.penalty
        self.d = (self.features + self.free) * self.outputs
        self.has_offset, self.offset = False, read_only(np.zeros(self.n))
        self.compiled_loss = compilable(self.loss)
        if self.free:
            self._check_intercepts()
        self._frozen = True

    def with_regularizer(self, regularizer: Regularizer) -> VectorProblem:
        """The same rows with another regularizer of one score, without another check of them."""
        regularizer.validate(self.features)
        require_penalised(regularizer, self.features)
        penalty = regularizer.for_outputs(self.features, self.outputs)
        regularizers.check_foreign(penalty, self.features * self.outputs)
        new = object.__new__(type(self))
        whole = Unpenalised(penalty, self.outputs) if self.free else penalty
        new.__dict__.update(self.__dict__ | {"given": regularizer, "penalty": penalty, "regularizer": whole})
        new.__dict__.pop("digest", None)
        return new

    def _accept_targets(self, y: ArrayLike | None) -> np.ndarray:
        name = type(self.loss).__name__
        if y is None:
            raise InputError(f"y is missing: loss {name} needs targets")
        if getattr(self.loss, "several_targets", not hasattr(self.loss, "outputs") and np.ndim(y) == 2):
            y = np.ascontiguousarray(y, dtype=np.float64)
            if y.ndim != 2 or y.shape[0] != self.n:
                raise InputError(f"y must be a matrix with {self.n} rows, one per row of X, got shape {y.shape}")
            if not np.isfinite(y).all():
                raise InputError(f"y contains NaN or infinity in row {int(np.argmin(np.isfinite(y).all(axis=1)))}")
            return y
        y = np.asarray(y)
        if y.shape != (self.n,):
            raise InputError(f"y must have one entry per row of X ({self.n}), got shape {y.shape}")
        if not is_number_or_bool(y) or not np.all(np.equal(np.floor(y.astype(float)), y)) or y.min() < 0:
            raise InputError(
                f"loss {name} needs classes 0, 1, 2, ... as targets (fenchel.Classifier maps any labels for you)"
            )
        return np.ascontiguousarray(y, dtype=np.int64)

    def _check_intercepts(self) -> None:
        name = type(self.loss).__name__
        if self.own or not getattr(self.loss, "free_intercepts", False):
            raise InputError(
                f"free intercepts of several scores are not available for loss {name}: they need a loss that can shift any "
                "share of a row to other classes. Use Softmax, MaxHinge, CostHinge, TopK, Usunier and their weighted forms, or "
                "a Moreau envelope of these; or append a constant column to X (it is then regularised)"
            )
        if not self.several_targets:
            mass = self.masses()
            if (mass == 0.0).any():
                raise InputError(
                    f"no row with a positive weight has class {int(np.argmax(mass == 0.0))}: its intercept would be "
                    "minus infinity; use fit_intercept=False"
                )

    @property
    def several_targets(self) -> bool:
        """Whether y is a matrix of numbers, not a vector of classes."""
        return bool(getattr(self.loss, "several_targets", self.own and self.y.ndim == 2))

    def masses(self) -> np.ndarray:
        """The total weight of the rows of each class."""
        return np.bincount(self.y, self.weights, minlength=self.outputs)

    @cached_property
    def smoothness(self) -> float | None:
        """The Lipschitz constant of the loss's slopes; None: they are discontinuous."""
        return multiclass.smoothness(self.loss, self.outputs, self.y[:4])

    @property
    def kind(self) -> str:
        """ "own vector" is a custom loss of several scores."""
        return "own vector" if self.own else "free vector" if self.free else "vector"

    @property
    def has_intercept(self) -> bool:
        return self.free

    @property
    def basis(self) -> str:
        return resting_on("tangents" if self.own else "conjugate", self.penalty)

    @property
    def dual_shape(self) -> tuple[int, ...]:
        return (self.n, self.outputs)

    def dual_like(self, u: np.ndarray) -> Any:
        """u as a dual point to start from, an array or a CSR matrix; None if it belongs to other rows or classes, or is
        tangents."""
        if self.own:
            return None
        if not sp.issparse(u):
            return super().dual_like(u)
        try:
            return accept_dual_matrix(self, u)
        except InputError:
            return None

    def present(self, w: np.ndarray, b: float) -> tuple[np.ndarray, Any]:
        """(W of shape (m, features), intercepts) from a solver's variables."""
        W = w.reshape(-1, self.outputs)
        intercept = W[self.features].copy() if self.free else np.zeros(self.outputs)
        return np.ascontiguousarray(W[: self.features].T), intercept

    def variables(self, coef: ArrayLike, intercept: ArrayLike = 0.0) -> tuple[np.ndarray, float]:
        """The inverse of `present`, with checks."""
        W = np.asarray(coef, dtype=np.float64)
        if W.shape != (self.outputs, self.features):
            raise InputError(
                f"coef must have a row per score and a column per feature ({self.outputs} x {self.features}), "
                f"got shape {W.shape}"
            )
        b = np.broadcast_to(np.asarray(intercept, dtype=np.float64), (self.outputs,))
        if not (np.isfinite(W).all() and np.isfinite(b).all()):
            raise InputError("coef or intercept contains NaN or infinity")
        if b.any() and not self.free:
            raise InputError("intercept is not 0, but the problem has none: pass fit_intercept=True to Problem")
        return np.concatenate([W.T.ravel(), b] if self.free else [W.T.ravel()]), 0.0

    def __repr__(self) -> str:
        storage = "dense" if isinstance(self.X, np.ndarray) else f"CSR, {self.X.nnz} non-zeros"
        intercept = ", free intercepts" if self.free else ""
        return (
            f"Problem({self.n} x {self.features} {storage} {self.X.dtype}, {self.outputs} scores; "
            f"{self.loss} + {self.penalty}{intercept})"
        )


class Unpenalised:
    """A regularizer of all variables but the last `free` ones.

    Its conjugate is that of the penalty on the other variables: the certificate ensures that the last entries of v are 0, by
    balancing the dual point.
    """

    def __init__(self, inner: Regularizer, free: int):
        self.inner, self.free = inner, free
        self.alpha, self.separable, self.convex = inner.alpha, inner.separable, inner.convex
        if hasattr(inner, "gradient"):
            self.gradient = self._gradient
        if hasattr(inner, "prox"):
            self.prox = self._prox

    def value(self, w: np.ndarray) -> float:
        return self.inner.value(w[: -self.free])

    def conjugate(self, v: np.ndarray) -> float:
        return self.inner.conjugate(v[: -self.free])

    def dual_scale(self, v: np.ndarray) -> float:
        return self.inner.dual_scale(v[: -self.free])

    def start(self, d: int) -> np.ndarray:
        return np.append(self.inner.start(d - self.free), np.zeros(self.free))

    def fingerprint(self) -> bytes:
        return self.inner.fingerprint() + b" and free intercepts"

    def _gradient(self, w: np.ndarray) -> np.ndarray:
        return np.append(self.inner.gradient(w[: -self.free]), np.zeros(self.free))  # type: ignore[attr-defined]

    def _prox(self, w: np.ndarray, step: float | np.ndarray) -> np.ndarray:
        inner = step[: -self.free] if isinstance(step, np.ndarray) else step
        return np.append(self.inner.prox(w[: -self.free], inner), w[-self.free :])  # type: ignore[attr-defined]
