"""Engines: where row blocks are stored and how sums over them are computed.

`Local` uses the threads of this process. `Dask` and `Owners` are implemented in `cluster`, a higher layer, and looked up by
name. May import data, problems and lower layers.
"""

from typing import Any

from fenchel.engines.local import Local
from fenchel.extension_points import provider

__all__ = ["Dask", "Local", "Owners", "Shard"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # these need another package: pip install fenchel[dask]
        return getattr(provider("cluster"), name)
    raise AttributeError(f"module 'fenchel.engines' has no attribute {name!r}")
