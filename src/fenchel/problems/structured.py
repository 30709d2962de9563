"""A problem whose examples have structured outputs."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel import regularizers, structured
from fenchel.compile.dispatch import is_ours
from fenchel.data.accept import block, read_only
from fenchel.data.stored import Stored
from fenchel.errors import InputError
from fenchel.problems.scalar import Problem, _arrays, _feed
from fenchel.regularizers.certified import resting_on
from fenchel.regularizers.feature_weights import require_penalised
from fenchel.structured.pool import fits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.regularizers.base import Regularizer

SMALLEST_BLOCK = 1 << 18
MOST_BLOCKS = 64


class Examples(NamedTuple):
    """Examples start .. stop of a problem, with their weights and, if they are mapped from disk, their rows."""

    p: np.ndarray
    start: int
    stop: int
    rows: Any = ()
    mapped: bool = False


class StructuredProblem(Problem):
    """min over w of (1/S) sum_i s_i max over y of [L_i(y) + <w, phi(x_i, y) - phi(x_i, y_i)>] + R(w), or, for models with
    loss="log", (1/S) sum_i s_i log sum_y exp <w, phi(x_i, y) - phi(x_i, y_i)> + R(w).

    Created by `Problem(examples, labels, loss=model)` if the loss is a model of `fenchel.structured` or a custom one (see
    `fenchel.structured.protocol`). There is no free intercept, because models have label biases among their features.
    """

    family = "structured"
    is_scalar, is_structured, is_linear = False, True, False

    def __init__(
        self, X: Iterable[Any] | Stored, y: Iterable[Any] | None = None, loss: Any = None,
        regularizer: str | Regularizer = "l2", alpha: float | None = None, fit_intercept: bool = False,
        sample_weight: ArrayLike | None = None, offset: ArrayLike | None = None, groups: ArrayLike | None = None,
    ):  # fmt: skip
        self.mapped = isinstance(X, Stored)
        if self.mapped and not isinstance(loss, structured.Chain):
            raise InputError(
                f"rows on disk are supported by the structured model Chain only, not by {type(loss).__name__}"
            )
        if y is None and not self.mapped:
            raise InputError("y is missing: a structured model needs the label of every example")
        if fit_intercept or offset is not None or groups is not None:
            raise InputError(
                "a structured model does not support an intercept, offset or groups: include them in its features"
            )
        self.loss = loss
        self.regularizer = regularizers.make(regularizer, alpha)
        self.model = structured.encode(loss, X, y)
        self.n, self.d = self.model.n, self.model.d
        self.regularizer.validate(self.d)
        require_penalised(self.regularizer, self.d)
        regularizers.check_foreign(self.regularizer, self.d)
        self.log = getattr(loss, "loss", "hinge") == "log"
        if self.log and getattr(type(self.model), "log_partition", None) is None:
            raise InputError(
                f"{type(loss).__name__} has loss='log', but its encoded examples have no method `log_partition`, which a "
                "log-loss needs (fenchel.structured.protocol)"
            )
        self.fit_intercept = False
        self.weights, self.total_weight = self._accept_weights(sample_weight)
        self.first = read_only(np.concatenate([[0], np.cumsum(self.model.sizes)]).astype(np.int64))
        self._frozen = True

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    def settle(self) -> None:
        """After unpickling the examples are complete."""

    @property
    def kind(self) -> str:
        return "structured log" if self.log else "structured"

    @property
    def compiled(self) -> bool:
        """Whether the model's methods can be compiled; otherwise kernels run as plain Python."""
        return getattr(self.model, "compiled", True)

    def run(self, kernel: Any, *arguments: Any) -> Any:
        """Call a kernel whose first argument is the model."""
        return (kernel if self.compiled else kernel.py_func)(self.model, *arguments)

    def cut(self, edges: Sequence[int] | None = None) -> list[Examples]:
        """Ranges of examples: as given, or with about equal numbers of label entries, depending on the data only."""
        if edges is None:
            edges = self._edges()
        elif edges[0] != 0 or edges[-1] != self.n:
            raise InputError(f"cut must go from 0 to the number of examples, {self.n}; got {edges[0]} to {edges[-1]}")
        return [Examples(self.weights[a:b], a, b, self._rows(a, b), self.mapped) for a, b in pairwise(edges)]

    def _rows(self, a: int, b: int) -> Any:
        return block(self.model.rows, int(self.first[a]), int(self.first[b])) if self.mapped else ()

    def _edges(self) -> list[int]:
        count = int(min(max(self.model.work // max(SMALLEST_BLOCK, 4 * self.d), 1), MOST_BLOCKS, self.n))
        if not self.compiled:
            count = 1  # plain Python gains nothing from threads
        goals = np.linspace(0, int(self.first[-1]), count + 1)[1:-1]
        return sorted({0, self.n, *(int(i) for i in np.searchsorted(self.first, goals))})

    @property
    def smoothness(self) -> float | None:
        """Lipschitz constant of the slopes: not known for the log-loss (inf); None: the hinge loss is not differentiable."""
        return np.inf if self.log else None

    @property
    def basis(self) -> str:
        return resting_on(self._basis(), self.regularizer)

    @property
    def own(self) -> bool:
        """Whether the model is a custom one, so that its oracle is not known to be correct."""
        return not self.compiled or not is_ours(type(self.model))

    def _basis(self) -> str:
        assumed = " assumed" if self.own else ""
        if self.log:
            return f"log partition{assumed}"
        if getattr(self.model, "exact", True):
            return f"exact max-oracle{assumed}"
        return "bounded max-oracle" + assumed if hasattr(self.model, "plane_ceiling") else "approximate max-oracle"

    def dual_like(self, u: np.ndarray) -> Any:
        """u as a dual point to start from, if it is a pool or mixture for these examples, else None."""
        if isinstance(u, structured.Pool):
            return u if not self.log and fits(u, self.model) else None
        return u if self.log and isinstance(u, structured.Gibbs) and u.coefs.shape[1:] == (self.d,) else None

    def weights_of(self, pool: structured.Pool, i: int) -> list[tuple[Any, float]]:
        """The labels of example i with positive weight and their weights; the rest of the weight belongs to the gold label."""
        return [
            (self.model.decode(i, pool.labels[pool.offsets[k] : pool.offsets[k + 1]]), float(pool.weights[k]))
            for k in range(pool.start[i], pool.start[i + 1])
            if pool.weights[k] > 0.0
        ]

    @cached_property
    def digest(self) -> str:
        """sha256 of the encoded examples, weights, model and regularizer."""
        digest = hashlib.sha256(b"fenchel structured problem 1")
        if self.compiled:
            for array in _arrays(tuple(self.model)):
                _feed(digest, array)
        else:
            digest.update(pickle.dumps((self.model.examples, self.model.golden)))
            for vector in self.model.gold_features:
                _feed(digest, vector)
        _feed(digest, self.weights)
        digest.update(repr((self.loss if self.compiled else type(self.loss).__name__, self.n, self.d)).encode())
        digest.update(self.regularizer.fingerprint())
        return digest.hexdigest()

    def __repr__(self) -> str:
        return f"Problem({self.n} examples, {self.d} features; {self.loss} + {self.regularizer})"
