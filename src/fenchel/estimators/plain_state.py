"""The state of estimators as plain data, so that tools with a list of trusted types (skops, and MLflow with it) only need to
trust the estimator's own class.

When an estimator is pickled, copied or dumped, losses, regularizers, solvers, certificates, statuses and histories are replaced
by dictionaries with the name of their class. When it is loaded, they are created again: classes are looked up in a few packages
of Fenchel, and only their constructors are called. Other objects are left unchanged.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from fenchel.result import TracePoint

if TYPE_CHECKING:
    pass

MARK = "__fenchel__"
HOMES = (
    "estimators.sequence_input", "estimators.sequence_kernel", "kernel_methods.ascent", "losses", "measures",
    "mirror_maps", "models.structured_check", "multiclass", "problems.measure", "regularizers", "result",
    "sequences.attributes", "solvers", "solving.checkpoint", "structured",
)  # fmt: skip
CSR = {"csr_matrix": sp.csr_matrix, "csr_array": sp.csr_array}
WHOLE = (0,)  # positions in a TracePoint that are integers


class PlainState:
    """`__getstate__` and `__setstate__` of an estimator with plain data."""

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {key: packed(value) for key, value in state.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        parent: Any = super()
        parent.__setstate__({key: unpacked(value) for key, value in state.items()})


def packed(value: Any) -> Any:
    """The data with Fenchel's objects replaced by dictionaries.

    >>> from fenchel.losses import Huber
    >>> packed([Huber(0.5), 1]) == [{MARK: "losses.huber.Huber", "items": [0.5]}, 1]
    True
    >>> unpacked(packed([Huber(0.5), 1]))
    [Huber(delta=0.5), 1]
    """
    if type(value) in (list, dict):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        found = {key: packed(item) for key, item in pairs}
        return found if isinstance(value, dict) else list(found.values())
    if type(value) is tuple:
        if value and all(type(item) is TracePoint for item in value):
            return {MARK: "history", "rows": np.array(value, dtype=float)}
        return tuple(packed(item) for item in value)
    if sp.issparse(value) and type(value).__name__ in CSR:
        parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
        return {MARK: type(value).__name__, **parts, "shape": value.shape}
    return _packed_object(value)


def _packed_object(value: object) -> Any:
    cls = type(value)
    path = f"{cls.__module__}.{cls.__qualname__}".removeprefix("fenchel.")
    if not cls.__module__.startswith("fenchel.") or not _is_known(path):
        return value
    if isinstance(value, Enum):
        return {MARK: path, "name": value.name}
    if isinstance(value, tuple):
        return {MARK: path, "items": [packed(item) for item in value]}
    if is_dataclass(value):
        return {MARK: path, "fields": {part.name: packed(getattr(value, part.name)) for part in fields(value)}}
    own: Any = value.__getstate__()
    return {MARK: path, "state": {key: packed(item) for key, item in own.items()}}


def unpacked(value: Any) -> Any:
    """The inverse of `packed`."""
    if type(value) is list:
        return [unpacked(item) for item in value]
    if type(value) is tuple:
        return tuple(unpacked(item) for item in value)
    if type(value) is not dict:
        return value
    if MARK not in value:
        return {key: unpacked(item) for key, item in value.items()}
    name = value[MARK]
    if name == "history":
        return tuple(
            TracePoint(*(int(x) if k in WHOLE else x for k, x in enumerate(row))) for row in value["rows"].tolist()
        )
    if name in CSR:
        return CSR[name]((value["data"], value["indices"], value["indptr"]), shape=tuple(value["shape"]))
    return _unpacked_object(_class_of(name), value)


def _unpacked_object(cls: Any, value: dict[str, Any]) -> Any:
    if issubclass(cls, Enum):
        return cls[value["name"]]
    if issubclass(cls, tuple):
        return cls._make(unpacked(value["items"]))
    if "fields" in value:
        return cls(**unpacked(value["fields"]))
    made, state = cls.__new__(cls), unpacked(value["state"])
    if hasattr(cls, "__setstate__"):
        made.__setstate__(state)
    else:
        made.__dict__.update(state)
    return made


def _is_known(path: str) -> bool:
    return any(path.startswith(f"{home}.") for home in HOMES)


def _class_of(path: object) -> type:
    module, _, name = str(path).rpartition(".")
    found = getattr(import_module(f"fenchel.{module}"), name, None) if _is_known(str(path)) else None
    if not isinstance(found, type) or not found.__module__.startswith("fenchel."):
        raise ValueError(f"the state of an estimator names {path!r}, which is not a class that it may contain")
    return found
