"""Models of structured outputs: sequences, matchings, label sets, and your own.

`fenchel.structured.protocol` says what a model is. `Problem(examples, labels, loss=model)` takes any of them.
"""

from __future__ import annotations

from typing import Any

from fenchel.structured.chain import Chain
from fenchel.structured.marginals import Marginals
from fenchel.structured.matching import Matching
from fenchel.structured.multiclass import Multiclass
from fenchel.structured.pairwise_labels import PairwiseLabels
from fenchel.structured.parameters import same_count
from fenchel.structured.pool import Gibbs, Pool
from fenchel.structured.python_model import PythonModel
from fenchel.structured.tree_model import Tree

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

MODELS: dict[str, type] = {
    "chain": Chain,
    "matching": Matching,
    "multiclass": Multiclass,
    "pairwise_labels": PairwiseLabels,
    "tree": Tree,
}


def is_structured(loss: Any) -> bool:
    """True for a model of structured outputs, ours or a user's."""
    if isinstance(loss, (str, type)):
        return False
    return hasattr(loss, "encode") or all(hasattr(loss, name) for name in ("features", "cost", "max_oracle"))


def encode(model: Any, examples: Any, labels: Any) -> Any:
    """The examples and their labels as kernels walk them."""
    if hasattr(model, "encode"):
        return model.encode(examples, labels)
    examples, labels = list(examples), list(labels)
    same_count(examples, labels)
    return PythonModel(model, examples, labels)
