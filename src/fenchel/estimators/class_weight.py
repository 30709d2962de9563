"""Sample weights from class weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import compute_class_weight

from fenchel.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sklearn.base import BaseEstimator


def class_weighted(
    class_weight: Mapping[object, float] | str | None, y: np.ndarray, weights: np.ndarray | None, classes: np.ndarray
) -> np.ndarray | None:
    """The sample weights multiplied by the weights of the classes: None, {label: weight} or "balanced".

    >>> class_weighted("balanced", np.array([0, 0, 1]), None, np.array([0, 1]))
    array([0.75, 0.75, 1.5 ])
    """
    if class_weight is None:
        return weights
    s = np.ones(y.shape[0]) if weights is None else weights
    if isinstance(class_weight, str) and class_weight == "balanced":
        relative = s / s.max()
        sums = np.array([relative[y == label].sum() for label in classes])
        factors = relative.sum() / (classes.size * sums)  # weighted counts, so that weight k equals k repetitions
    else:
        factors = compute_class_weight(class_weight, classes=classes, y=y[s > 0.0])
    if not all(0.0 <= factor < np.inf for factor in factors):
        wrong = next(k for k, factor in enumerate(factors) if not 0.0 <= factor < np.inf)
        raise InputError(
            f"class_weight of {classes.tolist()[wrong]!r} is {float(factors[wrong])!r}: weights must be finite and at least 0"
        )
    out = np.zeros(y.shape[0])
    for label, factor in zip(classes, factors, strict=True):
        np.multiply(s, factor, out=out, where=y == label)
    return out


def weighted_classes(
    estimator: BaseEstimator, y: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray | None, np.ndarray]:
    """(sample weights multiplied by class weights, classes with a weight above 0). A class is excluded if all its rows, or the
    class itself, have weight 0."""
    classes = np.unique(y if weights is None else y[weights > 0.0])
    found = class_weighted(estimator.class_weight, y, weights, classes)
    classes = np.unique(y if found is None else y[found > 0.0])
    if classes.size < 2:
        only = (
            f"every row with a weight above 0 is of class {classes.tolist()[0]!r}"
            if classes.size
            else "no row has a weight above 0"
        )
        raise InputError(
            f"{type(estimator).__name__} can't train when only one class is present: {only}; it needs samples of at least 2 "
            "classes with a weight above 0"
        )
    return found, classes
