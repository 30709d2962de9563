"""The base of models with scores: linear models, models with a kernel and the weights of online learners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp

from fenchel.errors import InputError
from fenchel.losses.task import innermost, response_of, task_of
from fenchel.models.base import BaseModel, labels_shown, plain_entries
from fenchel.models.parts import class_scores, classes_known, has_several_targets, regularizer_of
from fenchel.result import Certificate, Result, Status

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.problems.scalar import Problem

SEVERITY = [
    Status.CERTIFIED,
    Status.DECIDED,
    Status.BOUNDED,
    Status.MAX_ITER,
    Status.MAX_TIME,
    Status.STALLED,
    Status.STOPPED_BY_CALLBACK,
    Status.NONFINITE,
    Status.INTERRUPTED,
]


class Scored(BaseModel):
    """A model with `scores(X)`, which determine labels, predictions and probabilities."""

    coef: np.ndarray
    loss: Any
    labels: tuple[Any, ...] | None
    thresholds: tuple[float, ...] | None
    constant: float | None
    index_base: int | None
    feature_names: tuple[str, ...] | None
    target: str | None
    dropped: tuple[str, ...]

    @property
    def k(self) -> int:
        """The number of scores per row."""
        return 1 if self.coef.ndim == 1 else self.coef.shape[0]

    @property
    def d(self) -> int:
        """The number of features of a row."""
        raise NotImplementedError("abstract: a model defines the number of its features")

    def scores(self, X: ArrayLike | sp.csr_matrix) -> np.ndarray:
        """(n,), or (n, k) for k scores."""
        raise NotImplementedError("abstract: a model defines scores(X)")

    def label_scores(self, X: ArrayLike | sp.csr_matrix) -> np.ndarray:
        """The scores, (n,), or (n, number of labels); the scores of the leaves of a tree are sums over their paths."""
        z = self.scores(X)
        return z if self.k == 1 else class_scores(self.loss, z)

    def predict(self, X: ArrayLike | sp.csr_matrix) -> np.ndarray:
        """The label of every row. Without labels: for novelty +1 if the score is at least the threshold (default 1), else -1;
        e^z for Poisson; otherwise z."""
        z = self.scores(X)
        if self.labels is not None:
            return np.array(self.labels)[self._places(z)]
        if task_of(self.loss) == "novelty":
            return np.where(z >= (1.0 if self.thresholds is None else self.thresholds[0]), 1, -1)
        with np.errstate(over="ignore"):
            return np.exp(z) if response_of(innermost(self.loss)) == "exp" else z

    def _places(self, z: np.ndarray) -> np.ndarray:
        """The indices of the labels that the scores predict."""
        if self.thresholds is not None:
            return np.searchsorted(np.array(self.thresholds), z, side="left")
        if self.k == 1:
            return (z > 0.0).astype(int)
        return np.argmax(class_scores(self.loss, z), axis=1)

    def probabilities(self, X: ArrayLike | sp.csr_matrix) -> np.ndarray:
        """(n, number of labels): P(label | row), for losses that define it; normalised for k scores."""
        if self.labels is None or not hasattr(self.loss, "probability"):
            who = "an online learner" if self.loss is None else f"loss {type(self.loss).__name__}"
            raise InputError(f"{who} has no probabilities; fit a Classifier with loss 'logistic' or 'softmax'")
        if self.is_vector:
            return self.loss.probability(self.scores(X))
        z = self.scores(X)
        positive = self.loss.probability(z)
        if self.k == 1:
            return np.column_stack([self.loss.probability(-z), positive])
        total = positive.sum(axis=1, keepdims=True)
        return np.divide(positive, total, out=np.full_like(positive, 1.0 / self.k), where=total > 0.0)


class Certified(Scored):
    """A model from one solve, or from one per label, each with its certificate."""

    certificates: tuple[Certificate, ...]
    statuses: tuple[Status, ...]
    solvers: tuple[str, ...]
    digests: tuple[str | None, ...]
    tol: float
    n: int
    weighted: bool
    offset: bool

    @property
    def certificate(self) -> Certificate:
        """The certificate with the largest relative gap."""
        return max(self.certificates, key=lambda certificate: certificate.relative_gap)

    @property
    def status(self) -> Status:
        """The worst status."""
        return max(self.statuses, key=SEVERITY.index)

    def facts(self) -> dict[str, Any]:
        """Facts about the data, as text."""
        rows = {"Rows": self.n, "Features": self.d, "Labels": labels_shown(self.labels)}
        return rows | {"Row weights": "yes" if self.weighted else None, "Offset": "yes" if self.offset else None}

    @classmethod
    def from_result(cls, result: Result, **about: Any) -> Self:
        """The model of one Result; `about` as in `from_results`."""
        return cls.from_results([result], **about)

    @classmethod
    def from_results(
        cls,
        results: Sequence[Result],
        *,
        labels: Sequence[Any] | None = None,
        feature_names: Sequence[str] | None = None,
        keep_dual: bool = True,
        thresholds: Sequence[float] | None = None,
        dropped: Sequence[str] = (),
        **about: Any,
    ) -> Self:
        """The model of one Result, or of one Result per label (one-vs-rest, on the same rows).

        `about` are further fields: `target` and, for linear models, `index_base` and `constant`.
        """
        if not results:
            raise InputError("results: pass at least one Result")
        problem: Any = results[0].problem
        if labels is None and problem.is_vector and not has_several_targets(problem.loss):
            labels = range(classes_known(problem.loss) or len(results[0].coef))
        points = [_dual_array(result) if keep_dual else None for result in results]
        if thresholds is not None:
            about["thresholds"] = tuple(float(cut) for cut in thresholds)
        parts = {
            "labels": plain_entries(labels),
            "feature_names": None if feature_names is None else tuple(str(name) for name in feature_names),
            "dual_points": None if any(point is None for point in points) else _stacked(points),
            "dropped": tuple(dropped),
        }
        return cls(**cls._weights_of(results), **facts_of(results), **parts, **about)

    @classmethod
    def _weights_of(cls, results: Sequence[Result]) -> dict[str, Any]:
        """The fields that define the scores."""
        raise NotImplementedError("abstract: a model defines how it is made from results")


def facts_of(results: Sequence[Result], read_data: bool = True) -> dict[str, Any]:
    """The facts about the solves other than coefficients and dual points, without references to the data.

    Digests need a pass over the data: without `read_data` they are None.
    """
    problem: Any = results[0].problem
    return {
        "loss": problem.loss,
        "regularizer": regularizer_of(problem),
        "fit_intercept": bool(problem.has_intercept),
        "certificates": tuple(result.certificate for result in results),
        "statuses": tuple(result.status for result in results),
        "tol": float(results[0].tol),
        "solvers": tuple(result.solver for result in results),
        "digests": tuple(result.digest if read_data else None for result in results),
        "n": int(problem.n),
        "weighted": is_weighted(problem),
        **({"offset": bool(problem.has_offset)} if problem.is_linear else {}),
    }


def is_weighted(problem: Problem) -> bool:
    """Whether rows, examples or queries have different weights."""
    weights = problem.weights if problem.query_weight is None else problem.query_weight
    return bool((weights != weights[0]).any())


def weights_and_intercepts(results: Sequence[Result]) -> tuple[np.ndarray, Any]:
    """(coef, intercept): those of one Result, or a row for each."""
    if len(results) > 1:
        return np.array([result.coef for result in results]), np.array([result.intercept for result in results])
    coef, intercept = np.array(results[0].coef), np.asarray(results[0].intercept)
    return coef, np.array(intercept) if intercept.ndim else float(intercept)


def _stacked(points: Sequence[Any]) -> Any:
    return np.array(points) if len(points) > 1 else points[0]


def _dual_array(result: Result) -> Any:
    """A dual point as one array or CSR matrix."""
    point: Any = result.dual_point
    if sp.issparse(point):
        return point.copy()
    if result.problem.is_measure and point is not None:
        return np.column_stack([point.weights, point.scores])
    # Tangents belong to a custom loss, which cannot be saved.
    return None if point is None or isinstance(point, tuple) else np.array(point)
