"""A fitted estimator as the subject of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fenchel.errors import InputError
from fenchel.report.data_facts import labels_shown, task_of
from fenchel.report.subject import Run, Solve, names_for, run_of
from fenchel.structured import is_structured


def run_of_estimator(model: Any, name: str, feature_names: Sequence[str] | None) -> Run:
    """The run of a fitted estimator of `fenchel` that has a certificate."""
    solved = getattr(model, "_solved", None)
    if solved is None:
        raise InputError(f"a {type(model).__name__} keeps no account of its solve for a report; give a Result instead")
    if "work" not in solved:  # with a kernel
        return run_of(model.to_model(), name, feature_names)
    if is_structured(solved["loss"]):
        run = run_of(model.to_model(), name)
        solves = tuple(replace(one, digest=run.solves[0].digest) for one in _solves(model, solved))
        return replace(run, solves=solves, predict=model.predict)
    labels = tuple(model.classes_.tolist()) if hasattr(model, "classes_") else None
    weights = np.atleast_2d(model.coef_)
    bias = np.atleast_1d(np.asarray(model.intercept_, dtype=float)) if solved["intercept"] else None
    names = getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
    facts = {"Rows": int(solved["n"]), "Features": int(weights.shape[1]), "Labels": labels_shown(labels)}
    return Run(
        name, solved["family"], task_of(solved["loss"], labels), solved["loss"], model.regularizer_,
        bool(solved["intercept"]), _solves(model, solved), weights, bias, labels, names_for(weights, names), facts,
        predict=getattr(model, "predict", None), scores=_scores(model), probabilities=getattr(model, "predict_proba", None),
    )  # fmt: skip


def _scores(model: Any) -> Any:
    """The scores, under whichever name the estimator has them; what a regression predicts is its score."""
    for name in ("decision_function", "score_samples", "predict"):
        if hasattr(model, name):
            return getattr(model, name)
    return None


def _solves(model: Any, solved: dict[str, Any]) -> tuple[Solve, ...]:
    """One, or one per class."""
    several = len(solved["work"]) > 1
    labels = [str(label) for label in model.classes_] if several else [""]
    columns = [model.certificate_, model.status_, model.solver_, model.n_iter_, model.history_]
    rows = zip(*columns, strict=True) if several else [tuple(columns)]
    return tuple(
        Solve(label, c, status, float(model.tol), solver, None, reason, int(n_iter), float(passes), float(seconds),
              tuple(trace), settings)
        for label, (c, status, solver, n_iter, trace), (reason, passes, seconds, settings) in zip(
            labels, rows, solved["work"], strict=True
        )
    )  # fmt: skip
