"""What a page is about: one run, however it is given (a Result, a model from a file, a fitted estimator)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.errors import InputError
from fenchel.models.base import BaseModel
from fenchel.models.model import Model
from fenchel.report.data_facts import data_facts, task_of
from fenchel.result import Certificate, Result, Status, TracePoint

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Solve:
    """One problem that was solved: its certificate and how it came about."""

    name: str
    certificate: Certificate
    status: Status
    tol: float
    solver: str
    digest: str | None = None
    reason: str | None = None
    n_iter: int | None = None
    passes: float | None = None
    seconds: float | None = None
    trace: tuple[TracePoint, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """One fit: the problem, its solves (one, or one per label), the weights, and how it predicts.

    Attributes
    ----------
    task : "two classes", "classes", "regression", "novelty", "ranking" or "structured".
    family : "scalar", "vector", "set", "structured" or "kernel", the kind of problem.
    weights : (scores, features); None if features have no weights of their own.
    facts : what is known of the data, for people.
    predict, scores, probabilities : functions of rows; None where there is none.
    """

    name: str
    family: str
    task: str
    loss: Any
    regularizer: Any
    intercept: bool
    solves: tuple[Solve, ...]
    weights: np.ndarray | None
    bias: np.ndarray | None
    labels: tuple[Any, ...] | None
    feature_names: tuple[str, ...] | None
    facts: Mapping[str, Any]
    predict: Callable[[Any], Any] | None = None
    scores: Callable[[Any], np.ndarray] | None = None
    probabilities: Callable[[Any], np.ndarray] | None = None
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def worst(self) -> Solve:
        """The solve with the largest relative gap."""
        return max(self.solves, key=lambda solve: solve.certificate.relative_gap)

    @property
    def converged(self) -> bool:
        return all(solve.status is Status.CERTIFIED for solve in self.solves)


class Fit(NamedTuple):
    """A model with the Results it was made from: labels and predictions of the one, histories of the others.

    Examples
    --------
    >>> import fenchel
    >>> result = fenchel.solve(fenchel.Problem([[0.0], [1.0]], [-1, 1], loss="hinge", alpha=0.1))
    >>> Fit(fenchel.Model.from_result(result, labels=("no", "yes")), [result]).model.labels
    ('no', 'yes')
    """

    model: BaseModel
    results: Sequence[Result]


def run_of(given: object, name: str, feature_names: Sequence[str] | None = None) -> Run:
    """The run that is meant by a Result, a model or a fitted estimator of `fenchel`."""
    if isinstance(given, Result):
        return _of_result(given, name, feature_names)
    if isinstance(given, Fit):
        return _of_fit(given, name, feature_names)
    if isinstance(given, BaseModel) and hasattr(given, "certificates"):
        return _of_model(given, name, feature_names)
    if hasattr(given, "certificate_") and hasattr(given, "status_"):
        from fenchel.report.estimator_subject import run_of_estimator

        return run_of_estimator(given, name, feature_names)
    raise InputError(
        f"a report is of a Result, a model or a fitted estimator of fenchel with a certificate, got {type(given).__name__}"
    )


def _of_result(result: Result, name: str, feature_names: Sequence[str] | None) -> Run:
    problem, solves = result.problem, (solve_of(result),)
    if problem.is_linear:
        labels = (-1, 1) if task_of(problem.loss, labels=None) == "two classes" else None
        known = None if problem.is_measure else labels  # labels of a measure need a threshold, which a Result has not
        run = _of_model(Model.from_result(result, labels=known, keep_dual=False), name, feature_names)
        by_query = problem.is_measure and getattr(problem, "groups", None) is not None
        task = run.task if by_query or not problem.is_measure else task_of(problem.loss, None)
        return replace(
            run, task=task, solves=solves, facts=data_facts(problem), labels=labels or run.labels, versions={}
        )
    return Run(
        name, problem.family, task_of(problem.loss, None), problem.loss, problem.regularizer, problem.has_intercept, solves,
        None, np.atleast_1d(np.asarray(result.intercept, dtype=float)) if problem.has_intercept else None, None,
        names_for(None, feature_names), data_facts(problem),
    )  # fmt: skip


def solve_of(result: Result) -> Solve:
    """A Result without its data."""
    return Solve(
        "", result.certificate, result.status, result.tol, result.solver, result.digest, result.reason,
        int(result.n_iter), float(result.passes), float(result.seconds), tuple(result.trace), result.settings,
    )  # fmt: skip


def _of_model(model: Any, name: str, feature_names: Sequence[str] | None) -> Run:
    several = len(model.certificates) > 1
    parts = zip(model.certificates, model.statuses, model.solvers, model.digests, strict=True)
    solves = tuple(
        Solve(str(model.labels[k]) if several and model.labels else "", c, status, model.tol, solver, digest)
        for k, (c, status, solver, digest) in enumerate(parts)
    )
    weights = np.atleast_2d(model.coef) if model.is_linear else None
    names = getattr(model, "feature_names", None) if weights is not None and feature_names is None else feature_names
    free = getattr(model, "fit_intercept", False)
    bias = np.atleast_1d(np.asarray(model.intercept, dtype=float)) if free else None
    task = "ranking" if model.is_ranking else task_of(model.loss, model.labels)
    return Run(
        name, model.family, task, model.loss, model.regularizer, free, solves, weights, bias,
        model.labels, names_for(weights, names), model.facts(), versions=model.versions, **_model_functions(model),
    )  # fmt: skip


def _model_functions(model: Any) -> dict[str, Any]:
    if model.is_structured:
        return {"predict": model.predict}
    has = hasattr(model.loss, "probability") and model.labels is not None
    known = not model.is_measure or model.thresholds is not None
    return {
        "scores": model.label_scores,
        "predict": model.predict if known else None,
        "probabilities": model.probabilities if has else None,
    }


def _of_fit(fit: Fit, name: str, feature_names: Sequence[str] | None) -> Run:
    """The model's run with the solves of the Results and the facts of their data."""
    run = run_of(fit.model, name, feature_names)
    if len(fit.results) != len(run.solves):
        raise InputError(f"Fit: the model has {len(run.solves)} certificates, but there are {len(fit.results)} results")
    solves = tuple(
        replace(solve_of(result), name=solve.name) for result, solve in zip(fit.results, run.solves, strict=True)
    )
    return replace(run, solves=solves, facts=data_facts(fit.results[0].problem, run.labels))


def names_for(weights: np.ndarray | None, names: Sequence[str] | None) -> tuple[str, ...] | None:
    """The names, if there is one for every feature."""
    if names is None:
        return None
    if weights is None:
        raise InputError("feature_names are given, but these models have no weights of features")
    if len(names) != weights.shape[1]:
        raise InputError(
            f"feature_names has {len(names)} names, but there are {weights.shape[1]} features: give one for each"
        )
    return tuple(str(name) for name in names)
