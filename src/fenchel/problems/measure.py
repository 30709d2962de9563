"""A problem whose loss is a measure of all scores together: ROC area, F1, NDCG by query, ..."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel import measures, regularizers
from fenchel.compile.dispatch import is_ours
from fenchel.data.accept import accept_matrix, accept_vector, read_only
from fenchel.data.stored import folder_of, targets_of
from fenchel.errors import InputError
from fenchel.measures.queries import NothingToRank
from fenchel.problems.scalar import Problem
from fenchel.regularizers.certified import resting_on
from fenchel.regularizers.feature_weights import require_penalised

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import MatrixLike
    from fenchel.measures.protocol import Measure
    from fenchel.regularizers.base import Regularizer


class Mixture(NamedTuple):
    """A dual point for a measure: vectors of scores, at which the measure has slopes, with weights that sum to at most 1.
    The rest of the weight belongs to the plane 0, which is a lower bound of a nonnegative measure.

    The certificate recomputes the slopes from the scores. Scores are stored instead of coefficients, because tied scores have
    many slopes, and sums in another order could give different ones.
    """

    weights: np.ndarray
    scores: np.ndarray


class WholeQueries(NamedTuple):
    """Consecutive rows that hold every one of their queries whole: what they add to a mean over queries."""

    prepared: Any  # None: none of them counts
    share: float  # of the weight of all queries

    def value_and_slope(self, loss: Measure, z: np.ndarray, out: np.ndarray) -> float:
        """Their share of the loss; out = its slope."""
        if self.prepared is None:
            out[:] = 0.0
            return 0.0
        value = loss.value_and_slope(z, self.prepared, out)
        out *= self.share
        return float(self.share * value)

    def hessian_product(self, loss: Any, z: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """d -> their share of the second derivative at the scores z, times d."""
        if self.prepared is None:
            return np.zeros_like
        product = loss.hessian_product(z, self.prepared)
        return lambda d: self.share * product(d)


class SetProblem(Problem):
    """min over w of measure(X w; y, groups) + R(w).

    Created by `Problem` if the loss is a measure of `fenchel.measures`. There is no free intercept: most measures do not change
    when all scores are shifted, and for the others a constant column can be appended to X. Rows have no weights; queries can
    have weights for measures that support them (`PairMeasure`): sample_weight then has an entry per row, equal within a query.
    """

    family = "set"
    is_scalar, is_measure = False, True
    groups: np.ndarray | None
    total_mass: float | None  # the weight of all queries, if the loss is their mean

    def __init__(
        self, X: MatrixLike, y: ArrayLike | None = None, loss: Measure | str = "roc_area",
        regularizer: str | Regularizer = "l2", alpha: float | None = None, fit_intercept: bool = False,
        sample_weight: ArrayLike | None = None, offset: ArrayLike | None = None, groups: ArrayLike | None = None,
    ):  # fmt: skip
        y, groups = targets_of(X, y, groups)
        self.loss = measures.make(loss)
        self.regularizer = regularizers.make(regularizer, alpha)
        name = type(self.loss).__name__
        if y is None:
            raise InputError(f"y is missing: measure {name} needs targets")
        if offset is not None:
            raise InputError(f"measure {name} does not support an offset")
        if fit_intercept:
            idle = (
                "adding a constant to all scores does not change it"
                if self.loss.shift_invariant
                else "append a constant"
            )
            advice = "" if self.loss.shift_invariant else " column to X (it is then regularised)"
            raise InputError(f"measure {name} has no free intercept: {idle}{advice}; use fit_intercept=False")
        self.fit_intercept = False
        self.X, self.rows = accept_matrix(X)
        self.folder = folder_of(X)
        self.n, self.d = self.X.shape
        self.regularizer.validate(self.d)
        require_penalised(self.regularizer, self.d)
        regularizers.check_foreign(self.regularizer, self.d)
        self.y = read_only(accept_vector(y, self.n, "y"))
        self.groups = None if groups is None else self._accept_groups(groups)
        if sample_weight is not None:
            self.query_weight = read_only(accept_vector(sample_weight, self.n, "sample_weight", column=False))
        self.prepared = self.loss.prepare(self.y, self.groups, self.query_weight)
        measures.check_foreign(self.loss, self.y, self.groups)
        self.total_mass = self.loss.mass(self.prepared) if self._is_mean_over_queries() else None
        self.weights, self.total_weight = read_only(np.full(self.n, 1.0 / self.n)), float(self.n)
        self.has_offset, self.offset = False, read_only(np.zeros(self.n))
        self._frozen = True

    def _accept_groups(self, groups: ArrayLike) -> np.ndarray:
        found = np.asarray(groups)
        if found.shape != (self.n,):
            raise InputError(f"groups must have one entry per row of X ({self.n}), got shape {found.shape}")
        return found

    @classmethod
    def block(cls, X: MatrixLike, y: ArrayLike, loss: Measure | str, regularizer: Any, groups: Any) -> SetProblem:
        """A block of rows that lie elsewhere, as a problem that does not know what all queries weigh yet."""
        rows = Problem(X, np.zeros(np.shape(X)[0]), "squared", regularizer)
        new = object.__new__(cls)
        new.__dict__.update(rows.__dict__ | {"loss": measures.make(loss), "prepared": None, "total_mass": None})
        new.__dict__["y"] = read_only(accept_vector(y, rows.n, "y"))
        new.__dict__["groups"] = None if groups is None else new._accept_groups(groups)
        return new

    def own_mass(self) -> float | None:
        """The weight of the queries in these rows; None if the loss is no mean over queries, or may not be one."""
        if not self._is_mean_over_queries():
            return None
        try:
            return self.loss.mass(self.loss.prepare(self.y, self.groups, None))
        except NothingToRank:
            return 0.0

    def _is_mean_over_queries(self) -> bool:
        """Whether rows have queries, and the loss may be their mean: of a user's own measure only the user knows."""
        cls = type(self.loss)
        return self.groups is not None and (is_ours(cls) or "mass" in vars(cls))

    def part(self, a: int, b: int) -> SetProblem:
        """Rows a .. b - 1, with their queries if these are whole; of other rows only scores can be asked, as the measure is of
        all of them."""
        new = super().part(a, b)
        own: dict[str, Any] = {"prepared": None, "groups": None, "query_weight": None, "total_mass": None}
        if self.keeps_queries_whole((0, a, b, self.n)):
            own |= {"groups": self.groups[a:b], "total_mass": self.total_mass}  # type: ignore[index]
            own["query_weight"] = None if self.query_weight is None else self.query_weight[a:b]
        new.__dict__.update(own)
        new.__dict__.pop("query_starts", None)
        return new  # type: ignore[return-value]

    @cached_property
    def query_starts(self) -> np.ndarray | None:
        """Where queries begin, and n: None if the loss is no mean over queries, or their rows are not consecutive."""
        if self.total_mass is None or self.groups is None:
            return None
        starts = np.flatnonzero(self.groups[1:] != self.groups[:-1]) + 1
        consecutive = starts.size + 1 == np.unique(self.groups).size
        return np.concatenate([[0], starts, [self.n]]) if consecutive else None

    def keeps_queries_whole(self, edges: Sequence[int]) -> bool:
        """Whether no query has rows in two of the blocks between these row numbers: the loss is then a sum over blocks."""
        return self.query_starts is not None and bool(np.isin(edges, self.query_starts).all())

    def at_query_starts(self, edges: Sequence[int]) -> Sequence[int]:
        """The nearest row numbers at which queries begin, so that blocks keep them whole; the same, if there are none."""
        starts = self.query_starts
        if starts is None:
            return edges
        after = np.searchsorted(starts, edges).clip(1, starts.size - 1)
        nearer = np.where(np.asarray(edges) - starts[after - 1] <= starts[after] - edges, after - 1, after)
        return [int(edge) for edge in np.unique(starts[nearer])]

    def whole_queries(self, a: int, b: int) -> WholeQueries:
        """What the queries of rows a .. b - 1 add to the loss."""
        weight = None if self.query_weight is None else self.query_weight[a:b]
        try:
            prepared = self.loss.prepare(self.y[a:b], self.groups[a:b], weight)  # type: ignore[index]
        except NothingToRank:
            return WholeQueries(None, 0.0)
        mass = self.loss.mass(prepared)
        return WholeQueries(prepared, mass / self.total_mass) if mass else WholeQueries(None, 0.0)

    @property
    def smoothness(self) -> float | None:
        """None if the measure is not differentiable; else infinity, because no bound on its curvature is known."""
        return np.inf if self.loss.differentiable else None

    @property
    def basis(self) -> str:
        return resting_on("planes" if is_ours(type(self.loss)) else "tangents", self.regularizer)

    def dual_like(self, u: np.ndarray) -> None:
        """None: a mixture holds scores of other data, so that a solve cannot start from it."""
        return None

    def _digest_parts(self) -> list[np.ndarray]:
        parts = [self.y]
        if self.groups is not None:
            parts.append(np.unique(self.groups, return_inverse=True)[1])
        return parts if self.query_weight is None else [*parts, self.query_weight]
