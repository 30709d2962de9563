"""Where row blocks live and how sums travel."""

from importlib import import_module
from typing import Any

from fenchel.engines.local import Local

__all__ = ["Dask", "Local"]


def __getattr__(name: str) -> Any:
    if name == "Dask":  # needs a package of its own: pip install fenchel[dask]
        return import_module("fenchel.cluster.engine").Dask
    raise AttributeError(f"module 'fenchel.engines' has no attribute {name!r}")
