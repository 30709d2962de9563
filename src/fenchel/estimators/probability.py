"""Class probabilities from scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fenchel import losses, multiclass

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from fenchel.losses.protocol import Loss


def has_probability(estimator: BaseEstimator) -> bool:
    """Whether the estimator's loss, a name or an object, gives probabilities."""
    loss = estimator.loss
    return hasattr(
        (dict(losses.LOSSES) | dict(multiclass.LOSSES)).get(loss) if isinstance(loss, str) else loss, "probability"
    )


def probabilities(loss: Loss, scores: np.ndarray) -> np.ndarray:
    """(n, classes) from the scores of two classes, or of each class against the rest.

    >>> probabilities("logistic", np.zeros(1))
    array([[0.5, 0.5]])
    """
    made = losses.make(loss)
    probability = made.probability(scores)
    if probability.ndim == 1:
        return np.column_stack([made.probability(-scores), probability])
    total = probability.sum(axis=1, keepdims=True)
    even = np.full_like(
        probability, 1.0 / probability.shape[1]
    )  # all have underflowed: the classes are equally probable
    return np.divide(probability, total, out=even, where=total > 0.0)
