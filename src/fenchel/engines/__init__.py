"""Where row blocks live and how sums travel."""

from fenchel.engines.local import Local

__all__ = ["Local"]
