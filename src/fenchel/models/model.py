"""Model: what a fit leaves behind, ready to predict, to be written to a file and to be verified again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from fenchel.errors import InputError
from fenchel.losses.task import innermost, task_of
from fenchel.measures import is_measure
from fenchel.models.base import Rules, are_strings, current_versions, good_names, name_rules, score_rules, solve_rules
from fenchel.models.parts import classes_known, family_of, has_several_targets, linear_scores, model_rows
from fenchel.models.scored import Certified, weights_and_intercepts
from fenchel.multiclass import is_vector_loss
from fenchel.result import Certificate, Result, Status
from fenchel.structured import is_structured

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False)
class Model(Certified):
    """Coefficients with their certificate and where they come from.

    One score per row: coef (d,), intercept a float. k scores, one against the rest each: coef (k, d), intercept (k,);
    certificates, statuses, solvers and digests then have k entries, otherwise one. A loss of several scores has all k of
    them in one problem, with one certificate.

    Attributes
    ----------
    coef, intercept : the scores are X coef' + intercept.
    loss, regularizer, fit_intercept : the problem that was solved.
    labels : what the scores mean: (label of negative scores, label of positive scores), or one label per score (with a
        tree: per leaf), all numbers or all strings; None for regression, novelty detection and rankings.
    certificates, statuses, tol, solvers : how well it was solved, one each per score, and the relative gap asked for.
    digests : sha256 of the data and the problem (`Problem.digest`), one per score; None where the rows were not at hand to
        be read again (models of fitted estimators).
    n : the number of rows it was fitted to.
    index_base : how the svmlight file counted its features (0 or 1), None if there was no file.
    weighted, offset : whether rows had different weights, or an offset; neither is stored.
    dual_points : (n,) or (k, n), the dual points of the certificates; None if they were not kept. For a loss of several
        scores (n, k), a CSR matrix if the certificate's is one; for a measure a row (weight, scores of the n rows) for each
        part of its mixture.
    thresholds : of a model of a measure with labels: one less than those, ascending. The label is that at the place of
        the score among them. Of novelty detection: one, the least score of usual rows; None means 1.
    feature_names : d strings, or None.
    constant : what was appended to every row as one more feature (liblinear's -B), or None. Its weight is the last of
        coef, and is penalised as all others are.
    target, dropped : the column of a table that it was trained to predict, and those that were left out; None and () if the
        data were no table.
    versions : the versions of fenchel and numpy that wrote the model.

    Examples
    --------
    >>> import fenchel
    >>> problem = fenchel.Problem([[0.0], [1.0], [2.0]], [-1, -1, 1], loss="hinge", alpha=0.1, fit_intercept=True)
    >>> model = Model.from_result(fenchel.solve(problem), labels=("no", "yes"))
    >>> model.predict([[0.0], [3.0]]).tolist(), model.status.name
    (['no', 'yes'], 'CERTIFIED')
    """

    coef: np.ndarray
    intercept: Any
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
    index_base: int | None = None
    weighted: bool = False
    offset: bool = False
    dual_points: Any = field(default=None, repr=False)
    feature_names: tuple[str, ...] | None = None
    thresholds: tuple[float, ...] | None = None
    constant: float | None = None
    target: str | None = None
    dropped: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=current_versions)

    is_linear = True

    def rules(self) -> Rules:
        """What must be true of the parts."""
        yield from score_rules(self.coef, self.intercept, self.k)
        yield "coef must have at least one entry", self.coef.size > 0
        yield "the loss must be one of scores, not of structured outputs", not is_structured(self.loss)
        yield "the scores must be as many as the loss has", self._good_scores()
        yield "labels must be None or as many different numbers or strings as there are classes", self._good_labels()
        yield (
            "thresholds must be one less than the labels, ascending, for measures and novelty only",
            self._good_thresholds(),
        )
        yield from solve_rules(self, 1 if self.is_vector else self.k)
        yield "index_base must be None, 0 or 1", self.index_base in (None, 0, 1)
        yield (
            "dual_points must be None or of the shape that goes with n and the loss",
            self.dual_points is None or self._good_dual(),
        )
        yield (
            "constant must be None or a finite number, with a weight beside those of the features",
            self.constant is None or (bool(np.isfinite(self.constant)) and self.d >= 1),
        )
        yield (
            "target must be None or a string, dropped a tuple of strings",
            isinstance(self.target, (str, type(None))) and are_strings(self.dropped),
        )
        yield from name_rules(self.feature_names, self.d)
        self.regularizer.validate(self.coef.shape[-1])

    @classmethod
    def _weights_of(cls, results: Sequence[Result]) -> dict[str, Any]:
        problem: Any = results[0].problem
        if not problem.is_linear:
            right = "KernelModel" if problem.is_kernel else "StructuredModel"
            raise InputError(f"this Result has no weights of features: fenchel.{right}.from_result makes its model")
        coef, intercept = weights_and_intercepts(results)
        return {"coef": coef, "intercept": intercept}

    @property
    def family(self) -> str:
        """ "scalar", "vector" (a loss of several scores) or "set" (a measure of all rows)."""
        return family_of(self.loss)

    @property
    def is_vector(self) -> bool:
        """Whether the loss is one of several scores per row."""
        return is_vector_loss(self.loss)

    @property
    def is_measure(self) -> bool:
        """Whether the loss is a measure of all scores together."""
        return is_measure(self.loss)

    @property
    def is_ranking(self) -> bool:
        """Whether the loss is a measure, and scores rank rows without meaning labels."""
        return self.is_measure and self.labels is None

    @property
    def d(self) -> int:
        """The number of features of a row, without the constant one."""
        return self.coef.shape[-1] - (self.constant is not None)

    def scores(self, X: ArrayLike | sp.csr_matrix) -> np.ndarray:
        """X coef' + intercept, with the constant feature if there is one: (n,), or (n, k) for k scores."""
        own, always = self.coef[..., : self.d], self.intercept
        if self.constant is not None:
            always = always + self.constant * self.coef[..., -1]
        return linear_scores(model_rows(X, self.d), own, always)

    def _good_scores(self) -> bool:
        if not self.is_vector:
            return not self.is_measure or self.coef.ndim == 1
        inner = innermost(self.loss)
        wanted = inner.parent.size - 1 if hasattr(inner, "leaf") else classes_known(inner)
        return self.coef.ndim == 2 and wanted in (None, self.k)

    def _good_labels(self) -> bool:
        if self.labels is None:
            return self.k == 1 or has_several_targets(self.loss)
        count = self.k if self.k > 1 else 2
        if self.is_vector:
            count = classes_known(self.loss) or self.k
        elif self.is_measure:
            count = len(self.thresholds or ()) + 1
        return good_names(self.labels, count)

    def _good_thresholds(self) -> bool:
        cuts = self.thresholds
        if cuts is None:
            return not self.is_measure or self.labels is None
        if task_of(self.loss) == "novelty":
            return len(cuts) == 1 and bool(np.isfinite(cuts[0]))
        ascending = bool(np.isfinite(cuts).all()) and all(a <= b for a, b in pairwise(cuts))
        return self.is_measure and self.labels is not None and len(cuts) > 0 and ascending

    def _good_dual(self) -> bool:
        points = self.dual_points
        if sp.issparse(points) and (not self.is_vector or points.format != "csr"):
            return False
        if self.is_measure:
            return points.ndim == 2 and points.shape[0] > 0 and points.shape[1] == 1 + self.n
        if self.is_vector:
            return points.shape == (self.n, self.k)
        return points.shape == ((self.n,) if self.k == 1 else (self.k, self.n))
