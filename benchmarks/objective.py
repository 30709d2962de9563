"""The objective that every entrant is judged by, written in numpy and scipy alone.

P(w, b) = (1/n) sum_i loss(<x_i, w> + b, y_i) + alpha/2 <w, w>

Nothing here comes from an entrant and nothing is computed by fenchel: a mistake shared by both could hide otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def hinge(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """max(0, 1 - y z)."""
    return np.maximum(0.0, 1.0 - y * z)


def squared_hinge(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """max(0, 1 - y z)^2 / 2."""
    return 0.5 * hinge(z, y) ** 2


def logistic(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """log(1 + exp(-y z)), without overflow."""
    return np.logaddexp(0.0, -y * z)


LOSSES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "hinge": hinge,
    "squared_hinge": squared_hinge,
    "logistic": logistic,
}


def primal(task: Any, coef: Any, intercept: float = 0.0) -> float:
    """P at (coef, intercept); infinity if the answer is not finite, has another shape, or an intercept unasked for.

    >>> from types import SimpleNamespace
    >>> task = SimpleNamespace(X=np.eye(2), y=np.array([1.0, -1.0]), loss="hinge", alpha=0.5, fit_intercept=False)
    >>> primal(task, [1.0, 0.0])  # losses 0 and 1, regularizer 0.25
    0.75
    """
    w = np.asarray(coef, dtype=np.float64)
    if w.shape != (task.X.shape[1],) or not (np.isfinite(w).all() and np.isfinite(intercept)):
        return np.inf
    if intercept != 0.0 and not task.fit_intercept:
        return np.inf
    z = task.X @ w + intercept
    return float(LOSSES[task.loss](z, task.y).mean() + 0.5 * task.alpha * (w @ w))
