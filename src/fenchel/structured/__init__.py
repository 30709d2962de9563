"""Models of structured outputs: sequences, matchings, label sets, and custom models.

`fenchel.structured.protocol` defines the interface of a model. `Problem(examples, labels, loss=model)` takes any of them. May
import `data`, `projections` and `compile`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fenchel.errors import InputError
from fenchel.registry import Registry, public_names
from fenchel.structured.pool import Gibbs, Marginals, Pool

# Imported at the first use: most solves need none of them.
_HOMES = {
    "AssociativeGraph": "associative_graph",
    "Candidates": "candidates",
    "Chain": "chain",
    "Graph": "graph",
    "Matching": "matching",
    "Multiclass": "multiclass",
    "PairwiseLabels": "pairwise_labels",
    "Tree": "tree_model",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    if name == "check":
        return import_module(f"{__name__}.soundness").check
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


MODELS: Registry[Any] = Registry("structured model", _HOMES, load=__getattr__)
__all__ = public_names(MODELS, "MODELS", Gibbs, Marginals, Pool, "check", "encode", "is_structured")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def is_structured(loss: Any) -> bool:
    """True for a model of structured outputs, Fenchel's own or a user's."""
    if isinstance(loss, (str, type)):
        return False
    return hasattr(loss, "encode") or all(hasattr(loss, name) for name in ("features", "cost", "max_oracle"))


def encode(model: Any, examples: Any, labels: Any) -> Any:
    """The encoded examples and labels, as kernels take them."""
    if hasattr(model, "encode"):
        return model.encode(examples, labels)
    from fenchel.structured.parameters import same_count
    from fenchel.structured.parts_labels import MAX_LABELS
    from fenchel.structured.python_model import PythonModel
    from fenchel.structured.soundness import check

    examples, labels = list(examples), list(labels)
    same_count(examples, labels)
    encoded = PythonModel(model, examples, labels)
    if encoded.log and not hasattr(model, "log_partition") and encoded.label_parts is None:
        raise InputError(
            f"{type(model).__name__} has loss='log', but a log-loss needs the log of a sum over all labels: give the model "
            "`log_partition(w, x)`, which returns it with the expected features, or `labels(x)`, which lists up to "
            f"{MAX_LABELS} labels; or leave `loss` out: the structured hinge needs `max_oracle` only"
        )
    check(encoded, examples, labels)
    return encoded
