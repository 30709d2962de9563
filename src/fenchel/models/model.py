"""Model: what a fit leaves behind, ready to predict, to be written to a file and to be verified again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.errors import InputError
from fenchel.losses.task import innermost, response_of, task_of
from fenchel.measures import is_measure
from fenchel.models.check import check
from fenchel.models.parts import (
    class_scores,
    classes_known,
    family_of,
    linear_scores,
    model_rows,
    regularizer_of,
)
from fenchel.models.traits import Traits
from fenchel.multiclass import is_vector_loss
from fenchel.result import Certificate, Result, Status

SEVERITY = [
    Status.CERTIFIED,
    Status.MAX_ITER,
    Status.MAX_TIME,
    Status.STALLED,
    Status.STOPPED_BY_CALLBACK,
    Status.NONFINITE,
    Status.INTERRUPTED,
]


class Scored(Traits):
    """What the scores of a model mean: shared by linear models and models with a kernel, which have `scores(X)`."""

    loss: Any
    labels: tuple[Any, ...] | None
    thresholds: tuple[float, ...] | None
    certificates: tuple[Certificate, ...]
    statuses: tuple[Status, ...]
    family: Any

    @property
    def k(self) -> int:
        """The number of scores per row."""
        raise NotImplementedError("abstract: a model says how many scores a row has")

    def scores(self, X: Any) -> np.ndarray:
        """(n,), or (n, k) for k scores."""
        raise NotImplementedError("abstract: a model defines scores(X)")

    @property
    def certificate(self) -> Certificate:
        """The certificate with the largest relative gap."""
        return max(self.certificates, key=lambda certificate: certificate.relative_gap)

    @property
    def status(self) -> Status:
        """The worst status."""
        return max(self.statuses, key=SEVERITY.index)

    def label_scores(self, X: Any) -> np.ndarray:
        """The scores, (n,), or (n, number of labels): those of a tree's leaves are sums over their paths."""
        z = self.scores(X)
        return z if self.k == 1 else class_scores(self.loss, z)

    def predict(self, X: Any) -> np.ndarray:
        """The label of every row; without labels: +1 or -1 (novelty: score at least the threshold, 1 if there is none, or
        not), e^z (Poisson), or z."""
        z = self.scores(X)
        if self.labels is not None:
            return np.array(self.labels)[self._places(z)]
        if task_of(self.loss) == "novelty":
            return np.where(z >= (1.0 if self.thresholds is None else self.thresholds[0]), 1, -1)
        with np.errstate(over="ignore"):
            return np.exp(z) if response_of(innermost(self.loss)) == "exp" else z

    def _places(self, z: np.ndarray) -> np.ndarray:
        """Which label the scores mean."""
        if self.thresholds is not None:
            return np.searchsorted(np.array(self.thresholds), z, side="left")
        if self.k == 1:
            return (z > 0.0).astype(int)
        return np.argmax(class_scores(self.loss, z), axis=1)

    def probabilities(self, X: Any) -> np.ndarray:
        """(n, number of labels): P(label | row), for losses that have one; those of k scores are normalised."""
        if self.labels is None or not hasattr(self.loss, "probability"):
            raise InputError(
                f"loss {type(self.loss).__name__} has no probabilities; fit with loss 'logistic' or 'softmax'"
            )
        if self.is_vector:
            return self.loss.probability(self.scores(X))
        z = self.scores(X)
        positive = self.loss.probability(z)
        if self.k == 1:
            return np.column_stack([self.loss.probability(-z), positive])
        total = positive.sum(axis=1, keepdims=True)
        return np.divide(positive, total, out=np.full_like(positive, 1.0 / self.k), where=total > 0.0)


@dataclass(frozen=True, eq=False)
class Model(Scored):
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
    versions: dict[str, str] = field(default_factory=lambda: current_versions())

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def from_result(cls, result: Result, **about: Any) -> Model:
        """The model of one Result; `about` as in `from_results`."""
        return cls.from_results([result], **about)

    @classmethod
    def from_results(
        cls,
        results: Sequence[Result],
        *,
        labels: Sequence[Any] | None = None,
        index_base: int | None = None,
        feature_names: Sequence[str] | None = None,
        keep_dual: bool = True,
        thresholds: Sequence[float] | None = None,
        constant: float | None = None,
        target: str | None = None,
        dropped: Sequence[str] = (),
    ) -> Model:
        """The model of one Result, or of one Result per label (one label against the rest, on the same rows)."""
        if not results:
            raise InputError("results: there must be at least one Result")
        first, several = results[0], len(results) > 1
        problem = first.problem
        if not problem.is_linear:
            right = "KernelModel" if problem.is_kernel else "StructuredModel"
            raise InputError(f"this Result has no weights of features: fenchel.{right}.from_result makes its model")
        if labels is None and problem.is_vector:
            labels = range(classes_known(problem.loss) or len(first.coef))
        points = [_dual_array(result) if keep_dual else None for result in results]
        intercepts = np.array([result.intercept for result in results])
        return cls(
            coef=np.array([result.coef for result in results]) if several else np.array(first.coef),
            intercept=intercepts if several else intercepts[0] if problem.is_vector else float(intercepts[0]),
            loss=problem.loss,
            regularizer=regularizer_of(problem),
            fit_intercept=problem.has_intercept,
            labels=None if labels is None else tuple(plain_label(label) for label in labels),
            certificates=tuple(result.certificate for result in results),
            statuses=tuple(result.status for result in results),
            tol=float(first.tol),
            solvers=tuple(result.solver for result in results),
            digests=tuple(result.digest for result in results),
            n=problem.n,
            index_base=index_base,
            weighted=bool((problem.weights != problem.weights[0]).any()),
            offset=bool(problem.has_offset),
            dual_points=None if any(point is None for point in points) else np.array(points) if several else points[0],
            feature_names=None if feature_names is None else tuple(str(name) for name in feature_names),
            thresholds=None if thresholds is None else tuple(float(t) for t in thresholds),
            constant=None if constant is None else float(constant),
            target=target,
            dropped=tuple(dropped),
        )

    @property
    def family(self) -> str:
        """ "scalar", "vector" (a loss of several scores) or "set" (a measure of all rows)."""
        return family_of(self.loss)

    is_linear = True

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

    @property
    def k(self) -> int:
        """The number of scores per row."""
        return 1 if self.coef.ndim == 1 else self.coef.shape[0]

    def scores(self, X: Any) -> np.ndarray:
        """X coef' + intercept, with the constant feature if there is one: (n,), or (n, k) for k scores."""
        own, always = self.coef[..., : self.d], self.intercept
        if self.constant is not None:
            always = always + self.constant * self.coef[..., -1]
        return linear_scores(model_rows(X, self.d), own, always)


def current_versions() -> dict[str, str]:
    """The versions that a model made now is made with."""
    from importlib.metadata import version

    return {name: version(name) for name in ("fenchel", "numpy")}


def _dual_array(result: Result) -> Any:
    """A dual point as one array or CSR matrix."""
    point: Any = result.dual_point
    if sp.issparse(point):
        return point.copy()
    if point is None or not result.problem.is_measure:
        return None if point is None else np.array(point)
    return np.column_stack([point.weights, point.scores])


def plain_label(label: Any) -> Any:
    """A label as plain Python has it."""
    return label.item() if isinstance(label, np.generic) else label
