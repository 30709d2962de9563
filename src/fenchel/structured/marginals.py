"""The models whose dual points can be marginals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fenchel.structured.protocol import EncodedModel


def parts_of(model: EncodedModel) -> Any:
    """The parts of an encoded model; None if its marginals have no simple description, or its cost is rescaled."""
    from fenchel.structured.chain_encoded import EncodedChain
    from fenchel.structured.matching_encoded import EncodedMatchings
    from fenchel.structured.multiclass import EncodedClasses
    from fenchel.structured.pairwise_encoded import EncodedSets
    from fenchel.structured.parts_chain import ChainParts
    from fenchel.structured.parts_matching import MatchingParts
    from fenchel.structured.parts_multiclass import ClassParts
    from fenchel.structured.parts_sets import MAX_LABELS, SetParts
    from fenchel.structured.parts_tree import tree_parts
    from fenchel.structured.python_model import PythonModel
    from fenchel.structured.tree_encoded import EncodedTrees

    if getattr(model, "beta", 0.0) != 0.0:
        return None
    if isinstance(model, EncodedClasses):
        return ClassParts(model)
    if isinstance(model, EncodedChain):
        return ChainParts(model)
    if isinstance(model, EncodedMatchings):
        return MatchingParts(model)
    if isinstance(model, EncodedSets) and model.m <= MAX_LABELS:
        return SetParts(model)
    if isinstance(model, EncodedTrees):
        return tree_parts(model)
    return model.label_parts if isinstance(model, PythonModel) else None


def part_starts(parts: Any) -> np.ndarray:
    """Where the parts of each example begin."""
    return np.concatenate([[0], np.cumsum(parts.sizes)]).astype(np.int64)
