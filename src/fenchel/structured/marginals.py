"""The models whose dual points can be marginals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fenchel.structured.protocol import EncodedModel


def parts_of(model: EncodedModel) -> Any:
    """The parts of an encoded model; None if its marginals have no simple description, or its cost is rescaled."""
    from fenchel.structured.chain_encoded import EncodedChain
    from fenchel.structured.multiclass import EncodedClasses
    from fenchel.structured.parts_chain import ChainParts
    from fenchel.structured.parts_multiclass import ClassParts

    if isinstance(model, EncodedClasses):
        return ClassParts(model)
    if isinstance(model, EncodedChain) and model.beta == 0.0:
        return ChainParts(model)
    return None


def part_starts(parts: Any) -> np.ndarray:
    """Where the parts of each example begin."""
    return np.concatenate([[0], np.cumsum(parts.sizes)]).astype(np.int64)
