"""Model: a fitted linear model, for predictions, saving and verification."""

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
from fenchel.models.certain import certain, intercept_bounds
from fenchel.models.parts import classes_known, has_several_targets, linear_scores, model_rows
from fenchel.models.roles import OffsetRows, role_rules, rows_and_offset
from fenchel.models.scored import Certified, weights_and_intercepts
from fenchel.multiclass import is_vector_loss
from fenchel.problems.families import family_of
from fenchel.result import Certificate, Result, Status
from fenchel.structured import is_structured

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.tables.preparation import Preparation


@dataclass(frozen=True, eq=False)
class Model(Certified):
    """Coefficients with their certificate and the problem that they solve.

    One score per row: coef (d,), intercept a float. k scores from one-vs-rest: coef (k, d), intercept (k,);
    certificates, statuses, solvers and digests then have k entries, otherwise one. A loss of several scores has all k
    scores in one problem, with one certificate.

    Attributes
    ----------
    coef, intercept : the scores are X coef' + intercept.
    loss, regularizer, fit_intercept : the problem that was solved.
    labels : the labels of the scores: (label of negative scores, label of positive scores), or one label per score (with a
        tree: per leaf), all numbers or all strings; None for regression, novelty detection and rankings.
    certificates, statuses, tol, solvers : the results of the solves, one each per score, and the relative gap requested.
    digests : sha256 of the data and the problem (`Problem.digest`), one per score; None if the rows were not available
        (models of fitted estimators).
    n : the number of training rows.
    index_base : the index of the first feature in the svmlight file (0 or 1), None if there was no such file.
    weighted, offset : whether rows had different weights, or an offset; neither is stored.
    dual_points : (n,) or (k, n), the dual points of the certificates; None if they were not kept. For a loss of several
        scores (n, k), a CSR matrix if the certificate's is one; for a measure, a row (weight, scores of the n rows) for each
        component of its mixture.
    thresholds : for a measure with labels: one less than the number of labels, ascending; the index of the label is the
        number of thresholds below the score. For novelty detection: the lowest score of normal rows; None means 1.
    feature_names : d strings, or None.
    constant : the value of the feature that was appended to every row (liblinear's -B), or None. Its weight is the last
        entry of coef, and is penalised like all others.
    target, dropped : the target column of the training table and the excluded columns; None and () if the data were not a
        table.
    intercept_bounds : for classifiers with one score and a free intercept: the lower and the upper end of an interval that
        holds the best intercept, for each problem, which `certain` needs; None if they are not known.
    preparation : the rules that turn a table into rows of features (see `fenchel.TableTransformer`), or None. `scores`,
        `predict` and `probabilities` then take such tables, too.
    roles : what else the columns of the training table were (see `fenchel.models.roles`), or None.
    versions : the versions of fenchel and numpy that created the model.

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
    intercept_bounds: tuple[float, ...] | None = None
    preparation: Preparation | None = None
    roles: dict[str, Any] | None = None
    versions: dict[str, str] = field(default_factory=current_versions)

    is_linear = True

    def rules(self) -> Rules:
        """The conditions on the parts."""
        yield from score_rules(self.coef, self.intercept, self.k)
        yield "coef must have at least one entry", self.coef.size > 0
        yield "the loss must not be one of structured outputs", not is_structured(self.loss)
        yield "the number of scores must be that of the loss", self._good_scores()
        yield "labels must be None or as many distinct numbers or strings as there are classes", self._good_labels()
        yield (
            "thresholds must be one less than the labels, ascending, for measures and novelty only",
            self._good_thresholds(),
        )
        yield from solve_rules(self, 1 if self.is_vector else self.k)
        yield "index_base must be None, 0 or 1", self.index_base in (None, 0, 1)
        yield (
            "dual_points must be None or have the shape for n and the loss",
            self.dual_points is None or self._good_dual(),
        )
        yield (
            "constant must be None or a finite number, with a weight in addition to those of the features",
            self.constant is None or (bool(np.isfinite(self.constant)) and self.d >= 1),
        )
        yield (
            "target must be None or a string, dropped a tuple of strings",
            isinstance(self.target, (str, type(None))) and are_strings(self.dropped),
        )
        yield (
            "intercept_bounds must be None or a lower and an upper end per problem",
            self.intercept_bounds is None or self._good_bounds(),
        )
        yield from name_rules(self.feature_names, self.d)
        yield (
            "preparation must be None or have a name for every feature",
            self.preparation is None or tuple(self.preparation.features) == self.feature_names,
        )
        yield from role_rules(self.roles)
        self.regularizer.validate(self.coef.shape[-1])

    @classmethod
    def _weights_of(cls, results: Sequence[Result]) -> dict[str, Any]:
        problem: Any = results[0].problem
        if not problem.is_linear:
            right = "KernelModel" if problem.is_kernel else "StructuredModel"
            raise InputError(f"this Result has no weights per feature: use fenchel.{right}.from_result")
        coef, intercept = weights_and_intercepts(results)
        return {"coef": coef, "intercept": intercept, "intercept_bounds": intercept_bounds(results)}

    @property
    def family(self) -> str:
        """ "scalar", "vector" (a loss of several scores) or "set" (a measure of all rows)."""
        return family_of(self.loss)

    @property
    def is_vector(self) -> bool:
        """Whether the loss is a function of several scores per row."""
        return is_vector_loss(self.loss)

    @property
    def is_measure(self) -> bool:
        """Whether the loss is a measure of all scores together."""
        return is_measure(self.loss)

    @property
    def is_ranking(self) -> bool:
        """Whether the loss is a measure and the scores rank rows instead of predicting labels."""
        return self.is_measure and self.labels is None

    @property
    def d(self) -> int:
        """The number of features of a row, without the constant one."""
        return self.coef.shape[-1] - (self.constant is not None)

    def scores(self, X: ArrayLike | sp.csr_matrix) -> np.ndarray:
        """X coef' + intercept, with the constant feature if there is one: (n,), or (n, k) for k scores.

        X may be a table with the columns of the training table, if the model has a `preparation`.
        """
        X, offset = rows_and_offset(X, self.preparation, self.roles)
        own, always = self.coef[..., : self.d], self.intercept
        if self.constant is not None:
            always = always + self.constant * self.coef[..., -1]
        z = linear_scores(model_rows(X, self.d), own, always)
        return z if offset is None else z + (offset if z.ndim == 1 else offset[:, None])

    def certain(self, X: ArrayLike | sp.csr_matrix) -> np.ndarray:
        """Whether the exact optimum of the training problem puts each row into the same class; True is a proof.

        >>> import fenchel
        >>> problem = fenchel.Problem([[1.0], [2.0], [-1.0]], [1, 1, -1], loss="logistic", alpha=0.1)
        >>> Model.from_result(fenchel.solve(problem, tol=1e-3), labels=("no", "yes")).certain([[1.0], [0.0]]).tolist()
        [True, False]
        """
        rows, offset = rows_and_offset(X, self.preparation, self.roles)
        return certain(self, rows if offset is None else OffsetRows(rows, offset))

    def _good_bounds(self) -> bool:
        ends = self.intercept_bounds or ()
        return (
            len(ends) == 2 * self.k
            and not self.is_vector
            and all(a <= b for a, b in zip(ends[::2], ends[1::2], strict=True))
        )

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
