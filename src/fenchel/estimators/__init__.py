"""scikit-learn shells around `Problem` and `solve`, without maths; scikit-learn is imported when one is first used."""

from importlib import import_module
from typing import Any

__all__ = [
    "Classifier",
    "IncompleteCholesky",
    "KernelClassifier",
    "KernelRegressor",
    "NoveltyDetector",
    "OnlineClassifier",
    "Path",
    "Regressor",
]

_HOMES = {
    "Classifier": "classifier",
    "IncompleteCholesky": "incomplete_cholesky",
    "KernelClassifier": "kernel",
    "KernelRegressor": "kernel",
    "NoveltyDetector": "novelty",
    "OnlineClassifier": "online",
    "Path": "path",
    "Regressor": "regressor",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
