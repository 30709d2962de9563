"""Which parts of a model fit together."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.errors import InputError
from fenchel.losses.task import innermost, task_of
from fenchel.models.parts import classes_known


def check(model: Any) -> None:
    """Raise InputError unless the parts of a model fit together."""
    coef, k = np.asarray(model.coef), model.k
    intercept = np.asarray(model.intercept)
    fits = 1 if model.is_vector else k
    rules = {
        "coef must be a finite float64 array of shape (d,) or (k, d) with k > 1": coef.ndim in (1, 2)
        and coef.dtype == np.float64
        and coef.size > 0
        and (coef.ndim == 1 or k > 1)
        and bool(np.isfinite(coef).all()),
        "the scores must be as many as the loss has": _good_scores(model, coef.ndim),
        f"intercept must be {'a finite number' if k == 1 else f'{k} finite numbers'}": intercept.shape
        == (() if k == 1 else (k,))
        and bool(np.isfinite(intercept).all()),
        "intercept must be 0 when fit_intercept is False": model.fit_intercept or not intercept.any(),
        "labels must be None or as many different numbers or strings as there are classes": _good_labels(model),
        "thresholds must be one less than the labels, ascending, for measures and novelty only": _good_thresholds(
            model
        ),
        f"certificates, statuses, solvers and digests must have {fits} entries": {fits}
        == {len(part) for part in (model.certificates, model.statuses, model.solvers, model.digests)},
        "tol must be a number greater than 0": 0.0 < model.tol < np.inf,
        "n must be at least 1": model.n >= 1,
        "index_base must be None, 0 or 1": model.index_base in (None, 0, 1),
        "dual_points must be None or of the shape that goes with n and the loss": model.dual_points is None
        or _good_dual(model.dual_points, model, k),
        "constant must be None or a finite number, with a weight beside those of the features": model.constant is None
        or (bool(np.isfinite(model.constant)) and model.d >= 1),
        "target must be None or a string, dropped a tuple of strings": isinstance(model.target, (str, type(None)))
        and all(isinstance(name, str) for name in model.dropped),
        f"feature_names must be None or {model.d} strings": model.feature_names is None
        or (len(model.feature_names) == model.d and all(isinstance(name, str) for name in model.feature_names)),
    }
    for rule, kept in rules.items():
        if not kept:
            raise InputError(f"{rule}")
    model.regularizer.validate(coef.shape[-1])


def _good_scores(model: Any, ndim: int) -> bool:
    if not model.is_vector:
        return not model.is_measure or ndim == 1
    inner = innermost(model.loss)
    wanted = inner.parent.size - 1 if hasattr(inner, "leaf") else classes_known(inner)
    return ndim == 2 and wanted in (None, model.k)


def _good_labels(model: Any) -> bool:
    labels, k = model.labels, model.k
    if labels is None:
        return k == 1
    count = k if k > 1 else 2
    if model.is_vector:
        count = classes_known(model.loss) or k
    elif model.is_measure:
        count = len(model.thresholds or ()) + 1
    return good_names(labels, count)


def good_names(labels: Any, count: int) -> bool:
    """Whether labels are `count` different strings, or so many different numbers."""
    words = all(isinstance(label, str) for label in labels)
    numbers = all(isinstance(label, (int, float)) and np.isfinite(label) for label in labels)
    return len(labels) == count == len(set(labels)) and (words or numbers)


def _good_thresholds(model: Any) -> bool:
    cuts = model.thresholds
    if cuts is None:
        return not model.is_measure or model.labels is None
    if task_of(model.loss) == "novelty":
        return len(cuts) == 1 and bool(np.isfinite(cuts[0]))
    ascending = bool(np.isfinite(cuts).all()) and all(a <= b for a, b in pairwise(cuts))
    return model.is_measure and model.labels is not None and len(cuts) > 0 and ascending


def _good_dual(points: Any, model: Any, k: int) -> bool:
    if sp.issparse(points) and (not model.is_vector or points.format != "csr"):
        return False
    if model.is_measure:
        return points.ndim == 2 and points.shape[0] > 0 and points.shape[1] == 1 + model.n
    if model.is_vector:
        return points.shape == (model.n, k)
    return points.shape == ((model.n,) if k == 1 else (k, model.n))
