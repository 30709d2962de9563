"""The objective that every entrant is judged by, written in numpy and scipy alone.

P(w, b) = (1/S) sum_i s_i loss(<x_i, w> + b, y_i) + alpha (r |w|_1 + (1 - r)/2 <w, w>), or another penalty of a `Task`

Nothing here comes from an entrant and nothing is computed by fenchel: a mistake shared by both could hide otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import xlogy


def hinge(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """max(0, 1 - y z)."""
    return np.maximum(0.0, 1.0 - y * z)


def squared_hinge(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """max(0, 1 - y z)^2 / 2."""
    return 0.5 * hinge(z, y) ** 2


def logistic(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """log(1 + exp(-y z)), without overflow."""
    return np.logaddexp(0.0, -y * z)


def squared(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(z - y)^2 / 2."""
    return 0.5 * (z - y) ** 2


def quantile(z: np.ndarray, y: np.ndarray, tau: float) -> np.ndarray:
    """max(tau (y - z), (1 - tau) (z - y))."""
    return np.maximum(tau * (y - z), (1.0 - tau) * (z - y))


def epsilon_insensitive(z: np.ndarray, y: np.ndarray, epsilon: float) -> np.ndarray:
    """max(0, |z - y| - epsilon)."""
    return np.maximum(0.0, np.abs(z - y) - epsilon)


def huber(z: np.ndarray, y: np.ndarray, delta: float) -> np.ndarray:
    """r^2 / 2 up to |r| = delta, then delta |r| - delta^2 / 2; r = z - y."""
    r = np.abs(z - y)
    return np.where(r <= delta, 0.5 * r**2, delta * r - 0.5 * delta**2)


def poisson(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """exp(z) - y z + y log y - y: half the Poisson deviance."""
    with np.errstate(over="ignore"):
        return np.exp(z) - y * z + xlogy(y, y) - y


LOSSES: dict[str, Callable[..., np.ndarray]] = {
    f.__name__: f for f in (hinge, squared_hinge, logistic, squared, quantile, epsilon_insensitive, huber, poisson)
}


def primal(task: Any, coef: Any, intercept: float = 0.0) -> float:
    """P at (coef, intercept); infinity if the answer is not finite, has another shape, or an intercept unasked for.

    >>> from benchmarks.tasks import Task
    >>> task = Task("two rows", np.eye(2), np.array([1.0, -1.0]), loss="hinge", alpha=0.5, fit_intercept=False)
    >>> primal(task, [1.0, 0.0])  # losses 0 and 1, regularizer 0.25
    0.75
    """
    w = np.asarray(coef, dtype=np.float64)
    if w.shape != (task.X.shape[1],) or not (np.isfinite(w).all() and np.isfinite(intercept)):
        return np.inf
    if intercept != 0.0 and not task.fit_intercept:
        return np.inf
    losses = LOSSES[task.loss](task.X @ w + intercept, task.y, **task.parameters)
    return float(np.average(losses, weights=task.weights) + task.alpha * penalty(task, w))


def penalty(task: Any, w: np.ndarray) -> float:
    """The penalty with alpha = 1."""
    if task.penalty == "group_lasso":
        return float(np.sqrt(np.bincount(task.groups, w * w)).sum())
    if task.penalty == "nonnegative" and w.min() < 0.0:
        return np.inf
    r = task.l1_ratio
    return float(r * np.abs(w).sum() + 0.5 * (1.0 - r) * (w @ w))
