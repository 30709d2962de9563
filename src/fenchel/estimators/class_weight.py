"""Weights of rows from weights of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight


def class_weighted(
    class_weight: Any, y: np.ndarray, weights: np.ndarray | None, classes: np.ndarray
) -> np.ndarray | None:
    """The weights of rows times those of their classes: None, {label: weight} or "balanced".

    >>> class_weighted("balanced", np.array([0, 0, 1]), None, np.array([0, 1]))
    array([0.75, 0.75, 1.5 ])
    """
    if class_weight is None:
        return weights
    s = np.ones(y.shape[0]) if weights is None else weights
    if isinstance(class_weight, str) and class_weight == "balanced":
        relative = s / s.max()
        sums = np.array([relative[y == label].sum() for label in classes])
        factors = relative.sum() / (classes.size * sums)  # by weight, so that weight k equals k repetitions
    else:
        factors = compute_class_weight(class_weight, classes=classes, y=y[s > 0.0])
    out = np.zeros(y.shape[0])
    for label, factor in zip(classes, factors, strict=True):
        np.multiply(s, factor, out=out, where=y == label)
    return out
