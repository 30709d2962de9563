"""Problem: data + loss + regularizer + weights + intercept, validated once and never changed."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from importlib import import_module
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from fenchel import losses, regularizers
from fenchel.compile.dispatch import compilable, is_builtin, is_ours
from fenchel.data.accept import accept_matrix, accept_vector, aligned, read_only
from fenchel.data.mapped import release
from fenchel.data.store import StoredRows
from fenchel.data.stored import folder_of, targets_of
from fenchel.errors import InputError
from fenchel.extension_points import provider
from fenchel.problems.families import family_of
from fenchel.regularizers.certified import resting_on

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import MatrixLike
    from fenchel.losses.protocol import Loss
    from fenchel.measures.protocol import Measure
    from fenchel.multiclass.protocol import VectorLoss
    from fenchel.regularizers.base import Regularizer

DIGESTED = 1 << 22  # numbers converted at a time


class Problem:
    """min over w, b of (1/S) sum_i s_i loss(<x_i, w> + b + offset_i, y_i) + R(w), with S = sum_i s_i.

    Parameters
    ----------
    X : array or scipy sparse matrix of shape (n, d); float32 and float64, C order and CSR are used as they are. Or
        `fenchel.open(folder)`: rows, targets and queries on disk, of which a few blocks at a time are in memory. Or data
        on a Dask cluster, which stay there: a Dask array or data frame, or a list of futures of blocks (X, y).
    y : array of shape (n,): targets; -1 or +1 for margin losses. None is allowed for losses that use no target.
    loss : a name (``"hinge"``, see `fenchel.losses`) or a loss object.
    regularizer : a name (``"l2"``, see `fenchel.regularizers`) or a regularizer object.
    alpha : strength, with a regularizer given by name (default 1e-4).
    fit_intercept : whether b is free; it is never regularised. Otherwise b = 0. If an interval of intercepts is optimal,
    `solve`
        returns its middle (its finite end, if it is unbounded on one side); if there is no optimal one (rows of one label and
        a loss that never becomes 0), it raises an InputError.
    sample_weight : s_i >= 0; only their ratios matter. Weight k equals repeating the row k times.
    offset : a fixed part of the score, such as log exposure in a Poisson model.
    groups : the query of each row, for measures of each query.

    A loss of `fenchel.multiclass` makes a problem with several scores per row (W x_i + b, y_i a class), a measure of
    `fenchel.measures` one whose loss is of all scores together.

    Examples
    --------
    >>> import fenchel
    >>> problem = fenchel.Problem([[0.0], [1.0], [2.0]], [-1, -1, 1], loss="hinge", alpha=0.1, fit_intercept=True)
    >>> result = fenchel.solve(problem, tol=1e-6)
    >>> result.status.name, bool(result.certificate.relative_gap <= 1e-6)
    ('CERTIFIED', True)
    """

    family = "scalar"
    # The family of the problem; subclasses override these.
    is_scalar = True  # a loss of one linear score per row
    is_vector = False  # a loss of several scores per row
    is_measure = False  # a measure of all scores together
    is_structured = False  # examples with structured outputs
    is_kernel = False  # scores in the feature space of a kernel
    is_linear = True  # scores are X w + b
    remote = False  # whether the data are on a cluster
    query_weight: np.ndarray | None = None  # an entry per row, where a measure's queries have weights

    def __new__(
        cls,
        X: MatrixLike | None = None,
        y: ArrayLike | None = None,
        loss: str | Loss | VectorLoss | Measure = "hinge",
        *args: Any,
        **kwargs: Any,
    ) -> Problem:
        """Create a problem of the class for the loss."""
        return object.__new__(_kind(X, loss) if cls is Problem else cls)

    def __init__(
        self, X: MatrixLike, y: ArrayLike | None = None, loss: str | Loss | VectorLoss | Measure = "hinge",
        regularizer: str | Regularizer = "l2", alpha: float | None = None, fit_intercept: bool = False,
        sample_weight: ArrayLike | None = None, offset: ArrayLike | None = None, groups: ArrayLike | None = None,
    ):  # fmt: skip
        y, _ = targets_of(X, y)
        if groups is not None:
            raise InputError(f"groups are only for measures (fenchel.measures); loss {loss!r} is a sum over rows")
        self.loss = losses.make(loss)
        self.regularizer = regularizers.make(regularizer, alpha)
        self.fit_intercept = bool(fit_intercept)
        self.X, self.rows = accept_matrix(X)
        self.folder = folder_of(X)
        self.n, self.d = self.X.shape
        self.regularizer.validate(self.d)
        self.y = read_only(self._accept_targets(y))
        self.weights, self.total_weight = self._accept_weights(sample_weight)
        self.has_offset = offset is not None
        self.offset = read_only(accept_vector(offset, self.n, "offset") if self.has_offset else np.zeros(self.n))
        losses.check_foreign(self.loss, self.some_targets())
        regularizers.check_foreign(self.regularizer, self.d)
        self.compiled_loss = compilable(self.loss)
        self._frozen = True

    def __setattr__(self, name: str, value: object) -> None:
        if getattr(self, "_frozen", False) and name not in ("digest", "smoothness"):
            raise AttributeError(f"a Problem is immutable: create another one (tried to set {name!r})")
        super().__setattr__(name, value)

    def _accept_targets(self, y: ArrayLike | None) -> np.ndarray:
        rule = getattr(self.loss, "target_rule", "any finite number")
        name = type(self.loss).__name__
        if y is None:
            if "not used" not in rule:
                raise InputError(f"y is missing: loss {name} needs targets ({rule})")
            return np.zeros(self.n)
        y = accept_vector(y, self.n, "y")
        allowed = np.asarray(getattr(self.loss, "valid_target", np.isfinite)(y))
        if not allowed.all():
            row = int(np.argmin(allowed))
            hint = " (fenchel.Classifier maps any two labels for you)" if "+1" in rule else ""
            raise InputError(f"y of row {row} is {y[row]!r}: loss {name} needs every target to be {rule}{hint}")
        return y

    def _accept_weights(self, sample_weight: ArrayLike | None) -> tuple[np.ndarray, float]:
        if sample_weight is None:
            return read_only(np.full(self.n, 1.0 / self.n)), float(self.n)
        s = accept_vector(sample_weight, self.n, "sample_weight", column=False)
        if (s < 0).any():
            row = int(np.argmax(s < 0))
            raise InputError(f"sample_weight of row {row} is {s[row]!r}: weights must be at least 0")
        largest = s.max()
        if largest == 0.0:
            raise InputError("sample_weight is zero everywhere: at least one weight must be positive")
        relative = s / largest  # so that weights of 1e+-300 neither overflow nor underflow
        total = float(relative.sum())
        with np.errstate(over="ignore"):
            return read_only(relative / total), float(total * largest)

    def at_query_starts(self, edges: Sequence[int]) -> Sequence[int]:
        """Row numbers where blocks may begin, near to these: here any may."""
        return edges

    def part(self, a: int, b: int) -> Problem:
        """Rows a .. b - 1 as a problem in which they keep their weights p. It can be sent to a worker: data on disk are
        read there, and kernels are compiled there."""
        new = object.__new__(type(self))
        vectors = {name: getattr(self, name)[a:b] for name in ("y", "weights", "offset")}
        X = self.X[a:b] if self.folder is None else StoredRows(self.folder, a, b)
        new.__dict__.update(self.__dict__ | vectors | {"X": X, "rows": None, "compiled_loss": None, "n": b - a})
        for cached in ("digest", "smoothness"):
            new.__dict__.pop(cached, None)
        return new

    def with_regularizer(self, regularizer: Regularizer) -> Problem:
        """The same rows with another regularizer, without another check of them."""
        regularizer.validate(self.d)
        regularizers.check_foreign(regularizer, self.d)
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__ | {"regularizer": regularizer})
        new.__dict__.pop("digest", None)
        return new

    def with_loss(self, loss: Loss) -> Problem:
        """The same rows with another loss that takes the same targets."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__ | {"loss": loss, "compiled_loss": compilable(loss)})
        for cached in ("digest", "smoothness"):
            new.__dict__.pop(cached, None)
        return new

    def __getstate__(self) -> dict[str, Any]:
        X = self.X if self.folder is None or isinstance(self.X, StoredRows) else StoredRows(self.folder, 0, self.n)
        return self.__dict__ | {"X": X, "rows": None, "compiled_loss": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.settle()

    def settle(self) -> None:
        """After unpickling, read and validate the rows and prepare the loss for compilation. Arrays are aligned, because
        BLAS and kernels round differently for arrays that are not."""
        X = self.X.read() if isinstance(self.X, StoredRows) else aligned(self.X)
        self.__dict__["X"], self.__dict__["rows"] = accept_matrix(X)
        self.__dict__["compiled_loss"] = compilable(self.loss)
        for name in ("y", "weights", "offset"):
            self.__dict__[name] = read_only(aligned(getattr(self, name)))

    @property
    def kind(self) -> str:
        """What solvers must be able to handle: "scalar" is one score per row."""
        return self.family

    @property
    def has_intercept(self) -> bool:
        """Whether intercepts are free."""
        return self.fit_intercept

    @property
    def dual_shape(self) -> tuple[int, ...]:
        """Shape of a dual point."""
        return (self.n,)

    def dual_like(self, u: np.ndarray) -> Any:
        """u as a dual point to start from; None if it belongs to other rows, so that only the coefficients can be used."""
        if sp.issparse(u):  # rows x scores, of a problem with several scores
            return None
        u = np.asarray(u, dtype=float)
        return u if u.shape == self.dual_shape and np.isfinite(u).all() else None

    def present(self, w: np.ndarray, b: float) -> tuple[np.ndarray, Any]:
        """(coefficients, intercept) in the user's form, from the variables of a solver."""
        return np.array(w), float(b)

    def variables(self, coef: ArrayLike, intercept: ArrayLike = 0.0) -> tuple[np.ndarray, float]:
        """The variables of a solver from the user's coefficients and intercept, with checks."""
        array = np.ascontiguousarray(coef, dtype=np.float64)
        if array.shape == (1, self.d):
            array = array[0]
        if array.shape != (self.d,):
            raise InputError(f"coef must have one entry per column of X ({self.d}), got shape {array.shape}")
        if not np.isfinite(array).all():
            raise InputError(f"coef contains NaN or infinity at column {int(np.argmin(np.isfinite(array)))}")
        b = np.asarray(intercept, dtype=np.float64)
        if b.size != 1 or not np.isfinite(b).all():
            raise InputError(f"intercept must be one finite number, got {intercept!r}")
        if b.any() and not self.fit_intercept:
            raise InputError(
                f"intercept is {float(b.reshape(-1)[0])!r}, but the problem has none: pass fit_intercept=True to Problem"
            )
        return array, float(b.reshape(-1)[0])

    def some_targets(self) -> Iterable[float]:
        """A few of the targets, including the smallest and the largest."""
        yield from (float(self.y.min()), float(self.y.max()), *map(float, self.y[:16]))

    @property
    def smooth_loss(self) -> bool:
        """True if the loss is differentiable in the scores."""
        return self.smoothness is not None

    @cached_property
    def smoothness(self) -> float | None:
        """The Lipschitz constant of the loss's slope (inf: none; None: the slope is discontinuous)."""
        targets = () if hasattr(self.loss, "smoothness") else np.unique(self.y)[:16]
        return losses.smoothness(self.loss, targets)

    @property
    def basis(self) -> str:
        """The basis of a dual value of this problem."""
        return resting_on("conjugate" if is_builtin(self.loss) else "derived", self.regularizer)

    @cached_property
    def digest(self) -> str:
        """sha256 of all that defines the problem: data, targets, weights, offset, loss, regularizer, intercept."""
        digest = hashlib.sha256(b"fenchel problem 1")
        for part in self.rows:
            _feed(digest, part)
        for vector in (*self._digest_parts(), self.weights, self.offset):
            _feed(digest, vector)
        for text in _foreign_code(self.loss):
            digest.update(text)
        for array in _arrays(self.loss):
            _feed(digest, array)
        digest.update(repr((self.loss, self.X.shape, self.has_intercept)).encode())
        digest.update(self.regularizer.fingerprint())
        return digest.hexdigest()

    def _digest_parts(self) -> list[np.ndarray]:
        """The targets and other data per row."""
        return [self.y]

    def __repr__(self) -> str:
        storage = "dense" if isinstance(self.X, np.ndarray) else f"CSR, {self.X.nnz} non-zeros"
        intercept = ", free intercept" if self.fit_intercept else ""
        return f"Problem({self.n} x {self.d} {storage} {self.X.dtype}; {self.loss} + {self.regularizer}{intercept})"

    def _repr_html_(self) -> str:
        from fenchel.result_html import problem_html

        return problem_html(self)


_CLASSES = {  # by family; imported when a problem of it is made
    "vector": ("vector", "VectorProblem"),
    "set": ("measure", "SetProblem"),
    "structured": ("structured", "StructuredProblem"),
}


def _kind(X: MatrixLike, loss: str | Loss | VectorLoss | Measure) -> type[Problem]:
    """The problem class for data and loss: one score per row, unless the loss is one of `fenchel.multiclass`, ..."""
    if on_cluster(X):
        return provider("cluster").problem_class(loss)
    family = family_of(loss)
    if family not in _CLASSES:
        return Problem
    module, name = _CLASSES[family]
    return getattr(import_module(f"fenchel.problems.{module}"), name)


def on_cluster(X: MatrixLike) -> bool:
    """Whether the data are Dask collections or futures, or those of owners. Users of Dask data have imported Dask."""
    if getattr(type(X), "on_cluster", False):
        return True
    if isinstance(X, (list, tuple)) and len(X) > 0:
        distributed: Any = sys.modules.get("distributed")
        return distributed is not None and isinstance(X[0], distributed.Future)
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "to_delayed")


def _foreign_code(value: object) -> Iterator[bytes]:
    """The code of the methods of a custom loss with its constants and names, also for a loss inside another one."""
    if isinstance(value, tuple):
        for inner in value:
            yield from _foreign_code(inner)
        functions = {} if is_ours(type(value)) or not hasattr(value, "_fields") else vars(type(value))
        for name in sorted(name for name, f in functions.items() if isinstance(f, FunctionType)):
            f = functions[name]
            bound = [cell.cell_contents for cell in f.__closure__ or ()]
            yield from (name.encode(), *_code(f.__code__), repr((bound, f.__defaults__)).encode())


def _arrays(value: object) -> Iterator[np.ndarray]:
    """The arrays among the parameters of a loss, which its repr may abbreviate."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for inner in value:
            yield from _arrays(inner)


def _code(code: CodeType) -> Iterator[bytes]:
    yield from (code.co_code, repr(code.co_names).encode())
    for constant in code.co_consts:
        yield from _code(constant) if isinstance(constant, CodeType) else (repr(constant).encode(),)


def _feed(digest: Any, array: np.ndarray) -> None:
    digest.update(f"{array.dtype.str}{array.shape}".encode())
    flat = np.ascontiguousarray(array).reshape(-1)
    for a in range(0, flat.size, DIGESTED):
        part = flat[a : a + DIGESTED]
        digest.update(part.data)
        release((part,))  # if it is mapped from disk
