"""The types of losses that a problem accepts, for annotations."""

from __future__ import annotations

from typing import TypeAlias

from fenchel.losses.protocol import Loss
from fenchel.measures.protocol import Measure
from fenchel.multiclass.protocol import VectorLoss
from fenchel.structured.protocol import StructuredModel

AnyLoss: TypeAlias = Loss | VectorLoss | Measure | StructuredModel
