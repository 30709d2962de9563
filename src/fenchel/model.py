"""Model: what a fit leaves behind, ready to predict, to be written to a file and to be verified again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.errors import InputError
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


@dataclass(frozen=True, eq=False)
class Model:
    """Coefficients with their certificate and where they come from.

    One score per row: coef (d,), intercept a float. k scores, one against the rest each: coef (k, d), intercept (k,);
    certificates, statuses, solvers and digests then have k entries, otherwise one.

    Attributes
    ----------
    coef, intercept : the scores are X coef' + intercept.
    loss, regularizer, fit_intercept : the problem that was solved.
    labels : what the scores mean: (label of negative scores, label of positive scores), or one label per score, all
        numbers or all strings; None for regression and novelty detection.
    certificates, statuses, tol, solvers : how well it was solved, one each per score, and the relative gap asked for.
    digests : sha256 of the data and the problem (`Problem.digest`), one per score.
    n : the number of rows it was fitted to.
    index_base : how the svmlight file counted its features (0 or 1), None if there was no file.
    weighted, offset : whether rows had different weights, or an offset; neither is stored.
    dual_points : (n,) or (k, n), the dual points of the certificates; None if they were not kept.
    feature_names : d strings, or None.
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
    digests: tuple[str, ...]
    n: int
    index_base: int | None = None
    weighted: bool = False
    offset: bool = False
    dual_points: np.ndarray | None = field(default=None, repr=False)
    feature_names: tuple[str, ...] | None = None
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
    ) -> Model:
        """The model of one Result, or of one Result per label (one label against the rest, on the same rows)."""
        if not results:
            raise InputError("results: there must be at least one Result")
        first, several = results[0], len(results) > 1
        problem = first.problem
        points = [result.dual_point for result in results]
        duals = np.array(points) if keep_dual and all(point is not None for point in points) else None
        return cls(
            coef=np.array([result.coef for result in results]) if several else np.array(first.coef),
            intercept=np.array([result.intercept for result in results]) if several else float(first.intercept),
            loss=problem.loss,
            regularizer=problem.regularizer,
            fit_intercept=problem.fit_intercept,
            labels=None if labels is None else tuple(_plain_label(label) for label in labels),
            certificates=tuple(result.certificate for result in results),
            statuses=tuple(result.status for result in results),
            tol=float(first.tol),
            solvers=tuple(result.solver for result in results),
            digests=tuple(result.digest for result in results),
            n=problem.n,
            index_base=index_base,
            weighted=bool((problem.weights != problem.weights[0]).any()),
            offset=bool(problem.has_offset),
            dual_points=duals if several or duals is None else duals[0],
            feature_names=None if feature_names is None else tuple(str(name) for name in feature_names),
        )

    @property
    def d(self) -> int:
        """The number of features."""
        return self.coef.shape[-1]

    @property
    def k(self) -> int:
        """The number of scores per row."""
        return 1 if self.coef.ndim == 1 else self.coef.shape[0]

    @property
    def certificate(self) -> Certificate:
        """The certificate with the largest relative gap."""
        return max(self.certificates, key=lambda certificate: certificate.relative_gap)

    @property
    def status(self) -> Status:
        """The worst status."""
        return max(self.statuses, key=SEVERITY.index)

    def scores(self, X: Any) -> np.ndarray:
        """X coef' + intercept: (n,), or (n, k) for k scores."""
        X = X if sp.issparse(X) else np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != self.d:
            got = f"{X.shape[1]} features" if X.ndim == 2 else f"{X.ndim} dimension(s)"
            raise InputError(f"X has {got}, but the model has {self.d} features; pass rows with the same features")
        return np.asarray(X @ self.coef.T + self.intercept)

    def predict(self, X: Any) -> np.ndarray:
        """The label of every row; without labels: +1 or -1 (novelty: score at least 1 or not), e^z (Poisson), or z."""
        z = self.scores(X)
        if self.labels is not None:
            best = (z > 0.0).astype(int) if self.k == 1 else np.argmax(z, axis=1)
            return np.array(self.labels)[best]
        name = type(_innermost(self.loss)).__name__
        if name == "Novelty":
            return np.where(z >= 1.0, 1, -1)
        return np.exp(z) if name == "Poisson" else z

    def probabilities(self, X: Any) -> np.ndarray:
        """(n, number of labels): P(label | row), for losses that have one; those of k scores are normalised."""
        if self.labels is None or not hasattr(self.loss, "probability"):
            raise InputError(f"loss {type(self.loss).__name__} has no probabilities; fit with loss 'logistic'")
        z = self.scores(X)
        positive = self.loss.probability(z)
        if self.k == 1:
            return np.column_stack([self.loss.probability(-z), positive])
        total = positive.sum(axis=1, keepdims=True)
        return np.divide(positive, total, out=np.full_like(positive, 1.0 / self.k), where=total > 0.0)


def current_versions() -> dict[str, str]:
    """The versions that a model made now is made with."""
    from importlib.metadata import version

    return {name: version(name) for name in ("fenchel", "numpy")}


def _innermost(loss: Any) -> Any:
    """The loss inside any number of Moreau envelopes."""
    while hasattr(loss, "loss"):
        loss = loss.loss
    return loss


def _plain_label(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def check(model: Model) -> None:
    """Raise InputError unless the parts of a model fit together."""
    coef, k = np.asarray(model.coef), model.k
    intercept = np.asarray(model.intercept)
    rules = {
        "coef must be a finite float64 array of shape (d,) or (k, d) with k > 1": coef.ndim in (1, 2)
        and coef.dtype == np.float64
        and coef.size > 0
        and (coef.ndim == 1 or k > 1)
        and bool(np.isfinite(coef).all()),
        f"intercept must be {'a finite number' if k == 1 else f'{k} finite numbers'}": intercept.shape
        == (() if k == 1 else (k,))
        and bool(np.isfinite(intercept).all()),
        "intercept must be 0 when fit_intercept is False": model.fit_intercept or not intercept.any(),
        f"labels must be None or {max(k, 2)} different numbers or strings": _good_labels(model.labels, max(k, 2), k),
        f"certificates, statuses, solvers and digests must have {k} entries": {k}
        == {len(part) for part in (model.certificates, model.statuses, model.solvers, model.digests)},
        "tol must be a number greater than 0": 0.0 < model.tol < np.inf,
        "n must be at least 1": model.n >= 1,
        "index_base must be None, 0 or 1": model.index_base in (None, 0, 1),
        f"dual_points must be None or of shape {(model.n,) if k == 1 else (k, model.n)}": model.dual_points is None
        or model.dual_points.shape == ((model.n,) if k == 1 else (k, model.n)),
        f"feature_names must be None or {model.d} strings": model.feature_names is None
        or (len(model.feature_names) == model.d and all(isinstance(name, str) for name in model.feature_names)),
    }
    for rule, kept in rules.items():
        if not kept:
            raise InputError(f"{rule}")
    model.regularizer.validate(model.d)


def _good_labels(labels: tuple[Any, ...] | None, count: int, k: int) -> bool:
    if labels is None:
        return k == 1
    words = all(isinstance(label, str) for label in labels)
    numbers = all(isinstance(label, (int, float)) and np.isfinite(label) for label in labels)
    return len(labels) == count == len(set(labels)) and (words or numbers)
