"""What an entrant is."""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any, ClassVar

import numpy as np

from benchmarks.tasks import Task

Answer = tuple[np.ndarray, float]
SMALL_D = 5000  # for those that hold d x d numbers


class Entrant:
    """Base of all entrants."""

    name: ClassVar[str]
    module: ClassVar[str]
    tolerances: ClassVar[tuple[float, ...]] = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)

    @classmethod
    def installed(cls) -> bool:
        return importlib.util.find_spec(cls.module) is not None

    def handles(self, task: Task) -> bool:
        raise NotImplementedError("abstract: an entrant defines handles(task)")

    def fit(self, task: Task, tol: float) -> Answer:
        raise NotImplementedError("abstract: an entrant defines fit(task, tol)")


def sklearn_answer(model: Any) -> Answer:
    """Coefficients and intercept of anything made after scikit-learn's fashion."""
    return np.ravel(model.coef_), float(np.ravel(getattr(model, "intercept_", 0.0))[0])


def quietly(function: Any, *arguments: Any, **named: Any) -> Any:
    """A warning that a limit was met is no news here: whether the answer is good is computed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **named)
