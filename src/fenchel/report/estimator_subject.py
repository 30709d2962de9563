"""A fitted estimator as the subject of a report: its model, the histories of its solves and its own predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fenchel.errors import InputError
from fenchel.estimators.saving import Saving
from fenchel.report.subject import Run, Solve, run_of

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


def run_of_estimator(fitted: BaseEstimator, name: str, feature_names: Sequence[str] | None) -> Run:
    """The run of a fitted estimator with a certificate."""
    if not isinstance(fitted, Saving):
        raise InputError(f"a {type(fitted).__name__} does not store what a report needs; pass a Result instead")
    run = run_of(fitted.to_model(), name, feature_names)
    own = {"predict": fitted.predict, "probabilities": getattr(fitted, "predict_proba", None)}  # type: ignore[attr-defined]
    if run.family != "structured":
        own["scores"] = _scores(fitted)
    return replace(run, solves=_solves(fitted, run.solves), **own)


def _scores(fitted: BaseEstimator) -> Any:
    """The method of the estimator that returns scores; those of a regression are its predictions."""
    for name in ("decision_function", "score_samples", "predict"):
        if hasattr(fitted, name):
            return getattr(fitted, name)
    return None


def _solves(fitted: BaseEstimator, known: tuple[Solve, ...]) -> tuple[Solve, ...]:
    """The solves with the histories that the estimator stores; a loaded estimator has none."""
    if not fitted._work:
        return known
    several = len(known) > 1
    counts, histories = (part if several else [part] for part in (fitted.n_iter_, fitted.history_))
    return tuple(
        replace(
            solve, reason=reason, n_iter=int(n_iter), passes=float(passes), seconds=float(seconds), trace=tuple(trace),
            settings=settings,
        )
        for solve, n_iter, trace, (reason, passes, seconds, settings) in zip(
            known, counts, histories, fitted._work, strict=True
        )
    )  # fmt: skip
