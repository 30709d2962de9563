"""Where row blocks live and how their sums are added. Imports data and errors; those of a cluster come from above."""

from typing import Any

from fenchel.engines.local import Local
from fenchel.extension_points import provider

__all__ = ["Dask", "Local", "Owners", "Shard"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # need a package of their own: pip install fenchel[dask]
        return getattr(provider("cluster"), name)
    raise AttributeError(f"module 'fenchel.engines' has no attribute {name!r}")
