"""Where row blocks live and how sums travel."""

from importlib import import_module
from typing import Any

from fenchel.engines.local import Local

__all__ = ["Dask", "Local", "Owners", "Shard"]

_CLUSTER = {"Dask": "engine", "Owners": "owners", "Shard": "owners"}


def __getattr__(name: str) -> Any:
    if name in _CLUSTER:  # need a package of their own: pip install fenchel[dask]
        return getattr(import_module(f"fenchel.cluster.{_CLUSTER[name]}"), name)
    raise AttributeError(f"module 'fenchel.engines' has no attribute {name!r}")
