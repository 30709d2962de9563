"""Models of structured outputs: sequences, matchings, label sets, and your own.

`fenchel.structured.protocol` says what a model is. `Problem(examples, labels, loss=model)` takes any of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fenchel.structured.pool import Gibbs, Marginals, Pool

__all__ = [
    "MODELS",
    "Chain",
    "Gibbs",
    "Marginals",
    "Matching",
    "Multiclass",
    "PairwiseLabels",
    "Pool",
    "Tree",
    "encode",
    "is_structured",
]

# Looked up when first used: most solves need none of them.
_HOMES = {
    "Chain": "chain",
    "Matching": "matching",
    "Multiclass": "multiclass",
    "PairwiseLabels": "pairwise_labels",
    "Tree": "tree_model",
}
_NAMES = {
    "chain": "Chain",
    "matching": "Matching",
    "multiclass": "Multiclass",
    "pairwise_labels": "PairwiseLabels",
    "tree": "Tree",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    if name == "MODELS":
        return {key: __getattr__(cls) for key, cls in _NAMES.items()}
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def is_structured(loss: Any) -> bool:
    """True for a model of structured outputs, ours or a user's."""
    if isinstance(loss, (str, type)):
        return False
    return hasattr(loss, "encode") or all(hasattr(loss, name) for name in ("features", "cost", "max_oracle"))


def encode(model: Any, examples: Any, labels: Any) -> Any:
    """The examples and their labels as kernels walk them."""
    if hasattr(model, "encode"):
        return model.encode(examples, labels)
    from fenchel.structured.parameters import same_count
    from fenchel.structured.python_model import PythonModel

    examples, labels = list(examples), list(labels)
    same_count(examples, labels)
    return PythonModel(model, examples, labels)
