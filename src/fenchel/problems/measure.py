"""A problem whose loss is a measure of all scores together: ROC area, F1, NDCG by query, ..."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fenchel import measures, regularizers
from fenchel.compile.dispatch import is_ours
from fenchel.data.accept import accept_matrix, accept_vector, read_only
from fenchel.data.stored import folder_of, targets_of
from fenchel.errors import InputError
from fenchel.problems.scalar import Problem
from fenchel.regularizers.certified import resting_on
from fenchel.regularizers.feature_weights import require_penalised

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import MatrixLike
    from fenchel.measures.protocol import Measure
    from fenchel.regularizers.base import Regularizer


class Mixture(NamedTuple):
    """A dual point of a set problem: the measure's slopes at several vectors of scores, with weights that sum to
    at most 1. What is missing to 1 is the weight of the plane 0, which bounds a measure that is never negative.

    The slopes are recomputed from the scores by whoever judges them; nothing else needs to be believed. Scores and not
    coefficients, because equal scores have many slopes, and another order of additions would find others.
    """

    weights: np.ndarray
    scores: np.ndarray


class SetProblem(Problem):
    """min over w of measure(X w; y, groups) + R(w).

    Made by `Problem` when the loss is one of `fenchel.measures`. There is no free intercept: most measures do not change when
    all scores are shifted, and for the others a constant column can be appended to X. Rows have no weights; queries may have,
    where the measure takes them (`PairMeasure`): sample_weight then has an entry per row, equal within a query.
    """

    family = "set"
    is_scalar, is_measure = False, True
    query_weight: np.ndarray | None = None  # an entry per row, where queries have weights

    def __init__(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        loss: Measure | str = "roc_area",
        regularizer: str | Regularizer = "l2",
        alpha: float | None = None,
        fit_intercept: bool = False,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ):
        y, groups = targets_of(X, y, groups)
        self.loss = measures.make(loss)
        self.regularizer = regularizers.make(regularizer, alpha)
        name = type(self.loss).__name__
        if y is None:
            raise InputError(f"y is missing: measure {name} needs targets")
        if offset is not None:
            raise InputError(f"measure {name} takes no offset")
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
        self.weights, self.total_weight = read_only(np.full(self.n, 1.0 / self.n)), float(self.n)
        self.has_offset, self.offset = False, read_only(np.zeros(self.n))
        self._frozen = True

    def _accept_groups(self, groups: ArrayLike) -> np.ndarray:
        found = np.asarray(groups)
        if found.shape != (self.n,):
            raise InputError(f"groups must have one entry per row of X ({self.n}), got shape {found.shape}")
        return found

    def part(self, a: int, b: int) -> SetProblem:
        """Rows a .. b - 1, of which scores can be asked; the measure is of all of them, and stays here."""
        new = super().part(a, b)
        new.__dict__.update(prepared=None, groups=None)
        return new  # type: ignore[return-value]

    @property
    def smoothness(self) -> float | None:
        """None where the measure is not differentiable; else infinity, because no bound of its curvature is known."""
        return np.inf if self.loss.differentiable else None

    @property
    def basis(self) -> str:
        return resting_on("planes" if is_ours(type(self.loss)) else "tangents", self.regularizer)

    def dual_like(self, u: np.ndarray) -> None:
        """A mixture holds points of its own data: a solve starts without."""
        return None

    def _digest_parts(self) -> list[np.ndarray]:
        parts = [self.y]
        if self.groups is not None:
            parts.append(np.unique(self.groups, return_inverse=True)[1])
        return parts if self.query_weight is None else [*parts, self.query_weight]
