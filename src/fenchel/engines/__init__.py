"""Engines: where row blocks are stored and how sums over them are added. Those of a cluster come from a higher layer."""

from typing import Any

from fenchel.engines.local import Local
from fenchel.extension_points import provider

__all__ = ["Dask", "Local", "Owners", "Shard"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # these need another package: pip install fenchel[dask]
        return getattr(provider("cluster"), name)
    raise AttributeError(f"module 'fenchel.engines' has no attribute {name!r}")
