"""The subject of a report: a run, given as a Result, a model or a fitted estimator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.errors import InputError
from fenchel.models.base import BaseModel
from fenchel.models.described import in_units, predicts
from fenchel.models.model import Model
from fenchel.report.data_facts import data_facts, task_of
from fenchel.result import Certificate, Result, Status, TracePoint

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Solve:
    """One solved problem: its certificate and the history of the solve."""

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
    """One fit: the problem, its solves (one, or one per label), the weights and the functions for predictions.

    Attributes
    ----------
    task : "two classes", "classes", "regression", "novelty", "ranking" or "structured".
    family : "scalar", "vector", "set", "structured" or "kernel", the kind of problem.
    weights : (scores, features); None if features have no weights of their own.
    facts : facts about the data, as text.
    predict, scores, probabilities : functions of rows; None if there is none.
    proven : how many weights are proven to be positive, negative and zero at the exact optimum; None if that is not known.
    predicts : what the model predicts, in words, if its target has a name.
    columns : what was done with the columns of a table.
    per_unit : weights and biases in the units of these columns.
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
    proven: tuple[int, int, int] | None = None
    predicts: str | None = None
    columns: tuple[Sequence[str], ...] = ()
    per_unit: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def worst(self) -> Solve:
        """The solve with the largest relative gap."""
        return max(self.solves, key=lambda solve: solve.certificate.relative_gap)

    @property
    def converged(self) -> bool:
        return all(solve.status is Status.CERTIFIED for solve in self.solves)


class Fit(NamedTuple):
    """A model with the Results it was made from: labels and predictions of the model, histories of the Results.

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
    """The run of a Result, a model or a fitted estimator."""
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
        f"expected a Result, a model or a fitted estimator of Fenchel with a certificate, got {type(given).__name__}"
    )


def _of_result(result: Result, name: str, feature_names: Sequence[str] | None) -> Run:
    problem, solves = result.problem, (solve_of(result),)
    if problem.is_linear:
        labels = (-1, 1) if task_of(problem.loss, labels=None) == "two classes" else None
        known = (
            None if problem.is_measure else labels
        )  # labels of a measure need a threshold, which a Result does not have
        run = _of_model(Model.from_result(result, labels=known, keep_dual=False), name, feature_names)
        by_query = problem.is_measure and getattr(problem, "groups", None) is not None
        task = run.task if by_query or not problem.is_measure else task_of(problem.loss, None)
        return replace(
            run,
            task=task,
            solves=solves,
            facts=data_facts(problem),
            labels=labels or run.labels,
            versions={},
            proven=proven_signs([result]),
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
        **_of_table(model),
    )  # fmt: skip


def _of_table(model: Any) -> dict[str, Any]:
    """What a model of a table knows of its columns."""
    about = {"predicts": predicts(model)} if model.is_linear and model.target is not None else {}
    if getattr(model, "preparation", None) is None:
        return about
    return about | {"columns": tuple(model.preparation.table()), "per_unit": in_units(model)[:2]}


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
    """The run of the model with the solves of the Results and the facts about their data."""
    run = run_of(fit.model, name, feature_names)
    if len(fit.results) != len(run.solves):
        raise InputError(
            f"Fit: the model has {len(run.solves)} certificates, but {len(fit.results)} results were passed"
        )
    solves = tuple(
        replace(solve_of(result), name=solve.name) for result, solve in zip(fit.results, run.solves, strict=True)
    )
    facts = data_facts(fit.results[0].problem, run.labels)
    return replace(run, solves=solves, facts=facts, proven=proven_signs(fit.results))


def proven_signs(results: Sequence[Result]) -> tuple[int, int, int] | None:
    """The numbers of weights that are proven to be positive, negative and zero; None without weights per feature."""
    if not all(result.problem.is_linear and not result.problem.is_structured for result in results):
        return None
    found = [result.support() for result in results]
    counts = [(int(one.positive.sum()), int(one.negative.sum()), int(one.zero.sum())) for one in found]
    positive, negative, zero = map(sum, zip(*counts, strict=True))
    return positive, negative, zero


def names_for(weights: np.ndarray | None, names: Sequence[str] | None) -> tuple[str, ...] | None:
    """The names, if there is one for every feature."""
    if names is None:
        return None
    if weights is None:
        raise InputError("feature_names were passed, but these models have no weights per feature")
    if len(names) != weights.shape[1]:
        raise InputError(
            f"feature_names has {len(names)} names, but there are {weights.shape[1]} features: pass one for each"
        )
    return tuple(str(name) for name in names)
