"""scikit-learn estimators: thin wrappers of `Problem` and `solve`. scikit-learn is imported when one is first used.

May import models and everything below them; the command line and the report may use estimators.
"""

from importlib import import_module
from typing import Any

__all__ = [
    "Classifier",
    "ClassifierCV",
    "HierarchicalClassifier",
    "IncompleteCholesky",
    "KernelClassifier",
    "KernelRegressor",
    "MatchingModel",
    "MeasureClassifier",
    "MultiLabelClassifier",
    "NoveltyDetector",
    "OnlineClassifier",
    "OrdinalClassifier",
    "Path",
    "Ranker",
    "Regressor",
    "RegressorCV",
    "SequenceLabeler",
    "TableTransformer",
]

_HOMES = {
    "Classifier": "classifier",
    "ClassifierCV": "classifier_cv",
    "HierarchicalClassifier": "hierarchical",
    "IncompleteCholesky": "incomplete_cholesky",
    "KernelClassifier": "kernel",
    "KernelRegressor": "kernel",
    "MatchingModel": "matching_model",
    "MeasureClassifier": "measure_classifier",
    "MultiLabelClassifier": "multi_label",
    "NoveltyDetector": "novelty",
    "OnlineClassifier": "online",
    "OrdinalClassifier": "ordinal",
    "Path": "path",
    "Ranker": "ranker",
    "Regressor": "regressor",
    "RegressorCV": "regressor_cv",
    "SequenceLabeler": "sequence_labeler",
    "TableTransformer": "table_transformer",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
