"""The columns of paper 003's tables: the online algorithms and their large-margin versions, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import fenchel
from fenchel.regularizers import L2, BalancedEntropy, ElasticNet
from fenchel.solvers import DualAscent

EPOCHS = 200
PRIOR = 0.01  # of every weight of both signs: the paper's mu
RATE = 0.01  # the paper's learning rate, of the online algorithms and of rule (23)
SPARSE = 0.1  # the paper's epsilon: g(w) = epsilon |w|_1 + w'w / 2


class LargeMargin(NamedTuple):
    """min over w of the mean hinge loss + lambda g(w): `regularizer(lambda, d)`, and how the paper solves it."""

    regularizer: Callable[[float, int], Any]
    paper: DualAscent

    def problem(self, X: Any, y: np.ndarray, strength: float) -> fenchel.Problem:
        return fenchel.Problem(X, y, loss="hinge", regularizer=self.regularizer(strength, X.shape[1]))


GRADIENT = DualAscent(step="explicit", rate=RATE, order="cyclic")
LARGE_MARGIN = {
    "LM-Perc": LargeMargin(lambda a, d: L2(a), DualAscent(order="cyclic")),
    "LM-UWin": LargeMargin(lambda a, d: BalancedEntropy(a, prior=PRIOR), GRADIENT),
    "LM-NWin": LargeMargin(lambda a, d: BalancedEntropy(a, prior=PRIOR, total=2 * d * PRIOR), GRADIENT),
    "Spars": LargeMargin(lambda a, d: ElasticNet(a * (1.0 + SPARSE), SPARSE / (1.0 + SPARSE)), GRADIENT),
}
ONLINE = ("Perceptron", "UWin", "NWin")


def online_weights(name: str, X: Any, y: np.ndarray, epochs: int = EPOCHS) -> np.ndarray:
    """The weights of an online algorithm after so many passes over the rows in their given order."""
    winnow = (
        {} if name == "Perceptron" else {"prior": PRIOR, "total": 2 * X.shape[1] * PRIOR if name == "NWin" else None}
    )
    algorithm = "balanced_winnow" if winnow else "perceptron"
    model = fenchel.OnlineClassifier(algorithm, eta=RATE, epochs=epochs, fit_intercept=False, shuffle=False, **winnow)
    return model.fit(X, y).coef_[0]
