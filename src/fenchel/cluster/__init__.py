"""Data on the workers of a Dask cluster, where they stay: placement, transport, failures, data owners.

May import everything up to `solving`. Lower layers do not import it, but find it through `fenchel.extension_points`.
"""

from importlib import import_module
from typing import Any

__all__ = ["Dask", "Owners", "Shard", "problem_class"]

_HOMES = {"Dask": "engine", "Owners": "owners", "Shard": "owners", "problem_class": "problem"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:  # Dask is imported by those who use it
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
