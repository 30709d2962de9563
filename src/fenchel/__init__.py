"""Fenchel: regularized risk minimization in which every answer carries a duality-gap certificate."""

from typing import Any

from fenchel import errors, losses, regularizers
from fenchel.certify import certify
from fenchel.problem import Problem
from fenchel.result import Certificate, Result, Status
from fenchel.solve import solve

__version__ = "0.1.0"
__all__ = ["Certificate", "Classifier", "Model", "NoveltyDetector", "Path", "Problem", "Regressor", "Result", "Status"]
__all__ += ["certify", "errors", "load", "losses", "path", "regularizers", "save", "solve"]

# Names that are looked up when first used, so that `import fenchel` stays quick.
_LAZY = {
    "Classifier": "fenchel.estimators.classifier",
    "Model": "fenchel.model",
    "NoveltyDetector": "fenchel.estimators.novelty",
    "Path": "fenchel.estimators.path",
    "Regressor": "fenchel.estimators.regressor",
    "load": "fenchel.model_file",
    "path": "fenchel.estimators.path",
    "save": "fenchel.model_file",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'fenchel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
