"""All mirror maps, for annotations."""

from __future__ import annotations

from typing import TypeAlias

from fenchel.mirror_maps.coordinatewise import Identity, Soft
from fenchel.mirror_maps.entropic import BalancedWinnow, Winnow
from fenchel.mirror_maps.q_norm import Power

MirrorMap: TypeAlias = Identity | Soft | Power | Winnow | BalancedWinnow
